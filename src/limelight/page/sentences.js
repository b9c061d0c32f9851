/** What is seen, as sentences: for screen readers, and as the caption below the stage. */

import { largest, line } from "./matrix.js";
import { twoDigits } from "./scale.js";

export const CAVEAT = "Weights show what the model read, not why it chose a word.";

/** How a token is spoken of. */
export function spoken(label) {
  if (label.role === "end") return "the end";
  if (label.role === "start") return "the start";
  return `“${label.text}”`;
}

/** `“Hund” attends to “dog” 0.81, “small” 0.10.` or, for a column, who attends to it. */
export function describe(picture, row, column) {
  const values = line(picture.weights, row, column);
  const others = row >= 0 ? picture.columns : picture.rows;
  const parts = largest(values, 3, 0.01).map((place) => `${spoken(others[place])} ${twoDigits(values[place])}`);
  if (row >= 0) return `${capital(spoken(picture.rows[row]))} attends to ${parts.join(", ") || "nothing"}.`;
  return `${capital(spoken(picture.columns[column]))} is attended to by ${parts.join(", ") || "nothing"}.`;
}

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

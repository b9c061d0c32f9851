/** What is seen, as sentences: for screen readers, and as the caption below the stage. */

import { largest, line } from "./matrix.js";
import { twoDigits } from "./scale.js";

/** What the numbers that are shown do not say. */
export function caveat(measure) {
  if (measure === "contributions")
    return "Contributions are weights times the size of what is read: what attention adds, not why a word was chosen.";
  return "Weights show what the model read, not why it chose a word.";
}

const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

/** In which direction a line of tokens runs: that of most of its words. */
export function directionOf(labels) {
  const words = labels.filter(({ role }) => !role);
  return words.filter(({ text }) => RIGHT_TO_LEFT.test(text)).length > words.length / 2 ? "rtl" : "ltr";
}

/** A token as a short name. */
export const plain = ({ role, text }) => ({ end: "end", start: "start" })[role] ?? text;

const BYTES = /(?:<0x[0-9A-F]{2}>)+/g;

/** The text of tokens one after the other; bytes are read as characters. */
export function textOf(tokens) {
  const decoded = (spelled) =>
    new TextDecoder().decode(Uint8Array.from(spelled.match(/[0-9A-F]{2}/g), (byte) => Number.parseInt(byte, 16)));
  const text = tokens.map(({ piece }) => piece).join("");
  return text.replace(BYTES, decoded).replaceAll("▁", " ").trim();
}

/** How a token is spoken of. */
export function spoken(label) {
  if (label.role === "end") return "the end token";
  if (label.role === "start") return "the start token";
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

/** A text that begins with a capital. */
export const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** What each target word needs: what it loses without a source word, and how well weights tell it. */

import { element, fill, follow, legend, panel, table } from "./dom.js";
import { matrix } from "./matrix.js";
import { correlation, lostByWord, shareLost } from "./measures.js";
import { createPicture } from "./picture.js";
import { twoDigits } from "./scale.js";
import { spoken } from "./sentences.js";
import { nameOf, selected, shownOf, wordsOf } from "./shown.js";

/** The view as an element; it asks for the measures while it can be seen. */
export function createInfluence(context) {
  const { store } = context;
  const picture = createPicture((row) =>
    store.set({ kind: "cross", words: 1, row: store.get("row") === row ? -1 : row, column: -1 }),
  );
  const message = element("p.reading", { role: "status" });
  const explained = element("div");
  const right = panel("What attention explains", explained);
  const left = panel(
    "Leave one word out",
    picture.root,
    legend(
      "A row is a word of the translation, a column a word of the source: the share of its probability that the word loses when the source is translated without that word, with the translation so far as it is. A source with a hole is unlike what the model was trained on.",
    ),
  );
  const root = element("div", message, element("div.pair.lost", left, right));
  const ask = async () => {
    if (!context.document.translation) return undefined;
    if (left.hidden) fill(message, "Words are being left out …");
    const found = await context.source.measures().catch((error) => ({ problem: error.message }));
    return found?.erasure ? { ...found, ...(await compared(context, found)) } : found;
  };
  follow(store, root, ["document", "theme", "kind", "layer", "head"], ask, (found) => {
    const problem = found ? found.problem : "This file does not hold these measures. A served page shows them.";
    left.hidden = right.hidden = !found?.erasure;
    fill(message, problem ?? (found.erasure ? "" : "This sentence is too long to leave out its words one by one."));
    if (found?.erasure) {
      picture.draw(lostOf(context, found));
      drawExplains(explained, found.rows);
    }
  });
  return root;
}

/** What is lost, and its rank correlation with weights and with contributions: of the shown head and of the mean. */
async function compared(context, { erasure, contributions }) {
  const { kinds, sides } = context.document;
  const lost = lostByWord(erasure, wordsOf(context, "target"));
  const places = sides.source.words.map((_, place) => place);
  const columns = places.filter((place) => !["end", "tag"].includes(sides.source.words[place].role));
  const kind = kinds.find(({ name }) => name === "cross");
  const rows = [];
  if (!kind) return { lost, columns, rows };
  const chosen = ["", "cross"].includes(context.store.get("kind")) ? selected(context, kind) : { layer: -1 };
  for (const place of [{ layer: -1, head: -1 }, ...(chosen.layer < 0 ? [] : [chosen])]) {
    for (const measure of contributions ? ["", "contributions"] : [""]) {
      const weights = await shownOf(context, kind, { ...place, measure, words: 1 });
      rows.push([`${measure || "weights"}, ${nameOf(place.layer, place.head)}`, correlation(weights, lost, columns)]);
    }
  }
  return { lost, columns, rows };
}

function lostOf({ document: { sides } }, { lost, columns }) {
  const values = new Float32Array(lost.rows * columns.length);
  for (let row = 0; row < lost.rows; row += 1)
    columns.forEach((column, place) => (values[row * columns.length + place] = shareLost(lost.at(row, column))));
  return {
    kind: { causal: false },
    rows: sides.target.words.slice(0, lost.rows),
    columns: columns.map((column) => sides.source.words[column]),
    weights: matrix(lost.rows, columns.length, values),
    hint: "Point at a cell for what is lost.",
    reading: (row, column) => `Without ${spoken(column)}, ${spoken(row)} loses`,
  };
}

function drawExplains(explained, rows) {
  if (!rows.length) return fill(explained, "This model has no attention.");
  const lines = rows.map(([name, value]) => [name, value === null ? "no order" : twoDigits(value)]);
  const meaning =
    "Rank correlation (Kendall's τ) with what is lost, the mean over the words: 1 is the same order, 0 none, −1 the reverse.";
  return fill(explained, legend(meaning), table(lines, { numbers: [1], look: "explains" }));
}

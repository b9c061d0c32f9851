/** What each target word needs: what it loses without a source word, and how much of it comes from the source at all. */

import { element, fill, onWidth } from "./dom.js";
import { matrix } from "./matrix.js";
import { correlation, lostByWord, shareLost, sourceShares } from "./measures.js";
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
  const message = element("p", { class: "reading", role: "status" });
  const explained = element("div", {});
  const explains = element(
    "div",
    { class: "explains" },
    element("h2", { class: "opened" }, "What attention explains"),
    explained,
  );
  const shares = element("table", { class: "numbers shares" });
  const left = element(
    "div",
    { class: "panel" },
    element("h2", { class: "opened" }, "Leave one word out"),
    picture.root,
    element(
      "p",
      { class: "legend" },
      "A row is a word of the translation, a column a word of the source: the share of its probability that the word loses when the source is translated without that word, with the translation so far as it is. A source with a hole is unlike what the model was trained on.",
    ),
  );
  const right = element(
    "div",
    { class: "panel" },
    explains,
    element("h2", { class: "opened" }, "From the source, or from the words before"),
    element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Shares of the source" }, shares),
    element(
      "p",
      { class: "legend" },
      "The share of each word that comes from the source through all layers (ALTI+); the rest comes from the translation so far. A word with little of the source may be invented.",
    ),
  );
  const root = element("div", {}, message, element("div", { class: "pair lost" }, left, right));
  const view = { context, root, picture, message, explains, explained, shares, parts: [left, right], asked: 0 };
  store.on(["document", "theme", "kind", "layer", "head"], () => requestAnimationFrame(() => void draw(view)));
  onWidth(root, () => void draw(view));
  return root;
}

async function draw(view) {
  const { context } = view;
  const asked = (view.asked += 1);
  if (!view.root.clientWidth || !context.document.translation) return;
  if (!view.shares.children.length) fill(view.message, "Words are being left out …");
  const found = await context.source.measures().catch((error) => ({ problem: error.message }));
  if (asked !== view.asked) return; // another one has been asked for since
  const problem = found ? found.problem : "This file does not hold these measures. A served page shows them.";
  const kind = context.document.kinds.find(({ name }) => name === "cross");
  view.parts[0].hidden = !found?.erasure;
  view.parts[1].hidden = Boolean(problem);
  view.explains.hidden = !found?.erasure; // nothing to compare with
  fill(view.message, problem ?? (found.erasure ? "" : "This sentence is too long to leave out its words one by one."));
  const { source, target } = context.document.sides;
  const columns = source.words
    .map((_, place) => place)
    .filter((place) => !["end", "tag"].includes(source.words[place].role));
  if (found?.erasure) {
    const lost = lostByWord(found.erasure, wordsOf(context, "target"));
    drawLost(view, lost, columns);
    await drawExplains(view, asked, { found, lost, columns, kind });
  }
  if (found?.shares) drawShares(view, sourceShares(found.shares.source, wordsOf(context, "target")), target.words);
  else fill(view.shares);
}

function drawLost({ context, picture }, lost, columns) {
  const { source, target } = context.document.sides;
  const values = new Float32Array(lost.rows * columns.length);
  for (let row = 0; row < lost.rows; row += 1)
    columns.forEach((column, place) => (values[row * columns.length + place] = shareLost(lost.at(row, column))));
  picture.draw({
    kind: { causal: false },
    rows: target.words.slice(0, lost.rows),
    columns: columns.map((column) => source.words[column]),
    weights: matrix(lost.rows, columns.length, values),
    hint: "Point at a cell for what is lost.",
    reading: (row, column) => `Without ${spoken(column)}, ${spoken(row)} loses`,
  });
}

/** The rank correlation of what is lost with weights and with contributions: of the shown head and of the mean. */
async function drawExplains(view, asked, { found, lost, columns, kind }) {
  const { context } = view;
  if (!kind) return fill(view.explained, "This model has no attention.");
  const chosen = selected(context, kind);
  const places =
    context.store.get("kind") && context.store.get("kind") !== "cross" ? [] : chosen.layer < 0 ? [] : [chosen];
  const rows = [];
  for (const place of [{ layer: -1, head: -1 }, ...places]) {
    for (const measure of found.contributions ? ["", "contributions"] : [""]) {
      const weights = await shownOf(context, kind, { ...place, measure, words: 1 });
      rows.push([`${measure || "weights"}, ${nameOf(place.layer, place.head)}`, correlation(weights, lost, columns)]);
    }
  }
  if (asked !== view.asked) return undefined;
  const lines = rows.map(([name, value]) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, name),
      element("td", { class: "number" }, value === null ? "no order" : twoDigits(value)),
    ),
  );
  return fill(
    view.explained,
    element(
      "p",
      { class: "legend" },
      "Rank correlation (Kendall's τ) with what is lost, the mean over the words: 1 is the same order, 0 none, −1 the reverse.",
    ),
    element("table", { class: "numbers" }, element("tbody", {}, lines)),
  );
}

function drawShares({ shares }, values, words) {
  const lines = values.map((share, place) => {
    const filled = element("span", { class: "filled", "aria-hidden": "true" });
    filled.style.width = `${(100 * share).toFixed(1)}%`;
    return element(
      "tr",
      {},
      element("th", { scope: "row" }, words[place].role === "end" ? "end" : words[place].text),
      element(
        "td",
        {},
        element("span", { class: "share" }, filled, element("span", { class: "value" }, twoDigits(share))),
      ),
    );
  });
  fill(shares, element("tbody", {}, lines));
}

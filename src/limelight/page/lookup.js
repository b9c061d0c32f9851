/** One look-up in numbers: the query, each key with its score, the softmax, the values and their sum. */

import { element, fill } from "./dom.js";
import { decode } from "./matrix.js";
import { twoDigits } from "./scale.js";
import { spoken } from "./sentences.js";
import { clearest, kindShown, nameOf, selected, titleOf } from "./shown.js";
import { strips } from "./strips.js";

/** The panel as an element, for the token of the store's step. */
export function createLookUp(context) {
  const { store } = context;
  const title = element("h2", { class: "opened" }, "One look-up in numbers"); // until it is drawn
  const heads = element("select", {
    "aria-label": "Attention, layer and head",
    change: () => {
      const [kind, layer, head] = heads.value.split("/");
      store.set({ kind, layer: Number(layer), head: Number(head) });
    },
  });
  const formula = element("p", { class: "formula" });
  const body = element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "One look-up in numbers" });
  const reading = element("p", { class: "reading" });
  const root = element("div", { class: "panel" }, title, heads, formula, body, reading);
  const view = { context, title, heads, formula, body, reading, asked: 0 };
  store.on(["document", "step", "kind", "layer", "head", "theme", "view"], () => void refresh(view));
  void refresh(view);
  return root;
}

async function refresh(view) {
  const { context } = view;
  const asked = (view.asked += 1);
  const place = placeOf(context);
  if (context.store.get("view") !== "steps") return;
  drawHeads(view, place);
  const found = place && (await context.source.lookUp(place.kind.name, place.layer, place.head, place.row));
  if (asked !== view.asked) return; // another one has been asked for since
  if (!found) {
    fill(view.title, "One look-up in numbers");
    const alone = context.source.live && !context.document.translation;
    fill(
      view.formula,
      alone
        ? "Look-ups are shown of models that translate."
        : context.source.live
          ? ""
          : "This file does not hold the numbers of this head. A served page shows those of every head.",
    );
    fill(view.body);
    fill(view.reading);
    return;
  }
  draw(view, place, found);
}

/** Every head as a choice, with its measured description. */
function drawHeads({ context, heads }, place) {
  const choice = (kind, layer, head, { text }) =>
    element("option", { value: `${kind.name}/${layer}/${head}` }, `${nameOf(layer, head)} · ${text}`);
  const group = (kind) =>
    element(
      "optgroup",
      { label: titleOf(context, kind) },
      kind.descriptions.flatMap((row, layer) => row.map((each, head) => choice(kind, layer, head, each))),
    );
  if (heads.kinds !== context.document.kinds) fill(heads, context.document.kinds.map(group));
  heads.kinds = context.document.kinds;
  heads.hidden = !place;
  if (place) heads.value = `${place.kind.name}/${place.layer}/${place.head}`;
}

/** Which look-up: of the selected head, or of the one that aligns best where none is selected. */
function placeOf(context) {
  const kind = kindShown(context);
  if (!kind) return null;
  const chosen = selected(context, kind);
  const { layer, head } = chosen.layer < 0 ? clearest(kind) : chosen;
  const rows = context.document.sides[kind.rows].tokens.length;
  const row = Math.min(
    Math.max(kind.rows === "source" ? context.store.get("row") : context.store.get("step"), 0),
    rows - 1,
  );
  return { kind, layer, head, row };
}

function draw(view, { kind, layer, head, row }, found) {
  const { sides } = view.context.document;
  const tell = (text) => fill(view.reading, text);
  const numbers = Object.fromEntries(
    Object.entries(found)
      .filter(([, value]) => value?.data !== undefined)
      .map(([name, value]) => [name, decode(value).values]),
  );
  const size = numbers.query.length;
  const additive = numbers.products === undefined;
  fill(
    view.title,
    `${spoken(sides[kind.rows].tokens[row])}: ${titleOf(view.context, kind).toLowerCase()}, ${nameOf(layer, head)}`,
  );
  fill(view.formula, found.formula, additive ? "" : `   d = ${size}`);
  const compared = additive
    ? rowsOf(numbers.mixed, sides[kind.columns].tokens.length)
    : rowsOf(numbers.keys, sides[kind.columns].tokens.length);
  const values = rowsOf(numbers.values, sides[kind.columns].tokens.length);
  const heads = [
    "",
    additive ? "tanh" : "k",
    additive ? "" : "q · k",
    found.scale === 1 ? "score" : "× 1/√d",
    "softmax",
    "v",
  ];
  const drawn = (name, vectors) =>
    element("td", { class: "column", rowspan: vectors.length }, strips(name, vectors, tell));
  const lines = sides[kind.columns].tokens.map((token, column) => {
    const hidden = !found.permitted[column];
    return element(
      "tr",
      { class: hidden ? "hidden" : null },
      element("th", { scope: "row" }, plain(token)),
      column ? null : drawn(additive ? "tanh" : "k", compared),
      element("td", { class: "number" }, additive ? "" : numbers.products[column].toFixed(2)),
      element("td", { class: "number" }, hidden ? "masked" : numbers.scores[column].toFixed(2)),
      element("td", {}, bar(numbers.weights[column])),
      column ? null : drawn("v", values),
    );
  });
  const query = element("p", { class: "vector" }, element("span", {}, "q"), strips("q", [numbers.query], tell));
  const sum = element(
    "p",
    { class: "vector" },
    element("span", {}, "Σ weight · v"),
    strips("sum", [numbers.context], tell),
  );
  fill(
    view.body,
    query,
    element(
      "table",
      { class: "numbers" },
      element(
        "thead",
        {},
        element(
          "tr",
          {},
          heads.map((name, place) =>
            name
              ? element("th", { scope: "col", class: place === 2 || place === 3 ? "number" : null }, name)
              : element("td", {}),
          ),
        ),
      ),
      element("tbody", {}, lines),
    ),
    sum,
  );
  fill(view.reading, "Point at a strip for its numbers: warm above zero, cool below.");
}

const plain = (token) => ({ end: "end", start: "start" })[token.role] ?? token.text;

function rowsOf(values, count) {
  const size = values.length / Math.max(count, 1);
  return Array.from({ length: count }, (_, row) => values.subarray(row * size, (row + 1) * size));
}

function bar(weight) {
  const filled = element("span", { class: "filled", "aria-hidden": "true" });
  filled.style.width = `${(100 * weight).toFixed(1)}%`;
  return element("span", { class: "share" }, filled, element("span", { class: "value" }, twoDigits(weight)));
}

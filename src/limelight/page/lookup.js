/** One look-up in numbers: the query, each key with its score, the softmax, the values and their sum. */

import { bar, element, fill, scroll, table } from "./dom.js";
import { decode, rowsOf } from "./matrix.js";
import { twoDigits } from "./scale.js";
import { plain, spoken } from "./sentences.js";
import { clearest, kindShown, nameOf, selected, titleOf, tokenAt } from "./shown.js";
import { strips } from "./strips.js";

/** The panel as an element, for the token of the store's step. */
export function createLookUp(context) {
  const { store } = context;
  const title = element("h2.opened", "One look-up in numbers"); // until it is drawn
  const heads = element("select", {
    "aria-label": "Attention, layer and head",
    change: () => {
      const [kind, layer, head] = heads.value.split("/");
      store.set({ kind, layer: Number(layer), head: Number(head), colors: "" });
    },
  });
  const formula = element("p.formula");
  const body = scroll("One look-up in numbers");
  const reading = element("p.reading");
  const root = element("div.panel", title, heads, formula, body, reading);
  const view = { context, title, heads, formula, body, reading, asked: 0 };
  store.on(["document", "step", "row", "words", "kind", "layer", "head", "theme", "view"], () => void refresh(view));
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
  const { store } = context;
  const wanted = kind.rows === "source" ? tokenAt(context, "source", store.get("row")) : store.get("step");
  const row = Math.min(Math.max(wanted, 0), rows - 1);
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
  const where = `${titleOf(view.context, kind).toLowerCase()}, ${nameOf(layer, head)}`;
  fill(view.title, `${spoken(sides[kind.rows].tokens[row])}: ${where}`);
  fill(view.formula, found.formula, additive ? "" : `   d = ${size}`);
  const { tokens } = sides[kind.columns];
  const [name, vectors] = additive ? ["tanh", numbers.mixed] : ["k", numbers.keys];
  // One cell for all rows; rows below the first have a hidden one: a saved table has its numbers in their columns.
  const drawn = (column, title, values) =>
    column
      ? element("td", { hidden: true })
      : element("td.column", { rowspan: tokens.length }, strips(title, rowsOf(values, tokens.length), tell));
  const lines = tokens.map((token, column) => {
    const hidden = !found.permitted[column];
    return element(
      "tr",
      { class: hidden ? "hidden" : null },
      element("th", { scope: "row" }, plain(token)),
      drawn(column, name, vectors),
      element("td.number", additive ? "" : numbers.products[column].toFixed(2)),
      element("td.number", hidden ? "masked" : numbers.scores[column].toFixed(2)),
      element("td", bar(numbers.weights[column], twoDigits(numbers.weights[column]))),
      drawn(column, "v", numbers.values),
    );
  });
  const titles = ["", name, additive ? "" : "q · k", found.scale === 1 ? "score" : "× 1/√d", "softmax", "v"];
  const shown = table([], { head: titles, numbers: [2, 3] });
  shown.lastChild.append(...lines);
  const one = (title, values) => element("p.vector", element("span", title), strips(title, [values], tell));
  fill(view.body, one("q", numbers.query), shown, one("Σ weight · v", numbers.context));
  fill(view.reading, "Point at a strip for its numbers: warm above zero, cool below.");
}

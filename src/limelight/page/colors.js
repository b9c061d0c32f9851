/** Several heads at once on the stage, each in its color. */

import { element, vector } from "./dom.js";
import { curve, strongLinks } from "./beams.js";
import { largest, line } from "./matrix.js";
import { twoDigits } from "./scale.js";
import { spoken } from "./sentences.js";
import { clearest, kindShown, nameOf, selected, shownOf } from "./shown.js";

const MOST = 6; // colors that can be told apart
const APART = 4; // pixels between lines of the same two tokens

/** The chosen heads of the kind that is shown, in the order in which they were chosen: it gives them their colors. */
export function chosenHeads({ store, ...context }) {
  const kind = kindShown({ store, ...context });
  const names = store.get("colors").split(",").filter(Boolean);
  const heads = names.map((name) => name.split(".").map(Number));
  return heads.filter(([layer, head]) => kind && layer < kind.layers && head < kind.heads).slice(0, MOST);
}

/** Begin with the open head, or the clearest one; or show one head again. */
export function switchColors(context) {
  const kind = kindShown(context);
  const open = selected(context, kind);
  const { layer, head } = open.layer < 0 ? clearest(kind) : open;
  context.store.set({ colors: context.store.get("colors") ? "" : `${layer}.${head}` });
}

/** Add a head, or leave it out. */
export function chooseHead(context, layer, head) {
  const heads = chosenHeads(context).map((each) => each.join("."));
  const name = `${layer}.${head}`;
  const others = heads.filter((each) => each !== name);
  context.store.set({ colors: (others.length < heads.length ? others : [...heads, name].slice(-MOST)).join(",") });
}

/** The chosen heads with their weights. */
export function severalOf(context) {
  const [measure, words] = ["measure", "words"].map(context.store.get);
  return Promise.all(
    chosenHeads(context).map(async ([layer, head]) => ({
      name: nameOf(layer, head),
      weights: await shownOf(context, kindShown(context), { layer, head, measure, words }),
    })),
  );
}

/** Lines of all heads side by side: of all tokens faintly, or of one row or column. */
export function coloredLines(several, { rows, columns }, { row, column, across }) {
  return several.flatMap(({ weights }, place) => {
    const aside = APART * (place - (several.length - 1) / 2);
    const moved = (box) => (across ? { ...box, y: box.y + aside } : { ...box, x: box.x + aside });
    const wanted = (link) => (row < 0 || link.row === row) && (column < 0 || link.column === column);
    const own = strongLinks(weights, row < 0 && column < 0 ? 1 : weights.columns, wanted);
    return own.map((link) =>
      vector("path", {
        class: `line head-${place}`,
        d: curve(moved(rows[link.row]), moved(columns[link.column]), across),
        "stroke-width": (0.75 + 3.5 * link.weight).toFixed(2),
        "stroke-opacity": (0.2 + 0.8 * link.weight).toFixed(3),
      }),
    );
  });
}

/** The largest weight of any head for each token. */
export function strongest(several, row, column) {
  const all = several.map(({ weights }) => line(weights, row, column));
  return all[0].map((_, place) => Math.max(...all.map((values) => values[place])));
}

/** What each head gives most weight to, as a sentence. */
export function describeHeads(several, { rows, columns }, row, column) {
  const [own, others] = row >= 0 ? [rows[row], columns] : [columns[column], rows];
  const parts = several.map(({ name, weights }) => {
    const values = line(weights, row, column);
    return `${name} ${largest(values, 1, 0.01).map((place) => `${spoken(others[place])} ${twoDigits(values[place])}`)}`;
  });
  return `Of ${spoken(own)} most is ${row >= 0 ? "on" : "from"}: ${parts.join("; ")}.`;
}

/** The names of the heads with their colors. */
export const legendOf = (several) =>
  several.map(({ name }, place) =>
    element("span", element("span", { class: `sign head head-${place}`, "aria-hidden": "true" }), ` ${name}`),
  );

/** Inside a layer: the residual stream of one token before and after each sub-layer, and what is added to it. */

import { element, fill, follow, legend, options, panel, scroll, table } from "./dom.js";
import { decode, rowsOf } from "./matrix.js";
import { twoDigits } from "./scale.js";
import { plain } from "./sentences.js";
import { hasMap } from "./shown.js";
import { strips } from "./strips.js";

const ADDS = {
  self: "self-attention",
  cross: "cross-attention",
  feed_forward: "the feed-forward network",
  ssru: "the SSRU",
  recurrent: "the recurrent layers",
};

/** The panel as an element, for the layer and the position of the store. */
export function createInside(context) {
  const { store } = context;
  const layers = element("select", { "aria-label": "Layer", change: () => store.set({ inside: layers.value }) });
  const places = element("select", { "aria-label": "Token", change: () => store.set({ place: Number(places.value) }) });
  const body = scroll("Inside a layer");
  const network = element("div");
  const reading = element("p.reading");
  const root = panel(
    "Inside a layer",
    element("div.choices", layers, places),
    body,
    reading,
    network,
    legend(
      "The stream is what the layers pass on; each sub-layer reads it and adds a vector. Cosine: 1 along the stream, 0 across it, −1 against it. Normalization sets the length again.",
    ),
  );
  const ask = async () => {
    const { document, source } = context;
    if (!hasMap(context)) return undefined;
    const map = await source.map();
    const all = map.stacks.flatMap((stack) =>
      [...new Set(stack.stages.map(({ layer }) => layer))]
        .filter((layer) => layer >= 0)
        .map((layer) => ({ stack, layer, name: `${stack.side}.${layer}` })),
    );
    const one = all.find(({ name }) => name === store.get("inside")) ?? all.at(-1);
    const { tokens } = document.sides[one.stack.rows];
    const wanted = store.get("place") < 0 ? store.get("step") : store.get("place");
    const place = Math.min(Math.max(wanted, 0), tokens.length - 1);
    const vectors = await source.inside(one.stack.side, one.layer, place);
    return { all, ...one, tokens, place, vectors };
  };
  follow(store, root, ["document", "inside", "place", "step", "theme"], ask, (found) => {
    const { all, name, tokens, place } = found;
    fill(layers, options(all.map((each) => [each.name, `${each.stack.side}, layer ${each.layer}`])));
    fill(places, options(tokens.map((token, at) => [at, `${at}: ${plain(token)}`])));
    layers.value = name;
    places.value = String(place);
    const tell = (text) => fill(reading, text);
    fill(body, linesOf(found, tell));
    fill(reading, found.vectors ? "Point at a strip for its numbers: warm above zero, cool below." : "");
    fill(network, networkOf(found.vectors));
  });
  return root;
}

/** A line for each vector that passes: its numbers as a strip, its norm, and its direction. */
function linesOf({ stack, layer, place, vectors }, tell) {
  const pre = stack.stages.at(-1).what === "norm";
  const lines = stack.stages
    .filter((stage) => stage.layer === layer)
    .flatMap((stage, at) => {
      const { shape, values } = decode(stage.norms);
      const rows = vectors ? rowsOf(decode(vectors.stages[at].vectors).values, shape[0]) : [];
      const one = (row, name, cosine = "") => {
        const strip = vectors ? strips(name, [rows[row]], tell) : null;
        return [name, strip, twoDigits(values[row * shape[1] + place]), cosine];
      };
      const what = ADDS[stage.what];
      if (shape[0] === 1) return [one(0, what)];
      const adds = one(2, `${what} adds`, twoDigits(decode(stage.cosine).values[place]));
      return [
        ...(at ? [] : [one(0, "the stream before")]),
        ...(pre ? [one(1, `normalized, read by ${what}`), adds] : [adds, one(3, "the sum")]),
        one(4, pre ? "the stream after" : "normalized: the stream after"),
      ];
    });
  return table(lines, { head: ["", "", "norm", "cosine"], numbers: [2, 3], look: "inside" });
}

/** What the feed-forward network does to the word. */
function networkOf(vectors) {
  if (!vectors?.units) return null;
  const { units, raised } = vectors;
  const listed = units.largest.filter(([, value]) => value > 0).map(([unit, value]) => `${unit}: ${value.toFixed(2)}`);
  return [
    element(
      "p",
      `${units.active} of ${units.size} units of the feed-forward network are active; the strongest: ${listed.join(", ")}.`,
    ),
    raised.length
      ? element(
          "p",
          `Of all words its result points most to ${raised.map(({ text, value }) => `“${text}” ${value.toFixed(2)}`).join(", ")} (product with the output weights).`,
        )
      : null,
  ];
}

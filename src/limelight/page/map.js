/**
 * The map: the user's own model from the tokens to the next word. A lane for each token, as thick as its vector is long;
 * a box for each stage, with what it adds.
 */

import { button, element, fill, follow, legend, panel, scroll, vector } from "./dom.js";
import { createInside } from "./inside.js";
import { decode, rowsOf } from "./matrix.js";
import { twoDigits } from "./scale.js";
import { plain } from "./sentences.js";
import { clearest, hasMap, kindShown, selected, titleOf, whatOf } from "./shown.js";
import { strips } from "./strips.js";

const HEAT = 92; // pixels of a picture of embeddings or positions
const BOX = 56; // of a stage
const GAP = 8;
const LANE = { least: 11, most: 26, all: 340 }; // of a lane; many lanes are narrower
export const NAMES = {
  embedding: "Embedding",
  positions: "Positions",
  self: "Self-attention",
  cross: "Cross-attention",
  feed_forward: "Feed-forward",
  ssru: "SSRU",
  norm: "Norm",
  recurrent: "Recurrent",
  context: "Attention",
  features: "Readout",
};
const KINDS = {
  "encoder self": "encoder_self",
  "decoder self": "decoder_self",
  "decoder cross": "cross",
  "decoder context": "cross",
};

/** The view as an element. */
export function createMap(context) {
  const { store } = context;
  const here = element("p.so-far");
  const tracks = element("div.tracks");
  const reading = element("p.reading", { "aria-live": "polite" });
  const map = panel(
    "From the tokens to the next word",
    here,
    tracks,
    reading,
    legend(
      "A lane is a token: its thickness is the square root of the norm of its vector. ",
      element("span.key.with", "adds along the lane"),
      element("span.key.against", "adds against it: cosine below 0"),
      "The number in a box is the mean norm of what it adds, or of its result.",
    ),
  );
  const root = element("div.stacked", map, createInside(context));
  const ask = () => (hasMap(context) ? context.source.map() : undefined);
  const mark = () => markHere(context, here, tracks);
  follow(store, root, ["document", "theme"], ask, (found) => {
    const tell = (text) => fill(reading, text);
    fill(tracks, ...found.stacks.map((stack) => track(context, stack, tell)));
    tell("Point at a lane for its numbers. Attention opens its heads, feed-forward and a layer what is inside.");
    mark();
  });
  store.on(["kind", "layer", "head", "step", "inside", "place"], mark);
  return root;
}

/** A stage with its norms at each position by name. */
function measured({ norms, cosine, ...stage }) {
  const { shape, values } = decode(norms);
  const names = shape[0] > 1 ? ["before", "read", "added", "sum", "after"] : ["after"];
  const rows = rowsOf(values, shape[0]);
  return {
    ...stage,
    ...Object.fromEntries(names.map((name, row) => [name, rows[row]])),
    cosine: cosine && decode(cosine).values,
  };
}

/** One stack from left to right. */
function track(context, stack, tell) {
  const { document, store } = context;
  const { tokens } = document.sides[stack.rows];
  const lane = Math.min(LANE.most, Math.max(LANE.least, LANE.all / tokens.length));
  const boxes = placed(stack);
  const [end, height] = [boxes.at(-1).x + boxes.at(-1).width + GAP, lane * tokens.length];
  const norms = boxes.flatMap(({ stage: { after, added = [] } }) => [...after, ...added]);
  const most = Math.max(...norms, 1e-9);
  const thick = (norm) => 1 + Math.sqrt(norm / most) * (lane - 4);
  const streams = tokens.map((_, place) => stream(boxes, end, place, { thick, middle: (place + 0.5) * lane }));
  const size = { width: `${end}px`, height: `${height}px` };
  const board = element(
    "div.boxes",
    { style: size },
    vector("svg", { width: end, height, "aria-hidden": "true" }, streams),
    boxes.map((box) => plate(context, stack, box, tell)),
    layersOf(store, stack.side, boxes),
  );
  board.addEventListener("pointermove", ({ clientX, clientY }) => {
    const at = board.getBoundingClientRect();
    const place = Math.min(Math.max(Math.floor((clientY - at.top) / lane), 0), tokens.length - 1);
    const box = boxes.find(({ x, width }) => clientX - at.left < x + width + GAP);
    if (box && !box.heat) tell(numbersOf(tokens[place], box.stage, place));
  });
  const style = { height: `${lane}px` };
  const choose = (place) => () =>
    store.set({ place, inside: `${stack.side}.${store.get("inside").split(".")[1] ?? 0}` });
  const names = tokens.map((token, place) =>
    button({ class: "lane", style, "data-place": place, "data-rows": stack.rows }, choose(place), plain(token)),
  );
  const norm = boxes.at(-1).stage.what === "norm" ? ", pre-norm" : ", post-norm";
  const encoder = stack.side === "encoder";
  const name = `${encoder ? "Encoder" : "Decoder"}${boxes.some(({ stage }) => stage.added) ? norm : ""}`;
  const memory = element("span.stage-name", document.translation ? "Memory, read by cross-attention" : "Features");
  const out = encoder ? memory : nextWords(context, style);
  const row = element("div.row", element("div.names", names), board, element("div.out", out));
  return element("section.track", { "aria-label": name }, element("h3", name), scroll(`${name}: boxes`, row));
}

/** The boxes of a stack with their place from left to right. */
function placed(stack) {
  let x = GAP;
  return stack.stages.map((packed, place) => {
    const stage = measured(packed);
    const heat =
      stack.heat[place] && ["embedding", "positions"].includes(stage.what) ? decode(stack.heat[place]) : null;
    const width = heat ? HEAT : BOX;
    x += stage.layer === stack.stages[place - 1]?.layer ? 0 : GAP;
    const box = { stage, heat, x, width };
    x += width + GAP;
    return box;
  });
}

/** The next words, each on the lane that says it. */
function nextWords({ document: { steps = [] }, store }, style) {
  const words = steps.map(({ chosen }) =>
    element("span.next", { style }, element("b", plain(chosen)), ` ${twoDigits(chosen.probability)}`),
  );
  return [button({ class: "stage-name" }, () => store.set({ view: "steps" }), "Next word"), ...words];
}

/** The lane of a token, and at each stage a bar for what is added. */
function stream(boxes, end, place, { thick, middle }) {
  const points = boxes.map(({ stage, x, width }) => [x + width / 2, thick(stage.after[place]) / 2]);
  points.push([end, points.at(-1)[1]]);
  const edge = (side) => points.map(([x, half]) => `${x} ${(middle + side * half).toFixed(1)}`);
  const bars = boxes.map(({ stage: { added, cosine }, heat, x, width }) => {
    if (!added || heat) return null;
    const height = thick(added[place]);
    const look = `adds ${cosine[place] < 0 ? "against" : "with"}`;
    return vector("rect", { class: look, x: x + width / 2 - 8, y: middle - height / 2, width: 16, height, rx: 3 });
  });
  const path = vector("path", { class: "stream", d: `M${[...edge(-1), ...edge(1).reverse()].join("L")}Z` });
  return vector("g", {}, path, bars);
}

/** A box; a click opens what it stands for. */
function plate({ store, document }, { side }, { stage, heat, x, width }, tell) {
  const kind = document.kinds.find(({ name }) => name === KINDS[`${side} ${stage.what}`]);
  const layer = Math.max(stage.layer, 0);
  const sizes = stage.added ?? stage.after;
  const size = twoDigits(sizes.reduce((sum, each) => sum + each, 0) / sizes.length);
  const name = NAMES[stage.what];
  const said = `${name}${stage.layer < 0 ? "" : `, layer ${layer}`}: ${stage.added ? "adds" : "norm"} ${size}`;
  const look = {
    class: `plate ${heat ? "heat" : ""}`,
    style: { left: `${x}px`, width: `${width}px` },
    title: stage.note,
  };
  const label = element("span.stage-name", name, element("small", stage.layer < 0 && stage.note ? stage.note : size));
  if (heat) return element("div", look, strips(name, rowsOf(heat.values, heat.shape[0]), tell), label);
  if (!kind && stage.layer < 0) return element("div", look, label);
  const open = kind
    ? { view: "heads", kind: kind.name, ...clearest(kind, layer), colors: "", row: -1, column: -1 }
    : { inside: `${side}.${layer}` };
  const told = { "data-stage": `${side}.${layer}.${kind?.name ?? ""}`, "aria-label": said, focus: () => tell(said) };
  return button({ ...look, ...told }, () => store.set(open), label);
}

/** Each layer by its name above its boxes; a click looks inside. */
function layersOf(store, side, boxes) {
  const numbers = [...new Set(boxes.map(({ stage }) => stage.layer))].filter((layer) => layer >= 0);
  return numbers.map((layer) => {
    const own = boxes.filter(({ stage }) => stage.layer === layer);
    const style = { left: `${own[0].x}px`, width: `${own.at(-1).x + own.at(-1).width - own[0].x}px` };
    const name = own[0].stage.note || `layer ${layer}`;
    const inside = `${side}.${layer}`;
    return button({ class: "layer", style, "data-stage": inside }, () => store.set({ inside }), name);
  });
}

function numbersOf(token, { what, layer, before, added, cosine, after }, place) {
  const at = `“${plain(token)}”, ${NAMES[what].toLowerCase()}${layer < 0 ? "" : ` of layer ${layer}`}: norm`;
  const two = (values) => twoDigits(values[place]);
  if (!added) return `${at} ${two(after)}.`;
  return `${at} ${two(before)} before, adds ${two(added)} (cosine ${two(cosine)}), ${two(after)} after.`;
}

/** You are here: the attention on the stage, the step, and the layer that is opened below. */
function markHere(context, here, tracks) {
  const { store } = context;
  const kind = kindShown(context);
  const { layer, head } = kind ? selected(context, kind) : { layer: -1, head: -1 };
  const attends = kind ? `${titleOf(context, kind).toLowerCase()}, ${whatOf(context, kind, { layer, head })}, ` : "";
  fill(here, `You are here: ${attends}step ${store.get("step")}`);
  for (const each of tracks.querySelectorAll("[data-stage]")) {
    const [side, depth, name] = each.dataset.stage.split(".");
    const open = name && name === kind?.name && (layer < 0 || layer === Number(depth));
    each.setAttribute("aria-current", String(open || (!name && store.get("inside") === `${side}.${depth}`)));
  }
  const place = store.get("place");
  for (const each of tracks.querySelectorAll("button.lane")) {
    const at = place >= 0 ? place : each.dataset.rows === "read" ? store.get("step") : -1;
    each.setAttribute("aria-pressed", String(Number(each.dataset.place) === at));
  }
}

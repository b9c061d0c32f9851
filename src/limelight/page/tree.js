/** The beam as a tree from left to right: a column for each step, and why each hypothesis went no further. */

import { element, fill, keepFocus, vector } from "./dom.js";
import { said, tokensOf } from "./hypotheses.js";

const WIDTH = 112;
const HEIGHT = 32;

/** The view as an element. */
export function createTree(context) {
  const board = element("div", { class: "tree" });
  const reason = element("p", { class: "reading", "aria-live": "polite" });
  const root = element(
    "div",
    { class: "panel" },
    element("div", { class: "bar" }, element("h2", { class: "opened" }, "The beam"), sizes(context)),
    element(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": "Hypotheses of the beam, step by step" },
      board,
    ),
    reason,
    states(),
  );
  context.store.on(["document"], () => draw(context, board, reason));
  draw(context, board, reason);
  return root;
}

function draw(context, board, reason) {
  const { beam } = context.document;
  if (!beam) {
    fill(board);
    fill(reason, "There was no search: the translation was given.");
    return;
  }
  const places = laidOut(beam.nodes);
  const best = bestPath(beam.nodes);
  const columns = Math.max(...beam.nodes.map((node) => node.step)) + 2;
  const rows = Math.max(...[...places.values()].map(({ rank }) => rank)) + 1;
  const [width, height] = [columns * WIDTH, rows * HEIGHT + 8];
  board.style.width = `${width}px`;
  board.style.height = `${height}px`;
  const edges = beam.nodes
    .filter((node) => node.parent !== null)
    .map((node) => edge(places.get(node.parent), places.get(node.id), node, best.has(node.id)));
  const nodes = beam.nodes.map((node) =>
    button(context, beam.nodes, node, places.get(node.id), { best: best.has(node.id), reason }),
  );
  keepFocus(board, () =>
    fill(
      board,
      vector("svg", { class: "edges", viewBox: `0 0 ${width} ${height}`, width, height, "aria-hidden": "true" }, edges),
      nodes,
    ),
  );
  fill(reason, `Up to ${beam.beam_size} hypotheses go on at each step. Point at one for what became of it.`);
}

/** Column and row of each node: within a step the more probable stand higher. */
function laidOut(nodes) {
  const places = new Map();
  const filled = new Map();
  for (const node of [...nodes].sort((one, other) => other.log_probability - one.log_probability)) {
    const rank = filled.get(node.step) ?? 0;
    filled.set(node.step, rank + 1);
    places.set(node.id, { x: (node.step + 1) * WIDTH, y: rank * HEIGHT + HEIGHT / 2 + 4, rank });
  }
  return places;
}

/** The nodes of the translation, from the start to its last one. */
function bestPath(nodes) {
  const path = new Set();
  const known = new Map(nodes.map((node) => [node.id, node]));
  for (let node = nodes.find((each) => each.best); node; node = known.get(node.parent)) path.add(node.id);
  return path;
}

function edge(from, to, node, best) {
  const [x, y] = [from.x + 24, to.x]; // from below the node: its right edge depends on its text
  const middle = from.x + WIDTH - 24;
  return vector("path", {
    class: `edge ${node.state} ${best ? "best" : ""}`,
    d: `M${x} ${from.y}C${middle} ${from.y} ${middle} ${to.y} ${y} ${to.y}`,
    "stroke-width": (0.8 + 5 * node.probability).toFixed(2),
  });
}

function button(context, nodes, node, { x, y }, { best, reason }) {
  const text = node.role === "start" ? "start" : node.role === "end" ? "end" : `${node.begins ? "" : "‑"}${node.text}`;
  const sure =
    node.role === "start"
      ? ""
      : ` · probability ${node.probability.toFixed(3)} · sum ${node.log_probability.toFixed(2)}`;
  const became = node.state === "continued" ? "" : `${node.state}: `;
  const tell = () => fill(reason, `“${said(nodes, node)}”${sure}. ${became}${node.reason ?? ""}`);
  const again = context.source.live && node.role === undefined;
  const go = () => again && context.ask({ prefix: tokensOf(nodes, node) });
  const made = element(
    "button",
    {
      type: "button",
      class: `node ${node.state} ${best ? "best" : ""}`,
      "data-key": tokensOf(nodes, node).join("."),
      "aria-label": `${text}, ${node.state}${best ? ", in the translation" : ""}`,
      pointerenter: tell,
      focus: tell,
      click: go,
    },
    text,
  );
  made.style.left = `${x}px`;
  made.style.top = `${y}px`;
  return made;
}

/** How many hypotheses the search follows: another number asks for another translation. */
function sizes({ store, source, document: shown }) {
  if (!source.live) return null;
  const sizes = element(
    "select",
    { "aria-label": "Beam size", change: () => store.set({ beam: Number(sizes.value) }) },
    [...new Set([1, 2, 4, 8, 16, shown.beam?.beam_size ?? 4])]
      .sort((one, other) => one - other)
      .map((size) => element("option", { value: size }, `beam size ${size}`)),
  );
  sizes.value = String(shown.beam?.beam_size ?? store.get("beam"));
  return sizes;
}

function states() {
  const names = {
    best: "the translation",
    continued: "went on",
    ended: "ended",
    outscored: "outscored: others of its step were more probable",
    pruned: "pruned: too far below the best",
    stopped: "stopped: active at the end of the search",
  };
  return element(
    "p",
    { class: "legend" },
    Object.entries(names).map(([state, name]) => element("span", { class: `key ${state}` }, name)),
    element("span", {}, "‑ marks a token inside a word."),
  );
}

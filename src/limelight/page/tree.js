/** The beam as a tree from left to right: a column for each step, and why each hypothesis went no further. */

import { button, element, fill, follow, keepFocus, options, scroll, vector } from "./dom.js";
import { said, tokensOf } from "./hypotheses.js";

const WIDTH = 128;
const HEIGHT = 32;
const EDGE = 104; // of a column its edges take, at the left of its nodes

/** The view as an element. */
export function createTree(context) {
  const board = element("div.tree");
  const reason = element("p.reading", { "aria-live": "polite" });
  const size = sizes(context);
  const root = element(
    "div.panel",
    element("div.bar", element("h2.opened", "The beam"), size),
    scroll("Hypotheses of the beam, step by step", board),
    reason,
    states(),
  );
  follow(
    context.store,
    root,
    ["document"],
    () => context.document,
    () => {
      draw(context, board, reason);
      if (size && context.document.beam) choose(size, context.document.beam.beam_size);
    },
  );
  return root;
}

function draw(context, board, reason) {
  const { beam } = context.document;
  if (!beam) {
    fill(board);
    fill(reason, "There was no search: the translation was given.");
    return;
  }
  const heights = laidOut(beam.nodes);
  const best = bestPath(beam.nodes);
  const columns = Array.from({ length: Math.max(...beam.nodes.map(({ step }) => step)) + 2 }, () => []);
  for (const node of beam.nodes) columns[node.step + 1].push(node);
  const height = Math.max(...heights.values()) + HEIGHT / 2 + 4;
  board.style.width = `${columns.length * WIDTH}px`;
  board.style.height = `${height}px`;
  const drawn = columns.map((nodes, place) => {
    const edges = nodes
      .filter((node) => node.parent !== null)
      .map((node) => edge(heights.get(node.parent), heights.get(node.id), node, best.has(node.id)));
    const buttons = nodes.map((node) =>
      hypothesis(context, beam.nodes, node, heights.get(node.id), { best: best.has(node.id), reason }),
    );
    const size = { width: EDGE + WIDTH, height };
    const column = element("div.step", vector("svg", { ...size, "aria-hidden": "true" }, edges), buttons);
    column.style.left = `${place * WIDTH - EDGE}px`;
    column.style.zIndex = columns.length - place; // its nodes are above the edges that leave them
    return column;
  });
  keepFocus(board, () => fill(board, drawn));
  const more = board.offsetWidth > board.parentElement.clientWidth ? " Scroll sideways for later steps." : "";
  fill(reason, `Up to ${beam.beam_size} hypotheses go on at each step. Point at one for what became of it.${more}`);
}

/** How far down each node is: within a step the more probable stand higher. */
function laidOut(nodes) {
  const heights = new Map();
  const filled = new Map();
  for (const node of [...nodes].sort((one, other) => other.log_probability - one.log_probability)) {
    const rank = filled.get(node.step) ?? 0;
    filled.set(node.step, rank + 1);
    heights.set(node.id, (rank + 0.5) * HEIGHT + 4);
  }
  return heights;
}

/** The nodes of the translation, from the start to its last one. */
function bestPath(nodes) {
  const path = new Set();
  for (let node = nodes.find((each) => each.best); node; node = nodes[node.parent]) path.add(node.id);
  return path;
}

/** The line to a node from the one before; it begins below that one, whose right edge depends on its text. */
function edge(from, to, node, best) {
  const middle = EDGE - 24;
  return vector("path", {
    class: `edge ${node.state} ${best ? "best" : ""}`,
    d: `M0 ${from}C${middle} ${from} ${middle} ${to} ${EDGE} ${to}`,
    "stroke-width": (0.8 + 5 * node.probability).toFixed(2),
  });
}

function hypothesis(context, nodes, node, y, { best, reason }) {
  const text = node.role ? `${node.role} token` : `${node.begins ? "" : "‑"}${node.text}`;
  const sure =
    node.role === "start"
      ? ""
      : ` · probability ${node.probability.toFixed(3)} · sum ${node.log_probability.toFixed(2)}`;
  const became = node.state === "continued" ? "" : `${node.state}: `;
  const tell = () => fill(reason, `“${said(nodes, node)}”${sure}. ${became}${node.reason ?? ""}`);
  const again = context.source.live && node.role === undefined;
  const go = () => again && context.ask({ prefix: tokensOf(nodes, node) });
  const made = button(
    {
      class: `node ${node.state} ${best ? "best" : ""}`,
      "data-key": tokensOf(nodes, node).join("."),
      "aria-label": `${text}, ${node.state}${best ? ", in the translation" : ""}`,
      pointerenter: tell,
      focus: tell,
    },
    go,
    text,
  );
  made.style.top = `${y}px`;
  return made;
}

/** How many hypotheses the search follows: another number asks for another translation. */
function sizes({ store, source, document: shown }) {
  if (!source.live) return null;
  const change = () => store.set({ beam: Number(made.value) });
  const made = element("select", { "aria-label": "Beam size", change });
  choose(made, shown.beam?.beam_size ?? store.get("beam"));
  return made;
}

/** Usual sizes, and the one that there is. */
function choose(select, size) {
  const sizes = [...new Set([1, 2, 4, 8, 16, size || 4])].sort((one, other) => one - other);
  fill(select, options(sizes.map((each) => [each, `beam size ${each}`])));
  select.value = String(size || 4);
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
    "p.legend",
    Object.entries(names).map(([state, name]) => element("span", { class: `key ${state}` }, name)),
    element("span", "‑ marks a token inside a word."),
  );
}

/** Every head as a small picture. They are drawn a few at a time, so that nothing waits for them, and kept. */

import { element } from "./dom.js";
import { decode } from "./matrix.js";
import { colors, paint } from "./scale.js";

const A_FRAME = 8; // pictures that are drawn before the browser may show something again

/** `canvases(kind)`: a canvas for each head of a kind of the document, layer by layer. */
export function createThumbnails(context) {
  let kept = new Map();
  let waiting = [];
  let frame = 0;
  const draw = () => {
    for (const paintOne of waiting.splice(0, A_FRAME)) paintOne();
    frame = waiting.length ? requestAnimationFrame(draw) : 0;
  };
  const forget = () => {
    kept = new Map();
    waiting = [];
  };
  context.store.on(["document", "theme"], forget);
  return (kind) => {
    const there = kept.get(kind.name);
    if (there) return there;
    const made = prepared(context, kind);
    kept.set(
      kind.name,
      made.map(({ canvas }) => canvas),
    );
    waiting = [...made.map(({ paintOne }) => paintOne), ...waiting]; // what is looked at comes first
    frame ||= requestAnimationFrame(draw);
    return kept.get(kind.name);
  };
}

function prepared(context, kind) {
  const { shape, values } = decode(kind.thumbnails);
  const [layers, heads, rows, columns] = shape;
  const palette = colors();
  const scale = context.document.sides[kind.rows].tokens.length / rows;
  // A block is masked where its first column comes after its last row.
  const hidden = (row, column) => kind.causal && Math.floor(column * scale) > Math.floor((row + 1) * scale) - 1;
  return Array.from({ length: layers * heads }, (_, place) => {
    const canvas = element("canvas", { width: columns, height: rows, "aria-hidden": "true" });
    const first = place * rows * columns;
    const level = (row, column) => (hidden(row, column) ? null : values[first + row * columns + column]);
    const paintOne = () => {
      paint(canvas.getContext("2d", { willReadFrequently: true }), rows, columns, level, palette);
      canvas.dataset.drawn = "";
    };
    return { canvas, paintOne };
  });
}

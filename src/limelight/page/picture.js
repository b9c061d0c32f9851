/** One matrix of weights on a canvas, with labels, a cross-hair and the numbers under it. */

import { element, fill } from "./dom.js";
import { colors, paint, twoDigits } from "./scale.js";
import { plain, spoken } from "./sentences.js";

const LABELS = [13, 11, 9]; // pixels of a letter: the largest that fits its cell
const MIN_CELL = 7;
const LABELED = 80; // columns: a matrix of more has no labels, one of fewer may be wider than the page
const MAX_CELL = 40;

/** A canvas that draws `picture` (see `shown`); `chosen(row)` is called when a row is clicked. */
export function createPicture(chosen) {
  const canvas = element("canvas", { role: "img", tabindex: 0, "aria-label": "Matrix of weights, not drawn yet" });
  const cross = element("canvas.cross", { "aria-hidden": "true" });
  const reading = element("p.reading", { "aria-live": "polite" });
  const frame = element("div.frame", canvas, cross);
  const root = element("div.picture", frame, reading);
  const view = { canvas, cross, reading, frame, picture: null, plan: null, cell: null };
  canvas.addEventListener("pointermove", (event) => look(view, cellAt(view, event)));
  canvas.addEventListener("pointerleave", () => look(view, null));
  canvas.addEventListener("click", (event) => {
    const cell = cellAt(view, event);
    if (cell) chosen(cell.row);
  });
  canvas.addEventListener("keydown", (event) => walk(view, event, chosen));
  return { root, draw: (picture) => draw(view, picture) };
}

const drawn = new WeakMap();

/** What a canvas of `createPicture` shows. */
export const pictureOf = (canvas) => drawn.get(canvas);

function draw(view, picture) {
  view.picture = picture;
  drawn.set(view.canvas, picture);
  const { rows, columns } = picture;
  const room = Math.max(view.frame.clientWidth, 240);
  const plan = planned(rows, columns, room);
  view.plan = plan;
  const ratio = globalThis.devicePixelRatio || 1;
  for (const canvas of [view.canvas, view.cross]) {
    canvas.width = Math.round(plan.width * ratio);
    canvas.height = Math.round(plan.height * ratio);
    canvas.style.width = `${plan.width}px`;
    canvas.style.height = `${plan.height}px`;
    canvas.getContext("2d").setTransform(ratio, 0, 0, ratio, 0, 0);
  }
  const context = view.canvas.getContext("2d");
  const style = getComputedStyle(document.documentElement);
  cells(context, plan, picture);
  if (plan.cell > 9) lines(context, plan, picture, style);
  write(context, plan, picture, style);
  view.canvas.setAttribute(
    "aria-label",
    `Matrix of ${rows.length} rows and ${columns.length} columns; arrows move, Enter pins a row`,
  );
  look(view, null);
}

/** A pixel for each weight, made as large as a cell. */
function cells(context, plan, { weights, kind }) {
  const small = element("canvas", { width: weights.columns, height: weights.rows });
  const hidden = (row, column) => kind.causal && column > row;
  const level = (row, column) =>
    hidden(row, column) ? null : Math.round(Math.min(Math.max(weights.at(row, column), 0), 1) * 255);
  paint(small.getContext("2d"), weights.rows, weights.columns, level, colors());
  context.imageSmoothingEnabled = false;
  context.drawImage(small, plan.left, plan.top, plan.cell * weights.columns, plan.cell * weights.rows);
}

/** Gaps between large cells, and hatching where they are masked. */
function lines(context, plan, { weights, kind }, style) {
  context.fillStyle = style.getPropertyValue("--panel");
  for (let row = 1; row <= weights.rows; row += 1)
    context.fillRect(plan.left, plan.top + row * plan.cell - 1, plan.cell * weights.columns, 1);
  for (let column = 1; column <= weights.columns; column += 1)
    context.fillRect(plan.left + column * plan.cell - 1, plan.top, 1, plan.cell * weights.rows);
  if (!kind.causal) return;
  const color = style.getPropertyValue("--hatch");
  for (let row = 0; row < weights.rows; row += 1) {
    for (let column = row + 1; column < weights.columns; column += 1)
      hatch(context, plan.left + column * plan.cell, plan.top + row * plan.cell, plan.cell - 1, color);
  }
}

/** How large a cell is, and where the matrix begins: labels at its left and above it. */
function planned(rows, columns, room) {
  const longest = (labels) => Math.min(Math.max(...labels.map((label) => shortName(label).length), 3), 14);
  const plan = (font, least = MIN_CELL) => {
    const [left, top] = [rows, columns].map((labels) => (font ? Math.round(longest(labels) * font * 0.68) + 10 : 4));
    const cell = Math.max(least, Math.min(MAX_CELL, Math.floor((room - left - 4) / columns.length)));
    return { font, left, top, cell, width: left + cell * columns.length, height: top + cell * rows.length };
  };
  const fits = LABELS.map((font) => plan(font)).find(({ font, cell }) => cell >= font - 1);
  const small = LABELS.at(-1);
  return fits ?? (columns.length > LABELED ? plan(0) : plan(small, small));
}

function write(context, plan, { rows, columns }, style) {
  if (!plan.font) return;
  context.fillStyle = style.getPropertyValue("--text");
  context.font = `${plan.font}px ${style.getPropertyValue("--sans")}`;
  context.textBaseline = "middle";
  context.textAlign = "right";
  rows.forEach((label, row) => context.fillText(shortName(label), plan.left - 8, plan.top + (row + 0.5) * plan.cell));
  context.textAlign = "left";
  columns.forEach((label, column) => {
    context.save();
    context.translate(plan.left + (column + 0.5) * plan.cell, plan.top - 8);
    context.rotate(-Math.PI / 2);
    context.fillText(shortName(label), 0, 0);
    context.restore();
  });
}

/** A masked cell is hatched: it is not a weight of zero. */
function hatch(context, x, y, size, color) {
  context.strokeStyle = color;
  context.lineWidth = 1;
  context.beginPath();
  for (let from = 4; from < 2 * size; from += 5) {
    context.moveTo(x + Math.max(0, from - size), y + Math.min(from, size));
    context.lineTo(x + Math.min(from, size), y + Math.max(0, from - size));
  }
  context.stroke();
}

function look(view, cell) {
  const { picture, plan, reading, cross } = view;
  if (!plan) return undefined; // not drawn yet
  view.cell = cell;
  const context = cross.getContext("2d");
  context.clearRect(0, 0, plan.width, plan.height);
  if (!cell) {
    const more = plan.width > view.frame.clientWidth ? " Scroll sideways for the rest." : "";
    return fill(reading, `${picture.hint ?? "Each row sums to one. Point at a cell for its weight."}${more}`);
  }
  context.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue("--accent");
  context.lineWidth = 1.5;
  const { left, top, cell: size } = plan;
  context.strokeRect(left - 0.5, top + cell.row * size - 0.5, size * picture.columns.length, size);
  context.strokeRect(left + cell.column * size - 0.5, top - 0.5, size, size * picture.rows.length);
  const [row, column] = [picture.rows[cell.row], picture.columns[cell.column]];
  if (picture.reading)
    return fill(reading, `${picture.reading(row, column)} ${twoDigits(picture.weights.at(cell.row, cell.column))}.`);
  const pair = `${spoken(row)} to ${spoken(column)}`;
  const hidden = picture.kind.causal && cell.column > cell.row;
  return fill(
    reading,
    hidden ? `${pair}: masked, it comes later` : `${pair}: ${twoDigits(picture.weights.at(cell.row, cell.column))}`,
  );
}

function cellAt({ canvas, plan, picture }, event) {
  if (!plan) return null;
  const box = canvas.getBoundingClientRect();
  const column = Math.floor((event.clientX - box.left - plan.left) / plan.cell);
  const row = Math.floor((event.clientY - box.top - plan.top) / plan.cell);
  return row >= 0 && column >= 0 && row < picture.rows.length && column < picture.columns.length
    ? { row, column }
    : null;
}

function walk(view, event, chosen) {
  if (!view.plan || event.altKey || event.ctrlKey || event.metaKey) return;
  const moves = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
  if (event.key === "Enter" && view.cell) chosen(view.cell.row);
  const move = moves[event.key];
  if (!move) return;
  event.preventDefault();
  const { rows, columns } = view.picture;
  const from = view.cell ?? { row: 0, column: -move[1] };
  look(view, {
    row: Math.min(Math.max(from.row + move[0], 0), rows.length - 1),
    column: Math.min(Math.max(from.column + move[1], 0), columns.length - 1),
  });
}

function shortName(label) {
  const text = plain(label);
  return text.length > 14 ? `${text.slice(0, 13)}…` : text;
}

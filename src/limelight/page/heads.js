/** Every head as a thumbnail with its measured description; the chosen one, or the mean, as a matrix. */

import { element, fill, rove } from "./dom.js";
import { decode } from "./matrix.js";
import { createPicture } from "./picture.js";
import { colors, paint } from "./scale.js";
import { isOff, toggled } from "./question.js";
import { kindShown, nameOf, selected, shown, titleOf } from "./shown.js";

/** The view as an element. */
export function createHeads(context) {
  const { store } = context;
  const kinds = element("div", { class: "choices", role: "group", "aria-label": "Kind of attention" });
  const grid = element("div", { class: "grid" });
  const title = element("h2", { class: "opened" });
  const mean = element("button", { type: "button", class: "quiet", click: () => store.set({ layer: -1, head: -1 }) }, "Mean of all");
  const picture = createPicture((row) => store.set({ row: store.get("row") === row ? -1 : row, column: -1, step: row }));
  const opened = element("div", { class: "panel" }, element("div", { class: "bar" }, title, mean), picture.root, legend());
  const root = element("div", { class: "heads" }, element("div", { class: "panel" }, kinds, grid), opened);
  const view = { context, kinds, grid, title, mean, picture };
  grid.addEventListener("keydown", (event) => {
    if (event.key === "x" && document.activeElement.dataset.place) flip(context, document.activeElement.dataset.place);
    else rove([...grid.querySelectorAll("button")], event, kindShown(context).heads);
  });
  store.on(["document", "kind", "theme"], () => drawGrid(view));
  store.on(["document", "kind", "layer", "head", "words", "theme"], () => void open(view));
  new ResizeObserver(() => void open(view)).observe(opened);
  drawGrid(view);
  return root;
}

function drawGrid(view) {
  const { context, grid, kinds } = view;
  const kind = kindShown(context);
  fill(kinds, context.document.kinds.map((each) => kindButton(context, each, each === kind)));
  if (!kind) return fill(grid);
  const { shape, values } = decode(kind.thumbnails);
  const palette = colors();
  grid.style.setProperty("--heads", kind.heads);
  const cells = [element("span", { class: "corner" })];
  for (let head = 0; head < kind.heads; head += 1) cells.push(element("span", { class: "axis" }, `head ${head}`));
  for (let layer = 0; layer < kind.layers; layer += 1) {
    cells.push(element("span", { class: "axis" }, `layer ${layer}`));
    for (let head = 0; head < kind.heads; head += 1) {
      cells.push(thumbnail(context, kind, { layer, head }, { shape, values, palette }));
    }
  }
  fill(grid, cells);
  return markOpened(view);
}

function kindButton(context, kind, pressed) {
  const choose = () => context.store.set({ kind: kind.name, layer: -1, head: -1, row: -1, column: -1 });
  return element("button", { type: "button", "aria-pressed": String(pressed), click: choose }, titleOf(context, kind));
}

function thumbnail(context, kind, { layer, head }, { shape, values, palette }) {
  const [, heads, rows, columns] = shape;
  const canvas = element("canvas", { width: columns, height: rows, "aria-hidden": "true" });
  const first = (layer * heads + head) * rows * columns;
  const scale = { rows: context.document.sides[kind.rows].tokens.length / rows };
  // A block is masked where its first column comes after its last row.
  const hidden = (row, column) => kind.causal && Math.ceil(column * scale.rows) > Math.floor((row + 1) * scale.rows) - 1;
  const level = (row, column) => (hidden(row, column) ? null : values[first + row * columns + column]);
  paint(canvas.getContext("2d"), rows, columns, level, palette);
  const described = kind.descriptions[layer][head];
  const off = isOff(context.document, kind.name, layer, head);
  return element(
    "button",
    {
      type: "button",
      class: `thumbnail ${described.role} ${off ? "off" : ""}`,
      tabindex: layer + head === 0 ? 0 : -1,
      "aria-label": `${nameOf(layer, head)}: ${described.text}${off ? ", switched off" : ""}`,
      "data-place": `${layer}/${head}`,
      click: () => context.store.set({ layer, head }),
    },
    canvas,
    element("span", { class: "says" }, off ? "off" : described.text),
  );
}

/** Switch the head that has the focus off, or on again. */
function flip(context, place) {
  if (!context.source.live) return;
  const [layer, head] = place.split("/").map(Number);
  context.ask({ off: toggled(context.document, kindShown(context).name, layer, head) });
}

async function open(view) {
  const picture = await shown(view.context);
  if (!picture || !view.picture.root.isConnected) return;
  const { kind, layer, head } = picture;
  const described = layer < 0 ? "" : ` · ${kind.descriptions[layer][head].text}`;
  fill(view.title, `${nameOf(layer, head)}${described}`);
  view.mean.disabled = layer < 0;
  view.picture.draw(picture);
  markOpened(view);
}

function markOpened({ context, grid }) {
  const kind = kindShown(context);
  const { layer, head } = kind ? selected(context, kind) : { layer: -1, head: -1 };
  for (const button of grid.querySelectorAll("button")) {
    const chosen = button.dataset.place === `${layer}/${head}`;
    button.setAttribute("aria-pressed", String(chosen));
  }
}

function legend() {
  return element(
    "p",
    { class: "legend" },
    element("span", {}, "0"),
    element("span", { class: "ramp", "aria-hidden": "true" }),
    element("span", {}, "1"),
    element("span", { class: "swatch", "aria-hidden": "true" }),
    element("span", {}, "masked"),
  );
}

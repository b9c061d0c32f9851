/** Every head as a thumbnail with its measured description; the chosen one, or the mean, as a matrix. */

import { element, fill, keepFocus, rove } from "./dom.js";
import { createOpened } from "./opened.js";
import { isOff, toggled } from "./question.js";
import { kindShown, nameOf, selected, titleOf, usualOf } from "./shown.js";
import { createThumbnails } from "./thumbnails.js";

/** The view as an element. */
export function createHeads(context) {
  const { store } = context;
  const kinds = element("div", { class: "choices", role: "group", "aria-label": "Kind of attention" });
  const grid = element("div", { class: "grid" });
  const two = element("p", { class: "legend" });
  const root = element(
    "div",
    { class: "heads" },
    element("div", { class: "panel" }, kinds, grid, two),
    createOpened(context),
  );
  const view = { context, kinds, grid, two, canvases: createThumbnails(context) };
  grid.addEventListener("keydown", (event) => {
    if (event.key === "x" && document.activeElement.dataset.place) flip(context, document.activeElement.dataset.place);
    else rove([...grid.querySelectorAll("button")], event, kindShown(context).heads);
  });
  store.on(["document", "kind", "theme"], () => drawGrid(view));
  store.on(["layer", "head"], () => markOpened(view));
  drawGrid(view);
  return root;
}

function drawGrid(view) {
  const { context, grid } = view;
  const kind = kindShown(context);
  drawKinds(view, kind);
  if (!kind) return fill(grid);
  const { corpus } = context.document;
  fill(view.two, corpus ? `Upper line: this sentence. Lower line: the mean over ${corpus.sentences} sentences.` : "");
  const canvases = view.canvases(kind);
  grid.style.setProperty("--heads", kind.heads);
  const cells = [element("span", { class: "corner" })];
  for (let head = 0; head < kind.heads; head += 1) cells.push(element("span", { class: "axis" }, `head ${head}`));
  for (let layer = 0; layer < kind.layers; layer += 1) {
    cells.push(element("span", { class: "axis" }, `layer ${layer}`));
    for (let head = 0; head < kind.heads; head += 1) {
      cells.push(thumbnail(context, kind, { layer, head }, canvases[layer * kind.heads + head]));
    }
  }
  keepFocus(grid, () => fill(grid, cells));
  return markOpened(view);
}

/** The buttons stay as they are while the kinds do: one of them may have the focus. */
function drawKinds({ context, kinds }, shown) {
  const there = context.document.kinds;
  if ([...kinds.children].map((each) => each.dataset.kind).join() !== there.map((kind) => kind.name).join()) {
    const choose = (kind) => context.store.set({ kind, layer: -1, head: -1, row: -1, column: -1 });
    fill(
      kinds,
      there.map(({ name }) => element("button", { type: "button", "data-kind": name, click: () => choose(name) })),
    );
  }
  there.forEach((kind, place) => {
    fill(kinds.children[place], titleOf(context, kind));
    kinds.children[place].setAttribute("aria-pressed", String(kind === shown));
  });
}

function thumbnail(context, kind, { layer, head }, canvas) {
  const described = kind.descriptions[layer][head];
  const usual = usualOf(context, kind, { layer, head });
  const off = isOff(context.document, kind.name, layer, head);
  return element(
    "button",
    {
      type: "button",
      class: `thumbnail ${described.role} ${off ? "off" : ""}`,
      tabindex: layer + head === 0 ? 0 : -1,
      "aria-label": `${nameOf(layer, head)}: ${described.text}${off ? ", switched off" : ""}${usual ? `; ${usual.text} over the corpus` : ""}`,
      title: usual ? `This sentence: ${described.text}. Corpus: ${usual.text}.` : described.text,
      "data-place": `${layer}/${head}`,
      "data-key": `${layer}/${head}`,
      click: () => context.store.set({ layer, head }),
    },
    canvas,
    element("span", { class: "says" }, off ? "off" : described.text),
    usual ? element("span", { class: "says usual" }, usual.text.replace(/ ±.*/, "")) : null,
  );
}

/** Switch the head that has the focus off, or on again. */
function flip(context, place) {
  if (!context.source.live) return;
  const [layer, head] = place.split("/").map(Number);
  context.ask({ off: toggled(context.document, kindShown(context).name, layer, head) });
}

function markOpened({ context, grid }) {
  const kind = kindShown(context);
  const { layer, head } = kind ? selected(context, kind) : { layer: -1, head: -1 };
  for (const button of grid.querySelectorAll("button")) {
    const chosen = button.dataset.place === `${layer}/${head}`;
    button.setAttribute("aria-pressed", String(chosen));
  }
}

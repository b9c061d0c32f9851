/** Every head as a thumbnail with its measured description; the chosen one, or the mean, as a matrix. */

import { button, element, fill, keepFocus, quiet, rove } from "./dom.js";
import { chooseHead, chosenHeads, switchColors } from "./colors.js";
import { createOpened } from "./opened.js";
import { isOff } from "./question.js";
import { kindShown, nameOf, selected, titleOf, usualOf } from "./shown.js";
import { createThumbnails } from "./thumbnails.js";

/** The view as an element. */
export function createHeads(context) {
  const { store } = context;
  const kinds = element("div.choices", { role: "group", "aria-label": "Kind of attention" });
  const grid = element("div.grid");
  const two = element("p.legend");
  const several = quiet("", () => switchColors(context));
  const root = element(
    "div.heads",
    element("div.panel", element("div.bar", kinds, several), grid, two),
    createOpened(context),
  );
  const view = { context, kinds, grid, two, several, canvases: createThumbnails(context) };
  grid.addEventListener("keydown", (event) => {
    rove([...grid.querySelectorAll("button")], event, kindShown(context).heads);
  });
  store.on(["document", "kind", "theme"], () => drawGrid(view));
  store.on(["layer", "head", "colors"], () => markOpened(view));
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
  const cells = [element("span.corner")];
  for (let head = 0; head < kind.heads; head += 1) cells.push(element("span.axis", `head ${head}`));
  for (let layer = 0; layer < kind.layers; layer += 1) {
    cells.push(element("span.axis", `layer ${layer}`));
    for (let head = 0; head < kind.heads; head += 1) {
      cells.push(thumbnail(context, kind, { layer, head }, canvases[layer * kind.heads + head]));
    }
  }
  keepFocus(grid, () => fill(grid, cells));
  return markOpened(view);
}

function drawKinds({ context, kinds }, shown) {
  const choose = (kind) => context.store.set({ kind, layer: -1, head: -1, row: -1, column: -1, colors: "" });
  const one = (kind) =>
    button(
      { "data-key": kind.name, "data-kind": kind.name, "aria-pressed": String(kind === shown) },
      () => choose(kind.name),
      titleOf(context, kind),
    );
  keepFocus(kinds, () => fill(kinds, context.document.kinds.map(one)));
}

function thumbnail(context, kind, { layer, head }, canvas) {
  const described = kind.descriptions[layer][head];
  const usual = usualOf(context, kind, { layer, head });
  const off = isOff(context.document, kind.name, layer, head);
  return button(
    {
      class: `thumbnail ${described.role} ${off ? "off" : ""}`,
      tabindex: layer + head === 0 ? 0 : -1,
      "aria-label": `${nameOf(layer, head)}: ${described.text}${off ? ", switched off" : ""}${usual ? `; ${usual.text} over the corpus` : ""}`,
      title: usual ? `This sentence: ${described.text}. Corpus: ${usual.text}.` : described.text,
      "data-place": `${layer}/${head}`,
      "data-key": `${layer}/${head}`,
    },
    () => {
      if (context.store.get("colors")) chooseHead(context, layer, head);
      context.store.set({ layer, head });
    },
    canvas,
    element("span.says", off ? "off" : described.text),
    usual ? element("span.says.usual", usual.text.replace(/ ±.*/, "")) : null,
  );
}

function markOpened({ context, grid, several }) {
  const chosen = chosenHeads(context).map((each) => each.join("/"));
  fill(several, chosen.length ? "One head" : "Several in colors");
  several.title = chosen.length ? "" : "Choose up to six heads; each has its color on the stage";
  several.hidden = !kindShown(context);
  const kind = kindShown(context);
  const { layer, head } = kind ? selected(context, kind) : { layer: -1, head: -1 };
  for (const button of grid.querySelectorAll("button")) {
    const { place } = button.dataset;
    const color = chosen.indexOf(place);
    button.setAttribute("aria-pressed", String(chosen.length ? color >= 0 : place === `${layer}/${head}`));
    button.className = button.className.replace(/ head-\d|$/, color < 0 ? "" : ` head-${color}`);
  }
}

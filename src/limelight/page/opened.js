/** What is opened: the chosen head, or the mean, as a matrix with its description. */

import { element, fill, onWidth } from "./dom.js";
import { createPicture } from "./picture.js";
import { shown, usualOf, whatOf } from "./shown.js";

/** The panel as an element; it draws while it can be seen. */
export function createOpened(context) {
  const { store } = context;
  const title = element("h2", { class: "opened" }, "Attention"); // until it is drawn
  const mean = element(
    "button",
    { type: "button", class: "quiet", click: () => store.set({ layer: -1, head: -1 }) },
    "Mean of all",
  );
  const usual = element("p", { class: "corpus" });
  const picture = createPicture((row) =>
    store.set({ row: store.get("row") === row ? -1 : row, column: -1, step: row }),
  );
  const root = element(
    "div",
    { class: "panel" },
    element("div", { class: "bar" }, title, mean),
    usual,
    picture.root,
    legend(),
  );
  const view = { context, root, title, usual, mean, picture, asked: 0 };
  // The stage comes first: this waits for the next frame.
  store.on(["document", "kind", "layer", "head", "words", "measure", "theme"], () =>
    requestAnimationFrame(() => void draw(view)),
  );
  onWidth(root, () => void draw(view));
  return root;
}

async function draw(view) {
  const asked = (view.asked += 1);
  if (!view.root.clientWidth) return;
  const picture = await shown(view.context);
  if (!picture || asked !== view.asked) return; // another one has been asked for since
  const { kind, layer, head } = picture;
  const described = layer < 0 ? "" : ` · ${kind.descriptions[layer][head].text}`;
  const usual = usualOf(view.context, kind, { layer, head });
  fill(view.usual, usual ? `Over ${view.context.document.corpus.sentences} sentences: ${usual.text}` : "");
  fill(view.title, `${whatOf(view.context, kind, { layer, head })}${described}`);
  view.mean.disabled = layer < 0;
  view.picture.draw(picture);
}

/** The scale of all weights. */
export function legend() {
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

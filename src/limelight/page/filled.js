/** What may stand at each mask: guesses with their probabilities; one that is chosen takes the place of its mask. */

import { element, fill } from "./dom.js";

const MASK = "[MASK]";

/** The view as an element. */
export function createFilled(context) {
  const text = element("p", { class: "sentence" });
  const masks = element("div", { class: "masks" });
  const root = element(
    "div",
    { class: "panel" },
    element("h2", { class: "opened" }, "What may stand at each mask"),
    text,
    masks,
  );
  const draw = () => {
    const { filled } = context.document;
    if (!filled) return;
    fill(text, filled.text);
    fill(
      masks,
      filled.masks.map((guesses, place) => column(context, guesses, place)),
    );
  };
  context.store.on(["document"], draw);
  draw();
  return root;
}

function column(context, guesses, place) {
  const list = guesses.map((guess) => element("li", {}, candidate(context, guess, place)));
  return element("div", {}, element("h3", {}, `Mask ${place + 1}`), element("ol", { class: "candidates" }, list));
}

function candidate(context, { text, probability }, place) {
  const filled = element("span", { class: "filled", "aria-hidden": "true" });
  filled.style.width = `${(100 * probability).toFixed(2)}%`;
  const inside = [
    element("span", { class: "name" }, text),
    element("span", { class: "share" }, filled, element("span", { class: "value" }, probability.toFixed(3))),
  ];
  if (!context.source.live) return element("span", { class: "candidate" }, inside);
  const put = () => context.store.set({ text: replaced(context.store.get("text"), place, text) });
  return element("button", { type: "button", class: "candidate", click: put }, inside);
}

/** The text with a word in place of one of its masks. */
export function replaced(text, place, word) {
  const parts = text.split(MASK);
  return parts.map((part, each) => part + (each === parts.length - 1 ? "" : each === place ? word : MASK)).join("");
}

/** What may stand at each mask: guesses with their probabilities; one that is chosen takes the place of its mask. */

import { element, fill, panel } from "./dom.js";
import { candidate } from "./steps.js";

const MASK = "[MASK]";

/** The view as an element. */
export function createFilled(context) {
  const text = element("p.sentence");
  const masks = element("div.masks");
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
  return panel("What may stand at each mask", text, masks);
}

function column({ store, source }, guesses, place) {
  const put = (text) => () => store.set({ text: replaced(store.get("text"), place, text) });
  const list = guesses.map(({ text, probability }) =>
    element("li", candidate(text, probability, source.live ? put(text) : null)),
  );
  return element("div", element("h3", `Mask ${place + 1}`), element("ol.candidates", list));
}

/** The text with a word in place of one of its masks. */
export function replaced(text, place, word) {
  const parts = text.split(MASK);
  return parts.map((part, each) => part + (each === parts.length - 1 ? "" : each === place ? word : MASK)).join("");
}

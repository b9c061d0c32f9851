/** How the translation comes about: at each step the candidates with their probabilities, and one look-up. */

import { element, fill, keepFocus } from "./dom.js";
import { createLookUp } from "./lookup.js";
import { kindShown, wordsOf } from "./shown.js";

/** The view as an element. */
export function createSteps(context) {
  const { store } = context;
  const slider = element("input", {
    type: "range",
    min: 0,
    step: 1,
    "aria-label": "Step",
    input: () => walk(context, Number(slider.value)),
  });
  const so_far = element("p", { class: "so-far" });
  const list = element("ol", { class: "candidates" });
  const note = element("p", { class: "legend" });
  const own = ownWords(context, () => context.document.translation.ids.slice(0, store.get("step")));
  const left = element(
    "div",
    { class: "panel" },
    element("h2", { class: "opened" }, "What could come next"),
    slider,
    so_far,
    list,
    note,
    own,
  );
  const view = { context, slider, so_far, list, note, own };
  store.on(["document", "step"], () => draw(view));
  draw(view);
  return element("div", { class: "pair" }, left, createLookUp(context));
}

/** A field for words that are not among the candidates; the translation has them after the tokens of `begin()`. */
export function ownWords(context, begin) {
  const words = element("input", {
    type: "text",
    class: "edited",
    maxlength: 500,
    spellcheck: "false",
    dir: "auto",
    "aria-label": "Words to force",
    placeholder: "Your own words",
  });
  const force = (event) => {
    event.preventDefault();
    if (words.value.trim()) context.ask({ prefix: begin(), forced: words.value.trim() });
    words.value = "";
  };
  const button = element("button", { type: "submit", class: "quiet" }, "Force");
  return element("form", { class: "own-words", submit: force }, words, button);
}

/** Go to a step; the stage shows the token of it. */
export function walk(context, step) {
  const kind = kindShown(context);
  const row =
    kind && kind.rows !== "source" ? (context.store.get("words") ? wordsOf(context, kind.rows)[step] : step) : -1;
  context.store.set({ step, row: row ?? -1, column: -1 });
}

function draw({ context, slider, so_far, list, note, own }) {
  const { steps = [], sides } = context.document;
  if (!steps.length) return;
  const step = Math.min(context.store.get("step"), steps.length - 1);
  slider.max = String(steps.length - 1);
  slider.value = String(step);
  const { chosen, rank, candidates } = steps[step];
  const name = chosen.role === "end" ? "the end" : `“${chosen.text}”`;
  slider.setAttribute("aria-valuetext", `Step ${step} of ${steps.length - 1}: ${name}`);
  const before = sides.target.tokens
    .slice(0, step)
    .map((token) => (token.piece.startsWith("▁") ? " " : "") + token.text);
  fill(
    so_far,
    before.join("").trim() || "At the beginning:",
    " ",
    element("strong", {}, chosen.role === "end" ? "∎" : chosen.text),
  );
  const shown = candidates.some((each) => each.id === chosen.id) ? candidates : [...candidates, chosen];
  keepFocus(list, () =>
    fill(
      list,
      shown.map((each) => element("li", {}, candidate(context, step, each, each.id === chosen.id))),
    ),
  );
  const searched = Boolean(context.document.translation); // nothing is forced in a text that is read
  own.hidden = !context.source.live || !searched;
  const forced = step < (context.document.translation?.prefix.length ?? 0);
  const why = forced ? "; it was forced" : searched ? "; the beam chose it for the sentence as a whole" : "";
  const place = rank ? `${rank} others were more probable here${why}.` : "It was the most probable.";
  const parts = shown.some((each) => each.role !== "end" && !each.begins) ? " ‑ marks a token inside a word." : "";
  fill(note, `${place}${context.source.live && searched ? " Choose another one to force it." : ""}${parts}`);
}

function candidate(context, step, each, chosen) {
  const text = each.role === "end" ? "the end" : `${each.begins ? "" : "‑"}${each.text}`;
  const filled = element("span", { class: "filled", "aria-hidden": "true" });
  filled.style.width = `${(100 * each.probability).toFixed(2)}%`;
  const inside = [
    element("span", { class: "name" }, text),
    element("span", { class: "share" }, filled, element("span", { class: "value" }, each.probability.toFixed(3))),
  ];
  const state = { class: `candidate ${chosen ? "chosen" : ""}` };
  if (!context.source.live || !context.document.translation || each.role === "end")
    return element("span", state, inside);
  const force = () => context.ask({ prefix: [...context.document.translation.ids.slice(0, step), each.id] });
  return element(
    "button",
    { ...state, type: "button", "data-key": each.id, "aria-pressed": String(chosen), click: force },
    inside,
  );
}

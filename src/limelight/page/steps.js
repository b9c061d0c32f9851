/** How the translation comes about: at each step the candidates with their probabilities, and one look-up. */

import { bar, button, element, field, fill, keepFocus, panel, slider } from "./dom.js";
import { createLookUp } from "./lookup.js";
import { CUTS, createSampling, cut } from "./sampling.js";
import { textOf } from "./sentences.js";
import { kindShown, wordsOf } from "./shown.js";

/** The view as an element. */
export function createSteps(context) {
  const { store } = context;
  const place = slider("Step", (step) => walk(context, step));
  const so_far = element("p.so-far");
  const list = element("ol.candidates");
  const note = element("p.legend");
  const own = ownWords(context);
  const sampling = createSampling(context);
  const view = { context, place, so_far, list, note, own, sampling, asked: 0 };
  store.on(["document", "step", ...CUTS], () => void refresh(view));
  draw(view, null);
  void refresh(view);
  return element(
    "div.pair",
    panel("What could come next", place, so_far, list, note, own, sampling),
    createLookUp(context),
  );
}

/** A field for words that are not among the candidates. */
function ownWords(context) {
  const words = field("Words to force", { placeholder: "Your own words" });
  const submit = (event) => {
    event.preventDefault();
    const prefix = context.document.translation.ids.slice(0, context.store.get("step"));
    if (words.value.trim()) context.ask({ prefix, forced: words.value.trim() });
    words.value = "";
  };
  const force = element("button", { type: "submit", class: "quiet" }, "Force");
  return element("form.own-words", { submit }, words, force);
}

/** Go to a step; the stage shows the token of it. */
export function walk(context, step) {
  const kind = kindShown(context);
  const row =
    kind && kind.rows !== "source" ? (context.store.get("words") ? wordsOf(context, kind.rows)[step] : step) : -1;
  context.store.set({ step, row: row ?? -1, column: -1 });
}

async function refresh(view) {
  const { context } = view;
  const asked = (view.asked += 1);
  const { steps, translation } = context.document;
  const left =
    context.source.live && translation ? cut(context, Math.min(context.store.get("step"), steps.length - 1)) : null;
  if (!left) return draw(view, null);
  const found = await left;
  return asked === view.asked ? draw(view, found) : undefined;
}

/** The candidates of the step; with `left`, what may be drawn, its probabilities. */
function draw({ context, place, so_far, list, note, own, sampling }, left) {
  const { steps = [], sides, translation } = context.document;
  if (!steps.length) return;
  const step = Math.min(context.store.get("step"), steps.length - 1);
  place.max = String(steps.length - 1);
  place.value = String(step);
  const { chosen, rank, candidates } = steps[step];
  const name = chosen.role === "end" ? "the end token" : `“${chosen.text}”`;
  place.setAttribute("aria-valuetext", `Step ${step} of ${steps.length - 1}: ${name}`);
  const before = textOf(sides.target.tokens.slice(0, step));
  const now = element("strong", chosen.role === "end" ? "∎" : chosen.text);
  fill(so_far, before || "At the beginning:", " ", now);
  const shown = candidates.some((each) => each.id === chosen.id) ? candidates : [...candidates, chosen];
  const force = (id) => () => context.ask({ prefix: [...translation.ids.slice(0, step), id] });
  const one = ({ id, role, begins, text, probability }) => {
    const can = context.source.live && translation && role !== "end";
    const said = role === "end" ? "the end token" : `${begins ? "" : "‑"}${text}`;
    return candidate(said, left ? (left.get(id) ?? 0) : probability, can ? force(id) : null, {
      chosen: id === chosen.id,
      key: id,
    });
  };
  keepFocus(list, () =>
    fill(
      list,
      shown.map((each) => element("li", one(each))),
    ),
  );
  own.hidden = sampling.hidden = !context.source.live || !translation; // nothing is forced in a text that is read
  const forced = step < (translation?.prefix.length ?? 0);
  const why = forced ? "; it was forced" : translation ? "; the beam chose it for the sentence as a whole" : "";
  const ranked = rank ? `${rank} others were more probable here${why}.` : "It was the most probable.";
  const parts = shown.some((each) => each.role !== "end" && !each.begins) ? " ‑ marks a token inside a word." : "";
  const cuts = left ? `${left.size.toLocaleString("en")} tokens may be drawn. ` : "";
  fill(note, `${cuts}${ranked}${own.hidden ? "" : " Choose another one to force it."}${parts}`);
}

/** A word that may come, with its probability; `choose` makes it a button. */
export function candidate(name, probability, choose, { chosen = false, key } = {}) {
  const inside = [element("span.name", name), bar(probability, probability.toFixed(3))];
  const state = { class: `candidate ${chosen ? "chosen" : ""}` };
  return choose
    ? button({ ...state, "data-key": key, "aria-pressed": String(chosen) }, choose, inside)
    : element("span", state, inside);
}

/** Drawing the next word: what temperature, top-k and top-p leave of its distribution, and a token of it. */

import { element, fill, legend, quiet, slider } from "./dom.js";
import { QUESTION } from "./store.js";

const KNOBS = [
  { key: "heat", name: "Temperature", min: 10, max: 200, step: 10, said: (value) => (value / 100).toFixed(1) },
  { key: "top_k", name: "Top-k", min: 0, max: 50, step: 1, said: (value) => (value ? String(value) : "all") },
  { key: "top_p", name: "Top-p", min: 5, max: 100, step: 5, said: (value) => (value / 100).toFixed(2) },
];

const orders = new WeakMap();

/** The ids of all tokens, the most probable first; sorted once for the same distribution. */
function orderOf(values) {
  if (!orders.has(values))
    orders.set(
      values,
      [...values.keys()].sort((one, other) => values[other] - values[one]),
    );
  return orders.get(values);
}

/**
 * From log-probabilities the tokens that may be drawn, the most probable first, as a map from id to probability: divided
 * by the temperature, then the k most probable (among equal ones the lower ids), then as few as reach p. As `decoding/sampling.py`.
 */
export function permitted(values, { heat, top_k: k, top_p: p }) {
  const order = orderOf(values);
  const most = values[order[0]];
  const kept = new Map();
  let sum = 0;
  for (const id of k ? order.slice(0, k) : order) {
    const weight = Math.exp((100 * (values[id] - most)) / heat);
    kept.set(id, weight);
    sum += weight;
  }
  let before = 0;
  for (const [id, weight] of kept) {
    if (before >= (p / 100) * sum && p < 100) kept.delete(id);
    else before += weight;
  }
  for (const [id, weight] of kept) kept.set(id, weight / before);
  return kept;
}

/** A token of the map, by a number from 0 to 1. */
export function drawn(probabilities, uniform) {
  let sum = 0;
  for (const [id, probability] of probabilities) {
    sum += probability;
    if (sum > uniform) return id;
  }
  return probabilities.keys().next().value;
}

/** The names of the store that change it. */
export const CUTS = KNOBS.map(({ key }) => key);

/** What may be drawn at a step of the document. */
async function now({ store, source }, step) {
  const cuts = Object.fromEntries(CUTS.map((key) => [key, store.get(key)]));
  return permitted(await source.distribution(step), cuts);
}

/** What may be drawn where the sliders say so; null while they leave the distribution as it is. */
export const cut = (context, step) =>
  CUTS.some((key) => context.store.get(key) !== { heat: 100, top_k: 0, top_p: 100 }[key]) ? now(context, step) : null;

/** The sliders, and the button that draws a token and goes on from it. */
export function createSampling(context) {
  const { store } = context;
  const told = element("p.reading", { role: "status" });
  const knobs = KNOBS.map(({ key, name, said, ...range }) => {
    const text = element("span");
    const knob = slider(name, (value) => store.set({ [key]: value }), range);
    const show = () => {
      knob.value = String(store.get(key));
      knob.setAttribute("aria-valuetext", said(store.get(key)));
      fill(text, `${name} ${said(store.get(key))}`);
    };
    store.on([key], show);
    show();
    return element("label", text, knob);
  });
  const go = async () => {
    const { translation, steps } = context.document;
    const step = Math.min(store.get("step"), steps.length - 1);
    const asked = JSON.stringify(QUESTION.map(store.get));
    const probabilities = await now(context, step);
    if (asked !== JSON.stringify(QUESTION.map(store.get))) return undefined; // another question has been asked since
    const id = drawn(probabilities, Math.random());
    const probability = probabilities.get(id);
    const share = probability < 0.01 ? probability.toPrecision(1) : probability.toFixed(2);
    if (id === steps.at(-1).chosen.id)
      return fill(told, `Drawn: the end token (${share}). The translation may end here.`);
    fill(told, `Drawn with probability ${share}: it is forced, and the next step is open.`);
    const prefix = [...translation.ids.slice(0, step), id].join(".");
    return store.set({ prefix, forced: "", step: step + 1, row: -1 });
  };
  return element(
    "div.sampling",
    element("div.knobs", knobs),
    quiet("Draw the next word", () => void go()),
    told,
    legend("A token is drawn from what the sliders leave, and the translation goes on from it."),
  );
}

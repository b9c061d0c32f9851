/** One sentence over training: a slider over the snapshots of the run, beside the curve of its validations. */

import { createCurve } from "./curve.js";
import { element, fill } from "./dom.js";
import { createOpened } from "./opened.js";
import { remembered } from "./server.js";
import { saidBy } from "./shown.js";

const PAUSE = 500; // milliseconds that a snapshot is shown while they play

/** The view as an element. Which snapshot is shown is in the store, so all views show it. */
export function createTraining(context) {
  const { store } = context;
  const slider = element("input", {
    type: "range",
    min: 0,
    step: 1,
    "aria-label": "Snapshot",
    input: () => go(Number(slider.value)),
  });
  const place = element("p", { class: "so-far" });
  const text = element("p", { class: "sentence", "aria-live": "polite" });
  const hold = element("input", {
    type: "checkbox",
    id: "hold",
    change: () => store.set({ hold: hold.checked ? 1 : 0 }),
  });
  const held = element("label", { class: "check", for: "hold" }, hold, "Read the final translation at each snapshot");
  const play = element("button", { type: "button", class: "quiet", click: () => toggle() });
  const curve = createCurve((update) => go(nearest(stops(), update)));
  const bar = element("div", { class: "bar" }, element("h2", { class: "opened" }, "Over training"), play);
  const panel = element(
    "div",
    { class: "panel" },
    bar,
    curve.root,
    slider,
    place,
    text,
    context.source.live ? held : null,
  );
  const view = { told: { updates: [], curve: [] }, timer: null };

  const stops = () => [...view.told.updates, 0]; // 0 is the model that is served
  const index = () => Math.max(stops().indexOf(store.get("snapshot")), 0);
  const go = (to) => store.set({ snapshot: stops()[to], row: -1, column: -1 });
  const stop = () => {
    clearTimeout(view.timer);
    view.timer = null;
    draw();
  };
  const toggle = () => {
    if (view.timer) return stop();
    view.timer = setTimeout(() => {}, 0);
    return go(store.get("snapshot") === 0 ? 0 : index());
  };
  /** When what was asked for is there, the next one after a moment. */
  const next = () => {
    if (!view.timer) return;
    clearTimeout(view.timer);
    if (store.get("snapshot") === 0) return stop();
    view.timer = setTimeout(() => go(index() + 1), PAUSE);
  };
  const draw = () => {
    const update = store.get("snapshot");
    slider.max = String(stops().length - 1);
    slider.value = String(index());
    const name = update ? `after ${update.toLocaleString("en")} updates` : "the model that is served";
    slider.setAttribute("aria-valuetext", name);
    fill(place, capital(name), measured(view.told.curve, update));
    fill(text, saidBy(context.document));
    fill(play, view.timer ? "Stop" : "Play");
    hold.checked = store.get("hold") === 1;
    curve.draw(view.told.curve, view.told.updates, update);
  };
  const load = async () => {
    const found = await snapshotsOf(context).catch(() => null);
    if (found) view.told = found;
    draw();
  };
  store.on(["models", "model"], () => void load());
  store.on(["snapshot", "hold", "theme"], draw);
  store.on(["document"], () => {
    draw();
    next();
  });
  store.on(["text", "view"], () => view.timer && stop());
  void load();
  return element("div", { class: "pair" }, panel, createOpened(context));
}

/** Whether there are snapshots to show. */
export function hasSnapshots({ store, source, models, base }) {
  if (!source.live) return Boolean(base.training?.updates.length);
  return Boolean(models.find(({ name }) => name === store.get("model"))?.snapshots);
}

async function snapshotsOf(context) {
  if (!context.source.live) return context.base.training;
  return hasSnapshots(context) ? remembered("page/snapshots", { model: context.store.get("model") }) : null;
}

/** A page without a server has the document of each snapshot in itself. */
export function followSnapshots(context) {
  const show = () => context.show(context.base.training?.documents[context.store.get("snapshot")] ?? context.base);
  context.store.on(["snapshot"], show);
  if (context.store.get("snapshot")) show();
}

/** What was measured at the validation that is next to an update. */
function measured(curve, update) {
  if (!curve.length || !update) return "";
  const {
    update: at,
    loss,
    bleu,
  } = curve[
    nearest(
      curve.map((each) => each.update),
      update,
    )
  ];
  const figures = [
    loss === undefined ? "" : `loss ${loss.toFixed(2)}`,
    bleu === undefined ? "" : `BLEU ${bleu.toFixed(1)}`,
  ];
  return ` · ${figures.filter(Boolean).join(", ")}${at === update ? "" : ` (measured at ${at.toLocaleString("en")})`}`;
}

function nearest(updates, update) {
  let best = 0;
  updates.forEach((each, place) => {
    if (Math.abs(each - update) < Math.abs(updates[best] - update)) best = place;
  });
  return best;
}

const capital = (name) => name.charAt(0).toUpperCase() + name.slice(1);

/** One sentence over training: a slider over the snapshots of the run, beside the curve of its validations. */

import { createCurve } from "./curve.js";
import { element, fill, panel, slider } from "./dom.js";
import { createOpened } from "./opened.js";
import { capital } from "./sentences.js";
import { remembered } from "./server.js";
import { saidBy } from "./shown.js";

/** The view as an element. Which snapshot is shown is in the store, so all views show it. */
export function createTraining(context) {
  const { store } = context;
  const at = slider("Snapshot", (to) => go(to));
  const place = element("p.so-far");
  const text = element("p.sentence", { "aria-live": "polite" });
  const keep = () => store.set({ hold: hold.checked ? 1 : 0 });
  const hold = element("input", { type: "checkbox", id: "hold", change: keep });
  const held = element("label.check", { for: "hold" }, hold, "Read the final translation at each snapshot");
  const curve = createCurve((update) => go(nearest(told.updates, update)));
  const left = panel("Over training", curve.root, at, place, text, context.source.live ? held : null);
  let told = { updates: [], curve: [] };

  const stops = () => [...told.updates, 0]; // 0 is the model that is served
  const index = () => Math.max(stops().indexOf(store.get("snapshot")), 0);
  const go = (to) => store.set({ snapshot: stops()[to], row: -1, column: -1 });
  const draw = () => {
    const update = store.get("snapshot");
    at.max = String(stops().length - 1);
    at.value = String(index());
    const name = update ? `after ${update.toLocaleString("en")} updates` : "the model that is served";
    at.setAttribute("aria-valuetext", name);
    fill(place, capital(name), measured(told.curve, update));
    fill(text, saidBy(context.document));
    hold.checked = store.get("hold") === 1;
    curve.draw(told.curve, told.updates, update);
  };
  const load = async () => {
    const model = store.get("model");
    const found = await snapshotsOf(context).catch(() => null);
    if (model !== store.get("model")) return; // another one has been chosen since
    if (found) told = found;
    draw();
  };
  store.on(["models", "model"], () => void load());
  store.on(["snapshot", "hold", "theme", "document"], draw);
  void load();
  return element("div.pair", left, createOpened(context));
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
  const { base, store } = context;
  const show = () => {
    const found = base.training?.documents[store.get("snapshot")];
    if (base.training && !found) store.set({ snapshot: 0 }); // it does not hold all of a long run
    context.show(found ?? base);
  };
  store.on(["snapshot"], show);
  if (store.get("snapshot")) show();
}

/** What was measured at the validation that is next to an update. */
function measured(curve, update) {
  if (!curve.length || !update) return "";
  const updates = curve.map((each) => each.update);
  const { update: at, loss, bleu } = curve[nearest(updates, update)];
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

/** The page starts here: the document, the store, the stage and its views. */

import { element, fill } from "./dom.js";
import { createStore, followAddress, readAddress } from "./store.js";
import { writeOff } from "./question.js";
import { embeddedSource } from "./sources.js";
import { serverSource } from "./server.js";
import { followQuestion } from "./asking.js";
import { createHeader, followTheme } from "./header.js";
import { createTranslate } from "./translate.js";
import { createStage } from "./stage.js";
import { hasContributions } from "./shown.js";
import { createTabs } from "./tabs.js";
import { createHeads } from "./heads.js";
import { createSteps } from "./steps.js";
import { createTree } from "./tree.js";
import { createWhatIf } from "./whatif.js";
import { createTour } from "./tour.js";
import { comparable, createModels } from "./models.js";
import { createInfluence } from "./influence.js";
import { createMap } from "./map.js";
import { createLayers } from "./layers.js";
import { createSimilar } from "./similar.js";
import { createTraining, followSnapshots, hasSnapshots } from "./training.js";
import { createFilled } from "./filled.js";

const NOBODY = { text: "", tokens: [], words: [] };
const EMPTY = { model: "", unit: "piece", sides: { source: NOBODY, target: NOBODY, read: NOBODY }, kinds: [] };

function start() {
  const embedded = document.getElementById("document");
  const base = embedded ? JSON.parse(embedded.textContent) : EMPTY;
  const store = createStore({ ...readAddress(base.state ?? ""), ...readAddress(location.hash) });
  const context = { store, base, document: base, baseline: null, models: [], grown: "" };
  let shown = 0;
  /** Put another document in place of this one. */
  context.show = (next) => {
    context.document = next;
    store.set({ document: (shown += 1) });
  };
  /** Ask for another translation: with a forced beginning, or with heads switched off. */
  context.ask = ({ prefix, forced = "", off }) =>
    store.set({
      ...(prefix ? { prefix: prefix.join("."), forced } : {}),
      ...(off ? { off: writeOff(off) } : {}),
    });
  /** Text that is still coming. */
  context.grow = (text) => {
    context.grown = text;
    store.set({ grown: (shown += 1) });
  };
  context.sourceOf = embedded ? embeddedSource : serverSource;
  context.source = context.sourceOf(() => context.document);
  followAddress(store);
  followTheme(store);
  build(context);
}

function build(context) {
  const { live } = context.source;
  const translate = live ? createTranslate(context) : null;
  const stage = createStage(context);
  const held = (name) => Boolean(context.document[name] ?? (live && context.document.translation));
  const tabs = createTabs(context, {
    map: { title: "Map", make: createMap, there: () => held("map") },
    heads: { title: "Heads", make: createHeads, there: () => context.document.kinds.length > 0 },
    steps: { title: "Steps", make: createSteps, there: () => Boolean(context.document.steps?.length) },
    beam: { title: "Beam", make: createTree, there: () => Boolean(context.document.beam) },
    influence: { title: "Influence", make: createInfluence, there: () => held("measures") },
    layers: { title: "Layers", make: createLayers, there: () => held("layers") && hasContributions(context) },
    similar: { title: "Similar", make: createSimilar, there: () => live && held("translation") },
    filled: { title: "Fill in", make: createFilled, there: () => Boolean(context.document.filled) },
    models: {
      title: "Models",
      make: createModels,
      there: () => held("translation") && comparable(context).length > 1,
    },
    training: { title: "Training", make: createTraining, there: () => hasSnapshots(context) },
    whatif: { title: "What if", make: createWhatIf, there: () => live && held("translation") },
  });
  const main = element("main", translate?.root, element("div.front", stage, createTour(context)), tabs);
  fill(document.getElementById("page"), createHeader(context, stage), main);
  if (!live) followSnapshots(context);
  /** Whether an answer is on its way, for screen readers too. */
  context.busy = (busy) => main.setAttribute("aria-busy", String(busy));
  context.busy(live);
  if (live) context.again = followQuestion(context, translate.tell);
}

start();

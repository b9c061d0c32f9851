/** The page starts here: the document, the store, the stage and its views. */

import { element, fill } from "./dom.js";
import { createStore, followAddress, readAddress } from "./store.js";
import { writeOff, writeTemperature } from "./question.js";
import { embeddedSource } from "./sources.js";
import { followQuestion, serverSource } from "./server.js";
import { createHeader, followTheme } from "./header.js";
import { createTranslate } from "./translate.js";
import { createStage } from "./stage.js";
import { createTabs } from "./tabs.js";
import { createHeads } from "./heads.js";
import { createSteps } from "./steps.js";
import { createTree } from "./tree.js";
import { createWhatIf } from "./whatif.js";
import { createTour } from "./tour.js";

const NOBODY = { text: "", tokens: [], words: [] };
const EMPTY = { model: "", unit: "piece", sides: { source: NOBODY, target: NOBODY, read: NOBODY }, kinds: [] };

function start() {
  const store = createStore(readAddress(location.hash));
  const embedded = document.getElementById("document");
  const context = { store, document: embedded ? JSON.parse(embedded.textContent) : EMPTY, baseline: null };
  let shown = 0;
  /** Put another document in place of this one. */
  context.show = (next) => {
    context.document = next;
    store.set({ document: (shown += 1) });
  };
  /** Ask for another translation: with a forced beginning, or with heads switched off or sharpened. */
  context.ask = ({ prefix, off, temperature }) =>
    store.set({
      ...(prefix ? { prefix: prefix.join(".") } : {}),
      ...(off ? { off: writeOff(off) } : {}),
      ...(temperature ? { temperature: writeTemperature(temperature) } : {}),
    });
  context.source = embedded ? embeddedSource(() => context.document) : serverSource(context);
  followAddress(store);
  followTheme(store);
  build(context);
}

function build(context) {
  const { live } = context.source;
  const translate = live ? createTranslate(context) : null;
  const { root: stage, stage: parts } = createStage(context);
  const tabs = createTabs(context, {
    heads: { title: "Heads", root: createHeads(context), there: () => context.document.kinds.length > 0 },
    steps: { title: "Steps", root: createSteps(context), there: () => Boolean(context.document.steps?.length) },
    beam: { title: "Beam", root: createTree(context), there: () => Boolean(context.document.beam) },
    whatif: { title: "What if", root: createWhatIf(context), there: () => live && Boolean(context.document.translation) },
  });
  const main = element("main", {}, translate?.root, element("div", { class: "front" }, stage, createTour(context)), tabs);
  fill(document.getElementById("page"), createHeader(context, parts), main);
  if (live) context.again = followQuestion(context, translate.tell);
}

start();

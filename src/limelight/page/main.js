/** The page starts here: the document, the store, the stage and its views. */

import { element, fill } from "./dom.js";
import { createStore, followAddress, readAddress } from "./store.js";
import { embeddedSource } from "./sources.js";
import { createHeader, followTheme } from "./header.js";
import { createStage } from "./stage.js";
import { createHeads } from "./heads.js";

function start() {
  const store = createStore(readAddress(location.hash));
  const embedded = document.getElementById("document");
  const context = { store, document: JSON.parse(embedded.textContent), source: null };
  context.source = embeddedSource(() => context.document);
  followAddress(store);
  followTheme(store);
  const { root: stage, stage: parts } = createStage(context);
  const main = element("main", {}, stage, element("section", { "aria-label": "Heads" }, createHeads(context)));
  fill(document.getElementById("page"), createHeader(context, parts), main);
}

start();

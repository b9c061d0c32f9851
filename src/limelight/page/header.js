/** The head of the page: its name, the model, words or subwords, theme, and what can be taken along. */

import { element, fill } from "./dom.js";
import { exportMenu } from "./export.js";

/** The header as an element; `stage` is what the picture of the stage is made of. */
export function createHeader(context, stage) {
  const { store } = context;
  const model = element("span", { class: "model" });
  const words = element("button", { type: "button", class: "quiet", click: () => store.set({ words: store.get("words") ? 0 : 1, row: -1, column: -1 }) });
  const theme = element("button", { type: "button", class: "quiet", click: () => store.set({ theme: other(themeOf(store)) }) });
  const show = () => {
    const name = context.document.model.split("/").filter(Boolean).pop() ?? "";
    const { snapshot } = store.all();
    fill(model, name, snapshot ? element("strong", {}, ` · update ${snapshot.toLocaleString("en")}`) : null);
    model.title = context.document.model;
    words.hidden = context.document.unit === "word";
    fill(words, store.get("words") ? "Show subwords" : "Show words");
    fill(theme, themeOf(store) === "dark" ? "Light theme" : "Dark theme");
  };
  store.on(["document", "words"], show);
  const tour = element("button", { type: "button", class: "quiet", click: () => store.set({ tour: 1 }) }, "Tour");
  const mark = element("h1", { class: "mark" }, element("span", { class: "lamp", "aria-hidden": "true" }), "Limelight");
  const tools = element("div", { class: "tools" }, tour, words, theme, exportMenu(context, stage));
  show();
  store.on(["theme"], show);
  return element("header", { class: "top" }, mark, model, tools);
}

/** Set the theme now and at each change; first of all, so that whoever draws has its colors. */
export function followTheme(store) {
  const apply = () => {
    document.documentElement.dataset.theme = themeOf(store);
  };
  store.on(["theme"], apply);
  apply();
}

function themeOf(store) {
  return store.get("theme") || document.documentElement.dataset.theme || "dark";
}

const other = (theme) => (theme === "dark" ? "light" : "dark");

/** The head of the page: its name, the model, words or subwords, theme, and what can be taken along. */

import { element, fill, quiet } from "./dom.js";
import { exportMenu } from "./export.js";
import { hasContributions } from "./shown.js";

/** The header as an element; `stage` is the element of the stage. */
export function createHeader(context, stage) {
  const { store } = context;
  const model = element("span.model");
  const words = quiet("", () => store.set({ words: store.get("words") ? 0 : 1, row: -1, column: -1 }));
  const contributions = quiet("", () => store.set({ measure: store.get("measure") ? "" : "contributions" }), {
    title: "Weights times the norms of the vectors that are read",
  });
  const theme = quiet("", () => store.set({ theme: themeOf(store) === "dark" ? "light" : "dark" }));
  const show = () => {
    const name = context.document.model.split("/").filter(Boolean).pop() ?? "";
    const { snapshot } = store.all();
    fill(model, name, snapshot ? element("strong", ` · update ${snapshot.toLocaleString("en")}`) : null);
    model.title = context.document.model;
    words.hidden = context.document.unit === "word";
    contributions.hidden = !hasContributions(context);
    fill(contributions, store.get("measure") ? "Show weights" : "Show contributions");
    fill(words, store.get("words") ? "Show subwords" : "Show words");
    fill(theme, themeOf(store) === "dark" ? "Light theme" : "Dark theme");
  };
  store.on(["document", "words", "measure", "theme"], show);
  const tour = quiet("Tour", () => store.set({ tour: 1 }));
  const mark = element("h1.mark", element("span.lamp", { "aria-hidden": "true" }), "Limelight");
  const tools = element("div.tools", tour, words, contributions, theme, exportMenu(context, stage));
  show();
  return element("header.top", mark, model, tools);
}

/** Set the theme now and at each change; first of all, so that whoever draws has its colors. */
export function followTheme(store) {
  const paper = matchMedia("print"); // paper is light; whoever draws on a canvas does it again
  const apply = () => {
    document.documentElement.dataset.theme = paper.matches ? "light" : themeOf(store);
  };
  store.on(["theme"], apply);
  paper.addEventListener("change", () => store.tell("theme"));
  apply();
}

/** What the address says, or the file, or what the system prefers. */
const themeOf = (store) =>
  store.get("theme") || given || (matchMedia("(prefers-color-scheme: light)").matches ? "light" : "dark");

const given = document.documentElement.dataset.theme;

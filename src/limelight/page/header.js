/** The head of the page: its name, the model, words or subwords, theme, and what can be taken along. */

import { copy, element, fill } from "./dom.js";
import { exportMenu } from "./export.js";
import { hasContributions } from "./shown.js";

/** The header as an element; `stage` is what the picture of the stage is made of. */
export function createHeader(context, stage) {
  const { store } = context;
  const model = element("span", { class: "model" });
  const words = element("button", {
    type: "button",
    class: "quiet",
    click: () => store.set({ words: store.get("words") ? 0 : 1, row: -1, column: -1 }),
  });
  const contributions = element("button", {
    type: "button",
    class: "quiet",
    title: "Weights times the norms of the vectors that are read",
    click: () => store.set({ measure: store.get("measure") ? "" : "contributions" }),
  });
  const theme = element("button", { type: "button", class: "quiet", click: () => changeTheme(store) });
  const show = () => {
    const name = context.document.model.split("/").filter(Boolean).pop() ?? "";
    const { snapshot } = store.all();
    fill(model, name, snapshot ? element("strong", {}, ` · update ${snapshot.toLocaleString("en")}`) : null);
    model.title = context.document.model;
    words.hidden = context.document.unit === "word";
    contributions.hidden = !hasContributions(context);
    fill(contributions, store.get("measure") ? "Show weights" : "Show contributions");
    fill(words, store.get("words") ? "Show subwords" : "Show words");
    fill(theme, themeOf(store) === "dark" ? "Light theme" : "Dark theme");
  };
  store.on(["document", "words", "measure"], show);
  const link = element(
    "button",
    {
      type: "button",
      class: "quiet",
      hidden: !context.source.live,
      click: () => void copy(link, location.href, "Copy it from the address bar"),
    },
    "Copy link",
  );
  const tour = element("button", { type: "button", class: "quiet", click: () => store.set({ tour: 1 }) }, "Tour");
  const mark = element("h1", { class: "mark" }, element("span", { class: "lamp", "aria-hidden": "true" }), "Limelight");
  const tools = element("div", { class: "tools" }, tour, words, contributions, theme, link, exportMenu(context, stage));
  show();
  store.on(["theme"], show);
  return element("header", { class: "top" }, mark, model, tools);
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

/** What the address says, or the file, or what was chosen here before, or what the system prefers. */
function themeOf(store) {
  return (
    store.get("theme") ||
    given ||
    remembered() ||
    (matchMedia("(prefers-color-scheme: light)").matches ? "light" : "dark")
  );
}

const given = document.documentElement.dataset.theme;

function changeTheme(store) {
  const theme = themeOf(store) === "dark" ? "light" : "dark";
  try {
    localStorage.setItem("theme", theme);
  } catch {
    // A page without storage, as a frame in a notebook.
  }
  store.set({ theme });
}

function remembered() {
  try {
    const theme = localStorage.getItem("theme");
    return ["dark", "light"].includes(theme) ? theme : "";
  } catch {
    return "";
  }
}

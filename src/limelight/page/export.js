/** What can be taken along: the stage or the open view as SVG or PNG, the weights as CSV, the document as JSON. */

import { button, element } from "./dom.js";
import { drawing } from "./drawing.js";
import { beside } from "./models.js";
import { pictureOf } from "./picture.js";
import { shown } from "./shown.js";
import { hasSnapshots } from "./training.js";
import { requestFile } from "./server.js";
import { QUESTION, writeAddress } from "./store.js";

/** A menu of downloads; `stage` is the element of the stage. */
export function exportMenu(context, stage) {
  const entries = {
    "Stage as SVG": () => saveSvg("stage", stage),
    "Stage as PNG": () => savePng("stage", stage),
    "This view as SVG": view(saveSvg),
    "This view as PNG": view(savePng),
    "Weights as CSV": async () => save("weights.csv", "text/csv", table(await shown(context))),
    "This view as CSV": view((name, panel) => save(`${name}.csv`, "text/csv", numbersOf(panel))),
    "Everything as JSON": async () =>
      save("limelight.json", "application/json", JSON.stringify(await everything(context))),
    ...(context.source.live ? { "Everything as a page": () => savePage(context) } : {}),
  };
  const buttons = Object.entries(entries).map(([name, action]) =>
    button(
      {},
      () => {
        menu.open = false;
        void action();
      },
      name,
    ),
  );
  // A model without attention has no weights, a tree and two sentences no table, and a file is of a translation.
  const there = {
    "This view as CSV": () => !["beam", "whatif"].includes(context.store.get("view")),
    "Weights as CSV": () => context.document.kinds.length > 0,
    "Everything as a page": () => Boolean(context.document.translation),
  };
  const offer = () => buttons.forEach((each) => (each.hidden = there[each.textContent]?.() === false));
  context.store.on(["document", "view"], offer);
  offer();
  const menu = element("details.menu", element("summary", "Save"), element("div.entries", buttons));
  addEventListener("pointerdown", ({ target }) => menu.contains(target) || (menu.open = false));
  menu.addEventListener("keydown", ({ key }) => {
    if (key !== "Escape") return;
    menu.open = false;
    menu.firstChild.focus();
  });
  return menu;
}

/** The document with what a served page asks for later. */
async function everything({ document, source }) {
  if (!source.live || !document.translation) return document;
  const [measures, layers, map] = await Promise.all([source.measures(), source.layers(), source.map()]);
  return { ...document, measures, layers, map };
}

/** The matrices, tables and lists of a view, as far as they can be seen, one after the other. */
function numbersOf(panel) {
  const parts = [...panel.querySelectorAll("canvas, table, ol")].filter((part) => part.checkVisibility());
  const row = (cells) => [...cells].map((cell) => quoted(cell.textContent.trim())).join(",");
  const texts = parts.map((part) => {
    if (part.matches("canvas")) return pictureOf(part) ? table(pictureOf(part)) : "";
    const lines = part.matches("ol")
      ? [...part.children].map((item) => row(item.querySelectorAll(".name, .value")))
      : [];
    return `${[...lines, ...[...(part.rows ?? [])].map(({ cells }) => row(cells))].join("\n")}\n`;
  });
  return texts.filter(Boolean).join("\n");
}

/** With the open view and its name. */
const view = (action) => () => {
  const panel = document.querySelector("[role=tabpanel]:not([hidden])");
  if (panel) void action(panel.id.replace("view-", ""), panel);
};

/** The rows and columns of what is shown, as comma-separated values. */
export function table({ rows, columns, weights }) {
  const name = (label) => label.text;
  const head = ["", ...columns.map(name)].map(quoted).join(",");
  const lines = rows.map((label, row) =>
    [quoted(name(label)), ...columns.map((_, column) => weights.at(row, column).toFixed(6))].join(","),
  );
  return `${[head, ...lines].join("\n")}\n`;
}

// A spreadsheet takes a text that begins so for a formula.
const quoted = (text) =>
  `"${/^[=+\-@\t]/.test(text) && Number.isNaN(Number(text)) ? "'" : ""}${text.replaceAll('"', '""')}"`;

const saveSvg = (name, part) => save(`${name}.svg`, "image/svg+xml", drawing(part).svg);

async function savePng(name, part) {
  const { svg, width, height } = drawing(part);
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = element("canvas", { width: width * 2, height: height * 2 });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  canvas.toBlob((blob) => saveBlob(`${name}.png`, blob));
}

/** With the models, or the snapshots, where that view is open. */
async function savePage(context) {
  const { document, store } = context;
  const others =
    store.get("view") === "models" ? beside(context).filter((name) => name !== document.question.model) : [];
  const training = store.get("view") === "training" && hasSnapshots(context);
  const asked = { ...document.question, ...(training ? { snapshot: undefined, target: undefined } : {}) };
  saveBlob(
    "limelight.html",
    await requestFile("page/file", {
      ...asked,
      beside: others,
      training,
      theme: globalThis.document.documentElement.dataset.theme,
      state: writeAddress(shownIn(store)),
    }),
  );
}

/** What is open, without what was asked: the file holds the answer. */
function shownIn(store) {
  const kept = Object.entries(store.all()).filter(
    ([name]) => ["snapshot", "hold"].includes(name) || !["theme", ...QUESTION].includes(name),
  );
  return Object.fromEntries(kept);
}

const save = (name, type, text) => saveBlob(name, new Blob([text], { type }));

function saveBlob(name, blob) {
  const address = URL.createObjectURL(blob);
  element("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

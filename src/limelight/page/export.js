/** What can be taken along: the stage or the open view as SVG or PNG, the weights as CSV, the document as JSON. */

import { copy, element, vector } from "./dom.js";
import { drawing } from "./drawing.js";
import { beside } from "./models.js";
import { pairOf } from "./patching.js";
import { pictureOf } from "./picture.js";
import { shown } from "./shown.js";
import { hasSnapshots } from "./training.js";
import { requestFile } from "./server.js";
import { QUESTION, writeAddress } from "./store.js";

/** A menu of downloads. */
export function exportMenu(context, stage) {
  const drawn = (action) => () => stage.picture && action(); // a model without attention has no picture
  const entries = {
    "Stage as SVG": drawn(() => save("stage.svg", "image/svg+xml", stageSvg(stage))),
    "Stage as PNG": drawn(async () =>
      saveBlob("stage.png", await rasterized(stageSvg(stage), stage.board.clientWidth, stage.board.clientHeight)),
    ),
    "This view as SVG": view(({ name, svg }) => save(`${name}.svg`, "image/svg+xml", svg)),
    "This view as PNG": view(async ({ name, svg, width, height }) =>
      saveBlob(`${name}.png`, await rasterized(svg, width, height)),
    ),
    "Weights as CSV": drawn(async () => save("weights.csv", "text/csv", table(await shown(context)))),
    "This view as CSV": () => {
      const panel = openPanel();
      if (panel) save(`${panel.id.replace("view-", "")}.csv`, "text/csv", numbersOf(panel));
    },
    "Everything as JSON": async () =>
      save("limelight.json", "application/json", JSON.stringify(await everything(context))),
  };
  if (context.source.live) {
    entries["Everything as a page"] = () => context.document.translation && savePage(context);
    entries["Copy embed code"] = async (button) => {
      await copy(button, embedding(context), "The clipboard cannot be reached");
      return false;
    };
  }
  /** An entry closes the menu, unless the button itself has something to say. */
  const finish = async (action) => {
    if ((await action) !== false) menu.open = false;
  };
  const buttons = Object.entries(entries).map(([name, action]) =>
    element("button", { type: "button", click: (event) => void finish(action(event.currentTarget)) }, name),
  );
  const menu = element(
    "details",
    { class: "menu" },
    element("summary", {}, "Save"),
    element("div", { class: "entries" }, buttons),
  );
  addEventListener("pointerdown", ({ target }) => menu.contains(target) || (menu.open = false));
  menu.addEventListener("keydown", ({ key }) => {
    if (key !== "Escape") return;
    menu.open = false;
    menu.firstChild.focus();
  });
  return menu;
}

const openPanel = () => document.querySelector("[role=tabpanel]:not([hidden])");

/** The document with what a served page asks for later. */
async function everything({ document, source }) {
  if (!source.live || !document.translation) return document;
  const [measures, layers] = await Promise.all([source.measures(), source.layers()]);
  return { ...document, measures, layers };
}

/** The frame in which another page shows the saved file; it has to lie beside that page. */
function embedding({ document: { sides } }) {
  const frame = element("iframe", {
    src: "limelight.html",
    title: `Attention: ${sides.source.text || sides.target.text}`,
    width: "100%",
    height: 780,
    frameborder: 0,
    sandbox: "allow-scripts allow-downloads",
    loading: "lazy",
  });
  return new XMLSerializer().serializeToString(frame).replace(/ xmlns="[^"]*"/, "");
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

/** With the open view as a drawing, under its name. */
const view = (action) => () => {
  const panel = openPanel();
  if (panel) void action({ name: panel.id.replace("view-", ""), ...drawing(panel) });
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
const quoted = (text) => `"${/^[=+\-@\t]/.test(text) ? "'" : ""}${text.replaceAll('"', '""')}"`;

/** The stage as a picture of its own: the same light, tokens as text, colors written out. */
export function stageSvg({ board, light, boxes, picture }) {
  const style = getComputedStyle(document.documentElement);
  const color = (name) => style.getPropertyValue(name).trim();
  const [width, height] = [board.clientWidth, board.clientHeight];
  const lights = light.cloneNode(true);
  if (light.matches(".one")) lights.querySelector(".lines").setAttribute("opacity", "0.12");
  for (const stop of lights.querySelectorAll("stop")) {
    stop.setAttribute("stop-color", color("--amber"));
    stop.setAttribute("stop-opacity", stop.classList.contains("near") ? "1" : "0.45");
  }
  for (const path of lights.querySelectorAll(".line")) {
    path.setAttribute("stroke", color("--amber"));
    path.setAttribute("fill", "none");
  }
  const texts = [
    ["columns", picture.columns],
    ["rows", picture.rows],
  ].flatMap(([side, labels]) =>
    labels.map((label, place) => {
      const box = boxes[side][place];
      const text = { end: "end", start: "start" }[label.role] ?? label.text;
      return vector(
        "text",
        {
          x: box.x + box.width / 2,
          y: box.y + box.height / 2,
          fill: color("--text"),
          "font-size": 18,
          "font-family": "Georgia, serif",
          "text-anchor": "middle",
          "dominant-baseline": "central",
        },
        text,
      );
    }),
  );
  const ground = vector("rect", { width, height, fill: color("--stage") });
  const whole = vector(
    "svg",
    { xmlns: "http://www.w3.org/2000/svg", width, height, viewBox: `0 0 ${width} ${height}` },
    ground,
    ...lights.childNodes,
    texts,
  );
  return new XMLSerializer().serializeToString(whole);
}

async function rasterized(svg, width, height) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = element("canvas", { width: width * 2, height: height * 2 });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

/** With the models, or the snapshots, where that view is open. */
async function savePage(context) {
  const { document, store } = context;
  const others =
    store.get("view") === "models" ? beside(context).filter((name) => name !== document.question.model) : [];
  const training = store.get("view") === "training" && hasSnapshots(context);
  const { snapshot, target, ...question } = document.question;
  const asked = training ? question : { ...question, ...(snapshot ? { snapshot } : {}), ...(target ? { target } : {}) };
  saveBlob(
    "limelight.html",
    await requestFile("page/file", {
      ...asked,
      beside: others,
      training,
      theme: globalThis.document.documentElement.dataset.theme,
      state: writeAddress(shownIn(store)),
      patched: store.get("view") === "patching" && pairOf(context).every(Boolean) ? pairOf(context) : null,
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

/** The stage: tokens that are attended to above, tokens that attend below, and light between them. */

import { element, fill, quiet, rove, vector } from "./dom.js";
import { largest, line } from "./matrix.js";
import { twoDigits } from "./scale.js";
import { changesOf } from "./changes.js";
import { alignmentOf, hasContributions, hasMap, kindShown, pin, shown } from "./shown.js";
import { sideOf, sourceWord, titleOf, whatOf, wordsOf } from "./shown.js";
import { caveat, describe, directionOf, spoken } from "./sentences.js";
import { cone, curve, ends, strongLinks } from "./beams.js";
import { coloredLines, describeHeads, legendOf, severalOf, strongest } from "./colors.js";

const LETTER = 5; // pixels that a letter of a dense line takes at least
const AROUND = 10; // and those around a token
const NAMED = 3; // weights that are written beside their tokens
const UNREAD = 0.1; // a source word to which no target word gives more weight is marked
const TALL = 24; // tokens of a column; longer texts are broken into lines

/** The stage as an element. It follows the store: kind, layer, head, words, and the pinned token. */
export function createStage(context) {
  const { store } = context;
  const top = element("div.tokens", { role: "group" });
  const bottom = element("div.tokens", { role: "group" });
  const lines = vector("g", { class: "lines" });
  const cones = vector("g", { class: "cones" });
  const light = vector("svg", { class: "light", "aria-hidden": "true" }, lines, cones);
  const caption = element("p.spoken", { "aria-live": "polite" });
  const title = element("p.stage-title");
  const changes = element("p.changes");
  const board = element("div.board", light, top, bottom);
  const signs = element("p.legend.signs");
  const map = quiet("On the map", () => context.open("map"), { class: "quiet small" });
  const similar = quiet("Similar words", () => context.open("similar"), { class: "quiet small" });
  const bar = element("div.bar", title, element("div.tools", similar, map));
  const root = element("section.stage", { "aria-label": "Stage" }, bar, changes, board, caption, signs);
  const parts = { board, top, bottom, light, lines, cones, caption, title, changes, signs };
  const stage = {
    context,
    ...parts,
    picture: null,
    several: [],
    boxes: null,
    pointed: null,
    asked: 0,
    looks: new WeakMap(),
  };
  store.on(["kind", "layer", "head", "words", "measure", "colors", "document"], () => void refresh(stage));
  const offer = () => {
    map.hidden = !hasMap(context) || store.get("view") === "map";
    const can = context.source.live && context.document.translation && sourceWord(context) >= 0;
    similar.hidden = !can || store.get("view") === "similar";
  };
  store.on(["document", "view", "kind", "row", "column"], offer);
  offer();
  store.on(["row", "column"], () => lit(stage));
  new ResizeObserver(() => stage.boxes?.at === sizeOf(board) || arrange(stage)).observe(board);
  for (const group of [top, bottom]) {
    group.addEventListener("keydown", (event) => {
      if (event.key === "Escape") store.set({ row: -1, column: -1 });
      else rove(buttons(group), event, board.matches(".across") ? 1 : 0);
    });
  }
  void refresh(stage);
  return root;
}

async function refresh(stage) {
  const asked = (stage.asked += 1);
  const [picture, several] = await Promise.all([shown(stage.context), severalOf(stage.context)]);
  if (asked !== stage.asked) return; // another one has been asked for since
  const before = stage.picture;
  stage.picture = picture;
  stage.several = several;
  stage.aligned = picture && alignmentOf(stage.context, picture.kind);
  const { document, baseline } = stage.context;
  fill(stage.changes, changesOf({ before: baseline?.translation, ...document }));
  stage.pointed = null;
  if (!picture) {
    for (const part of ["top", "bottom", "title", "lines", "cones", "signs"]) fill(stage[part]);
    const waits = stage.context.source.live && !stage.context.document.translation;
    fill(stage.caption, waits ? "" : "This model has no attention to show.");
    return;
  }
  const { kind, layer, head } = picture;
  const what = several.length ? `heads in colors: ${several.length}` : whatOf(stage.context, kind, { layer, head });
  fill(stage.title, `${titleOf(stage.context, kind)} · ${what}`);
  fill(stage.signs, legendOf(several), signsOf(stage));
  if (before?.rows === picture.rows && before.columns === picture.columns && before.kind === kind) {
    showUnread(stage);
    drawLines(stage); // the same tokens, attended to by another head
    return;
  }
  // A line that stays is not made again: of 100 tokens that takes as long as all the rest.
  if (before?.columns !== picture.columns) fillTokens(stage, stage.top, picture.columns, kind.columns, "column");
  if (before?.rows !== picture.rows) fillTokens(stage, stage.bottom, picture.rows, kind.rows, "row");
  showSureness(stage);
  showUnread(stage);
  arrange(stage);
}

/** What the signs on tokens mean, of those that are there. */
function signsOf({ context, picture, aligned }) {
  const { kind, rows, columns } = picture;
  const has = (role) => [...rows, ...columns].find((label) => label.role === role);
  const signs = [
    [saysSureness(context, kind), "sure", "word", "the stronger, the more probable"],
    [aligned, "aligned", "word", "aligned: one translates the other"],
    [unreadOf(picture).some(Boolean), "unread", "word", "not read: no weight on it is above 0.1"],
    [has("tag"), "tag", has("tag")?.text, "language tag"],
    [has("start"), "start", "", "start token"],
    [has("end"), "end", "", "end token"],
  ];
  return signs
    .filter(([there]) => there)
    .map(([, name, text, meaning]) =>
      element("span", element("span", { class: `sign ${name}`, "aria-hidden": "true" }, text), ` ${meaning}`),
    );
}

/** Which source words no target word reads, in the mean of all heads. */
const unreadOf = ({ kind, layer, rows, columns, weights }) =>
  columns.map(
    (label, column) =>
      kind.name === "cross" && layer < 0 && !label.role && rows.every((_, row) => weights.at(row, column) < UNREAD),
  );

function showUnread({ top, picture }) {
  const unread = unreadOf(picture);
  buttons(top).forEach((button, place) => button.classList.toggle("unread", unread[place]));
}

const saysSureness = ({ document: { steps } }, { rows }) => Boolean(steps) && rows !== "source";

/** How sure the model was of each target word, as the weight of its underline: the least sure of its tokens. */
function showSureness({ context, bottom, picture }) {
  const { steps } = context.document;
  const { rows } = picture.kind;
  if (!saysSureness(context, picture.kind)) return;
  const later = rows === "read" ? 1 : 0; // what is read was said one step before
  const words = wordsOf(context, rows);
  buttons(bottom).forEach((button, place) => {
    const own = steps.filter((_, step) => (context.store.get("words") ? words[step + later] : step + later) === place);
    if (!own.length) return;
    const sure = Math.min(...own.map(({ chosen }) => chosen.probability));
    button.style.setProperty("--sure", sure.toFixed(3));
    button.classList.add("sure");
    button.title = `probability ${twoDigits(sure)}`;
  });
}

function fillTokens(stage, group, labels, side, axis) {
  group.setAttribute("aria-label", `${sideOf(stage.context, side)}, ${axis === "row" ? "attends" : "attended to"}`);
  const pinned = stage.context.store.get(axis);
  const buttons = labels.map((label, place) =>
    element(
      "button",
      {
        type: "button",
        class: `token ${label.role ?? ""}`,
        tabindex: place === Math.min(Math.max(pinned, 0), labels.length - 1) ? 0 : -1,
        "aria-label": spoken(label),
        "aria-pressed": "false",
        pointerenter: (event) => event.pointerType !== "touch" && point(stage, axis, place),
        pointerleave: () => point(stage, axis, -1),
        focus: (event) => event.target.matches(":focus-visible") && point(stage, axis, place),
        blur: () => point(stage, axis, -1),
        click: () => pin(stage.context, axis, place),
      },
      element("span.word", label.role === "end" || label.role === "start" ? "" : label.text),
      element("span.weight", { "aria-hidden": "true" }),
    ),
  );
  group.dir = directionOf(labels);
  fill(group, element("span.side", sideOf(stage.context, side)), buttons);
}

function point(stage, axis, place) {
  stage.pointed = place < 0 ? null : { axis, place };
  lit(stage);
}

/** Two columns, or two texts of several lines, where lines are too long for the width; then the boxes are measured. */
function arrange(stage) {
  const { board, top, bottom, picture } = stage;
  if (!picture || !board.clientWidth) return;
  place(stage);
  const origin = board.getBoundingClientRect();
  const box = (button) => {
    const { left, top: above, width, height } = button.getBoundingClientRect();
    return { x: left - origin.left, y: above - origin.top, width, height };
  };
  stage.boxes = { columns: buttons(top).map(box), rows: buttons(bottom).map(box), at: sizeOf(board) };
  stage.light.setAttribute("viewBox", `0 0 ${board.clientWidth} ${board.clientHeight}`);
  drawLines(stage);
}

const sizeOf = ({ clientWidth, clientHeight }) => `${clientWidth} x ${clientHeight}`;

/** Whether the lines fit is found out once for the same tokens and width: each try is a layout of all of them. */
function place(stage) {
  const { board, top, bottom, picture } = stage;
  const room = board.parentElement.clientWidth; // the board itself is narrower with two columns
  const now = [picture.rows, picture.columns, room, document.fonts?.status];
  if (stage.placed?.every((each, number) => each === now[number])) return;
  stage.placed = now;
  const tooLong = () => top.scrollWidth > top.clientWidth + 1 || bottom.scrollWidth > bottom.clientWidth + 1;
  const least = (labels) => labels.reduce((sum, { text }) => sum + LETTER * text.length + AROUND, 0);
  const many = Math.max(picture.rows.length, picture.columns.length) > TALL ? "wrapped" : "across";
  if (Math.max(least(picture.rows), least(picture.columns)) > room) return look(board, "dense", many);
  look(board);
  if (tooLong()) look(board, "dense");
  if (tooLong()) look(board, "dense", many);
  return undefined;
}

function look(board, ...names) {
  for (const name of ["dense", "across", "wrapped"]) board.classList.toggle(name, names.includes(name));
}

/** Faint lines for all that attends; they are dimmed, not drawn anew, when one token is lit. */
function drawLines(stage) {
  const { picture, boxes, board } = stage;
  if (!boxes) return;
  const across = board.matches(".across");
  const one = strongLinks(picture.weights).map(({ row, column, weight }) =>
    vector("path", {
      class: "line",
      d: curve(boxes.rows[row], boxes.columns[column], across),
      "stroke-width": (0.75 + 3 * weight).toFixed(2),
      "stroke-opacity": (0.1 + 0.8 * weight).toFixed(3),
    }),
  );
  const all = { row: -1, column: -1, across };
  fill(stage.lines, stage.several.length ? coloredLines(stage.several, boxes, all) : one);
  lit(stage);
}

/** Light for the token that is pointed at, or pinned; for none of them faint lines for all. */
function lit(stage) {
  const { picture, boxes, light, board } = stage;
  if (!picture || !boxes) return;
  const { row, column } = lookedAt(stage);
  const across = board.matches(".across");
  const one = row >= 0 || column >= 0;
  const { several } = stage;
  const read = () => (several.length ? strongest(several, row, column) : line(picture.weights, row, column));
  const values = one ? read() : null;
  light.classList.toggle("one", one);
  const cones = several.length ? coloredLines : cast;
  fill(stage.cones, one ? cones(several.length ? several : values, boxes, { row, column, across }) : []);
  mark(stage, values, row, column);
  const said = () => (several.length ? describeHeads(several, picture, row, column) : describe(picture, row, column));
  fill(stage.caption, one ? `${said()}${alignedWith(stage, row, column)}` : hint(stage));
}

function cast(values, boxes, { row, column, across }) {
  return largest(values, 24, 0.01).map((place) => {
    const from = boxes.rows[row >= 0 ? row : place];
    const to = boxes.columns[row >= 0 ? place : column];
    const id = `beam-${place}`;
    const [a, b] = ends(from, to, across);
    const gradient = vector(
      "linearGradient",
      { id, gradientUnits: "userSpaceOnUse", x1: a.x, y1: a.y, x2: across ? b.x : a.x, y2: across ? a.y : b.y },
      vector("stop", { offset: 0, class: "near" }),
      vector("stop", { offset: 1, class: "far" }),
    );
    const path = vector("path", { d: cone(from, to, across), fill: `url(#${id})`, opacity: values[place].toFixed(3) });
    return vector("g", { class: "cone" }, gradient, path);
  });
}

/** Whether a token translates the one that is shown, or is translated by it; that one itself, too. */
function isAligned({ aligned }, group, place, { row, column }) {
  if (!aligned || (row < 0 && column < 0)) return false;
  if (group === "top") return row >= 0 ? Boolean(aligned[row]?.has(place)) : place === column;
  return row >= 0 ? place === row && Boolean(aligned[row]?.size) : Boolean(aligned[place]?.has(column));
}

/** The words that are aligned, as a sentence. */
function alignedWith(stage, row, column) {
  const { rows, columns } = stage.picture;
  const [group, others] = row >= 0 ? ["top", columns] : ["bottom", rows];
  const found = others.filter((_, place) => isAligned(stage, group, place, { row, column }));
  return found.length ? ` Aligned with ${found.map(spoken).join(", ")}.` : "";
}

/** Tokens as bright as their weights; the largest weights in numbers. Of 200 tokens only those that change are touched. */
function mark(stage, values, row, column) {
  const { context, top, bottom } = stage;
  const named = values ? largest(values, NAMED, 0.05) : [];
  for (const [group, own, others] of [
    [top, column, row >= 0],
    [bottom, row, column >= 0],
  ]) {
    const pinned = context.store.get(group === top ? "column" : "row");
    buttons(group).forEach((button, place) => {
      const weight = others ? values[place] : 0;
      const dim = Boolean(values) && place !== own && weight < 0.05;
      const number = others && named.includes(place) ? twoDigits(weight) : "";
      const aligned = isAligned(stage, group === top ? "top" : "bottom", place, { row, column });
      const look = [weight.toFixed(3), place === own, dim, number, place === pinned, aligned].join();
      if (stage.looks.get(button) === look) return;
      stage.looks.set(button, look);
      button.style.setProperty("--lit", weight.toFixed(3));
      button.classList.toggle("bright", weight > 0.6);
      button.classList.toggle("chosen", place === own);
      button.classList.toggle("dim", dim && !aligned);
      button.classList.toggle("aligned", aligned);
      button.setAttribute("aria-pressed", String(place === pinned));
      button.lastChild.textContent = number;
    });
  }
}

function lookedAt({ context, pointed, picture }) {
  if (pointed) return { row: -1, column: -1, [pointed.axis]: pointed.place };
  const row = context.store.get("row");
  const column = context.store.get("column");
  return {
    row: row < picture.rows.length ? row : -1,
    column: row < 0 && column < picture.columns.length ? column : -1,
  };
}

function hint({ context, board }) {
  const { name } = kindShown(context);
  const measure = hasContributions(context) ? context.store.get("measure") : "";
  const line = board.matches(".across")
    ? "the right column"
    : `the lower ${board.matches(".wrapped") ? "text" : "line"}`;
  const which = name === "cross" ? "a word of the translation" : `a word of ${line}`;
  return `${matchMedia("(hover: none)").matches ? "Tap" : "Point at"} ${which} to see what it attends to. ${caveat(measure)}`;
}

const buttons = (group) => [...group.children].filter((child) => child.tagName === "BUTTON");

/** Loss and BLEU of a run's validations as two lines, with its snapshots below and a mark at the one that is shown. */

import { element, fill, vector } from "./dom.js";

const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [520, 180, 8, 8, 30, 26];

/** The picture: `draw(curve, updates, update)`; `chosen(update)` is called for a point that is clicked. */
export function createCurve(chosen) {
  const svg = vector("svg", { class: "curve", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img" });
  const root = element("div.curve-frame", svg);
  let last = 1;
  svg.addEventListener("click", (event) => {
    const box = svg.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * WIDTH;
    chosen(((x - LEFT) / (WIDTH - LEFT - RIGHT)) * last);
  });
  const draw = (curve, updates, update) => {
    root.hidden = !curve.length && !updates.length;
    last = Math.max(1, ...curve.map((each) => each.update), ...updates);
    svg.setAttribute("aria-label", spoken(curve));
    const x = (at) => LEFT + (at / last) * (WIDTH - LEFT - RIGHT);
    fill(svg, axis(x, updates, update), ...["loss", "bleu"].flatMap((name) => line(curve, name, x)), mark(x, update));
  };
  return { root, draw };
}

function line(curve, name, x) {
  const points = curve.filter((each) => each[name] !== undefined);
  if (points.length < 1) return [];
  const values = points.map((each) => each[name]);
  const [low, high] = [name === "bleu" ? 0 : Math.min(...values), Math.max(...values)];
  const y = (value) => TOP + (1 - (high > low ? (value - low) / (high - low) : 0.5)) * (HEIGHT - TOP - BOTTOM);
  const path = points
    .map((each, place) => `${place ? "L" : "M"}${x(each.update).toFixed(1)} ${y(each[name]).toFixed(1)}`)
    .join("");
  const dots = points.map((each) =>
    vector("circle", { class: `dot ${name}`, cx: x(each.update).toFixed(1), cy: y(each[name]).toFixed(1), r: 2.5 }),
  );
  const label = `${{ loss: "loss", bleu: "BLEU" }[name]} ${values[0].toFixed(name === "bleu" ? 0 : 2)} → ${values.at(-1).toFixed(name === "bleu" ? 0 : 2)}`;
  const place = name === "loss" ? { x: LEFT, "text-anchor": "start" } : { x: WIDTH - RIGHT, "text-anchor": "end" };
  return [
    vector("path", { class: `curve-line ${name}`, d: path }),
    ...dots,
    vector("text", { class: `curve-name ${name}`, y: 15, ...place }, label),
  ];
}

function axis(x, updates, update) {
  const y = HEIGHT - BOTTOM + 8;
  const ticks = updates.map((each) =>
    vector("line", { class: `tick ${each === update ? "now" : ""}`, x1: x(each), x2: x(each), y1: y, y2: y + 8 }),
  );
  return vector("g", {}, vector("line", { class: "tick", x1: LEFT, x2: WIDTH - RIGHT, y1: y + 4, y2: y + 4 }), ticks);
}

function mark(x, update) {
  return update
    ? vector("line", { class: "curve-now", x1: x(update), x2: x(update), y1: TOP, y2: HEIGHT - BOTTOM + 16 })
    : null;
}

function spoken(curve) {
  const parts = [
    ["loss", "Loss"],
    ["bleu", "BLEU"],
  ].flatMap(([name, title]) => {
    const values = curve.map((each) => each[name]).filter((value) => value !== undefined);
    return values.length ? [`${title} from ${values[0].toFixed(2)} to ${values.at(-1).toFixed(2)}`] : [];
  });
  return parts.length ? `Validations: ${parts.join(", ")}` : "No validation was measured";
}

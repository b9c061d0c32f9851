/** What is on the screen as one SVG: boxes, texts, canvases and pictures where the browser has put them. */

import { vector } from "./dom.js";

const STROKE = ["stroke-width", "stroke-dasharray", "stroke-opacity", "opacity", "stop-opacity"];
const DRAWN = [...STROKE, "font-family", "font-size"];

/** An element and all that it holds, as far as it scrolls, as the text of an SVG file. */
export function drawing(root) {
  const origin = root.getBoundingClientRect();
  const place = ({ left, top, width, height }) => ({ x: left - origin.left, y: top - origin.top, width, height });
  const drawn = [];
  let [width, height] = [origin.width, origin.height];
  const walk = (node) => {
    if (node.nodeType === Node.TEXT_NODE) return void drawn.push(...words(node, place));
    if (node.nodeType !== Node.ELEMENT_NODE) return;
    const style = getComputedStyle(node);
    const box = place(node.getBoundingClientRect());
    if (style.display === "none" || style.visibility === "hidden" || !box.width || !box.height) return;
    [width, height] = [Math.max(width, box.x + box.width), Math.max(height, box.y + box.height)];
    if (node.matches("svg")) return void drawn.push(picture(node, box));
    if (node.matches("canvas"))
      return void drawn.push(vector("image", { ...box, href: enlarged(node, box), preserveAspectRatio: "none" }));
    if (node.type !== "range") drawn.push(...ground(node, style, box));
    if (node.matches("input, textarea, select")) return void drawn.push(...field(node, style, box));
    node.childNodes.forEach(walk);
  };
  walk(root);
  const size = { width: Math.ceil(width), height: Math.ceil(height) };
  const behind = getComputedStyle(document.documentElement).getPropertyValue("--ground").trim();
  const whole = vector(
    "svg",
    { xmlns: "http://www.w3.org/2000/svg", ...size, viewBox: `0 0 ${size.width} ${size.height}` },
    vector("rect", { ...size, fill: behind }),
    drawn,
  );
  return { svg: new XMLSerializer().serializeToString(whole), ...size };
}

/** The background of a box and its edge. */
function ground(node, style, box) {
  const hatched = node.matches(".swatch")
    ? getComputedStyle(document.documentElement).getPropertyValue("--hatch").trim()
    : "";
  const fill = hatched || plain(style.backgroundColor);
  const thick = Number.parseFloat(style.borderTopWidth) || 0;
  const stroke = thick && style.borderTopStyle !== "none" ? plain(style.borderTopColor) : "none";
  if (node.matches(".ramp")) return ramp(node, box);
  if (fill === "none" && stroke === "none") return [];
  const dashes = style.borderTopStyle === "dashed" ? { "stroke-dasharray": "4 3" } : {};
  const radius = Math.min(Number.parseFloat(style.borderTopLeftRadius) || 0, box.height / 2);
  return [vector("rect", { ...box, rx: radius, fill, stroke, "stroke-width": thick, ...dashes })];
}

/** Each word where it stands: a text that is broken into lines needs no rule for it. */
function words(node, place) {
  const style = getComputedStyle(node.parentElement);
  return [...node.textContent.matchAll(/\S+/g)].map((found) => {
    const range = document.createRange();
    range.setStart(node, found.index);
    range.setEnd(node, found.index + found[0].length);
    return text(found[0], style, place(range.getBoundingClientRect()));
  });
}

function text(content, style, { x, y, height }) {
  const font = {
    "font-family": style.fontFamily,
    "font-size": style.fontSize,
    "font-weight": style.fontWeight,
    "font-style": style.fontStyle,
  };
  return vector(
    "text",
    { x, y: y + height / 2, fill: plain(style.color), ...font, "dominant-baseline": "central" },
    content,
  );
}

/** What a field holds; a slider as its rail and its knob. */
function field(node, style, box) {
  const middle = box.y + box.height / 2;
  if (node.type === "range") {
    const share = (node.value - node.min) / Math.max(node.max - node.min, 1e-9);
    const color = plain(style.color);
    return [
      vector("line", { x1: box.x, x2: box.x + box.width, y1: middle, y2: middle, stroke: color }),
      vector("circle", { cx: box.x + share * box.width, cy: middle, r: 6, fill: color }),
    ];
  }
  const content = node.matches("select") ? (node.selectedOptions[0]?.textContent ?? "") : node.value;
  return node.type === "checkbox" ? [] : [text(content, style, { ...box, x: box.x + 10 })];
}

/** A picture of the page, with the colors that its style sheet gives it. */
function picture(node, box) {
  const copy = node.cloneNode(true);
  const originals = node.querySelectorAll("*");
  copy.querySelectorAll("*").forEach((each, number) => {
    const style = getComputedStyle(originals[number]);
    for (const name of ["fill", "stroke", "stop-color"]) each.setAttribute(name, plain(style.getPropertyValue(name)));
    for (const name of DRAWN) each.setAttribute(name, style.getPropertyValue(name));
    each.removeAttribute("class");
  });
  copy.removeAttribute("class");
  for (const [name, value] of Object.entries(box)) copy.setAttribute(name, value);
  return copy;
}

/** A canvas of a few pixels is made large without being blurred. */
function enlarged(canvas, { width, height }) {
  const large = document.createElement("canvas");
  [large.width, large.height] = [
    Math.max(canvas.width, Math.round(width)),
    Math.max(canvas.height, Math.round(height)),
  ];
  const context = large.getContext("2d");
  context.imageSmoothingEnabled = false;
  context.drawImage(canvas, 0, 0, large.width, large.height);
  return large.toDataURL();
}

function ramp(node, box) {
  const style = getComputedStyle(document.documentElement);
  const stops = [0, 1, 2, 3, 4].map((stop) =>
    vector("stop", { offset: stop / 4, "stop-color": style.getPropertyValue(`--heat-${stop}`).trim() }),
  );
  return [
    vector("linearGradient", { id: "ramp" }, stops),
    vector("rect", { ...box, rx: box.height / 2, fill: "url(#ramp)" }),
  ];
}

const known = new Map();

/** A color as programs other than browsers read it: `rgb(...)`, `rgba(...)`, `url(...)` or `none`. */
function plain(color) {
  if (!color || color === "none" || color.startsWith("url(")) return color || "none";
  if (!known.has(color)) known.set(color, mixed(color));
  return known.get(color);
}

function mixed(color) {
  const pixel = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  pixel.fillStyle = color;
  pixel.fillRect(0, 0, 1, 1);
  const [red, green, blue, opacity] = pixel.getImageData(0, 0, 1, 1).data;
  if (!opacity) return "none";
  return opacity === 255
    ? `rgb(${red},${green},${blue})`
    : `rgba(${red},${green},${blue},${(opacity / 255).toFixed(3)})`;
}

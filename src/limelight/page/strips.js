/** A vector as a strip of cells: warm above zero, cool below, as strong as its largest number. Values on hover. */

import { element } from "./dom.js";

const HEIGHT = 14;

/** A canvas for `values`; `tell(text)` is called with the number that is pointed at. Strips share a `peak`. */
export function strip(name, values, peak, tell) {
  const canvas = element("canvas", {
    class: "strip",
    width: values.length,
    height: 1,
    role: "img",
    "aria-label": described(name, values),
  });
  canvas.style.height = `${HEIGHT}px`;
  const context = canvas.getContext("2d");
  const style = getComputedStyle(document.documentElement);
  const [ground, warm, cool] = ["--heat-0", "--amber", "--accent"].map((each) => rgb(style.getPropertyValue(each)));
  const image = context.createImageData(Math.max(values.length, 1), 1);
  values.forEach((value, place) => {
    const share = peak ? Math.min(Math.abs(value) / peak, 1) : 0;
    const color = value < 0 ? cool : warm;
    image.data.set([...ground.map((channel, each) => channel + (color[each] - channel) * share), 255], 4 * place);
  });
  context.putImageData(image, 0, 0);
  canvas.addEventListener("pointermove", (event) => {
    const box = canvas.getBoundingClientRect();
    const place = Math.min(Math.floor(((event.clientX - box.left) / box.width) * values.length), values.length - 1);
    tell(`${name}[${place}] = ${values[Math.max(place, 0)].toPrecision(5)}`);
  });
  return canvas;
}

/** The largest absolute number of several vectors. */
export function peakOf(...vectors) {
  return vectors.reduce((most, values) => values.reduce((peak, value) => Math.max(peak, Math.abs(value)), most), 0);
}

function described(name, values) {
  return `${name}: ${values.length} numbers, the largest ${peakOf(values).toPrecision(3)}`;
}

function rgb(color) {
  const text = color.trim().replace("#", "");
  return [0, 2, 4].map((place) => Number.parseInt(text.slice(place, place + 2), 16));
}

/** Vectors as strips of cells: warm above zero, cool below, as strong as the largest number. Values on hover. */

import { element } from "./dom.js";
import { channels } from "./scale.js";

const ROW = 10; // pixels of a strip, with the space around it
const SPACE = 2;

/**
 * One canvas for all of `vectors`, a strip for each, one below the other: a canvas of its own for each is a layer of its
 * own for the browser. `tell(text)` is called with the number that is pointed at.
 */
export function strips(name, vectors, tell) {
  const size = vectors[0]?.length ?? 0;
  const peak = peakOf(vectors);
  const many = vectors.length > 1 ? `${vectors.length} vectors of ` : "";
  const canvas = element("canvas", {
    class: "strips",
    width: size,
    height: ROW * vectors.length,
    role: "img",
    "aria-label": `${name}: ${many}${size} numbers, the largest ${peak.toPrecision(3)}`,
  });
  canvas.getContext("2d").putImageData(painted(vectors, size, peak), 0, 0);
  canvas.addEventListener("pointermove", (event) => {
    const box = canvas.getBoundingClientRect();
    const at = (offset, length, count) => Math.min(Math.max(Math.floor((offset / length) * count), 0), count - 1);
    const row = at(event.clientY - box.top, box.height, vectors.length);
    const place = at(event.clientX - box.left, box.width, size);
    tell(`${name}[${place}] = ${vectors[row][place].toPrecision(5)}`);
  });
  return canvas;
}

function painted(vectors, size, peak) {
  const style = getComputedStyle(document.documentElement);
  const colors = ["--heat-0", "--amber", "--accent"].map((name) => style.getPropertyValue(name));
  const [ground, warm, cool] = colors.map(channels);
  const image = new ImageData(Math.max(size, 1), Math.max(ROW * vectors.length, 1));
  const line = 4 * size;
  vectors.forEach((values, row) => {
    const first = (ROW * row + SPACE) * line;
    values.forEach((value, place) => {
      const share = peak ? Math.abs(value) / peak : 0;
      const color = value < 0 ? cool : warm;
      image.data.set(
        [...ground.map((channel, each) => channel + (color[each] - channel) * share), 255],
        first + 4 * place,
      );
    });
    for (let below = 1; below < ROW - 2 * SPACE; below += 1)
      image.data.copyWithin(first + below * line, first, first + line);
  });
  return image;
}

/** The largest absolute number of several vectors. */
function peakOf(vectors) {
  return vectors.reduce((most, values) => values.reduce((peak, value) => Math.max(peak, Math.abs(value)), most), 0);
}

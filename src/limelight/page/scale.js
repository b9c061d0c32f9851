/** The one scale of weights, from 0 to 1: a single hue, told apart by lightness alone. */

const STOPS = 5;

/** 256 colors as `[red, green, blue]`, and that of a masked cell, read from the style sheet: they follow the theme. */
export function colors() {
  const style = getComputedStyle(document.documentElement);
  const masked = channels(style.getPropertyValue("--masked"));
  const stops = Array.from({ length: STOPS }, (_, stop) => channels(style.getPropertyValue(`--heat-${stop}`)));
  const levels = Array.from({ length: 256 }, (_, level) => {
    const place = (level / 255) * (STOPS - 1);
    const first = Math.min(Math.floor(place), STOPS - 2);
    const mixed = stops[first].map((value, channel) => value + (stops[first + 1][channel] - value) * (place - first));
    return mixed.map(Math.round);
  });
  return { levels, masked };
}

/** Paint 8-bit levels as one picture, a pixel for each; null is a masked cell, which is no zero. */
export function paint(context, rows, columns, levelAt, palette) {
  const image = context.createImageData(columns, rows);
  for (let row = 0; row < rows; row += 1) {
    for (let column = 0; column < columns; column += 1) {
      const level = levelAt(row, column);
      const [red, green, blue] = level === null ? palette.masked : palette.levels[level];
      const place = 4 * (row * columns + column);
      image.data[place] = red;
      image.data[place + 1] = green;
      image.data[place + 2] = blue;
      image.data[place + 3] = 255;
    }
  }
  context.putImageData(image, 0, 0);
}

/** A number as it is written everywhere: two digits. */
export const twoDigits = (value) => value.toFixed(2);

/** The red, green and blue of a color in the style sheet. */
export function channels(color) {
  const text = color.trim().replace("#", "");
  return [0, 2, 4].map((place) => Number.parseInt(text.slice(place, place + 2), 16));
}

/** The light between two lines of tokens: thin lines for everything, cones for one token. Pure geometry. */

const MAX_LINES = 240; // lines drawn at a time: more than this nobody can tell apart
const PER_ROW = 3;
const FAINT = 0.06;

/** The links worth a line: of each row its largest few. */
export function strongLinks(weights, perRow = PER_ROW) {
  const links = [];
  for (let row = 0; row < weights.rows; row += 1) {
    const best = [];
    for (let column = 0; column < weights.columns; column += 1) {
      const weight = weights.at(row, column);
      if (weight < FAINT) continue;
      best.push({ row, column, weight });
    }
    best.sort((one, other) => other.weight - one.weight);
    links.push(...best.slice(0, perRow));
  }
  return links.sort((one, other) => other.weight - one.weight).slice(0, MAX_LINES);
}

/** A curve from one box to another. Boxes have x, y, width, height; `across`: tokens stand in two columns. */
export function curve(from, to, across) {
  const [a, b] = ends(from, to, across);
  return across
    ? `M${a.x} ${a.y}C${mid(a.x, b.x)} ${a.y} ${mid(a.x, b.x)} ${b.y} ${b.x} ${b.y}`
    : `M${a.x} ${a.y}C${a.x} ${mid(a.y, b.y)} ${b.x} ${mid(a.y, b.y)} ${b.x} ${b.y}`;
}

/** A cone of light: a point at the token that attends, as wide as the token that is attended to. */
export function cone(from, to, across) {
  const [a, b] = ends(from, to, across);
  const half = (across ? to.height : to.width) / 2;
  if (across) {
    const x = mid(a.x, b.x);
    return (
      `M${a.x} ${a.y - 2}C${x} ${a.y - 2} ${x} ${b.y - half} ${b.x} ${b.y - half}` +
      `V${b.y + half}C${x} ${b.y + half} ${x} ${a.y + 2} ${a.x} ${a.y + 2}Z`
    );
  }
  const y = mid(a.y, b.y);
  return (
    `M${a.x - 2} ${a.y}C${a.x - 2} ${y} ${b.x - half} ${y} ${b.x - half} ${b.y}` +
    `H${b.x + half}C${b.x + half} ${y} ${a.x + 2} ${y} ${a.x + 2} ${a.y}Z`
  );
}

/** Where light leaves and where it arrives: the facing edges of two boxes. */
export function ends(from, to, across) {
  if (across) {
    const right = to.x > from.x;
    return [
      { x: right ? from.x + from.width : from.x, y: from.y + from.height / 2 },
      { x: right ? to.x : to.x + to.width, y: to.y + to.height / 2 },
    ];
  }
  const below = to.y > from.y;
  return [
    { x: from.x + from.width / 2, y: below ? from.y + from.height : from.y },
    { x: to.x + to.width / 2, y: below ? to.y : to.y + to.height },
  ];
}

const mid = (one, other) => (one + other) / 2;

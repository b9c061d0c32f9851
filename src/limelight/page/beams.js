/** The light between two lines of tokens: thin lines for everything, cones for one token. Pure geometry. */

const MAX_LINES = 240; // lines drawn at a time: more than this nobody can tell apart
const PER_ROW = 3;
const FAINT = 0.06;

/** The links worth a line, of those that are `wanted`: of each row its largest few. */
export function strongLinks(weights, perRow = PER_ROW, wanted = () => true) {
  const links = [];
  for (let row = 0; row < weights.rows; row += 1) {
    const best = Array.from({ length: weights.columns }, (_, column) => ({
      row,
      column,
      weight: weights.at(row, column),
    }));
    const strong = best.filter(({ weight }) => weight >= FAINT).sort((one, other) => other.weight - one.weight);
    links.push(...strong.slice(0, perRow));
  }
  return links
    .filter(wanted)
    .sort((one, other) => other.weight - one.weight)
    .slice(0, MAX_LINES);
}

/** A curve from one box to another. Boxes have x, y, width, height; `across`: tokens stand in two columns. */
export function curve(from, to, across) {
  const [a, b] = ends(from, to, across);
  return `M${a.x} ${a.y}C${bend(a, b, across)} ${b.x} ${b.y}`;
}

/** A cone of light: a point at the token that attends, as wide as the token that is attended to. */
export function cone(from, to, across) {
  const [a, b] = ends(from, to, across);
  const half = (across ? to.height : to.width) / 2;
  const beside = ({ x, y }, by) => (across ? { x, y: y + by } : { x: x + by, y });
  const [a1, a2, b1, b2] = [beside(a, -2), beside(a, 2), beside(b, -half), beside(b, half)];
  return (
    `M${a1.x} ${a1.y}C${bend(a1, b1, across)} ${b1.x} ${b1.y}` +
    `L${b2.x} ${b2.y}C${bend(b2, a2, across)} ${a2.x} ${a2.y}Z`
  );
}

/** The two control points of a curve, half way. */
function bend(a, b, across) {
  const [x, y] = [(a.x + b.x) / 2, (a.y + b.y) / 2];
  return across ? `${x} ${a.y} ${x} ${b.y}` : `${a.x} ${y} ${b.x} ${y}`;
}

/** Where light leaves and where it arrives: the facing edges of two boxes. */
export function ends(from, to, across) {
  const later = across ? to.x > from.x : to.y > from.y;
  const edge = ({ x, y, width, height }, far) =>
    across ? { x: far ? x + width : x, y: y + height / 2 } : { x: x + width / 2, y: far ? y + height : y };
  return [edge(from, later), edge(to, !later)];
}

/** The hypotheses of a beam: what they say, and which translations came next to the best one. Pure functions of its nodes. */

const MOST = 2;
const LONG = 120; // characters: two lines
const BEFORE = 3;

/** The tokens from the start to a node; without the end, which nobody can go on from. */
export function tokensOf(nodes, node) {
  return chain(nodes, node)
    .filter((each) => each.role !== "end")
    .map((each) => each.token);
}

/** The text from the start to a node. */
export function said(nodes, node) {
  const texts = chain(nodes, node)
    .filter((each) => each.role !== "end")
    .map((each) => (each.begins ? " " : "") + each.text);
  return texts.join("").trim();
}

/** Other translations that ended in the beam, the best first: each with its text and its tokens. */
export function alternatives({ translation, beam }) {
  if (!translation || !beam) return [];
  const { nodes } = beam;
  const ended = nodes
    .filter((each) => each.state === "ended" && !each.best)
    .sort((one, other) => other.score - one.score);
  const found = new Map();
  for (const node of ended) {
    const text = node.said ?? said(nodes, node);
    if (text && text !== translation.text && !found.has(text))
      found.set(text, { text, tokens: tokensOf(nodes, node), score: node.score });
  }
  return [...found.values()].slice(0, MOST);
}

/** A long text from a few words before the first one that another text does not have there; a short one as it is. */
export function fromDifference(text, other) {
  if (text.length <= LONG) return text;
  const [words, others] = [text, other].map((each) => each.split(" "));
  const first = Math.max(0, words.findIndex((word, place) => word !== others[place]) - BEFORE);
  return first ? `… ${words.slice(first).join(" ")}` : text;
}

/** From the first token to a node. The id of a node is its place in the list. */
function chain(nodes, node) {
  const found = [];
  for (let each = node; each.parent !== null; each = nodes[each.parent]) found.push(each);
  return found.reverse();
}

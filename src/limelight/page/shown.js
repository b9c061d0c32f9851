/** What is on show: the kind of attention, its labels and its weights, in words or in subwords. */

import { decode, matrix, mergeWords } from "./matrix.js";
import { contributed, normsOf } from "./measures.js";
import { isOff } from "./question.js";

const TITLES = { cross: "Target to source", encoder_self: "Source to source", decoder_self: "Target to target" };
const SIDES = { source: "Source", target: "Target", read: "Target read so far" };

/** Whether there is one text alone, as a language model writes it, or an encoder reads it. */
const alone = ({ document: { sides } }) => !sides.source.tokens.length || !sides.target.tokens.length;

/** Which side attends to which. */
export const titleOf = (context, kind) => (alone(context) ? "Within the text" : TITLES[kind.name]);

/** What a side of the stage is called. */
export const sideOf = (context, side) => (alone(context) ? "Text" : SIDES[side]);

/** The kind that the store names, or the first one there is; null for a model without attention. */
export function kindShown(context) {
  const { kinds } = context.document;
  return kinds.find((kind) => kind.name === context.store.get("kind")) ?? kinds[0] ?? null;
}

/** Tokens or words of one side. */
export function labels(context, side) {
  const { tokens, words } = context.document.sides[side];
  return context.store.get("words") ? words : tokens;
}

/** In which words the tokens of a side are. */
export const wordsOf = (context, side) => context.document.sides[side].tokens.map((token) => token.word);

/** The first token of what is at a place of a side: of a word where words are shown. */
export const tokenAt = (context, side, place) =>
  context.store.get("words") ? wordsOf(context, side).indexOf(place) : place;

/** Pin a token or word, or unpin it; a row of the target is also the step. */
export function pin(context, axis, place) {
  const { store } = context;
  const again = store.get(axis) === place;
  const { rows } = kindShown(context);
  const step = axis === "row" && !again && rows !== "source" ? { step: tokenAt(context, rows, place) } : {};
  store.set({ row: -1, column: -1, [axis]: again ? -1 : place, ...step });
}

/** The source word that is pinned on the stage; -1 without one. */
export function sourceWord(context) {
  const { document, store } = context;
  const kind = kindShown(context);
  const at = kind?.columns === "source" && store.get("column") >= 0 ? "column" : "row";
  const place = kind?.[`${at}s`] === "source" ? store.get(at) : -1;
  const word = store.get("words") ? place : (wordsOf(context, "source")[place] ?? -1);
  return document.sides.source.words[word] && !document.sides.source.words[word].role ? word : -1;
}

/** For each row the columns that it translates, as the model's alignment heads say; null where that is not measured. */
export function alignmentOf(context, kind) {
  const { alignment } = context.document;
  if (!alignment || kind.name !== "cross") return null;
  const inWords = context.store.get("words");
  const [rows, columns] = [kind.rows, kind.columns].map((side) => wordsOf(context, side));
  const found = [];
  alignment.forEach((tokens, row) => {
    const set = (found[inWords ? rows[row] : row] ??= new Set());
    for (const token of tokens) set.add(inWords ? columns[token] : token);
  });
  return found;
}

/** Labels and weights of the selected head, or of the mean. */
export async function shown(context) {
  const kind = kindShown(context);
  if (!kind) return null;
  const [measure, words] = ["measure", "words"].map(context.store.get);
  const { layer, head } = selected(context, kind);
  const weights = await shownOf(context, kind, { layer, head, measure, words });
  return { kind, layer, head, rows: labels(context, kind.rows), columns: labels(context, kind.columns), weights };
}

/** Weights or contributions of one head, or of the mean (-1), in words or in subwords. */
export async function shownOf(context, kind, place) {
  const found = await matrixOf(context, kind, place);
  return place.words ? mergeWords(found, wordsOf(context, kind.rows), wordsOf(context, kind.columns)) : found;
}

async function matrixOf(context, kind, { layer, head, measure }) {
  const weights = await context.source.matrix(kind.name, layer, head);
  // Nobody uses what a head attends to that is switched off.
  if (layer >= 0 && isOff(context.document, kind.name, layer, head))
    return matrix(weights.rows, weights.columns, new Float32Array(weights.rows * weights.columns));
  if (measure !== "contributions" || !hasContributions(context)) return weights;
  const { contributions } = await context.source.measures();
  const { norms, mean } = contributions[kind.name];
  return layer < 0
    ? matrix(weights.rows, weights.columns, decode(mean).values)
    : contributed(weights, normsOf(norms, layer, head));
}

/** Whether the model is mapped: in a file, one that the file holds. */
export const hasMap = ({ document, source }) => Boolean(document.map ?? (source.live && document.translation));

/** Whether there are contributions: of Transformers that translate. */
export function hasContributions({ document, source }) {
  if (!source.live) return Boolean(document.measures?.contributions);
  return Boolean(document.translation) && document.kinds.some(({ name }) => name === "encoder_self");
}

/** The selected layer and head where this kind has them; -1 and -1 for the mean. */
export function selected(context, kind) {
  const layer = context.store.get("layer");
  const head = context.store.get("head");
  return layer >= 0 && layer < kind.layers && head >= 0 && head < kind.heads
    ? { layer, head }
    : { layer: -1, head: -1 };
}

/** `layer 2, head 3` or what the mean is of; layers and heads count from 0, as everywhere in Limelight. */
export function nameOf(layer, head) {
  return layer < 0 ? "mean of all layers and heads" : `layer ${layer}, head ${head}`;
}

/** What is on show by its name: contributions are named, and so is what is switched off. */
export function whatOf(context, kind, { layer, head }) {
  const contributions =
    context.store.get("measure") === "contributions" && hasContributions(context) ? "contributions, " : "";
  if (layer >= 0)
    return `${contributions}${nameOf(layer, head)}${isOff(context.document, kind.name, layer, head) ? ", switched off" : ""}`;
  const all = kind.layers * kind.heads;
  const on =
    all -
    kind.descriptions.reduce(
      (sum, heads, each) => sum + heads.filter((_, number) => isOff(context.document, kind.name, each, number)).length,
      0,
    );
  return (
    contributions +
    (on === all ? nameOf(-1, -1) : on ? `mean of the ${on} heads of ${all} that are on` : "all heads are switched off")
  );
}

/** What a head does over a corpus; null where the model does not know it. */
export const usualOf = ({ document: { corpus } }, kind, { layer, head }) =>
  layer < 0 ? null : (corpus?.roles[kind.name]?.[layer]?.[head] ?? null);

/** The head whose description has the largest number, those that align first; of one layer, or of all of them. */
export function clearest(kind, only = -1) {
  let best = { layer: 0, head: 0, value: -1 };
  kind.descriptions.forEach((heads, layer) =>
    heads.forEach(({ role, value }, head) => {
      if (only >= 0 && layer !== only) return;
      const worth = value + (role === "aligns" ? 1 : 0); // as `explained_page` chooses in Python
      if (worth > best.value) best = { layer, head, value: worth };
    }),
  );
  return { layer: best.layer, head: best.head };
}

/** The translation of a document as text; one that is empty says so. */
export const saidBy = ({ translation }) => (translation ? translation.text || "no words" : "");

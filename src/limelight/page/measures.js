/** What weights do not say: contributions, and what is lost without a word. Pure functions of numbers. */

import { decode, matrix } from "./matrix.js";

/** Weights of a head times the norms of what it takes, each row as shares of its sum: (rows, columns). */
export function contributed(weights, norms) {
  const values = new Float32Array(weights.rows * weights.columns);
  for (let row = 0; row < weights.rows; row += 1) {
    let sum = 0;
    for (let column = 0; column < weights.columns; column += 1) sum += weights.at(row, column) * norms[column];
    if (!sum) continue;
    for (let column = 0; column < weights.columns; column += 1)
      values[row * weights.columns + column] = (weights.at(row, column) * norms[column]) / sum;
  }
  return matrix(weights.rows, weights.columns, values);
}

/** The norms of one head from `{shape: [layers, heads, columns]}`. */
export function normsOf(packed, layer, head) {
  const { shape, values } = decode(packed);
  const first = (layer * shape[1] + head) * shape[2];
  return values.subarray(first, first + shape[2]);
}

/** Log-probabilities that are lost, summed over the tokens of each target word: (words, source words). */
export function lostByWord(packed, words) {
  const { shape, values } = decode(packed);
  const [tokens, columns] = shape;
  const count = Math.max(-1, ...words.slice(0, tokens)) + 1;
  const sums = new Float32Array(count * columns);
  for (let token = 0; token < tokens; token += 1) {
    for (let column = 0; column < columns; column += 1)
      sums[words[token] * columns + column] += values[token * columns + column];
  }
  return matrix(count, columns, sums);
}

/** The share of its probability that a word loses: 1 - p(without) / p(with); 0 where it gains. */
export const shareLost = (drop) => Math.max(0, 1 - Math.exp(-drop));

/**
 * Kendall's tau-b of two rows, as Jain and Wallace 2019 compare weights and erasures (section 4.1): (concordant -
 * discordant) / sqrt(pairs without a tie in one * pairs without a tie in the other); null where a row has no order.
 */
export function tau(one, other) {
  let [sum, free, freeOther] = [0, 0, 0];
  for (let i = 0; i < one.length; i += 1) {
    for (let j = 0; j < i; j += 1) {
      const [a, b] = [Math.sign(one[i] - one[j]), Math.sign(other[i] - other[j])];
      sum += a * b;
      free += a * a;
      freeOther += b * b;
    }
  }
  return free && freeOther ? sum / Math.sqrt(free * freeOther) : null;
}

/** The mean of `tau` over the rows of two matrices, for these columns; null where no row has an order. */
export function correlation(weights, lost, columns) {
  const pick = (from, row) => columns.map((column) => from.at(row, column));
  const found = Array.from({ length: lost.rows }, (_, row) => tau(pick(weights, row), pick(lost, row))).filter(
    (each) => each !== null,
  );
  return found.length ? found.reduce((sum, each) => sum + each, 0) / found.length : null;
}

/** Weights as numbers: read from the JSON, merged to words, asked for their largest. */

/** The array that `{dtype, shape, data}` stands for: base64 of little-endian numbers; those of 16 bits have a scale. */
export function decode({ dtype, shape, data, scale = 1 }) {
  const text = atob(data);
  const bytes = new Uint8Array(text.length);
  for (let place = 0; place < text.length; place += 1) bytes[place] = text.charCodeAt(place);
  if (dtype === "int16")
    return { shape, values: Float32Array.from(new Int16Array(bytes.buffer), (each) => each * scale) };
  return { shape, values: dtype === "float32" ? new Float32Array(bytes.buffer) : bytes };
}

/** The rows of numbers that lie one after the other. */
export function rowsOf(values, count) {
  const size = values.length / Math.max(count, 1);
  return Array.from({ length: count }, (_, row) => values.subarray(row * size, (row + 1) * size));
}

/** A matrix of `rows` x `columns` weights, row by row. */
export function matrix(rows, columns, values) {
  return { rows, columns, values, at: (row, column) => values[row * columns + column] };
}

/** Sub-words to words: the mean over those that attend, the sum over those attended to. Rows keep their sums. */
export function mergeWords(weights, rowWords, columnWords) {
  const rows = Math.max(-1, ...rowWords) + 1;
  const columns = Math.max(-1, ...columnWords) + 1;
  const values = new Float32Array(rows * columns);
  const sizes = Array.from({ length: rows }, () => 0);
  for (const word of rowWords) sizes[word] += 1;
  for (let row = 0; row < weights.rows; row += 1) {
    for (let column = 0; column < weights.columns; column += 1) {
      values[rowWords[row] * columns + columnWords[column]] += weights.at(row, column) / sizes[rowWords[row]];
    }
  }
  return matrix(rows, columns, values);
}

/** The places of the largest values, largest first: at most `count`, none below `least`. */
export function largest(values, count, least = 0) {
  const places = [];
  values.forEach((value, place) => {
    if (value >= least && value > 0) places.push(place);
  });
  return places.sort((one, other) => values[other] - values[one]).slice(0, count);
}

/** One row, or one column, as an array. */
export function line(weights, row, column) {
  if (row >= 0) return Array.from(weights.values.subarray(row * weights.columns, (row + 1) * weights.columns));
  return Array.from({ length: weights.rows }, (_, each) => weights.at(each, column));
}

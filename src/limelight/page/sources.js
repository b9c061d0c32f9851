/** Where data comes from. A source answers `matrix(kind, layer, head)`; layer and head -1 ask for the mean. */

import { decode, matrix } from "./matrix.js";

/** All that is in the document itself: a page without a server. */
export function embeddedSource(get) {
  const arrays = new Map();
  const read = (name, packed) => {
    const known = arrays.get(name);
    if (known?.packed === packed) return known.array;
    const array = decode(packed);
    arrays.set(name, { packed, array });
    return array;
  };
  return {
    live: false,
    measures: async () => get().measures ?? null,
    layers: async () => get().layers ?? null,
    map: async () => get().map ?? null,
    inside: async () => null,
    async lookUp(kind, layer, head, row) {
      const { look_ups: held = {} } = get();
      const found = held[[kind, layer, head, row].join("/")];
      // Keys and values are those of the source, whatever the row: the first one has them.
      return found ? { ...held[[kind, layer, head, 0].join("/")], ...found } : null;
    },
    async matrix(kind, layer, head) {
      const document = get();
      if (layer < 0) {
        const { shape, values } = read(`${kind} mean`, document.kinds.find((each) => each.name === kind).mean);
        return matrix(shape[0], shape[1], values);
      }
      const { shape, values } = read(kind, document.matrices[kind]);
      const [, heads, rows, columns] = shape;
      const first = (layer * heads + head) * rows * columns;
      return matrix(rows, columns, values.subarray(first, first + rows * columns));
    },
  };
}

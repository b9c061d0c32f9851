/** What is asked of the model, as the store and the address hold it: short texts. */

/** Token ids from `5.9`, and back with `join(".")`. */
export const readIds = (text) => text.split(".").filter(Boolean).map(Number).filter(Number.isInteger);

/** `decoder.0.cross:1.3;encoder.2.self:0` as `{"decoder.0.cross": [1, 3], ...}`. */
export function readOff(text) {
  const named = text
    .split(";")
    .filter(Boolean)
    .map((part) => part.split(":"));
  return Object.fromEntries(named.map(([name, heads = ""]) => [name, readIds(heads)]));
}

/** The reverse, in the order of the names. */
export function writeOff(off) {
  const named = Object.entries(off).filter(([, heads]) => heads.length);
  return named
    .sort()
    .map(([name, heads]) => `${name}:${[...heads].sort((one, other) => one - other).join(".")}`)
    .join(";");
}

/** The name of the attention of a kind in a layer, as `keep_heads` in Python has it. */
export function attentionName(kind, layer) {
  return {
    cross: `decoder.${layer}.cross`,
    encoder_self: `encoder.${layer}.self`,
    decoder_self: `decoder.${layer}.self`,
  }[kind];
}

/** Whether a head is switched off in this document. */
export function isOff(document, kind, layer, head) {
  return (document.translation?.off[attentionName(kind, layer)] ?? []).includes(head);
}

/** What is off, as the store has it, with a head switched off, or on again. */
export function toggled(asked, kind, layer, head) {
  const off = readOff(asked);
  const name = attentionName(kind, layer);
  const heads = off[name] ?? [];
  off[name] = heads.includes(head) ? heads.filter((each) => each !== head) : [...heads, head];
  return off;
}

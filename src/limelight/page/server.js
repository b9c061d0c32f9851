/** The source that asks a server: what is shown is asked for, and nothing else. The only module that uses the network. */

import { matrix, decode } from "./matrix.js";
import { readIds, readOff } from "./question.js";

/** Ask the service. Raises an `Error` with the service's own message, and its `code`. */
export async function request(path, body, signal) {
  return (await answered(path, body, signal)).json();
}

/** Hear an answer that comes as events: `heard(name, data)` for each. Raises as `request` does. */
export async function hear(path, body, signal, heard) {
  const reader = (await answered(path, body, signal)).body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read().catch(unreachable);
    if (done) return;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const data = JSON.parse(/^data: ([^\n]*)/m.exec(block)[1]);
      const name = /^event: (.*)$/m.exec(block)?.[1] ?? "";
      if (name === "error") throw Object.assign(new Error(data.error.message), { code: data.error.code });
      heard(name, data);
    }
  }
}

/** The same for an answer that is a file. */
export const requestFile = async (path, body) => (await answered(path, body)).blob();

const LOST = "The service cannot be reached. What is shown is from before. It is asked again every two seconds.";

let lost = () => {};

/** Call an action whenever the service cannot be reached. */
export function onLost(action) {
  lost = action;
}

/** Where the service cannot be reached; what was taken back stays so. */
function unreachable(error) {
  if (error.name === "AbortError") throw error;
  lost();
  throw Object.assign(new Error(LOST), { code: "lost" });
}

let key = "";

/** The key that is sent from now on, for a service that asks for one. It is kept nowhere. */
export function useKey(given) {
  key = given.trim();
}

async function answered(path, body, signal) {
  const headers = key ? { Authorization: `Bearer ${key}` } : {};
  const sent = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const response = await fetch(`api/v1/${path}`, { headers, signal, ...sent }).catch(unreachable);
  if (response.ok) return response;
  const { error } = await response.json().catch(() => ({}));
  throw Object.assign(new Error(error?.message ?? `the service answered ${response.status}`), {
    code: error?.code ?? "",
  });
}

/** What the store asks: with `plain` without forced words and switches. */
export function questionOf(store, plain = false) {
  return {
    text: store.get("text"),
    source_lang: store.get("from"),
    target_lang: store.get("to"),
    model: store.get("model"),
    ...(store.get("beam") ? { beam_size: store.get("beam") } : {}),
    prefix: plain ? [] : readIds(store.get("prefix")),
    forced: plain ? "" : store.get("forced"),
    off: plain ? {} : readOff(store.get("off")),
    ...(store.get("snapshot") ? { snapshot: store.get("snapshot") } : {}),
  };
}

const REMEMBERED = 200;
const answers = new Map();

/** An answer of the service, asked for once; the latest are remembered. */
export function remembered(path, body, name) {
  const asked = JSON.stringify([path, body]);
  if (!answers.has(asked)) {
    const answer = request(path, body).then((found) => (name ? found[name] : found));
    answer.catch(() => answers.delete(asked));
    answers.set(asked, answer);
    if (answers.size > REMEMBERED) answers.delete(answers.keys().next().value);
  }
  return answers.get(asked);
}

/** A source of a document that the service answered with: `get()` is the one that is shown now. */
export function serverSource(get) {
  // Of that document, whatever has been typed since.
  const looked = () => ({ ...get().question, prefix: [], forced: "", target: get().translation.ids });
  const head = (place) =>
    get().translation
      ? remembered("page/head", { ...looked(), ...place }, "matrix")
      : remembered("page/text_head", { ...get().question, ...place }, "matrix");
  return {
    live: true,
    async matrix(kind, layer, number) {
      const packed =
        layer < 0 ? get().kinds.find((each) => each.name === kind).mean : await head({ kind, layer, head: number });
      const { shape, values } = decode(packed);
      return matrix(shape[0], shape[1], values);
    },
    measures: () => remembered("page/measures", looked(), "measures"),
    layers: () => remembered("page/layers", looked(), "layers"),
    map: async () => get().map ?? remembered("page/map", looked(), "map"),
    distribution: async (row) => {
      const packed = await remembered("page/distribution", { ...looked(), row }, "log_probabilities");
      return (packed.read ??= decode(packed).values);
    },
    inside: async (side, layer, place) =>
      get().translation ? remembered("page/inside", { ...looked(), side, layer, place }, "inside") : null,
    similar: (layer, word, lines) => remembered("page/similar", { ...looked(), layer, word, lines }, "similar"),
    lookUp: async (kind, layer, number, row) =>
      get().translation ? remembered("page/look_up", { ...looked(), kind, layer, head: number, row }, "look_up") : null,
  };
}

/** The source that asks a server: what is shown is asked for, and nothing else. The only module that uses the network. */

import { matrix, decode } from "./matrix.js";
import { readIds, readOff, readTemperature } from "./question.js";

const PAUSE = 350; // milliseconds without a key before a translation is asked for

/** Ask the service. Raises an `Error` with the service's own message, and its `code`. */
export async function request(path, body, signal) {
  return (await answered(path, body, signal)).json();
}

/** The same for an answer that is a file. */
export const requestFile = async (path, body) => (await answered(path, body)).blob();

let key = "";

/** The key that is sent from now on, for a service that asks for one. It is kept nowhere. */
export function useKey(given) {
  key = given.trim();
}

async function answered(path, body, signal) {
  const headers = key ? { Authorization: `Bearer ${key}` } : {};
  const sent = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const response = await fetch(`api/v1/${path}`, { headers, signal, ...sent });
  if (response.ok) return response;
  const { error } = await response.json().catch(() => ({}));
  throw Object.assign(new Error(error?.message ?? `the service answered ${response.status}`), { code: error?.code ?? "" });
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
    off: plain ? {} : readOff(store.get("off")),
    temperature: plain ? {} : readTemperature(store.get("temperature")),
  };
}

/** A source of the document that the service answered with. */
export function serverSource(context) {
  const answers = new Map();
  const remembered = (path, body, name) => {
    const key = JSON.stringify([path, body]);
    if (!answers.has(key)) {
      answers.set(key, request(path, body).then((answer) => answer[name]));
      answers.get(key).catch(() => answers.delete(key));
    }
    return answers.get(key);
  };
  // Of the document that is shown, whatever has been typed since.
  const looked = () => ({ ...context.document.question, prefix: [], target: context.document.translation.ids });
  return {
    live: true,
    async matrix(kind, layer, head) {
      const packed = layer < 0 ? context.document.kinds.find((each) => each.name === kind).mean : await remembered("page/head", { ...looked(), kind, layer, head }, "matrix");
      const { shape, values } = decode(packed);
      return matrix(shape[0], shape[1], values);
    },
    lookUp: (kind, layer, head, row) => remembered("page/look_up", { ...looked(), kind, layer, head, row }, "look_up"),
  };
}

/** Ask for a new document whenever the question changes, after a pause in typing; an answer that is late is dropped. */
export function followQuestion(context, tell) {
  const { store } = context;
  let waiting = null;
  let asking = null;
  const ask = async () => {
    asking?.abort();
    asking = new AbortController();
    const { signal } = asking;
    const question = questionOf(store);
    if (!question.text.trim()) return tell("");
    tell("…");
    try {
      const plain = questionOf(store, true);
      const { document } = await request("page/explain", question, signal);
      if (JSON.stringify(context.baseline?.question) !== JSON.stringify(plain)) {
        const changed = question.prefix.length || Object.keys({ ...question.off, ...question.temperature }).length;
        const before = changed ? (await request("page/explain", plain, signal)).document : document;
        context.baseline = { ...before, question: plain };
      }
      context.show({ ...document, question });
      return tell("");
    } catch (error) {
      return signal.aborted ? undefined : tell(error.message, error.code);
    }
  };
  store.on(["text", "from", "to", "model", "beam", "prefix", "off", "temperature"], (changed) => {
    clearTimeout(waiting);
    waiting = setTimeout(ask, changed.includes("text") ? PAUSE : 0);
  });
  return ask;
}

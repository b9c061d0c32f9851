/** From what is typed to a new document, while typing pauses: text as it comes, then all that is to be seen of it. */

import { hear, onLost, questionOf, remembered, request } from "./server.js";
import { QUESTION } from "./store.js";

const PAUSE = 350; // milliseconds without a key before the model is asked
const MAX_TEXT = 5000;
const AGAIN = 2000; // milliseconds until a service that cannot be reached is asked again
const LOOK = 60_000; // milliseconds after which a page that is visible looks whether the service is still there

/** What the chosen model does: `translate`, `generate` or `fill`. */
export const useOf = ({ store, models }) => models.find(({ name }) => name === store.get("model"))?.use ?? "translate";

/** The language through which the chosen direction is translated; "" for a direct one. */
export function throughOf({ store, models }) {
  const [from, to] = [store.get("from"), store.get("to")];
  const { directions = [] } = models.find(({ name }) => name === store.get("model")) ?? {};
  return directions.find(({ source, target }) => source === from && target === to)?.through ?? "";
}

/** Ask whenever the question changes. The newest question wins: those before it are taken back. */
export function followQuestion(context, tell) {
  const { store } = context;
  let waiting = null;
  let asking = null;
  let lost = null;
  const done = (text = "", code = "") => {
    context.busy(false);
    if (code !== "lost") lost = null;
    tell(text, code);
  };
  const ask = async () => {
    asking?.abort();
    const again = lost !== null;
    clearTimeout(lost);
    asking = new AbortController();
    const { signal } = asking;
    const { length } = store.get("text");
    if (!store.get("text").trim()) {
      const gone = again && (await lookForService(signal));
      if (signal.aborted) return undefined;
      if (gone) return done(gone.message, gone.code);
      context.show({ ...context.base, model: store.get("model") }); // nothing of the sentence before stays
      return done();
    }
    if (length > MAX_TEXT)
      return done(`The text has ${length} characters, and the page takes ${MAX_TEXT}: give a shorter one.`);
    context.busy(true);
    if (!again) tell("…"); // else it stays told that the service is lost
    try {
      const use = useOf(context);
      await { translate: askTranslation, generate: askWriting, fill: askFilling }[use](context, signal);
      return signal.aborted ? undefined : done();
    } catch (error) {
      if (signal.aborted) return undefined;
      return done(error.message, error.code);
    }
  };
  onLost(() => {
    // Whoever asked: the answer to the question draws all views again. Before the models are known, they are asked for.
    clearTimeout(lost);
    if (context.models.length) lost = setTimeout(ask, AGAIN);
  });
  const look = async () => {
    if (document.visibilityState !== "visible" || lost !== null || !context.models.length) return;
    const gone = await lookForService();
    if (gone) tell(gone.message, gone.code);
  };
  document.addEventListener("visibilitychange", look);
  setInterval(look, LOOK);
  // What a click asks for and nobody waits for, such as the weights of a head or a file.
  addEventListener("unhandledrejection", (event) => {
    const { message, code } = event.reason;
    if (code === undefined) return; // not the service's
    event.preventDefault();
    tell(message, code);
  });
  store.on(QUESTION, (changed) => {
    clearTimeout(waiting);
    clearTimeout(lost);
    asking?.abort();
    context.busy(true);
    waiting = setTimeout(ask, changed.includes("text") ? PAUSE : 0);
  });
  return ask;
}

/** The error where the service cannot be reached; null where it answers. No request costs the service less. */
const lookForService = (signal) =>
  request("health/live", undefined, signal).then(
    () => null,
    (error) => (error.code === "lost" ? error : null),
  );

async function askTranslation(context, signal) {
  const { store } = context;
  const forced = ["before", "prefix", "forced", "off"].some(store.get);
  const whole = questionOf(store, true);
  const paragraph = await paragraphOf(context, whole, signal, forced);
  if (throughOf(context)) {
    // Attention, steps and beam are of one direction: here there is only text.
    const said = { text: paragraph.text, confidence: paragraph.confidence };
    if (!signal.aborted)
      context.show({ ...context.base, model: whole.model, question: whole, said, through: throughOf(context) });
    return;
  }
  const part = partOf(context, paragraph, whole.text);
  const earlier =
    store.get("before") && store.get("before") !== whole.text
      ? await paragraphOf(context, { ...whole, text: store.get("before") }, signal, true)
      : paragraph;
  const question = { ...questionOf(store), text: part };
  const plain = { ...whole, text: part };
  const compared = { ...plain, text: partOf(context, earlier, store.get("before") || whole.text) };
  const changed = JSON.stringify(question) !== JSON.stringify(compared);
  const said = changed || question.snapshot ? null : saidOf(context, paragraph);
  if (question.snapshot && store.get("hold")) {
    for (const [asked, own] of [
      [question, plain],
      [compared, { ...plain, text: compared.text }],
    ]) {
      const held = await remembered("page/explain", { ...own, snapshot: undefined }, "document");
      asked.target = held.translation.ids;
    }
  }
  const { document } = await request("page/explain", question, signal);
  if (JSON.stringify(context.baseline?.question) !== JSON.stringify(compared)) {
    const before = changed ? (await request("page/explain", compared, signal)).document : document;
    if (!signal.aborted) context.baseline = { ...before, question: compared };
  }
  // Forced words change no probability of those before: only another source, or other heads, do.
  const weighed = JSON.stringify({ ...question, prefix: [], forced: "" }) !== JSON.stringify(compared);
  const kept = weighed ? await nowOf(context, question, document, signal) : null;
  if (!signal.aborted) context.show({ ...document, question, said, kept, paragraph });
}

/** The sentence that is on the stage; all of a text that is one sentence. */
function partOf({ store }, { sentences }, text) {
  return sentences.length > 1 ? sentences[Math.min(store.get("sentence"), sentences.length - 1)].source : text;
}

/** How sure the model is of the sentence on the stage. */
function saidOf({ store }, { sentences, confidence }) {
  if (sentences.length < 2) return { text: sentences[0]?.text ?? "", confidence };
  return sentences[Math.min(store.get("sentence"), sentences.length - 1)];
}

/** How probable the old translation is after the change, where there is another one in its place. */
async function nowOf({ baseline }, question, { translation }, signal) {
  const { ids } = baseline?.translation ?? translation;
  if (ids.join() === translation.ids.join()) return null;
  const asked = { ...question, prefix: [], forced: "", target: ids };
  return (await request("page/explain", asked, signal)).document.translation.log_probability;
}

/** The translation of a text as everybody else gets it, split into sentences; it grows on the page unless it is `quiet`. */
async function paragraphOf(context, { text, source_lang, target_lang, model, beam_size }, signal, quiet) {
  const asked = { text, source_lang, target_lang, model, beam_size, stream: true };
  const key = JSON.stringify(asked);
  if (context.paragraphs?.has(key)) return context.paragraphs.get(key);
  let found = { text: "", sentences: [], confidence: null };
  await hear("translate", asked, signal, (name, data) => {
    if (signal.aborted) return;
    if (name === "partial" && !quiet) context.grow(data.translation);
    else if (name === "done") {
      const { text: translated, confidence, sentences } = data.translations[0];
      found = { text: translated, confidence, sentences: sentences.filter(({ source }) => source.trim()) };
    }
  });
  if (!signal.aborted) context.paragraphs = new Map([...[...(context.paragraphs ?? [])].slice(-9), [key, found]]);
  return found;
}

async function askWriting(context, signal) {
  const { store } = context;
  const [model, text, seed] = ["model", "text", "seed"].map(store.get);
  const sampling = seed ? { temperature: 0.8, seed } : null;
  await hear("page/write", { model, text, sampling }, signal, (name, data) => {
    if (signal.aborted) return;
    if (name === "partial") context.grow(text + data.text);
    else if (name === "done")
      context.show({ ...data.document, question: { model, text: text + data.document.written.text } });
  });
}

async function askFilling(context, signal) {
  const question = { model: context.store.get("model"), text: context.store.get("text") };
  const { document } = await request("page/fill", question, signal);
  if (!signal.aborted) context.show({ ...document, question });
}

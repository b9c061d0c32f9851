/** From what is typed to a new document, while typing pauses: text as it comes, then all that is to be seen of it. */

import { hear, questionOf, remembered, request } from "./server.js";

const PAUSE = 350; // milliseconds without a key before the model is asked
const QUESTION = ["text", "before", "from", "to", "model", "beam", "prefix", "off", "temperature", "snapshot", "hold", "seed"];

/** What the chosen model does: `translate`, `generate` or `fill`. */
export const useOf = ({ store, models }) => models.find(({ name }) => name === store.get("model"))?.use ?? "translate";

/** Ask whenever the question changes. The newest question wins: those before it are taken back. */
export function followQuestion(context, tell) {
  const { store } = context;
  let waiting = null;
  let asking = null;
  const done = (text = "", code = "") => {
    context.busy(false);
    tell(text, code);
  };
  const ask = async () => {
    asking?.abort();
    asking = new AbortController();
    const { signal } = asking;
    if (!store.get("text").trim()) return done();
    context.busy(true);
    tell("…");
    try {
      const use = useOf(context);
      await { translate: askTranslation, generate: askWriting, fill: askFilling }[use](context, signal);
      return signal.aborted ? undefined : done();
    } catch (error) {
      return signal.aborted ? undefined : done(error.message, error.code);
    }
  };
  store.on(QUESTION, (changed) => {
    clearTimeout(waiting);
    asking?.abort();
    context.busy(true);
    waiting = setTimeout(ask, changed.includes("text") ? PAUSE : 0);
  });
  return ask;
}

async function askTranslation(context, signal) {
  const { store } = context;
  const question = questionOf(store);
  const plain = questionOf(store, true);
  const compared = { ...plain, text: store.get("before") || plain.text };
  const changed = JSON.stringify(question) !== JSON.stringify(compared);
  const said = changed || question.snapshot ? null : await stream(context, plain, signal);
  if (question.snapshot && store.get("hold")) question.target = (await remembered("page/explain", served(plain), "document")).translation.ids;
  const { document } = await request("page/explain", question, signal);
  if (JSON.stringify(context.baseline?.question) !== JSON.stringify(compared)) {
    const before = changed ? (await request("page/explain", compared, signal)).document : document;
    if (!signal.aborted) context.baseline = { ...before, question: compared };
  }
  const kept = changed ? await nowOf(context, question, document, signal) : null;
  if (!signal.aborted) context.show({ ...document, question, said, kept });
}

/** How probable the old translation is after the change, where there is another one in its place. */
async function nowOf({ baseline }, question, { translation }, signal) {
  const { ids } = baseline?.translation ?? translation;
  if (ids.join() === translation.ids.join()) return null;
  const asked = { ...question, prefix: [], target: ids };
  return (await request("page/explain", asked, signal)).document.translation.log_probability;
}

const served = ({ snapshot, ...question }) => question;

/** The translation as it grows, and in the end how sure the model is of it and of each word. */
async function stream(context, { text, source_lang, target_lang, model, beam_size }, signal) {
  let said = null;
  const asked = { text, source_lang, target_lang, model, beam_size, split_sentences: false, stream: true };
  await hear("translate", asked, signal, (name, data) => {
    if (signal.aborted) return;
    if (name === "partial") context.grow(data.translation);
    else if (name === "done") said = { confidence: data.translations[0].confidence, words: data.translations[0].sentences.flatMap(({ words }) => words ?? []) };
  });
  return said;
}

async function askWriting(context, signal) {
  const { store } = context;
  const [model, text, seed] = ["model", "text", "seed"].map(store.get);
  const sampling = seed ? { temperature: 0.8, seed } : null;
  await hear("page/write", { model, text, sampling }, signal, (name, data) => {
    if (signal.aborted) return;
    if (name === "partial") context.grow(text + data.text);
    else if (name === "done") context.show({ ...data.document, question: { model, text: text + data.document.written.text } });
  });
}

async function askFilling(context, signal) {
  const question = { model: context.store.get("model"), text: context.store.get("text") };
  const { document } = await request("page/fill", question, signal);
  if (!signal.aborted) context.show({ ...document, question });
}

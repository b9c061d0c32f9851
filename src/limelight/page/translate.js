/** The line on which one types, in which direction or with which model, and what becomes of it. */

import { useOf } from "./asking.js";
import { element, fill } from "./dom.js";
import { alternatives } from "./hypotheses.js";
import { request, useKey } from "./server.js";

const EXAMPLE = { en: "My sister drinks a cup of tea every evening.", de: "Meine Schwester trinkt jeden Abend eine Tasse Tee.", fr: "Ma sœur boit une tasse de thé tous les soirs." };
const TEXTS = { generate: "The small dog", fill: "The small [MASK] runs across the green grass." };
const NAMES = { translate: "Sentence to translate", generate: "Text to write on", fill: "Text with [MASK]" };
const RESULTS = { translate: "Translation", generate: "What the model writes", fill: "With the best guesses" };
const NEW = { before: "", prefix: "", off: "", temperature: "", row: -1, column: -1, step: 0, seed: 0 };

/** The form as an element, and `tell(text)` for what the service says. */
export function createTranslate(context) {
  const { store } = context;
  const input = element("textarea", { rows: 2, maxlength: 2000, spellcheck: "false", placeholder: "Type a sentence", input: () => store.set({ ...NEW, text: input.value.replaceAll("\n", " ") }) });
  const ways = element("select", { "aria-label": "Direction", change: () => choose(context, ways.value, input) });
  const status = element("p", { class: "status", role: "status" });
  const output = element("output", { class: "output", "aria-live": "off" });
  const sure = element("p", { class: "confidence" });
  const others = element("div", { class: "others" });
  const more = element("div", { class: "tools" }, quiet("Write more", () => store.set({ text: written(context) })), quiet("Another one", () => store.set({ seed: store.get("seed") + 1 })));
  const draw = () => drawOutput(context, { input, output, sure, others, more });
  store.on(["document", "models", "model"], draw);
  store.on(["grown"], () => {
    fill(output, context.grown);
    output.classList.add("growing");
    sure.hidden = others.hidden = true;
  });
  store.on(["text"], () => {
    if (input.value !== store.get("text")) input.value = store.get("text");
  });
  const key = element("input", { type: "password", "aria-label": "Key of this service", autocomplete: "off", placeholder: "Key" });
  const form = element("form", { hidden: true }, element("input", { type: "text", autocomplete: "username", hidden: true }), key, element("button", { type: "submit", class: "quiet" }, "Use this key"));
  const tell = (text, code = "") => {
    form.hidden = !["no_key", "invalid_key"].includes(code);
    fill(status, text);
  };
  const begin = () => load(context, ways, input, tell);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    useKey(key.value);
    void begin();
  });
  draw();
  void begin();
  const root = element("section", { class: "translate", "aria-label": "Translate" }, ways, input, output, sure, others, more, status, form);
  return { root, tell };
}

const quiet = (name, click) => element("button", { type: "button", class: "quiet", click }, name);
const written = ({ document: { written: found } }) => (found ? found.prompt + found.text : "");

function drawOutput(context, { input, output, sure, others, more }) {
  const { document } = context;
  const use = useOf(context);
  input.setAttribute("aria-label", NAMES[use]);
  output.setAttribute("aria-label", RESULTS[use]);
  output.classList.remove("growing");
  more.hidden = !document.written;
  drawOthers(context, others);
  const said = document.said;
  const confident = said?.words.length && said.words.map(({ text }) => text).join(" ") === document.translation?.text.split(/\s+/).join(" ");
  sure.hidden = !confident;
  if (confident) {
    fill(output, said.words.flatMap((word) => [confidentWord(word), " "]));
    fill(sure, `Confidence ${said.confidence === null ? "not known" : said.confidence.toFixed(2)}: the line under a word is as strong as the model is sure of it`);
  } else if (document.written) {
    fill(output, element("span", { class: "prompt" }, document.written.prompt), document.written.text);
  } else fill(output, document.filled?.text ?? document.translation?.text ?? "");
}

/** What the beam would have said next; a click goes on with it. */
function drawOthers(context, others) {
  const found = alternatives(context.document);
  others.hidden = !found.length;
  const choices = found.map(({ text, tokens, score }) => element("button", { type: "button", title: `score ${score.toFixed(3)}`, click: () => context.ask({ prefix: tokens }) }, text));
  fill(others, element("span", {}, "Or: "), choices);
}

/** A word with a line as strong as its confidence; one that is doubtful has a dotted line. */
function confidentWord({ text, confidence }) {
  const word = element("span", { class: `certain ${confidence < 0.5 ? "doubtful" : ""}`, title: `confidence ${confidence.toFixed(2)}` }, text);
  word.style.setProperty("--sure", confidence.toFixed(3));
  return word;
}

async function load(context, ways, input, tell) {
  const { store } = context;
  try {
    const { models } = await request("models");
    context.models = models;
    const found = models.flatMap(({ name, directions }) => (directions.length ? directions : [{ source: "", target: "" }]).map(({ source, target }) => ({ name, source, target })));
    fill(ways, models.flatMap(options(models.length > 1)));
    ways.hidden = found.length < 2;
    input.value = store.get("text");
    const wanted = { name: store.get("model"), source: store.get("from"), target: store.get("to") };
    const fits = found.find((each) => Object.entries(wanted).every(([part, value]) => !value || each[part] === value));
    if (fits) {
      // A link that leaves out the model or the direction keeps all else that it says.
      ways.value = JSON.stringify([fits.name, fits.source, fits.target]);
      store.set({ model: fits.name, from: fits.source, to: fits.target });
    } else if (found.length) choose(context, ways.value, input);
    store.set({ models: models.length });
    tell("");
    if (!input.value) store.set({ text: example(context) });
    else if (!context.document.kinds.length) void context.again();
  } catch (error) {
    context.busy(false);
    tell(error.message, error.code);
  }
}

/** What can be chosen of a model: its directions, or what else it does. */
const options = (several) => ({ name, use, directions }) => {
  const does = { generate: "Write on", fill: "Fill in" }[use];
  const ways = directions.length ? directions : [{ source: "", target: "" }];
  return ways.map(({ source, target }) => element("option", { value: JSON.stringify([name, source, target]) }, `${does ?? `${source || "source"} → ${target || "target"}`}${several ? ` · ${name}` : ""}`));
};

const example = (context) => TEXTS[useOf(context)] ?? EXAMPLE[context.store.get("from")] ?? "";

function choose(context, value, input) {
  const { store } = context;
  const [model, from, to] = JSON.parse(value);
  const given = !input.value || [...Object.values(EXAMPLE), ...Object.values(TEXTS)].includes(input.value);
  store.set({ ...NEW, model, from, to, snapshot: 0, hold: 0 });
  if (given) store.set({ text: example(context) || input.value });
}

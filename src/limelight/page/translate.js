/** The line on which one types, in which direction or with which model, and what becomes of it. */

import { throughOf, useOf } from "./asking.js";
import { button, element, field, fill, keepFocus, quiet } from "./dom.js";
import { alternatives, fromDifference } from "./hypotheses.js";
import { request, useKey } from "./server.js";
import { NEW } from "./store.js";

const EXAMPLES = {
  en: [
    "My sister drinks a cup of tea every evening.",
    "She did not see the dog because it was dark.",
    "Please turn off the light before you leave.",
    "This bag is light and easy to carry.",
    "We sat on the bank of the river.",
    "He works in a bank in the city.",
    "Turn left at the next corner.",
    "The last train left at nine.",
    "My watch is too slow.",
    "They watch the birds in the garden.",
    "Would you like some coffee?",
  ],
  de: [
    "Meine Schwester trinkt jeden Abend eine Tasse Tee.",
    "Sie sah den Hund nicht, weil es dunkel war.",
    "Die Kinder sitzen auf einer Bank im Park.",
    "Er hat sein Geld auf der Bank.",
    "Das Schloss steht auf einem Berg.",
    "Der Schlüssel passt nicht in das Schloss.",
    "Möchten Sie eine Tasse Kaffee?",
  ],
  fr: [
    "Ma sœur boit une tasse de thé tous les soirs.",
    "Elle n'a pas vu le chien parce qu'il faisait nuit.",
    "Il lit un livre avant de dormir.",
    "Elle a acheté une livre de beurre.",
    "Le tour du lac prend une heure.",
    "La tour de l'église est très haute.",
    "Voulez-vous une tasse de café ?",
  ],
};
const TEXTS = { generate: "The small dog", fill: "The small [MASK] runs across the green grass." };
const NAMES = { translate: "Sentence to translate", generate: "Text to write on", fill: "Text with [MASK]" };
const RESULTS = { translate: "Translation", generate: "What the model writes", fill: "With the best guesses" };
const AGAIN = 1000; // milliseconds until a model that is loading is asked for again

/** The form as an element, and `tell(text)` for what the service says. */
export function createTranslate(context) {
  const { store } = context;
  const type = () => store.set({ ...NEW, text: input.value.replaceAll("\n", " ") });
  const look = { spellcheck: "false", dir: "auto", placeholder: "Type a sentence" };
  const input = element("textarea", { ...look, input: type });
  const examples = element("div.others.examples", { hidden: true });
  const ways = element("select", {
    hidden: true,
    "aria-label": "Direction",
    change: () => choose(context, ways.value, input),
  });
  const status = element("p.status", { role: "status" });
  const output = element("output.output", { "aria-live": "off", dir: "auto" });
  const notice = element("p.status", { role: "status" });
  const loading = element("progress", { "aria-label": "The model is loading", hidden: true });
  const sure = element("p.confidence");
  const others = element("div.others");
  const steps = element("div.others", { hidden: true });
  const more = element(
    "div.tools",
    quiet("Write more", () => store.set({ text: written(context) })),
    quiet("Another one", () => store.set({ seed: store.get("seed") + 1 })),
  );
  const draw = () => {
    drawOutput(context, { input, output, sure, others, more });
    drawExamples(context, examples, input);
    drawSteps(context, steps, tell);
  };
  store.on(["document", "models", "model"], draw);
  store.on(["grown"], () => {
    fill(output, context.grown);
    output.classList.add("growing");
    sure.hidden = others.hidden = true;
  });
  store.on(["text", "from", "model"], () => drawExamples(context, examples, input));
  store.on(["text"], () => {
    if (input.value !== store.get("text")) input.value = store.get("text");
  });
  store.on(["from", "to", "model"], () => {
    showWay(context, ways);
    if (!ways.value) settle(context);
  });
  const key = field("Key of this service", { type: "password", autocomplete: "off", placeholder: "Key" });
  const form = element(
    "form",
    { hidden: true },
    element("input", { type: "text", autocomplete: "username", hidden: true }),
    key,
    element("button", { type: "submit", class: "quiet" }, "Use this key"),
  );
  const tell = (text, code = "") => {
    form.hidden = !["no_key", "invalid_key"].includes(code);
    output.classList.toggle("stale", code === "lost");
    if (status.textContent !== text) fill(status, text); // a reader says it once
  };
  const begin = () => load(context, { ways, input, tell, notice, loading });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    useKey(key.value);
    void (context.models.length ? context.again() : begin());
  });
  draw();
  void begin();
  const root = element(
    "section.translate",
    { "aria-label": "Translate" },
    element("div.begin", ways, examples),
    input,
    output,
    sure,
    others,
    steps,
    more,
    loading,
    status,
    notice,
    form,
  );
  return { root, tell };
}

const plain = (text) => text.trim().split(/\s+/).join(" ");
const written = ({ document: { written: found } }) => (found ? found.prompt + found.text : "");

function drawOutput(context, { input, output, sure, others, more }) {
  const { document } = context;
  const use = useOf(context);
  input.setAttribute("aria-label", NAMES[use]);
  output.setAttribute("aria-label", RESULTS[use]);
  [input.lang, output.lang] = ["from", "to"].map(context.store.get);
  output.classList.remove("growing");
  more.hidden = !document.written;
  const { said, translation } = document;
  const notes = typeof said?.confidence === "number" ? [`Confidence ${said.confidence.toFixed(2)}`] : [];
  if (document.paragraph?.sentences.length > 1) {
    others.hidden = true;
    return drawParagraph(context, output, sure, notes);
  }
  drawOthers(context, others);
  if (said && translation && plain(said.text) !== plain(translation.text))
    notes.push(`The stage shows the search of the model alone, which gives “${translation.text}”`);
  sure.hidden = !notes.length;
  fill(sure, notes.join(". "));
  if (document.written) return fill(output, element("span.prompt", document.written.prompt), document.written.text);
  return fill(output, said?.text || (document.filled?.text ?? translation?.text ?? ""));
}

/** A text of several sentences: each is a button that puts it on the stage. */
function drawParagraph(context, output, sure, notes) {
  const { document, store } = context;
  const { sentences } = document.paragraph;
  const at = Math.min(store.get("sentence"), sentences.length - 1);
  const choose = (place) => store.set({ sentence: place, prefix: "", forced: "", row: -1, column: -1, step: 0 });
  const text = (each, place) => (place === at ? document.translation?.text : each.text) || "no words";
  keepFocus(output, () =>
    fill(
      output,
      sentences.flatMap((each, place) => [
        button(
          { class: "part", "data-key": place, "aria-pressed": String(place === at), title: each.source },
          () => choose(place),
          text(each, place),
        ),
        " ",
      ]),
    ),
  );
  sure.hidden = false;
  const place = `On the stage: sentence ${at + 1} of ${sentences.length}. Choose another one`;
  return fill(sure, [...notes, `A text is translated sentence by sentence. ${place}.`].join(". "));
}

/** Sentences to try, of the language that is translated from. */
function drawExamples(context, examples, input) {
  const { store } = context;
  const there =
    useOf(context) === "translate"
      ? examplesOf(context)
          .filter((text) => text !== store.get("text"))
          .slice(0, 2)
      : [];
  const typed = store.get("text") && !isExample(context, store.get("text"));
  examples.hidden = !there.length || Boolean(typed);
  const take = (text) => {
    store.set({ ...NEW, text });
    input.focus();
  };
  if (examples.hidden) return fill(examples);
  return fill(
    examples,
    element("span", "Try: "),
    there.map((text) => button({}, () => take(text), text)),
  );
}

/** What the beam would have said next; a click goes on with it. */
function drawOthers(context, others) {
  const found = alternatives(context.document);
  others.hidden = !found.length;
  const choices = found.map(({ text, tokens, score }) =>
    button(
      { "aria-label": text, title: `score ${score.toFixed(3)}: ${text}` },
      () => context.ask({ prefix: tokens }),
      element("span.differs", fromDifference(text, context.document.translation.text)),
    ),
  );
  fill(others, element("span", "Or: "), choices);
}

/** The two directions of a translation through another language: a click shows one of them. */
function drawSteps(context, steps, tell) {
  const {
    store,
    document: { through },
  } = context;
  steps.hidden = !through || !throughOf(context);
  if (steps.hidden) return;
  const [from, to, model] = ["from", "to", "model"].map(store.get);
  const second = async () => {
    const asked = () => JSON.stringify(["text", "from", "to", "model"].map(store.get));
    const before = asked();
    try {
      const { translations } = await request("translate", {
        text: store.get("text"),
        source_lang: from,
        target_lang: through,
        model,
      });
      if (asked() === before) store.set({ ...NEW, from: through, to, text: translations[0].text });
    } catch (error) {
      tell(error.message, error.code);
    }
  };
  fill(
    steps,
    element("span", `Translated through ${languageName(through)}. Attention is of one direction: `),
    button({}, () => store.set({ ...NEW, to: through }), `${from} → ${through}`),
    button({}, () => void second(), `${through} → ${to}`),
  );
}

/** `English` for `en`. */
function languageName(code) {
  try {
    return new Intl.DisplayNames(["en"], { type: "language" }).of(code);
  } catch {
    return code;
  }
}

async function load(context, view) {
  const { store } = context;
  const { ways, input, tell, notice, loading } = view;
  try {
    const { models } = await request("models");
    const wanted = { name: store.get("model"), source: store.get("from"), target: store.get("to") };
    const needed = models.filter(
      ({ name }) => !models.some((each) => each.name === wanted.name) || name === wanted.name,
    );
    loading.hidden = needed.some(({ ready }) => ready);
    if (!loading.hidden) {
      // Its directions are not known before it is there.
      setTimeout(() => void load(context, view), AGAIN);
      tell("The model is loading. The page begins as soon as it is ready.");
      if (!store.get("text")) await showStored(context);
      return context.document.translation && tell("The model is loading. Until then the page shows a stored answer.");
    }
    context.models = models;
    fill(ways, models.flatMap(options(models.length > 1)));
    ways.hidden = ways.length < 2;
    input.value = store.get("text");
    const fits = settle(context);
    if (fits) showWay(context, ways);
    else if (ways.length) choose(context, ways.value, input);
    fill(notice, fits ? "" : missing(wanted, models, store));
    store.set({ models: models.length });
    tell("");
    if (!input.value) store.set({ text: example(context) });
    else if (!context.document.kinds.length) void context.again();
  } catch (error) {
    context.busy(false);
    if (error.code === "lost") setTimeout(() => void load(context, view), AGAIN);
    tell(error.message, error.code);
  }
  return undefined;
}

const showWay = ({ store }, ways) => (ways.value = JSON.stringify(["model", "from", "to"].map(store.get)));

/** Complete what a link leaves out, the model or the direction, and keep all else that it says. Ready models come first. */
function settle({ store, models }) {
  const wanted = { model: store.get("model"), from: store.get("from"), to: store.get("to") };
  const found = [...models]
    .sort((one, other) => other.ready - one.ready)
    .flatMap(({ name, directions }) =>
      waysOf(directions).map((way) => ({ model: name, from: way.source, to: way.target })),
    );
  const fits = found.find((each) => Object.entries(wanted).every(([part, value]) => !value || each[part] === value));
  if (fits) store.set(fits);
  return fits;
}

/** The directions of a model; one without names where it has none. */
const waysOf = (directions) => (directions.length ? directions : [{ source: "", target: "" }]);

/** The answer that is stored with the model, while it loads. */
async function showStored(context) {
  if (context.document !== context.base) return;
  const found = await request("page/first").catch(() => null);
  if (found) context.show({ ...found, question: { text: found.sides.source.text } });
}

/** What a link asks for and is not here, and what is shown in its place. */
function missing({ name, source, target }, models, store) {
  const way = source || target ? ` from ${source || "any language"} to ${target || "any language"}` : "";
  const asked = models.some((each) => each.name === name) || !name ? `the direction${way}` : `the model “${name}”`;
  return `This link asks for ${asked}, which is not here. ${store.get("model")} is shown instead${store.get("from") ? `, from ${store.get("from")} to ${store.get("to")}` : ""}.`;
}

/** What can be chosen of a model: its directions, or what else it does. */
const options =
  (several) =>
  ({ name, use, directions }) => {
    const does = { generate: "Write on", fill: "Fill in" }[use];
    const said = ({ source, target, through }) =>
      `${source || "source"} → ${target || "target"}${through ? ` (through ${languageName(through)})` : ""}`;
    return waysOf(directions).map((way) =>
      element(
        "option",
        { value: JSON.stringify([name, way.source, way.target]) },
        `${does ?? said(way)}${several ? ` · ${name}` : ""}`,
      ),
    );
  };

const example = (context) => TEXTS[useOf(context)] ?? examplesOf(context)[0] ?? "";

/** Sentences of the language: those that the run of the model was validated with, before our own. */
export function examplesOf({ store, models }) {
  const from = store.get("from");
  const { examples = {} } = models.find(({ name }) => name === store.get("model")) ?? {};
  return examples[from]?.length ? examples[from] : (EXAMPLES[from] ?? []);
}

const isExample = ({ models }, text) =>
  [EXAMPLES, TEXTS, ...models.map(({ examples = {} }) => examples)]
    .flatMap((texts) => Object.values(texts).flat())
    .includes(text);

function choose(context, value, input) {
  const { store } = context;
  const [model, from, to] = JSON.parse(value);
  const given = !input.value || isExample(context, input.value);
  store.set({ ...NEW, model, from, to, snapshot: 0, hold: 0 });
  if (given) store.set({ text: example(context) || input.value });
}

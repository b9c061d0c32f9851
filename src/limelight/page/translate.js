/** The line on which one types, and in which direction it is translated. */

import { element, fill } from "./dom.js";
import { request, useKey } from "./server.js";

const EXAMPLE = { en: "The small dog runs across the green grass.", de: "Der kleine Hund läuft über das grüne Gras.", fr: "Le petit chien court dans l'herbe verte." };
const NEW = { prefix: "", off: "", temperature: "", row: -1, column: -1, step: 0 };

/** The form as an element, and `tell(text)` for what the service says. */
export function createTranslate(context) {
  const { store } = context;
  const input = element("textarea", { rows: 2, maxlength: 2000, spellcheck: "false", "aria-label": "Sentence to translate", placeholder: "Type a sentence", input: () => store.set({ ...NEW, text: input.value.replaceAll("\n", " ") }) });
  const ways = element("select", { "aria-label": "Direction", change: () => choose(context, ways.value, input) });
  const status = element("p", { class: "status", role: "status" });
  const output = element("output", { class: "output", "aria-label": "Translation" });
  store.on(["document"], () => fill(output, context.document.translation?.text ?? ""));
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
  void begin();
  const root = element("section", { class: "translate", "aria-label": "Translate" }, ways, input, output, status, form);
  return { root, tell };
}

async function load(context, ways, input, tell) {
  const { store } = context;
  try {
    const { models } = await request("models");
    const found = models.flatMap(({ name, directions }) => (directions.length ? directions : [{ source: "", target: "" }]).map(({ source, target }) => ({ name, source, target })));
    fill(ways, found.map(({ name, source, target }) => element("option", { value: JSON.stringify([name, source, target]) }, `${source || "source"} → ${target || "target"}${models.length > 1 ? ` · ${name}` : ""}`)));
    const wanted = JSON.stringify([store.get("model"), store.get("from"), store.get("to")]);
    ways.hidden = found.length < 2;
    if (found.some(({ name, source, target }) => JSON.stringify([name, source, target]) === wanted)) ways.value = wanted;
    else if (found.length) choose(context, ways.value, input);
    input.value = store.get("text");
    tell("");
    if (!input.value) store.set({ text: EXAMPLE[store.get("from")] ?? "" });
    else if (!context.document.translation) void context.again();
  } catch (error) {
    tell(error.message, error.code);
  }
}

function choose({ store }, value, input) {
  const [model, from, to] = JSON.parse(value);
  const example = Object.values(EXAMPLE).includes(input.value) || !input.value;
  store.set({ ...NEW, model, from, to, ...(example ? { text: EXAMPLE[from] ?? input.value } : {}) });
}

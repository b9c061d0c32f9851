/** Patching: which vectors keep a difference between two sentences. One of each is put into the other, one at a time. */

import { button, element, field, fill, follow, keepFocus, legend, panel } from "./dom.js";
import { matrix } from "./matrix.js";
import { createPicture } from "./picture.js";
import { spoken } from "./sentences.js";

/** For sources in English. */
const PAIRS = {
  number: ["I saw the child.", "I saw the children."],
  gender: ["I know that he is tired.", "I know that she is tired."],
  tense: ["She plays the piano.", "She played the piano."],
};

/** The view as an element. It computes when it can be seen: the pair of the store, or the first one. */
export function createPatching(context) {
  const { store } = context;
  const pairs = element("div.choices", { role: "group", "aria-label": "Pairs" });
  const fields = ["First sentence", "Second sentence"].map((name) => field(name));
  const choose = ([one, other]) => store.set({ one, other });
  const submit = (event) => {
    event.preventDefault();
    choose(fields.map(({ value }) => value.trim()));
  };
  const compare = element("button", { type: "submit", class: "quiet" }, "Compare");
  const form = element("form.own-words", { hidden: !context.source.live, submit }, fields, compare);
  const message = element("p.reading", { role: "status" });
  const told = element("div.found");
  const pictures = ["encoder", "decoder"].map((name) => ({ name, picture: createPicture(() => {}) }));
  const panels = pictures.map(({ name, picture }) => panel(`In the ${name}`, picture.root));
  const top = panel(
    "Two sentences",
    pairs,
    form,
    message,
    told,
    legend(
      "A cell: the output of this layer at this position is taken from the first sentence, and all that comes after it is computed again. 1: the translation has the word of the first sentence as strongly as there; 0: nothing comes back. Both sentences need the same number of tokens. Effects do not add up.",
    ),
  );
  const root = element("div.stacked", top, element("div.halves", panels));
  const ask = () => {
    if (!context.document.translation) return undefined;
    const pair = pairOf(context);
    drawPairs(context, pairs, choose, pair);
    fields.forEach((each, place) => {
      if (each !== document.activeElement) each.value = pair[place];
    });
    if (!pair.every(Boolean))
      return { problem: "Give two sentences with the same number of tokens, such as singular and plural." };
    fill(message, "Vectors are being exchanged …");
    return context.source.patching(...pair).catch((error) => ({ problem: error.message }));
  };
  follow(store, root, ["document", "one", "other", "view", "theme"], ask, (found) => {
    fill(message, found?.problem ?? "");
    show({ told, pictures, panels }, found?.problem ? null : found);
  });
  return root;
}

/** The two sentences: those of the store, or the first built-in pair; in a file those that it holds. */
export function pairOf({ store, source, document: shown }) {
  if (!source.live) return shown.patching.texts;
  const given = [store.get("one"), store.get("other")];
  return given.some(Boolean) ? given : (Object.values(builtIn(store))[0] ?? given);
}

const builtIn = (store) => (store.get("from") === "en" ? PAIRS : {});

function drawPairs({ store, source }, pairs, choose, pair) {
  const buttons = Object.entries(source.live ? builtIn(store) : {}).map(([name, texts]) =>
    button({ "data-key": name, "aria-pressed": String(texts.join("|") === pair.join("|")) }, () => choose(texts), name),
  );
  keepFocus(pairs, () => fill(pairs, buttons));
}

function show({ told, pictures, panels }, found) {
  for (const panel of panels) panel.hidden = !found;
  if (!found) return fill(told);
  const [first, second] = found.difference.map((each) => each.toFixed(2));
  fill(
    told,
    found.texts.map((text, place) => element("p", text, " → ", element("span.sentence", found.translations[place]))),
    element(
      "p",
      `log p(${found.tokens[0]}) − log p(${found.tokens[1]}): ${first} with the first sentence, ${second} with the second.`,
    ),
  );
  for (const { name, picture } of pictures) picture.draw(pictureOf(found[name]));
  return undefined;
}

function pictureOf({ positions, effects }) {
  const values = Float32Array.from(effects.flat());
  const name = (layer) => (layer ? `layer ${layer - 1}` : "embeddings");
  return {
    kind: { causal: false },
    rows: effects.map((_, layer) => ({ text: name(layer) })),
    columns: positions.map((text) => ({ text })),
    weights: matrix(effects.length, positions.length, values),
    hint: "Point at a cell for what comes back.",
    reading: (row, column) => `${row.text}, ${spoken(column)}: of the first sentence comes back`,
  };
}

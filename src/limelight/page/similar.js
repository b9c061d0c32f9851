/** Words of other sentences that the encoder represents like the chosen word of the source. */

import { bar, button, element, fill, follow, keepFocus, legend, options, panel, quiet } from "./dom.js";
import { NEW } from "./store.js";
import { kindShown, sourceWord, wordsOf } from "./shown.js";
import { examplesOf } from "./translate.js";

/** The view as an element. */
export function createSimilar(context) {
  const { store } = context;
  const words = element("select", { "aria-label": "Word", change: () => pin(context, Number(words.value)) });
  const layers = element("select", {
    "aria-label": "Encoder layer",
    change: () => store.set({ inside: `encoder.${layers.value}` }),
  });
  const message = element("p.reading", { role: "status" });
  const list = element("ol.candidates.similar");
  let given = null; // what somebody has put into the field, for a language
  const keep = () => (given = { from: store.get("from"), text: lines.value });
  const look = { "aria-label": "Sentences to search", rows: 8, spellcheck: "false", dir: "auto", input: keep };
  const lines = element("textarea.edited", look);
  const search = () => store.tell("inside");
  const root = element(
    "div.pair.lost",
    panel(
      "Similar words in other sentences",
      element("div.choices", words, layers),
      message,
      list,
      legend(
        "The cosine of the vectors of two words after this layer: 1 is the same direction. Choose a sentence to open it.",
      ),
    ),
    panel(
      "Sentences to search",
      legend("Sentences that the run has kept, or examples. Put your own in their place, one a line."),
      lines,
      element("div.tools", quiet("Search these", search)),
    ),
  );
  const ask = async () => {
    const { document, source } = context;
    if (!document.translation) return undefined;
    const own = given?.from === store.get("from");
    if (!own) lines.value = examplesOf(context).join("\n");
    const count = document.kinds.find(({ name }) => name === "encoder_self")?.layers ?? 1;
    const [side, depth] = store.get("inside").split(".");
    const layer = side === "encoder" ? Math.min(Number(depth), count - 1) : count - 1;
    const pinned = sourceWord(context);
    const word = pinned < 0 ? document.sides.source.words.findIndex(({ role }) => !role) : pinned;
    const texts = (own ? given.text : lines.value).split("\n").map((text) => text.trim());
    const others = texts.filter((text) => text && text !== document.sides.source.text).slice(0, MOST);
    const found = others.length
      ? await source.similar(layer, word, others).catch(({ message: problem }) => ({ problem }))
      : { problem: "There is no other sentence to search. Put some into the field, one a line." };
    return { document, count, layer, word, found };
  };
  follow(store, root, ["document", "row", "column", "inside"], ask, ({ document, count, layer, word, found }) => {
    const all = document.sides.source.words
      .map(({ text, role }, place) => (role ? null : [place, text]))
      .filter(Boolean);
    fill(words, options(all));
    fill(layers, options(Array.from({ length: count }, (_, depth) => [depth, `after layer ${depth}`])));
    words.value = String(word);
    layers.value = String(layer);
    fill(message, found.problem ?? "");
    keepFocus(list, () => fill(list, found.problem ? [] : found.map((each) => element("li", line(context, each)))));
  });
  return root;
}

const MOST = 200; // sentences of a request

/** A sentence with its word; a click puts both on the stage. */
function line(context, { text, number, label, cosine }) {
  const letters = [...text];
  const [start, end] = [label.start ?? 0, label.end ?? 0];
  const part = (from, to) => letters.slice(from, to).join("");
  const open = () => {
    context.store.set({ ...NEW, text, words: 1 });
    pin(context, number);
  };
  const sentence = element("span.name", { dir: "auto" }, part(0, start), element("mark", part(start, end)), part(end));
  return button(
    { class: "candidate", "data-key": `${text} ${number}` },
    open,
    sentence,
    bar(Math.max(cosine, 0), cosine.toFixed(2)),
  );
}

function pin(context, word) {
  const { document, store } = context;
  const kind = kindShown(context);
  const there = kind?.columns === "source" ? kind : document.kinds.find(({ columns }) => columns === "source");
  const column = store.get("words") ? word : wordsOf(context, "source").indexOf(word);
  store.set({ kind: there?.name ?? "", row: -1, column });
}

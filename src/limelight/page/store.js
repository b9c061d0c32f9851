/** The one place of what is selected. It is in the address, too: a link shows what its sender saw. */

const DEFAULTS = {
  view: "heads", // which view is open below the stage
  kind: "", // cross, encoder_self or decoder_self; "" takes the first that the model has
  layer: -1, // -1: the mean of all layers and heads
  head: -1,
  colors: "", // heads that are on the stage together, such as 0.1,1.2; "" shows one
  row: -1, // the token that attends and is pinned; -1: none
  column: -1, // the token that is attended to and is pinned
  step: 0, // the target position that the steps show
  words: 1, // whole words, or subwords
  measure: "", // weights, or contributions
  inside: "", // the layer that the map opens, such as decoder.1; "" takes the last one
  place: -1, // the position there; -1: that of the step
  depth: -1, // the encoder layer after which the translation is read; -1: the last one
  theme: "",
  tour: 0, // the station of the tour; 0: no tour
  text: "", // the question to the model: the sentence, its direction, what is forced and what is switched off
  sentence: 0, // which sentence of a longer text is on the stage
  from: "",
  to: "",
  model: "",
  beam: 0,
  before: "", // the source that an edited one is compared with; "" while it is not edited
  prefix: "",
  forced: "", // words of one's own after the prefix
  off: "",
  snapshot: 0, // the model after so many updates; 0: the one that is served
  hold: 0, // whether snapshots read the translation of the served model instead of their own
  beside: "", // the models that stand side by side, joined by commas; "" takes the first ones
  heat: 100, // hundredths of the temperature with which the next word is drawn
  top_k: 0, // and the cuts of its distribution: 0 and 100 cut nothing
  top_p: 100,
  seed: 0, // of a text that is drawn; 0 takes the most probable tokens
};

/** A store of plain values. `on(names, action)` calls the action after any of these has changed. */
export function createStore(given = {}) {
  const values = { ...DEFAULTS, ...given };
  const watchers = [];
  return {
    get: (name) => values[name],
    set(changes) {
      const changed = Object.keys(changes).filter((name) => values[name] !== changes[name]);
      if (!changed.length) return;
      Object.assign(values, changes);
      for (const { names, action } of watchers.slice())
        if (names.some((name) => changed.includes(name))) action(changed);
    },
    on: (names, action) => watchers.push({ names, action }),
    /** As if this had changed. */
    tell(name) {
      for (const { names, action } of watchers.slice()) if (names.includes(name)) action([name]);
    },
    all: () => ({ ...values }),
  };
}

/** What the fragment of an address says; unknown names and values of another type are left out, and no number is below 0, or -1. */
export function readAddress(fragment) {
  const given = {};
  for (const [name, text] of new URLSearchParams(fragment.replace(/^#/, ""))) {
    if (!(name in DEFAULTS)) continue;
    const value = typeof DEFAULTS[name] === "number" ? Number.parseInt(text, 10) : text;
    if (typeof value === "string") given[name] = value;
    else if (!Number.isNaN(value)) given[name] = Math.max(value, Math.min(DEFAULTS[name], 0));
  }
  return given;
}

/** The fragment that says it: only what differs from where everybody begins. */
export function writeAddress(values) {
  const changed = Object.entries(values).filter(([name, value]) => name in DEFAULTS && value !== DEFAULTS[name]);
  return new URLSearchParams(changed).toString();
}

/** What the model is asked: the names of the store whose change takes another answer. */
export const QUESTION = [
  "text",
  "before",
  "from",
  "to",
  "model",
  "beam",
  "prefix",
  "forced",
  "off",
  "snapshot",
  "hold",
  "seed",
  "sentence",
];

/** Another sentence: nothing of the one before is kept. */
export const NEW = {
  before: "",
  prefix: "",
  forced: "",
  off: "",
  row: -1,
  column: -1,
  step: 0,
  place: -1,
  seed: 0,
  sentence: 0,
};

const BURST = 1500; // milliseconds: typing without such a pause is one step back

/** Keep the address of the page in step with a store, and the store with the address. Back undoes another question. */
export function followAddress(store) {
  let typed = 0;
  let follows = false; // the address, which has its entry in the history already
  let asked = JSON.stringify(QUESTION.map(store.get));
  store.on(Object.keys(DEFAULTS), (changed) => {
    const now = JSON.stringify(QUESTION.map(store.get));
    const address = `#${writeAddress(store.all())}`;
    const typing = changed.includes("text") && Date.now() - typed < BURST;
    if (changed.includes("text")) typed = Date.now();
    const [text, , , , model] = JSON.parse(asked); // without a model nothing has been answered
    const again = now !== asked && !typing && text && model && !follows;
    asked = now;
    try {
      history[again ? "pushState" : "replaceState"](null, "", address);
    } catch {
      // A frame without an address of its own, as in a notebook.
    }
  });
  addEventListener("hashchange", () => {
    follows = true;
    store.set({ ...DEFAULTS, ...readAddress(location.hash) });
    follows = false;
  });
}

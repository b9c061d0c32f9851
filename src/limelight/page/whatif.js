/** What if: forced words and heads that are switched off; the old translation beside the new one. */

import { element, fill, keepFocus } from "./dom.js";
import { attentionName, isOff, toggled } from "./question.js";
import { kindShown, nameOf, selected, titleOf } from "./shown.js";
import { ownWords } from "./steps.js";

/** The view as an element. */
export function createWhatIf(context) {
  const both = element("div", { class: "both", "aria-live": "polite" });
  const source = element("input", {
    type: "text",
    class: "edited",
    maxlength: 2000,
    spellcheck: "false",
    "aria-label": "Source, edited",
    input: () => edit(context.store, source.value),
  });
  const forced = element("div", { class: "forced" });
  const switches = element("div", { class: "switches" });
  const reset = element("button", { type: "button", class: "quiet", click: () => restore(context.store) }, "Reset");
  const compared = element(
    "div",
    { class: "panel" },
    element("div", { class: "bar" }, element("h2", { class: "opened" }, "Before and after"), reset),
    both,
    element("h3", {}, "Edit the source"),
    source,
    element("h3", {}, "Forced beginning"),
    forced,
    ownWords(context, () => context.document.translation?.prefix ?? []),
  );
  const sharper = element("div", { class: "sharper" });
  const heads = element(
    "div",
    { class: "panel" },
    element("h2", { class: "opened" }, "Switch heads off"),
    switches,
    element("h3", {}, "Sharper or flatter"),
    sharper,
  );
  const draw = () => {
    drawBoth(context, both);
    if (globalThis.document.activeElement !== source) source.value = context.store.get("text");
    keepFocus(forced, () => drawForced(context, forced));
    keepFocus(switches, () => drawSwitches(context, switches));
    drawSharper(context, sharper);
    const { prefix = [], off = {}, temperature = {} } = context.document.translation ?? {};
    reset.disabled =
      !context.store.get("before") &&
      !prefix.length &&
      !Object.values({ ...off, ...temperature }).some((each) => Object.keys(each).length);
  };
  context.store.on(["document"], draw);
  context.store.on(["kind", "layer", "head"], () => drawSharper(context, sharper));
  draw();
  return element("div", { class: "pair" }, compared, heads);
}

/** Another source; the one that was there stays beside it. */
function edit(store, text) {
  const before = store.get("before") || store.get("text");
  store.set({ text, before: text === before ? "" : before, prefix: "", forced: "", row: -1, column: -1, step: 0 });
}

function restore(store) {
  const before = store.get("before");
  store.set({ prefix: "", forced: "", off: "", temperature: "", before: "", ...(before ? { text: before } : {}) });
}

function drawBoth(context, both) {
  const { translation } = context.document;
  const before = context.baseline?.translation ?? translation;
  if (!translation) return fill(both);
  const change = translation.log_probability - before.log_probability;
  const same = translation.text === before.text;
  const [old, now] = [context.baseline ?? context.document, context.document].map(({ question }) => question.text);
  const sources = old === now ? [null, null] : [[old], marked(old, now)];
  const { kept } = context.document;
  return fill(
    both,
    line("Before", [before.text], before, sources[0]),
    line("After", marked(before.text, translation.text), translation, sources[1]),
    element(
      "p",
      { class: "change" },
      `${same ? "The same words" : "Other words"}, log-probability ${signed(change)}: ${times(change)}`,
    ),
    kept === null || kept === undefined
      ? null
      : element(
          "p",
          { class: "kept" },
          `With this change the words from before have log-probability ${kept.toFixed(2)}: ${times(kept - before.log_probability)}`,
        ),
  );
}

function line(name, text, translation, source) {
  const said = element(
    "span",
    { class: "sentence" },
    source ? element("span", { class: "source" }, source) : null,
    text,
  );
  return element(
    "p",
    { class: "version" },
    element("span", { class: "side-name" }, name),
    said,
    element("span", { class: "number" }, translation.log_probability.toFixed(2)),
  );
}

/** The words of the new text; those that the old one does not have in this order are marked. */
export function marked(before, after) {
  const [old, now] = [before.split(" "), after.split(" ")];
  const kept = common(old, now);
  return now.flatMap((word, place) => [kept.has(place) ? word : element("mark", {}, word), " "]);
}

/** The places in `now` of a longest common subsequence. */
function common(old, now) {
  const length = Array.from({ length: old.length + 1 }, () => Array.from({ length: now.length + 1 }, () => 0));
  for (let one = old.length - 1; one >= 0; one -= 1) {
    for (let other = now.length - 1; other >= 0; other -= 1) {
      length[one][other] =
        old[one] === now[other]
          ? length[one + 1][other + 1] + 1
          : Math.max(length[one + 1][other], length[one][other + 1]);
    }
  }
  const places = new Set();
  for (let one = 0, other = 0; one < old.length && other < now.length;) {
    if (old[one] === now[other]) {
      places.add(other);
      one += 1;
      other += 1;
    } else if (length[one + 1][other] >= length[one][other + 1]) one += 1;
    else other += 1;
  }
  return places;
}

function drawForced(context, forced) {
  const { prefix = [] } = context.document.translation ?? {};
  const tokens = context.document.sides.target.tokens.slice(0, prefix.length);
  const drop = (place) => context.ask({ prefix: prefix.slice(0, place) });
  const chips = tokens.map((token, place) =>
    element(
      "button",
      {
        type: "button",
        class: "chip",
        "data-key": place,
        "aria-label": `${token.text} ×: end the forced beginning before it`,
        click: () => drop(place),
      },
      token.text,
      " ×",
    ),
  );
  fill(
    forced,
    chips.length ? chips : "Nothing is forced. Choose a candidate in Steps, a branch of the beam, or write:",
  );
}

function drawSwitches(context, switches) {
  const { document } = context;
  fill(
    switches,
    document.kinds.map((kind) => block(context, document, kind)),
  );
}

function block(context, document, kind) {
  const rows = Array.from({ length: kind.layers }, (_, layer) => {
    const heads = Array.from({ length: kind.heads }, (_, head) => {
      const off = isOff(document, kind.name, layer, head);
      return element(
        "button",
        {
          type: "button",
          class: "switch",
          "data-key": `${kind.name}/${layer}/${head}`,
          "aria-pressed": String(!off),
          "aria-label": `${titleOf(context, kind)}, ${nameOf(layer, head)}: ${off ? "off" : "on"}`,
          click: () => context.ask({ off: toggled(document, kind.name, layer, head) }),
        },
        String(head),
      );
    });
    const name = attentionName(kind.name, layer);
    const all = Array.from({ length: kind.heads }, (_, head) => head);
    const none = (document.translation?.off[name] ?? []).length === kind.heads;
    const whole = element(
      "button",
      {
        type: "button",
        class: "quiet small",
        "data-key": `${kind.name}/${layer}`,
        "aria-label": `${titleOf(context, kind)}, layer ${layer}: ${none ? "all on" : "all off"}`,
        click: () => context.ask({ off: { ...document.translation?.off, [name]: none ? [] : all } }),
      },
      none ? "all on" : "all off",
    );
    return element("div", { class: "switch-row" }, element("span", { class: "axis" }, `layer ${layer}`), heads, whole);
  });
  return element("div", { class: "block" }, element("h3", {}, titleOf(context, kind)), rows);
}

/** The temperature of the softmax of the open head, from a quarter to four. */
function drawSharper(context, sharper) {
  const kind = kindShown(context);
  const { layer, head } = kind ? selected(context, kind) : { layer: -1, head: -1 };
  if (layer < 0) return fill(sharper, "Open a head in Heads, and change the temperature of its softmax here.");
  const name = attentionName(kind.name, layer);
  const { temperature = {} } = context.document.translation ?? {};
  const value = temperature[name]?.[head] ?? 1;
  const label = `Temperature of ${titleOf(context, kind).toLowerCase()}, ${nameOf(layer, head)}`;
  const ask = () =>
    context.ask({
      temperature: { ...temperature, [name]: { ...temperature[name], [head]: 2 ** Number(slider.value) } },
    });
  const slider = element("input", {
    type: "range",
    min: -2,
    max: 2,
    step: 0.5,
    value: Math.log2(value),
    "aria-label": label,
    "aria-valuetext": value.toFixed(2),
    change: ask,
  });
  return fill(
    sharper,
    element("p", {}, `${label}: ${value.toFixed(2)}`),
    slider,
    element("p", { class: "legend" }, "Left is sharper, right is flatter; 1 is the model as it is."),
  );
}

const signed = (value) => `${value > 0 ? "+" : value < 0 ? "-" : "±"}${Math.abs(value).toFixed(2)}`;

function times(change) {
  if (Math.abs(change) < 0.005) return "as probable as before.";
  const factor = Math.exp(Math.abs(change));
  const shown =
    factor < 10 ? factor.toFixed(1) : factor < 1e6 ? Math.round(factor).toLocaleString("en") : "over a million";
  return `${shown} times ${change > 0 ? "more" : "less"} probable.`;
}

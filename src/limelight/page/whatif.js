/** What if: the old translation beside the new one, after the source, the words or the heads were changed. */

import { element, field, fill, panel, quiet } from "./dom.js";

/** The view as an element. */
export function createWhatIf(context) {
  const { store } = context;
  const both = element("div.both", { "aria-live": "polite" });
  const source = field("Source, edited", { maxlength: 2000, input: () => edit(store, source.value) });
  const reset = quiet("Reset", () => restore(store));
  const draw = () => {
    drawBoth(context, both);
    if (globalThis.document.activeElement !== source) source.value = store.get("text");
    reset.disabled = !["before", "prefix", "forced", "off"].some(store.get);
  };
  store.on(["document"], draw);
  draw();
  return panel(
    "Before and after",
    both,
    element("h3", "Edit the source"),
    source,
    element(
      "p.legend",
      "Other changes: force a word in Steps or on a branch of the beam; in Heads switch the open head off. ",
      reset,
    ),
  );
}

/** Another source; the one that was there stays beside it. */
function edit(store, text) {
  const before = store.get("before") || store.get("text");
  store.set({ text, before: text === before ? "" : before, prefix: "", forced: "", row: -1, column: -1, step: 0 });
}

function restore(store) {
  const before = store.get("before");
  store.set({ prefix: "", forced: "", off: "", before: "", ...(before ? { text: before } : {}) });
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
  const said = (value) =>
    `With this change the words from before have log-probability ${value.toFixed(2)}: ${times(value - before.log_probability)}`;
  return fill(
    both,
    line("Before", [before.text], before, sources[0]),
    line("After", marked(before.text, translation.text), translation, sources[1]),
    element(
      "p.change",
      `${same ? "The same words" : "Other words"}, log-probability ${signed(change)}: ${times(change)}`,
    ),
    Number.isFinite(kept) ? element("p.kept", said(kept)) : null,
  );
}

function line(name, text, translation, source) {
  const said = element("span.sentence", source ? element("span.source", source) : null, text);
  return element(
    "p.version",
    element("span.side-name", name),
    said,
    element("span.number", translation.log_probability.toFixed(2)),
  );
}

/** The words of the new text; those that the old one does not have in this order are marked. */
export function marked(before, after) {
  const [old, now] = [before.split(" "), after.split(" ")];
  const kept = common(old, now);
  return now.flatMap((word, place) => [kept.has(place) ? word : element("mark", word), " "]);
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

const signed = (value) => `${value > 0 ? "+" : value < 0 ? "-" : "±"}${Math.abs(value).toFixed(2)}`;

function times(change) {
  if (Math.abs(change) < 0.005) return "as probable as before.";
  const factor = Math.exp(Math.abs(change));
  const shown =
    factor < 10 ? factor.toFixed(1) : factor < 1e6 ? Math.round(factor).toLocaleString("en") : "over a million";
  return `${shown} times ${change > 0 ? "more" : "less"} probable.`;
}

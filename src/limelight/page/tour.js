/** The tour: six stations in the order of the field. It drives the same stage and views as everybody's hand. */

import { element, fill } from "./dom.js";
import { walk } from "./steps.js";

const STATIONS = [
  {
    title: "One vector is not enough",
    text: "The first neural translators read a whole sentence into one vector of fixed size and wrote the translation from it. Long sentences did not fit. Everything on this page exists to get around that vector.",
    formula: "c = the last state of the encoder; every target word is written from this one c",
    section: "1. Before attention",
    show: { view: "heads", kind: "cross", layer: -1, head: -1, row: -1, column: -1 },
  },
  {
    title: "A weighted sum",
    text: "Instead, each target word looks back at all source words and takes a weighted sum of them. The weights sum to one. Here is where the second word of your translation looked. Point at other words, too.",
    formula: "c = Σ weight · h,   weights = softmax(score(s, h))",
    section: "2. Four words: score, mask, softmax, sum",
    show: { view: "heads", kind: "cross", layer: -1, head: -1, column: -1 },
    row: 1,
  },
  {
    title: "Self-attention",
    text: "A Transformer applies the same within one sentence: each source word looks at the others and takes from them what it needs. What a layer passes on is no longer one word, but a word in its context.",
    formula: "softmax(Q Kᵀ / √d) V,   with Q, K and V of the same sentence",
    section: "7. Self, masked self and cross",
    show: { view: "heads", kind: "encoder_self", layer: 0, head: 0, column: -1 },
    row: 2,
  },
  {
    title: "Many heads",
    text: "One sum can answer one question. So each layer has several heads, each with its own projections. The descriptions below the thumbnails are measured: some heads look at a neighbor, some align words, some rest on the end token.",
    formula: "[head 0, head 1, …] W",
    section: "6. Multi-head attention",
    show: { view: "heads", kind: "encoder_self", row: -1, column: -1 },
  },
  {
    title: "The decoder must not see the future",
    text: "The decoder writes one token after the other. While it learns, all tokens are there at once, so a mask hides those that come later: the hatched cells. Go through the steps and see what else could have come next.",
    formula: "score = −∞ where the column comes after the row",
    section: "8. Masks",
    show: { view: "heads", kind: "decoder_self", layer: 0, head: 0, row: -1, column: -1 },
  },
  {
    title: "Where am I?",
    text: "A weighted sum knows no order. So each position gets a vector of its own, added to the word or turned into the comparison. Heads that attend to the previous or the next token can only be built from these positions.",
    formula: "x = embedding + position",
    section: "9. Positions",
    show: { view: "heads", kind: "encoder_self", row: -1, column: -1 },
    role: "previous",
  },
];

/** The column of the tour; hidden until it is opened. */
export function createTour(context) {
  const { store } = context;
  const title = element("h2", { tabindex: -1 });
  const text = element("p", {});
  const formula = element("p", { class: "formula" });
  const section = element("p", { class: "legend" });
  const place = element("p", { class: "legend" });
  const back = element(
    "button",
    { type: "button", class: "quiet", click: () => store.set({ tour: store.get("tour") - 1 }) },
    "Back",
  );
  const next = element("button", {
    type: "button",
    class: "primary",
    click: () => store.set({ tour: (store.get("tour") + 1) % (STATIONS.length + 1) }),
  });
  const leave = element(
    "button",
    { type: "button", class: "quiet", click: () => store.set({ tour: 0 }) },
    "Leave the tour",
  );
  const root = element(
    "aside",
    { class: "tour panel", "aria-label": "Tour" },
    place,
    title,
    text,
    formula,
    section,
    element("div", { class: "tools" }, back, next, leave),
  );
  const draw = (changed) => {
    const number = store.get("tour");
    const station = STATIONS[number - 1];
    root.hidden = !station;
    document.body.classList.toggle("touring", Boolean(station));
    if (!station) return;
    fill(place, `Station ${number} of ${STATIONS.length}`);
    fill(title, station.title);
    fill(text, station.text);
    fill(formula, station.formula);
    fill(section, `Equations beside their code: docs/attention.md, section ${station.section}`);
    back.disabled = number === 1;
    fill(next, number === STATIONS.length ? "Done" : "Next");
    if (changed) {
      stage(context, station);
      title.focus();
    }
  };
  store.on(["tour"], draw);
  draw();
  return root;
}

/** Show a station, as far as the model at hand has it. */
function stage(context, station) {
  const kinds = context.document.kinds.map((kind) => kind.name);
  const there = kinds.includes(station.show.kind) ? station.show : { ...station.show, kind: "", layer: -1, head: -1 };
  context.store.set({ ...there, row: station.row ?? -1, ...headOf(context, there.kind, station.role) });
  if (station.show.view === "steps") walk(context, 1);
}

/** The head in which a role is clearest. */
function headOf(context, kindName, role) {
  const kind = context.document.kinds.find((each) => each.name === kindName);
  if (!kind || !role) return {};
  let best = {};
  let most = 0;
  kind.descriptions.forEach((heads, layer) =>
    heads.forEach((each, head) => {
      if (each.role === role && each.value > most) {
        most = each.value;
        best = { layer, head };
      }
    }),
  );
  return best;
}

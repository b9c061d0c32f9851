/** Translation after each layer: what can be read from the source, and from the words so far, before the last layer. */

import { element, fill, onWidth } from "./dom.js";
import { marked } from "./whatif.js";

/** The view as an element; it asks for the layers while it can be seen. */
export function createLayers(context) {
  const { store } = context;
  const slider = element("input", {
    type: "range",
    min: 0,
    step: 1,
    "aria-label": "Encoder layer",
    input: () => store.set({ depth: Number(slider.value) }),
  });
  const place = element("p", { class: "so-far" });
  const text = element("p", { class: "sentence", "aria-live": "polite" });
  const message = element("p", { class: "reading", role: "status" });
  const body = element("div", {
    class: "scroll",
    tabindex: 0,
    role: "region",
    "aria-label": "Predictions of the decoder's layers",
  });
  const left = element(
    "div",
    { class: "panel" },
    element("h2", { class: "opened" }, "Translation after a layer of the encoder"),
    slider,
    place,
    text,
    element(
      "p",
      { class: "legend" },
      "The decoder reads the output of this layer as if it were the last one (DecoderLens). It shows what can be read there, not what the model uses.",
    ),
  );
  const right = element(
    "div",
    { class: "panel" },
    element("h2", { class: "opened" }, "Prediction after a layer of the decoder"),
    body,
    element(
      "p",
      { class: "legend" },
      "The most probable token if the output of this layer were the last one (logit lens), with its probability.",
    ),
  );
  const root = element("div", {}, message, element("div", { class: "pair" }, left, right));
  const view = { context, root, slider, place, text, message, body, parts: [left, right], asked: 0 };
  store.on(["document", "depth", "view"], () => requestAnimationFrame(() => void draw(view)));
  onWidth(root, () => void draw(view));
  return root;
}

async function draw(view) {
  const { context } = view;
  const asked = (view.asked += 1);
  if (!view.root.clientWidth || !context.document.translation) return;
  if (!view.body.children.length) fill(view.message, "The layers are being read …");
  const found = await context.source.layers().catch((error) => ({ problem: error.message }));
  if (asked !== view.asked) return; // another one has been asked for since
  const problem = !found
    ? "This file does not hold the layers. A served page shows them."
    : (found.problem ?? (found.encoder ? "" : "This model has no layers to read from."));
  fill(view.message, problem);
  for (const part of view.parts) part.hidden = Boolean(problem);
  if (problem) return;
  drawEncoder(view, found.encoder);
  if (view.read !== found.decoder) drawDecoder(view, found.decoder); // the slider does not change it
  view.read = found.decoder;
}

function drawEncoder({ context, slider, place, text }, encoder) {
  const last = encoder.length - 1;
  const wanted = context.store.get("depth");
  const depth = wanted < 0 ? last : Math.min(wanted, last);
  const { log_probability: sum, finished } = encoder[depth];
  const name =
    depth === 0
      ? "The embeddings alone"
      : depth === last
        ? `After layer ${depth - 1}, the last one`
        : `After layer ${depth - 1}`;
  slider.max = String(last);
  slider.value = String(depth);
  slider.setAttribute("aria-valuetext", name);
  fill(place, `${name} · log-probability ${sum.toFixed(2)}${finished ? "" : " · stopped at the maximum length"}`);
  fill(text, encoder[depth].text ? marked(encoder[last].text, encoder[depth].text) : "no words");
}

function drawDecoder({ context, body }, decoder) {
  const { tokens } = context.document.sides.target;
  const name = (token) => (token.role === "end" ? "end" : token.text);
  const titles = decoder.map((_, depth) => (depth ? `layer ${depth - 1}` : "embeddings"));
  const head = element(
    "tr",
    {},
    element("td", {}),
    titles.map((title) => element("th", { scope: "col" }, title)),
  );
  const lines = tokens.map((token, row) => {
    const cells = decoder.map((layer) => {
      const { text, role, probability } = layer[row];
      const same = name(layer[row]) === name(token);
      return element(
        "td",
        {},
        element(same ? "strong" : "span", {}, role === "end" ? "end" : text),
        element("span", { class: "value" }, ` ${probability.toFixed(2)}`),
      );
    });
    return element("tr", {}, element("th", { scope: "row" }, name(token)), cells);
  });
  fill(body, element("table", { class: "numbers" }, element("thead", {}, head), element("tbody", {}, lines)));
}

/** Translation after each layer: what can be read from the source, and from the words so far, before the last layer. */

import { element, fill, follow, legend, panel, scroll, slider, table } from "./dom.js";
import { plain } from "./sentences.js";
import { marked } from "./whatif.js";

/** The view as an element; it asks for the layers while it can be seen. */
export function createLayers(context) {
  const { store } = context;
  const depth = slider("Encoder layer", (to) => store.set({ depth: to }));
  const place = element("p.so-far");
  const text = element("p.sentence", { "aria-live": "polite" });
  const message = element("p.reading", { role: "status" });
  const body = scroll("Predictions of the decoder's layers");
  const left = panel(
    "Translation after a layer of the encoder",
    depth,
    place,
    text,
    legend(
      "The decoder reads the output of this layer as if it were the last one (DecoderLens). It shows what can be read there, not what the model uses.",
    ),
  );
  const right = panel(
    "Prediction after a layer of the decoder",
    body,
    legend("The most probable token if the output of this layer were the last one (logit lens), with its probability."),
  );
  const root = element("div", message, element("div.pair", left, right));
  const ask = () => {
    if (!context.document.translation) return undefined;
    if (!body.children.length) fill(message, "The layers are being read …");
    return context.source.layers().catch((error) => ({ problem: error.message }));
  };
  let read = null;
  follow(store, root, ["document", "depth"], ask, (found) => {
    const problem = !found
      ? "This file does not hold the layers. A served page shows them."
      : (found.problem ?? (found.encoder ? "" : "This model has no layers to read from."));
    fill(message, problem);
    left.hidden = right.hidden = Boolean(problem);
    if (problem) return;
    drawEncoder(store, { depth, place, text }, found.encoder);
    if (read !== found.decoder) fill(body, predictions(context, found.decoder)); // the slider does not change it
    read = found.decoder;
  });
  return root;
}

function drawEncoder(store, { depth, place, text }, encoder) {
  const last = encoder.length - 1;
  const wanted = store.get("depth");
  const at = wanted < 0 ? last : Math.min(wanted, last);
  const { log_probability: sum, finished } = encoder[at];
  const name = at === 0 ? "The embeddings alone" : `After layer ${at - 1}${at === last ? ", the last one" : ""}`;
  depth.max = String(last);
  depth.value = String(at);
  depth.setAttribute("aria-valuetext", name);
  fill(place, `${name} · log-probability ${sum.toFixed(2)}${finished ? "" : " · stopped at the maximum length"}`);
  fill(text, encoder[at].text ? marked(encoder[last].text, encoder[at].text) : "no words");
}

function predictions(context, decoder) {
  const head = ["", ...decoder.map((_, depth) => (depth ? `layer ${depth - 1}` : "embeddings"))];
  const lines = context.document.sides.target.tokens.map((token, row) => {
    const cells = decoder.map((layer) => {
      const name = plain(layer[row]);
      const value = element("span.value", ` ${layer[row].probability.toFixed(2)}`);
      return element("span", element(name === plain(token) ? "strong" : "span", name), value);
    });
    return [plain(token), ...cells];
  });
  return table(lines, { head });
}

/** What is opened: the chosen head, or the mean, as a matrix with its description, and how the head can be changed. */

import { element, fill, follow, keepFocus, legend, quiet } from "./dom.js";
import { createPicture } from "./picture.js";
import { isOff, toggled } from "./question.js";
import { pin, shown, usualOf, whatOf } from "./shown.js";

/** The panel as an element; it draws while it can be seen. */
export function createOpened(context) {
  const { store } = context;
  const title = element("h2.opened", "Attention"); // until it is drawn
  const mean = quiet("Mean of all", () => store.set({ layer: -1, head: -1 }));
  const usual = element("p.corpus");
  const changes = element("div.switch");
  const picture = createPicture((row) => pin(context, "row", row));
  const bar = element("div.bar", title, mean);
  const body = element("div", bar, usual, picture.root, scale(), changes);
  const root = element("div.panel", body);
  const names = ["document", "kind", "layer", "head", "words", "measure", "theme"];
  follow(
    store,
    root,
    names,
    () => shown(context),
    (found) => {
      body.hidden = !found;
      if (!found) return;
      const { kind, layer, head } = found;
      const described = layer < 0 ? "" : ` · ${kind.descriptions[layer][head].text}`;
      const over = usualOf(context, kind, { layer, head });
      fill(usual, over ? `Over ${context.document.corpus.sentences} sentences: ${over.text}` : "");
      fill(title, `${whatOf(context, kind, { layer, head })}${described}`);
      mean.disabled = layer < 0;
      picture.draw(found);
      const fixed = context.document.kinds.length < 2; // of a recurrent model, whose head cannot be switched off
      changes.hidden = !context.source.live || !context.document.translation || layer < 0 || fixed;
      if (!changes.hidden) drawChanges(context, changes, found);
    },
  );
  return root;
}

/** Switch the open head off, or on again. */
function drawChanges(context, changes, { kind, layer, head }) {
  const { document } = context;
  const off = isOff(document, kind.name, layer, head);
  const flip = () => context.ask({ off: toggled(context.store.get("off"), kind.name, layer, head) });
  keepFocus(changes, () =>
    fill(
      changes,
      quiet(off ? "Switch on" : "Switch off", flip, { "data-key": "off" }),
      legend("What if compares the translations."),
    ),
  );
}

/** The scale of all weights. */
export function scale() {
  return legend(
    element("span", "0"),
    element("span.ramp", { "aria-hidden": "true" }),
    element("span", "1"),
    element("span.swatch", { "aria-hidden": "true" }),
    element("span", "masked"),
  );
}

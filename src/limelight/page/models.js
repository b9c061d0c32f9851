/** Several models side by side on one sentence, each with its translation and its alignment. */

import { button, element, fill, keepFocus, onWidth, options } from "./dom.js";
import { scale } from "./opened.js";
import { createPicture } from "./picture.js";
import { questionOf, remembered } from "./server.js";
import { clearest, nameOf, saidBy, shown } from "./shown.js";

const BESIDE = 3;

/** The view as an element. */
export function createModels(context) {
  const { store } = context;
  const chips = element("div.choices", { role: "group", "aria-label": "Models side by side" });
  const panels = element("div.models");
  const root = element("div", chips, panels, scale());
  const view = { context, root, chips, panels, asked: 0, made: new Map() };
  const show = () => root.clientWidth > 0 && void draw(view);
  store.on(["document", "models", "beside", "theme"], show);
  store.on(["words"], () => view.made.forEach((panel) => void panel.draw()));
  onWidth(root, show);
  return root;
}

/** The models that can stand beside one another: those that translate in this direction; in a file those it holds. */
export function comparable({ store, source, models, base }) {
  if (!source.live) return base.beside ? [base, ...base.beside].map(({ model }) => model) : [];
  const [from, to] = [store.get("from"), store.get("to")];
  const fits = ({ directions }) =>
    !directions.length || directions.some((each) => each.source === from && each.target === to && !each.through);
  return models.filter((each) => each.use === "translate" && fits(each)).map(({ name }) => name);
}

/** Those that are shown. */
export function beside(context) {
  const there = comparable(context);
  const wanted = context.store.get("beside").split(",").filter(Boolean).map(decodeURIComponent);
  const chosen = there.filter((name) => wanted.includes(name));
  return (chosen.length ? chosen : there).slice(0, BESIDE);
}

async function draw(view) {
  const { context, chips, panels } = view;
  const asked = (view.asked += 1);
  const names = beside(context);
  drawChips(view, names);
  for (const name of view.made.keys()) if (!names.includes(name)) view.made.delete(name);
  for (const name of names) if (!view.made.has(name)) view.made.set(name, createPanel(context, name));
  const roots = names.map((name) => view.made.get(name).root);
  if (roots.length !== panels.children.length || roots.some((root, place) => root !== panels.children[place]))
    fill(panels, roots);
  panels.style.setProperty("--models", String(names.length));
  chips.hidden = comparable(context).length <= BESIDE;
  await Promise.all(
    names.map(async (name) => {
      const panel = view.made.get(name);
      try {
        const document = await documentOf(context, name);
        if (asked === view.asked) await panel.show(document);
      } catch (error) {
        if (asked === view.asked) panel.fail(error.message);
      }
    }),
  );
}

function drawChips({ context, chips }, names) {
  const toggle = (name) => {
    const chosen = names.includes(name) ? names.filter((each) => each !== name) : [...names, name].slice(-BESIDE);
    context.store.set({ beside: chosen.map(encodeURIComponent).join(",") });
  };
  const one = (name) =>
    button({ "data-key": name, "aria-pressed": String(names.includes(name)) }, () => toggle(name), name);
  keepFocus(chips, () => fill(chips, comparable(context).map(one)));
}

/** The sentence that is shown, by this model as it is. */
async function documentOf(context, name) {
  if (!context.source.live) return [context.base, ...context.base.beside].find(({ model }) => model === name);
  const { snapshot: _, ...plain } = questionOf(context.store, true);
  const question = { ...plain, model: name, text: context.document.question.text };
  return { ...(await remembered("page/explain", question, "document")), question };
}

/** One model: its name, its translation, and the weights of the head that aligns best, or of another one. */
function createPanel(context, name) {
  const text = element("p.sentence", "…");
  const choice = element("select", { hidden: true, "aria-label": `Head of ${name}`, change: () => void redraw() });
  const picture = createPicture(() => {});
  picture.root.hidden = true;
  const root = element("section.panel", { "aria-label": name }, element("h2.opened", name), text, choice, picture.root);
  let document = null;
  const redraw = async () => {
    if (!document) return;
    const { value } = choice;
    const [layer, head] = (value || "-1/-1").split("/").map(Number);
    const chosen = { kind: "cross", layer, head, words: context.store.get("words") };
    const one = document;
    const found = await shown({
      document: one,
      source: context.sourceOf(() => one),
      store: { get: (key) => chosen[key] },
    });
    if (found && one === document && value === choice.value) picture.draw(found);
  };
  return {
    root,
    draw: redraw,
    async show(next) {
      const before = choice.value;
      document = next;
      const kind = next.kinds.find((each) => each.name === "cross");
      fill(text, saidBy(next));
      picture.root.hidden = choice.hidden = !kind;
      if (!kind) return fill(text, `${saidBy(next)} (this model has no attention)`);
      fill(choice, headsOf(kind));
      const best = clearest(kind);
      choice.value = before || `${best.layer}/${best.head}`;
      choice.hidden = kind.layers * kind.heads === 1;
      return redraw();
    },
    fail: (message) => fill(text, message),
  };
}

function headsOf(kind) {
  const heads = kind.descriptions.flatMap((layer, number) =>
    layer.map(({ text }, head) => [`${number}/${head}`, `${nameOf(number, head)} · ${text}`]),
  );
  return options([["-1/-1", nameOf(-1, -1)], ...heads]);
}

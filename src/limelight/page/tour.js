/** The tour: it drives the same stage and views as everybody's hand, and asks before it shows. */

import { button, element, fill, quiet } from "./dom.js";
import { spoken } from "./sentences.js";
import { kindShown, labels, shown } from "./shown.js";
import { STATIONS } from "./stations.js";
import { walk } from "./steps.js";

/** The column of the tour; hidden until it is opened. */
export function createTour(context) {
  const { store } = context;
  const title = element("h2", { tabindex: -1 });
  const text = element("p");
  const formula = element("p.formula");
  const asks = element("div.asks");
  const section = element("p.legend");
  const place = element("p.legend");
  const go = (number) => () => store.set({ tour: number() });
  const back = quiet(
    "Back",
    go(() => store.get("tour") - 1),
  );
  const next = button(
    { class: "primary" },
    go(() => (store.get("tour") + 1) % (STATIONS.length + 1)),
  );
  const leave = quiet(
    "Leave the tour",
    go(() => 0),
  );
  const tools = element("div.tools", back, next, leave);
  const parts = [place, title, text, formula, asks, section, tools];
  const root = element("aside.tour.panel", { "aria-label": "Tour" }, parts);
  const view = { context, asks, open: null };
  const draw = (changed) => {
    const number = store.get("tour");
    const station = STATIONS[number - 1];
    root.hidden = !station;
    document.body.classList.toggle("touring", Boolean(station));
    if (changed && station) {
      view.open = null;
      stage(context, station); // before the question, which is about what it shows
    }
    ask(view, station);
    if (!station) return;
    fill(place, `Station ${number} of ${STATIONS.length}`);
    fill(title, station.title);
    fill(text, station.text);
    fill(formula, station.formula);
    fill(
      section,
      `Equations and code: the documentation, “Attention” and “The Transformer”, section ${station.section}`,
    );
    back.disabled = number === 1;
    fill(next, number === STATIONS.length ? "Done" : "Next");
    if (changed) title.focus();
  };
  store.on(["tour"], draw);
  store.on(["document"], () => draw());
  store.on(["column"], () => void guess(view));
  draw();
  return root;
}

/** Show a station, as far as the model at hand has it. */
function stage(context, station) {
  const kinds = context.document.kinds.map((kind) => kind.name);
  const there = kinds.includes(station.show.kind) ? station.show : { ...station.show, kind: "", layer: -1, head: -1 };
  context.store.set({ row: -1, colors: "", ...there, ...headOf(context, there.kind, station.role) });
  if (station.step) walk(context, station.step);
}

/** The question of a station. While it is about the weights of a row, the stage hides its lines. */
function ask(view, station) {
  const { context, asks } = view;
  const about = station?.asks.about;
  const kind = kindShown(context);
  const row = about === undefined || !kind ? null : labels(context, kind.rows)[about];
  view.open = row ? about : null;
  document.body.classList.toggle("guessing", Boolean(row));
  if (!station) return;
  if (!row) {
    const { question = "Which word gets most?", answer = "Point at the words of the stage." } = station.asks;
    return fill(asks, element("details", element("summary", question), element("p", answer)));
  }
  const where = document.querySelector(".board.across") ? "in the left column" : "in the upper line";
  const show = quiet("Show it", () => void reveal(view, -1), { class: "quiet small" });
  return fill(
    asks,
    element("p", `Before you see it: to which word does ${spoken(row)} attend most? Choose it ${where}.`),
    show,
  );
}

/** The reader has chosen a word of the upper line. */
function guess(view) {
  const chosen = view.context.store.get("column");
  return view.open === null || chosen < 0 ? undefined : reveal(view, chosen);
}

async function reveal(view, chosen) {
  const { context, asks, open } = view;
  view.open = null;
  const { rows, columns, weights } = await shown(context);
  const values = columns.map((_, column) => weights.at(open, column));
  const most = values.indexOf(Math.max(...values));
  const told = (column) => `${spoken(columns[column])} gets ${values[column].toFixed(2)}`;
  const verdict = chosen < 0 ? "" : chosen === most ? "Right. " : `You chose: ${told(chosen)}. `;
  fill(
    asks,
    element("p", { role: "status" }, `${verdict}Of the weights of ${spoken(rows[open])}, ${told(most)}, the most.`),
  );
  document.body.classList.remove("guessing");
  context.store.set({ row: open, column: -1 });
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

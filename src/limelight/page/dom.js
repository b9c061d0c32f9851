/** Elements by name. Text is always a text node: what a user wrote is never markup. */

const SVG = "http://www.w3.org/2000/svg";

/**
 * An HTML element, `element("p.legend", "text")`, or with attributes before its children: strings, true for a bare one, null
 * or false to leave it out, functions for events.
 */
export function element(name, ...children) {
  const [tag, ...classes] = name.split(".");
  const made = document.createElement(tag);
  if (classes.length) made.className = classes.join(" ");
  const attributes = children[0]?.constructor === Object ? children.shift() : {};
  return filled(made, attributes, children);
}

/** An SVG element, likewise. */
export function vector(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

/** A button; what it says comes after what it does. */
export const button = (attributes, click, ...children) =>
  element("button", { type: "button", click, ...attributes }, ...children);

/** A button that is no more than its name. */
export const quiet = (name, click, attributes = {}) => button({ class: "quiet", ...attributes }, click, name);

/** A part of a view with its title. */
export const panel = (title, ...children) => element("div.panel", element("h2.opened", title), ...children);

/** What numbers mean, in small letters. */
export const legend = (...text) => element("p.legend", ...text);

/** What may be wider than the page, with its name. */
export const scroll = (name, ...children) =>
  element("div.scroll", { tabindex: 0, role: "region", "aria-label": name }, ...children);

const FIELD = { type: "text", class: "edited", maxlength: 500, spellcheck: "false", dir: "auto" };

/** A field for a text. */
export const field = (name, attributes = {}) => element("input", { ...FIELD, "aria-label": name, ...attributes });

const RANGE = { type: "range", min: 0, step: 1 };

/** A slider over whole numbers from 0, unless the attributes say other ones. */
export function slider(name, moved, attributes = {}) {
  const input = () => moved(Number(made.value));
  const made = element("input", { ...RANGE, "aria-label": name, input, ...attributes });
  return made;
}

/** What can be chosen, as `[value, title]`. */
export const options = (choices) => choices.map(([value, title]) => element("option", { value }, title));

/** A table: the first cell of each line is its name, the columns in `numbers` are set to the right. */
export function table(lines, { head = [], numbers = [], look = "" } = {}) {
  const side = (place) => (numbers.includes(place) ? "number" : null);
  const named = (name, place) => (name ? element("th", { scope: "col", class: side(place) }, name) : element("td"));
  const cell = (text, place) =>
    place ? element("td", { class: side(place) }, text) : element("th", { scope: "row" }, text);
  const body = lines.map((line) => element("tr", line.map(cell)));
  const top = head.length ? element("thead", element("tr", head.map(named))) : null;
  return element("table", { class: `numbers ${look}` }, top, element("tbody", body));
}

/** A share as a bar, with its number. */
export function bar(share, text) {
  const filled = element("span.filled", { "aria-hidden": "true" });
  filled.style.width = `calc(${share.toFixed(3)} * (100% - 50px))`; // beside the number
  return element("span.share", filled, element("span.value", text));
}

/**
 * Draw a view while it can be seen, after its width or any of `names` has changed: `show` what `ask` finds, if nothing
 * else has been asked for since. A view that is opened again as it was is not drawn again.
 */
export function follow(store, root, names, ask, show) {
  let asked = 0;
  let drawn = 0; // the width of the picture; 0 where it is of something else
  const draw = async () => {
    const own = (asked += 1);
    const width = root.clientWidth;
    const found = width ? await ask() : undefined;
    if (found === undefined || own !== asked) return;
    show(found);
    drawn = width;
  };
  store.on(names, () => {
    drawn = 0;
    requestAnimationFrame(() => void draw());
  });
  onWidth(root, () => root.clientWidth && root.clientWidth !== drawn && void draw());
}

/** Put these in place of all that an element holds. */
export function fill(parent, ...children) {
  parent.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined));
}

/** Call an action whenever the width of an element is another one: also when its view is opened or closed. */
export function onWidth(root, action) {
  let width = 0;
  new ResizeObserver(() => {
    if (root.clientWidth === width) return;
    width = root.clientWidth;
    action();
  }).observe(root);
}

/** Redraw a part of the page. The focus stays where it was: at the element with the same `data-key`, or in this part. */
export function keepFocus(root, redraw) {
  const key = root.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
  redraw();
  if (key === undefined || root.contains(document.activeElement)) return;
  (root.querySelector(`[data-key="${CSS.escape(key)}"]`) ?? root.querySelector("button"))?.focus();
}

/** Move the focus with the arrow keys among the elements of a group; one of them can be reached with Tab. */
export function rove(elements, event, columns = 1) {
  if (event.altKey || event.ctrlKey || event.metaKey) return false; // a key of the browser, such as Back
  const right = elements[0]?.closest("[dir=rtl]") ? -1 : 1;
  const steps = { ArrowLeft: -right, ArrowRight: right, ArrowUp: -columns, ArrowDown: columns };
  const from = elements.indexOf(document.activeElement);
  const to = { Home: 0, End: elements.length - 1 }[event.key] ?? from + (steps[event.key] ?? NaN);
  if (from < 0 || to === from || !elements[to]) return false;
  event.preventDefault();
  for (const each of elements) each.tabIndex = each === elements[to] ? 0 : -1;
  elements[to].focus();
  return true;
}

function filled(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "style")
      Object.assign(made.style, value); // an attribute would be refused by the page's policy
    else if (typeof value === "function") made.addEventListener(name, value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(name, String(value));
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
}

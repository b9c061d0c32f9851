/** Elements by name. Text is always a text node: what a user wrote is never markup. */

const SVG = "http://www.w3.org/2000/svg";

/** An HTML element. Attributes: strings, true for a bare one, null or false to leave it out, functions for events. */
export function element(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

/** An SVG element, likewise. */
export function vector(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
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

/** Put a text on the clipboard; the button says that it is done, or where else the text is. */
export async function copy(button, text, elsewhere) {
  const name = button.textContent;
  const done = await navigator.clipboard?.writeText(text).then(
    () => true,
    () => false,
  );
  fill(button, done ? "Copied" : elsewhere);
  setTimeout(() => fill(button, name), 2000);
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
  const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns };
  const from = elements.indexOf(document.activeElement);
  const to = { Home: 0, End: elements.length - 1 }[event.key] ?? from + (steps[event.key] ?? NaN);
  if (from < 0 || !elements[to]) return false;
  event.preventDefault();
  for (const each of elements) each.tabIndex = each === elements[to] ? 0 : -1;
  elements[to].focus();
  return true;
}

function filled(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name, value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(name, String(value));
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
}

/** The views below the stage as tabs; each is made when it is first opened. */

import { element, fill, rove } from "./dom.js";

/** Tabs for `views`: `{name: {title, make, there}}`, where `there()` says whether the document has what it shows. */
export function createTabs(context, views) {
  const { store } = context;
  const tabs = Object.entries(views).map(([name, { title }]) =>
    element(
      "button",
      {
        type: "button",
        role: "tab",
        id: `tab-${name}`,
        "aria-controls": `view-${name}`,
        click: () => store.set({ view: name }),
      },
      title,
    ),
  );
  const panels = Object.entries(views).map(([name]) =>
    element("div", { role: "tabpanel", id: `view-${name}`, "aria-labelledby": `tab-${name}` }),
  );
  const bar = element("div.views", { role: "tablist", "aria-label": "Views" }, tabs);
  bar.addEventListener("keydown", (event) => {
    const there = tabs.filter((tab) => !tab.hidden);
    if (rove(there, event, 0)) document.activeElement.click();
  });
  const show = () => {
    const names = Object.keys(views);
    const there = names.filter((name) => views[name].there());
    const open = there.find((name) => name === store.get("view")) ?? there.find((name) => name === "heads") ?? there[0];
    names.forEach((name, place) => {
      tabs[place].hidden = !there.includes(name);
      tabs[place].tabIndex = name === open ? 0 : -1;
      tabs[place].setAttribute("aria-selected", String(name === open));
      panels[place].hidden = name !== open;
      if (name === open && !panels[place].children.length) fill(panels[place], views[name].make(context));
    });
    bar.hidden = there.length < 2;
  };
  /** Open a view from elsewhere on the page, and scroll to it where it is below the screen. */
  context.open = (view) => {
    store.set({ view });
    tabs[Object.keys(views).indexOf(view)].focus({ preventScroll: true }); // the button that asked may be hidden now
    if (bar.getBoundingClientRect().top > 0.75 * innerHeight) bar.scrollIntoView();
  };
  store.on(["view", "document", "models", "model"], show);
  show();
  return element("div", bar, panels);
}

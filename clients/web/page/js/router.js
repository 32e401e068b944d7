// Opens the page in the fragment of the URL. Fragments contain names of pages and queues and ids of
// jobs, but no data, and browsers do not send them.

import { h } from "./dom.js";
import { listen } from "./live.js";
import { link } from "./parts/links.js";
import { showError } from "./parts/notice.js";

/** The context of a page. It ends when another page is opened: then all its tasks stop. */
export class View {
  isOpen = true;
  #leaving = [];

  constructor(element) {
    this.element = element;
  }

  /** Replaces the contents with these elements. */
  fill(...children) {
    if (this.isOpen) this.element.replaceChildren(...children.flat().filter(Boolean));
  }

  onLeave(callback) {
    this.#leaving.push(callback);
  }

  onLive(callback) {
    this.onLeave(listen(callback));
  }

  /** Runs a task now and again after each pause, never twice at a time; not while the tab is hidden. */
  async every(milliseconds, task) {
    let timer = null;
    this.onLeave(() => clearTimeout(timer));
    const again = async () => {
      if (!this.isOpen) return;
      if (!document.hidden) await task().catch((error) => this.isOpen && showError(this, error));
      if (this.isOpen) timer = setTimeout(again, milliseconds);
    };
    await task();
    if (this.isOpen) timer = setTimeout(again, milliseconds);
  }

  leave() {
    this.isOpen = false;
    for (const callback of this.#leaving.splice(0)) callback();
  }
}

export const go = (...parts) => void (location.hash = link(...parts));

const here = () => location.hash.replace(/^#\/?/, "").split("/").map(decodeURIComponent);

let view = null;

export const currentView = () => view;

// The headline takes the focus, so that screen readers read it and Tab continues from there. If the
// user is already in a field or on a button of the page, the focus stays there.
function focusHeadline(element) {
  if (!element.contains(document.activeElement)) element.querySelector("h1")?.focus({ preventScroll: true });
}

async function open(routes, main, whenOpened) {
  const parts = here();
  const route = routes[parts[0] || "overview"] ?? routes.unknown;
  view?.leave();
  for (const dialog of document.querySelectorAll("dialog[open]")) dialog.close(); // it belongs to the previous page
  view = new View(h("div", { class: "page" }));
  const mine = view;
  main.replaceChildren(view.element);
  window.scrollTo(0, 0);
  whenOpened(parts[0] || "overview", route);
  document.title = `${parts[1] ? `${parts[1]} – ` : ""}${route.title} – hipq`;
  try {
    await route.show(view, ...parts.slice(1));
  } catch (error) {
    showError(mine, error);
  }
  if (mine.isOpen) focusHeadline(mine.element);
}

/** Opens pages in main when the URL changes. Returns a function that stops this. */
export function startRouter(routes, main, whenOpened) {
  const again = () => void open(routes, main, whenOpened);
  window.addEventListener("hashchange", again);
  again();
  return () => {
    window.removeEventListener("hashchange", again);
    view?.leave();
    view = null;
  };
}

/** Opens the same page again. */
export const reload = () => void window.dispatchEvent(new HashChangeEvent("hashchange"));

// The frame of every page: links to the other pages, the signed-in role, and whether the figures
// are live.

import { schemeSwitch } from "./appearance.js";
import { h, hiddenText, setText } from "./dom.js";
import { icon } from "./icons.js";
import { listen, live } from "./live.js";
import { pages } from "./pages.js";
import { openPalette } from "./palette.js";
import { badge } from "./parts/badge.js";
import { toastError } from "./parts/toast.js";
import { link } from "./parts/links.js";
import { session } from "./session.js";

const states = { connecting: "Connecting", live: "Live", lost: "Connection lost", ended: "Ended" };

function navigationLink({ name, title, key }) {
  const count = h("span", { class: "nav-count", hidden: true });
  const element = h(
    "a",
    { href: link(name), class: "nav-link", title: `${title} (g ${key})`, "data-page": name },
    icon(name),
    h("span", { class: "nav-text" }, title),
    count,
  );
  return { name, element, count };
}

export class Shell {
  main = h("main", { id: "main", tabindex: "-1" });
  #links = pages.map(navigationLink);
  #state = h("span", { class: "live-text" });
  #dot = h("span", { class: "live", role: "status" }, h("i", {}), this.#state);
  #side;
  #menu;
  #title = h("span", { class: "top-title" });
  #stop;

  constructor(whenSignedOut) {
    this.#menu = h(
      "button",
      {
        type: "button",
        class: "icon-button",
        "aria-label": "Menu",
        "aria-expanded": "false",
        "aria-controls": "side",
        onclick: () => this.#toggleMenu(),
      },
      icon("menu"),
    );
    this.#side = h(
      "div",
      { id: "side", class: "side" },
      this.#brand(),
      this.#search(),
      this.#navigation(),
      this.#foot(whenSignedOut),
    );
    const top = h(
      "div",
      { class: "top" },
      this.#menu,
      this.#title,
      h("button", { type: "button", class: "icon-button", "aria-label": "Search", onclick: openPalette }, icon("search")),
    );
    const skip = h(
      "a",
      {
        href: "#main",
        class: "skip",
        onclick: (event) => {
          event.preventDefault();
          this.main.focus();
        },
      },
      "Skip to the page",
    );
    this.element = h(
      "div",
      { class: "shell" },
      skip,
      h("header", { class: "frame" }, top, this.#side),
      h("div", { class: "veil", onclick: () => this.#toggleMenu(false) }),
      this.main,
    );
    this.#side.addEventListener("click", (event) => event.target.closest("a") && this.#toggleMenu(false));
    this.element.addEventListener("keydown", (event) => event.key === "Escape" && this.#toggleMenu(false));
    this.#stop = listen(() => this.#show());
    this.#show();
  }

  #brand() {
    const badges = [session.read_only ? badge("read only", "warn") : null];
    return h(
      "div",
      { class: "brand" },
      h("img", { src: "favicon.svg", alt: "", width: 24, height: 24 }),
      h("div", {}, h("strong", {}, "hipq"), h("span", { class: "brand-database" }, session.database)),
      badges,
    );
  }

  #search() {
    return h(
      "button",
      { type: "button", class: "side-search", onclick: openPalette },
      icon("search"),
      h("span", {}, "Go to…"),
      h("kbd", {}, "Ctrl K"),
    );
  }

  #navigation() {
    const groups = [...new Set(pages.map(({ group }) => group))];
    const listOf = (group) =>
      h(
        "ul",
        { "aria-label": group },
        this.#links.filter((_, index) => pages[index].group === group).map(({ element }) => h("li", {}, element)),
      );
    return h("nav", { "aria-label": "Pages" }, groups.map(listOf));
  }

  #foot(whenSignedOut) {
    const who = session.service ? `${session.role} (service)` : session.role;
    const leave = h(
      "button",
      {
        type: "button",
        class: "icon-button",
        title: "Sign out",
        "aria-label": "Sign out",
        onclick: () => whenSignedOut().catch(toastError),
      },
      icon("leave"),
    );
    return h(
      "div",
      { class: "foot" },
      h("div", { class: "foot-row" }, this.#dot, schemeSwitch()),
      h(
        "div",
        { class: "foot-row" },
        h("span", { class: "who" }, hiddenText("Signed in as "), who),
        session.service ? null : leave,
      ),
      h(
        "div",
        { class: "versions" },
        `hipq ${session.hipq_version ?? ""} on PostgreSQL ${String(session.server_version ?? "").split(" ")[0]}`,
      ),
    );
  }

  #toggleMenu(isOpen = !this.element.classList.contains("has-menu")) {
    this.element.classList.toggle("has-menu", isOpen);
    this.#menu.setAttribute("aria-expanded", String(isOpen));
    if (isOpen) this.#side.querySelector("a, button").focus();
  }

  #show() {
    setText(this.#state, live.reason ? `${states[live.state]}: ${live.reason}` : states[live.state]);
    this.#dot.className = `live is-${live.state}`;
    const alarms = Number(live.latest?.alerts?.alarm ?? 0);
    const { count } = this.#links.find(({ name }) => name === "alerts");
    count.hidden = alarms === 0;
    count.replaceChildren(String(alarms), hiddenText(alarms === 1 ? " alarm" : " alarms"));
  }

  /** Marks the open page. */
  mark(name, title) {
    setText(this.#title, title);
    for (const { name: other, element } of this.#links) {
      if (other === name) element.setAttribute("aria-current", "page");
      else element.removeAttribute("aria-current");
    }
  }

  leave() {
    this.#stop();
    this.element.remove();
  }
}

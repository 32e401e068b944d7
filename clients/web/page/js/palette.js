// Opens anything by name: a dialog with a field, where a number is a job, and words find pages,
// queues and job types.

import { h, newId } from "./dom.js";
import { icon } from "./icons.js";
import { live } from "./live.js";
import { pages } from "./pages.js";
import { go } from "./router.js";

const most = 12;

function findings(text) {
  const words = text.trim().toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (name) => words.every((word) => name.toLowerCase().includes(word));
  const jobs = /^\d+$/.test(text.trim())
    ? [{ icon: "jobs", text: `Job ${text.trim()}`, open: () => go("jobs", text.trim()) }]
    : [];
  const found = pages
    .filter(({ title }) => fits(title))
    .map(({ name, title }) => ({ icon: name, text: title, open: () => go(name) }));
  const queues = (live.latest?.queues ?? [])
    .filter(({ queue }) => fits(queue))
    .map(({ queue }) => ({ icon: "queues", text: queue, kind: "queue", open: () => go("queues", queue) }));
  return [...jobs, ...found, ...(words.length > 0 ? queues : queues.slice(0, 5))].slice(0, most);
}

class Palette {
  #list = h("ul", { id: newId("palette"), role: "listbox", "aria-label": "Places" });
  #input;
  #dialog;
  #found = [];
  #at = 0;

  constructor() {
    this.#input = h("input", {
      type: "text",
      class: "palette-input",
      role: "combobox",
      "aria-label": "Go to a job, queue or page",
      "aria-expanded": "true",
      "aria-controls": this.#list.id,
      "aria-autocomplete": "list",
      placeholder: "Job id, queue or page",
      autocomplete: "off",
      spellcheck: "false",
      oninput: () => this.#search(),
      onkeydown: (event) => this.#press(event),
    });
    this.#dialog = h(
      "dialog",
      { class: "palette", "aria-label": "Go to", onclick: (event) => event.target === this.#dialog && this.#dialog.close() },
      h("div", { class: "palette-field" }, icon("search"), this.#input),
      this.#list,
    );
    this.#dialog.addEventListener("close", () => this.#dialog.remove());
    document.body.append(this.#dialog);
    this.#dialog.showModal();
    this.#search();
  }

  #search() {
    this.#found = findings(this.#input.value);
    this.#at = 0;
    this.#list.replaceChildren(
      ...this.#found.map((one, index) =>
        h(
          "li",
          { id: `${this.#list.id}-${index}`, role: "option", "aria-selected": "false", onclick: () => this.#open(index) },
          icon(one.icon),
          h("span", {}, one.text),
          one.kind ? h("small", {}, one.kind) : null,
        ),
      ),
    );
    if (this.#found.length === 0)
      this.#list.replaceChildren(
        h(
          "li",
          { role: "option", "aria-disabled": "true", "aria-selected": "false", class: "is-none" },
          "Nothing has such a name",
        ),
      );
    this.#show();
  }

  #show() {
    [...this.#list.children].forEach((item, index) =>
      item.setAttribute("aria-selected", String(index === this.#at && this.#found.length > 0)),
    );
    if (this.#found.length > 0) this.#input.setAttribute("aria-activedescendant", `${this.#list.id}-${this.#at}`);
    else this.#input.removeAttribute("aria-activedescendant");
    this.#list.children[this.#at]?.scrollIntoView({ block: "nearest" });
  }

  #press(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) this.#at = (this.#at + step + this.#found.length) % Math.max(1, this.#found.length);
    else if (event.key === "Enter") this.#open(this.#at);
    else return;
    event.preventDefault();
    this.#show();
  }

  #open(index) {
    const one = this.#found[index];
    if (!one) return;
    this.#dialog.close();
    one.open();
  }
}

export function openPalette() {
  if (!document.querySelector("dialog[open]")) new Palette();
}

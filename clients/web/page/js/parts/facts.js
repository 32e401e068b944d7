// Names with their values, as a list; headings of pages; panels.

import { h } from "../dom.js";
import { icon } from "../icons.js";
import { isNone } from "../format.js";
import { toast, toastError } from "./toast.js";

/** Facts as [name, value]; empty values are left out. */
export const facts = (list, kind = "") =>
  h(
    "dl",
    { class: `facts ${kind}` },
    list
      .filter(([, value]) => !isNone(value) && value !== "–")
      .map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))),
  );

/** The head of a page: its title, its description, its actions. */
export const pageHead = (title, { words = null, beside = null, actions = null } = {}) =>
  h(
    "header",
    { class: "page-head" },
    h(
      "div",
      { class: "page-title" },
      h("h1", { tabindex: "-1" }, title),
      beside,
      words ? h("p", { class: "page-words" }, words) : null,
    ),
    actions ? h("div", { class: "page-actions" }, actions) : null,
  );

export const panel = (title, { beside = null, kind = null } = {}, ...content) =>
  h(
    "section",
    { class: `panel${kind ? ` is-${kind}` : ""}`, "aria-label": title },
    h("header", { class: "panel-head" }, h("h2", {}, title), beside),
    content,
  );

/** A panel that is folded on a narrow screen until the user opens it. */
export const foldingPanel = (title, { kind = null } = {}, ...content) =>
  h(
    "section",
    { class: `panel is-folding${kind ? ` is-${kind}` : ""}`, "aria-label": title },
    h(
      "details",
      { open: !window.matchMedia("(max-width: 640px)").matches },
      h("summary", { class: "panel-head" }, h("h2", {}, title)),
      content,
    ),
  );

/** A text with a button that copies it. */
export function copyable(text) {
  const copy = () => navigator.clipboard.writeText(text).then(() => toast("Copied"), toastError);
  return h(
    "span",
    { class: "copyable" },
    h("code", {}, text),
    h("button", { class: "icon-button", type: "button", "aria-label": `Copy ${text}`, onclick: copy }, icon("copy")),
  );
}

/** Two or more choices, one of which is selected. */
export function choice(label, options, chosen, whenChosen) {
  const buttons = options.map(([key, text]) =>
    h(
      "button",
      {
        type: "button",
        class: "choice-option",
        "aria-pressed": String(key === chosen),
        onclick: () => {
          buttons.forEach((button, index) => button.setAttribute("aria-pressed", String(options[index][0] === key)));
          whenChosen(key);
        },
      },
      text,
    ),
  );
  return h("div", { class: "choice", role: "group", "aria-label": label }, buttons);
}

export const button = (text, onclick, { kind = null, icon: name = null, ...rest } = {}) =>
  h("button", { type: "button", class: `button${kind ? ` is-${kind}` : ""}`, onclick, ...rest }, name ? icon(name) : null, text);

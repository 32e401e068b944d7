// A field that filters the contents of the page while the user types. The key / moves the cursor
// there.

import { h } from "../dom.js";
import { icon } from "../icons.js";

export function filterField(label, whenTyped) {
  const input = h("input", {
    type: "search",
    "aria-label": label,
    placeholder: label,
    "data-search": true,
    autocomplete: "off",
    spellcheck: "false",
    oninput: () => whenTyped(input.value.trim().toLowerCase()),
  });
  return h("div", { class: "filter" }, icon("search"), input, h("kbd", {}, "/"));
}

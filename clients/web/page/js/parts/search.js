// A field that filters what is on the page as somebody types. The key / puts the cursor there.

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

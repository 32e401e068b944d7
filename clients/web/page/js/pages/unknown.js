// The page for a URL that names no page.

import { h } from "../dom.js";
import { pageHead } from "../parts/facts.js";
import { link } from "../parts/links.js";

export function show(view) {
  view.fill(pageHead("There is no such page"), h("p", {}, h("a", { href: link("overview") }, "Overview")));
}

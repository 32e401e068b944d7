// Says in a corner what an action did, for some seconds. The region is live: it is read aloud.

import { h } from "../dom.js";
import { icon } from "../icons.js";

const shownFor = 6000;

/** Shows a text, or what is made of texts and links. */
export function toast(text, kind = "done") {
  const element = h("div", { class: `toast is-${kind}` }, icon(kind === "done" ? "check" : "alerts"), h("p", {}, text));
  document.getElementById("toasts").append(element);
  setTimeout(() => element.remove(), kind === "done" ? shownFor : 2 * shownFor);
}

export const toastError = (error) => toast([error.message, error.hint].filter(Boolean).join(". "), "failed");

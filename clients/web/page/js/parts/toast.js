// Shows the result of an action beside its button, for some seconds. The region is live: screen
// readers read it aloud.

import { h } from "../dom.js";
import { icon } from "../icons.js";

const shownFor = 6000;
const gap = 8;

// The position of the last pressed button, except those of dialogs: the button may be gone when the
// message appears.
let pressed = null;
document.addEventListener(
  "click",
  (event) => {
    const button = event.target.closest?.("button");
    if (button && !button.closest("dialog")) pressed = button.getBoundingClientRect();
  },
  true,
);

// Below the button, or above it if there is no room.
function place(region) {
  if (!pressed) return;
  const { width, height } = region.getBoundingClientRect();
  const below = pressed.bottom + gap + height <= window.innerHeight;
  const top = below ? pressed.bottom + gap : pressed.top - gap - height;
  region.style.top = `${Math.max(gap, Math.min(top, window.innerHeight - height - gap))}px`;
  region.style.left = `${Math.max(gap, Math.min(pressed.right - width, window.innerWidth - width - gap))}px`;
  region.classList.add("is-placed");
}

/** Shows a text, or a list of texts and links. */
export function toast(text, kind = "done") {
  const element = h("div", { class: `toast is-${kind}` }, icon(kind === "done" ? "check" : "alerts"), h("p", {}, text));
  const region = document.getElementById("toasts");
  region.append(element);
  place(region);
  setTimeout(() => element.remove(), kind === "done" ? shownFor : 2 * shownFor);
}

export const toastError = (error) => toast([error.message, error.hint].filter(Boolean).join(". "), "failed");

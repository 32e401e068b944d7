// The switch between dark, light and the system's scheme. The browser remembers the choice.

import { h } from "./dom.js";
import { icon } from "./icons.js";

const choices = [
  ["system", "system", "As the system"],
  ["light", "sun", "Light"],
  ["dark", "moon", "Dark"],
];

const chosen = () => document.documentElement.dataset.scheme ?? "system";

function choose(name) {
  if (name === "system") delete document.documentElement.dataset.scheme;
  else document.documentElement.dataset.scheme = name;
  try {
    if (name === "system") localStorage.removeItem("hipq-scheme");
    else localStorage.setItem("hipq-scheme", name);
  } catch {
    // Then the choice lasts until the page is loaded again.
  }
  show();
}

const show = () => {
  for (const button of document.querySelectorAll("[data-choose-scheme]"))
    button.setAttribute("aria-pressed", String(button.dataset.chooseScheme === chosen()));
};

/** Three buttons, one of which is pressed. */
export const schemeSwitch = () =>
  h(
    "div",
    { class: "choice is-icons", role: "group", "aria-label": "Colours" },
    choices.map(([name, iconName, words]) =>
      h(
        "button",
        {
          type: "button",
          class: "choice-option",
          "data-choose-scheme": name,
          "aria-pressed": String(name === chosen()),
          "aria-label": words,
          title: words,
          onclick: () => choose(name),
        },
        icon(iconName),
      ),
    ),
  );

/** Switches from light to dark, and back. */
export function toggleScheme() {
  const isDark = chosen() === "dark" || (chosen() === "system" && matchMedia("(prefers-color-scheme: dark)").matches);
  choose(isDark ? "light" : "dark");
}

// Keys: / searches, g and a letter opens a page, j and k move through a list, Enter opens, ? shows
// all keys.

import { toggleScheme } from "./appearance.js";
import { h } from "./dom.js";
import { pages } from "./pages.js";
import { openPalette } from "./palette.js";
import { read } from "./parts/dialog.js";
import { go, reload } from "./router.js";

const isTyping = (element) => element?.closest("input:not([type=checkbox]), textarea, select, [contenteditable]");

const isSeen = (element) => element.offsetParent !== null;

// The first link of each row takes the focus, so that Enter opens it.
function move(step) {
  const links = [...document.querySelectorAll("main tbody tr")]
    .map((row) => row.querySelector("td:not(.is-check) a"))
    .filter((link) => link && isSeen(link));
  if (links.length === 0) return;
  const here = links.findIndex((link) => link.closest("tr").contains(document.activeElement));
  const next = here === -1 ? (step > 0 ? 0 : links.length - 1) : Math.min(links.length - 1, Math.max(0, here + step));
  links[next].focus();
  links[next].scrollIntoView({ block: "nearest" });
}

function select() {
  document.activeElement?.closest("tr")?.querySelector("td.is-check input")?.click();
}

function search() {
  const input = [...document.querySelectorAll("main [data-search]")].find(isSeen);
  if (!input) return openPalette();
  input.focus();
  input.select();
}

function help() {
  const keys = [
    ["/", "search on this page"],
    ["Ctrl K", "go to a job, queue or page"],
    ["j  k", "next and previous row"],
    ["Enter", "open the row"],
    ["x", "select the row"],
    ["r", "load again"],
    ["c", "dark or light"],
    ["Esc", "leave a field or a dialog"],
    ["?", "these keys"],
  ];
  const list = (entries) =>
    h(
      "dl",
      { class: "keys" },
      entries.map(([key, words]) =>
        h(
          "div",
          {},
          h(
            "dt",
            {},
            key.split(/\s+/).map((one) => h("kbd", {}, one)),
          ),
          h("dd", {}, words),
        ),
      ),
    );
  read("Keys", h("div", { class: "keys-columns" }, list(keys), list(pages.map(({ key, title }) => [`g ${key}`, title]))));
}

const commands = { "/": search, "?": help, j: () => move(1), k: () => move(-1), x: select, r: reload, c: toggleScheme };

let isGoing = false;

function press(event) {
  if ((event.ctrlKey || event.metaKey) && event.key === "k") {
    event.preventDefault();
    openPalette();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (isTyping(event.target)) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const page = isGoing && pages.find(({ key }) => key === event.key);
  isGoing = event.key === "g";
  const command = page ? () => go(page.name) : commands[event.key];
  if (!command) return;
  event.preventDefault();
  command();
}

/** Listens to keys. Returns a function that stops this. */
export function startKeyboard() {
  document.addEventListener("keydown", press);
  return () => document.removeEventListener("keydown", press);
}

// Shows an error where it occurred, or that there is nothing.

import { h } from "../dom.js";

/** An error with all fields of PostgreSQL. */
export function errorBox(error) {
  if (!error.status && error.status !== 0) console.error(error);
  return h(
    "div",
    { class: "notice is-error", role: "alert" },
    h("p", { class: "notice-title" }, error.message, error.sqlstate ? h("code", { class: "sqlstate" }, error.sqlstate) : null),
    error.detail ? h("p", {}, error.detail) : null,
    error.hint ? h("p", {}, error.hint) : null,
  );
}

export const noticeBox = (title, ...words) =>
  h(
    "div",
    { class: "notice" },
    h("p", { class: "notice-title" }, title),
    words.map((word) => h("p", {}, word)),
  );

/** Shows an error at the head of a page, once; the rest of the page stays. */
export function showError(view, error) {
  if (!view.isOpen || error.status === 401) return;
  view.element.querySelector(":scope > .notice.is-error")?.remove();
  const head = view.element.querySelector(":scope > header");
  if (head) head.after(errorBox(error));
  else
    view.element.prepend(h("header", { class: "page-head" }, h("h1", { tabindex: "-1" }, "This did not work")), errorBox(error));
}

export const emptyBox = (title, words = null) =>
  h("div", { class: "empty" }, h("p", { class: "empty-title" }, title), words ? h("p", {}, words) : null);

// The doctor's list: mistakes in the set-up of hipq, each with the statement that fixes it.

import { get } from "../api.js";
import { h } from "../dom.js";
import { plural } from "../format.js";
import { icon } from "../icons.js";
import { badge } from "../parts/badge.js";
import { button, copyable, pageHead } from "../parts/facts.js";
import { emptyBox } from "../parts/notice.js";
import { toastError } from "../parts/toast.js";

const tones = { error: "bad", warning: "warn", information: "calm" };

const card = ({ severity, subject, finding, detail, hint, statement }) =>
  h(
    "li",
    { class: `alert is-${severity}` },
    h(
      "div",
      { class: "alert-head" },
      icon("doctor"),
      h("h2", {}, finding),
      badge(severity, tones[severity]),
      h("span", { class: "alert-when" }, subject),
    ),
    h("p", {}, detail),
    hint ? h("p", { class: "alert-hint" }, hint) : null,
    statement ? h("div", { class: "alert-cure" }, copyable(statement)) : null,
  );

const nothing = () => emptyBox("All is well", "The doctor finds nothing.");

export async function show(view) {
  const list = h("div", {});
  const look = async () => {
    const { findings } = await get("doctor");
    if (!view.isOpen) return;
    const items = findings.map(card);
    list.replaceChildren(
      items.length === 0 ? nothing() : h("ul", { class: "alerts", "aria-label": plural(items.length, "finding") }, items),
    );
  };
  view.fill(
    pageHead("Doctor", { words: "What is wrong in how hipq is set up here, and what mends it.", actions: button("Look again", () => look().catch(toastError)) }),
    list,
  );
  await look();
}

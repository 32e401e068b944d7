// The list of alerts: what an operator should know, and what to do about it.

import { get } from "../api.js";
import { h } from "../dom.js";
import { ago, number, plural } from "../format.js";
import { icon } from "../icons.js";
import { badge } from "../parts/badge.js";
import { pageHead } from "../parts/facts.js";
import { emptyBox, noticeBox } from "../parts/notice.js";
import { session } from "../session.js";

const card = ({ alert, severity, times, first_time: first, last_time: last, detail, hint }) =>
  h(
    "li",
    { class: `alert is-${severity}` },
    h(
      "div",
      { class: "alert-head" },
      icon("alerts"),
      h("h2", {}, alert),
      badge(severity),
      h(
        "span",
        { class: "alert-when" },
        `${plural(Number(times), "time")}, `,
        first ? ["since ", ago(first), ", "] : null,
        "last ",
        ago(last),
      ),
    ),
    h("p", {}, detail),
    hint ? h("p", { class: "alert-hint" }, hint) : null,
  );

const notForYou = () =>
  noticeBox(
    "Alerts are for members of pg_monitor.",
    `Role ${session.role} is none. A superuser makes it one: GRANT pg_monitor TO ${session.role}.`,
  );

const nothing = () => emptyBox("All is well", "There is no alert.");

export async function show(view) {
  const list = h("div", {});
  view.fill(pageHead("Alerts", { words: "Of the whole server and of this database." }), list);
  if (!session.may_monitor) {
    list.append(notForYou());
    return;
  }
  let shown = null;
  await view.every(3000, async () => {
    const { alerts } = await get("alerts");
    const text = JSON.stringify(alerts.map(({ last_time: _, ...rest }) => rest));
    if (text === shown) return;
    shown = text;
    const [alarms, others] = [
      alerts.filter(({ severity }) => severity === "alarm"),
      alerts.filter(({ severity }) => severity !== "alarm"),
    ];
    list.replaceChildren(
      alerts.length === 0
        ? nothing()
        : h(
            "ul",
            { class: "alerts", "aria-label": `${number(alarms.length)} alarms, ${number(others.length)} informations` },
            [...alarms, ...others].map(card),
          ),
    );
  });
}

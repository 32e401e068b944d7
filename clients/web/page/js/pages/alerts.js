// The list of alerts: each with its cause, and what to do about it.

import { get } from "../api.js";
import { h } from "../dom.js";
import { ago, number, plural, withPlurals } from "../format.js";
import { icon } from "../icons.js";
import { live } from "../live.js";
import { badge } from "../parts/badge.js";
import { copyable, pageHead } from "../parts/facts.js";
import { jobLink, link, queueLink } from "../parts/links.js";
import { emptyBox, noticeBox } from "../parts/notice.js";
import { session } from "../session.js";

const quote = (text) => `'${text.replaceAll("'", "''")}'`;
const matches = (text, pattern) => [...new Set([...text.matchAll(pattern)].map(([, found]) => found))];

// The subject of an alert, by the names in its text: existing queues, types, ids of jobs.
function subjectOf({ detail }) {
  const known = new Set((live.latest?.queues ?? []).map(({ queue }) => queue));
  const named = matches(detail, /([\w$-]+\.[\w$-]+)/g).filter((name) => known.has(name));
  return { queues: named, types: matches(detail, /\b[Tt]ypes? "?([^",]+?)"?,? (?:in|of) queue/g), jobs: matches(detail, /\bjob (\d{3,})\b/g) };
}

// The statement that ends a pause, from the subject of its alert.
function resumeOf(detail, { queues: [queue], types: [type] }) {
  const [, what, name] = /\b(Instance|Queue|Job type|Throttle key) "([^"]+)" is (?:paused|held) /.exec(detail) ?? [];
  if (what === "Instance") return `SELECT hipq.resume(instance => ${quote(name)})`;
  const named = { Queue: [name], "Job type": [queue, name], "Throttle key": [queue, type, name] }[what];
  return named?.every(Boolean) ? `SELECT hipq.resume(${named.map(quote).join(", ")})` : null;
}

/** The statement that fixes it, with the names of the subject, else as in the hint. */
export function statementOf({ alert, detail, hint }, { queues, types }) {
  if (alert === "jobs wait: pause") return resumeOf(detail, { queues, types });
  if (alert === "crashing job type" && queues.length === 1)
    return `SELECT hipq.resume(${[queues[0], ...types.slice(0, 1)].map(quote).join(", ")})`;
  if (alert === "jobs wait: handler" && queues.length === 1 && types.length === 1)
    return `SELECT hipq.register_job_type(${quote(queues[0])}, ${quote(types[0])}, handler => 'name_of_the_function')`;
  const call = /\b(?:SELECT|CALL) [\w.]+\((?:'[^']*'|[^'()])*\)|\b(?:COMMIT|ROLLBACK) PREPARED '[^']*'|\bALTER (?:EXTENSION hipq UPDATE|ROLE (?:"[^"]+"|\w+) LOGIN)\b/;
  const view = /\b[Vv]iew (hipq\.\w+)/;
  const text = hint ?? "";
  return call.exec(text)?.[0] ?? call.exec(detail)?.[0] ?? (view.test(text) ? `SELECT * FROM ${view.exec(text)[1]}` : null);
}

const typesOf = (queue) => h("a", { href: link("job_types"), title: `Job types of ${queue}` }, "Job types");

function leads(subject, statement) {
  const { queues, types, jobs } = subject;
  const links = [...queues.map((queue) => queueLink(queue)), ...jobs.map((id) => jobLink(id, `job ${id}`))];
  if (types.length > 0 && queues.length > 0) links.push(typesOf(queues[0]));
  return links.length + (statement ? 1 : 0) === 0
    ? null
    : h(
        "div",
        { class: "alert-leads" },
        links.length > 0 ? h("span", { class: "alert-links" }, links) : null,
        statement ? copyable(statement) : null,
      );
}

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
    h("p", {}, withPlurals(detail)),
    hint ? h("p", { class: "alert-hint" }, hint) : null,
    leadsOf({ alert, detail, hint }),
  );

function leadsOf(alert) {
  const subject = subjectOf(alert);
  return leads(subject, statementOf(alert, subject));
}

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
            { class: "alerts", "aria-label": `${plural(alarms.length, "alarm")}, ${plural(others.length, "information")}` },
            [...alarms, ...others].map(card),
          ),
    );
  });
}

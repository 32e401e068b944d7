// The list of job types with the values in force.

import { get } from "../api.js";
import { h } from "../dom.js";
import { number, plural } from "../format.js";
import { pause, resume } from "../parts/actions.js";
import { badge } from "../parts/badge.js";
import { button, pageHead, panel } from "../parts/facts.js";
import { breakerMark, breakerOf, rateLines, rateOf, turnOf } from "../parts/limits.js";
import { link, queueLink } from "../parts/links.js";
import { filterField } from "../parts/search.js";
import { Table } from "../parts/table.js";
import { mayAct } from "../session.js";
import { searchFor } from "./jobs_search.js";

const handlerOf = ({ handler, handler_kind: kind, workers }) =>
  handler ?? (kind === "notify" ? plural(Number(workers), "external worker") : "none: its jobs wait");

const limitOf = ({ throttle_limit: limit, throttle_used: used, throttle_limit_per_key: perKey }) =>
  [limit ? `${Number(used)} of ${Number(limit)}` : null, perKey ? `${Number(perKey)} a key` : null].filter(Boolean).join(", ");

function steerCell({ queue, job_type: type, is_paused: isPaused }, load) {
  const act = async () => (await (isPaused ? resume : pause)({ queue, job_type: type })) && load();
  return button(isPaused ? "Resume" : "Pause", act, {
    kind: "small",
    "aria-label": `${isPaused ? "Resume" : "Pause"} ${type} of ${queue}`,
  });
}

const makeTable = (load) =>
  new Table({
    label: "Job types",
    key: ({ queue, job_type: type }) => `${queue}/${type}`,
    sort: { column: 0, isDescending: false },
    empty: "There is no such job type",
    emptyWords: "hipq.register_job_type() makes one.",
    columns: [
      {
        title: "Job type",
        kind: "main",
        order: ({ job_type: type, queue }) => `${type} ${queue}`,
        value: (row) => ({ type: row.job_type, queue: row.queue, isPaused: row.is_paused, breaker: breakerOf(row) }),
        cell: ({ type, queue, isPaused, breaker }) => [
          h("a", { href: link("jobs"), onclick: () => searchFor({ queue, job_type: type }) }, type),
          isPaused ? badge("paused") : null,
          ...breakerMark(breaker),
        ],
      },
      { title: "Queue", order: ({ queue }) => queue, value: ({ queue }) => queue, cell: queueLink },
      { title: "Handler", kind: "wide", value: handlerOf, cell: (text) => h("code", {}, text) },
      {
        title: "Timeout",
        kind: "number",
        order: ({ default_timeout: time }) => time,
        value: ({ default_timeout: time }) => `${time} s`,
      },
      {
        title: "Retries",
        kind: "number",
        order: ({ max_retries: count }) => count,
        value: ({ max_retries: count, retry_enabled: isEnabled }) => (isEnabled === false ? "off" : number(count)),
      },
      {
        title: "Priority",
        kind: "number",
        order: ({ default_priority: priority }) => priority,
        value: ({ default_priority: priority }) => priority,
      },
      {
        title: "Limit",
        kind: "number",
        value: (type) => ({ limit: limitOf(type), rate: rateOf(type), turn: turnOf(type) }),
        cell: ({ limit, ...rated }) => [limit || (rated.rate ? null : "–"), ...rateLines(rated)],
      },
      ...(mayAct()
        ? [
            {
              title: "",
              kind: "action",
              value: ({ queue, job_type, is_paused }) => ({ queue, job_type, is_paused }),
              cell: (row) => steerCell(row, load),
            },
          ]
        : []),
    ],
  });

export async function show(view) {
  let types = [];
  let text = "";
  const table = makeTable(() => load());
  const draw = () =>
    table.update(
      types.filter(({ job_type: type, queue, handler }) => `${type} ${queue} ${handler ?? ""}`.toLowerCase().includes(text)),
    );
  const load = async () => {
    types = (await get("job-types")).job_types;
    draw();
  };
  view.fill(
    pageHead("Job types", {
      actions: filterField("Filter job types", (value) => {
        text = value;
        draw();
      }),
    }),
    panel("Job types", { kind: "bare" }, table.element),
  );
  await view.every(10_000, load);
}

// The page of a queue: its current state, its settings, and what delays it.

import { get } from "../api.js";
import { makeDepth } from "../charts/depth.js";
import { ranges } from "../charts/ranges.js";
import { Throughput } from "../charts/throughput.js";
import { h } from "../dom.js";
import { ago, bytes, inTime, isNone, number, percent, seconds, short, timeOf } from "../format.js";
import { live } from "../live.js";
import { pause, resume } from "../parts/actions.js";
import { badge } from "../parts/badge.js";
import { button, facts, foldingPanel, pageHead, panel } from "../parts/facts.js";
import { breakerMark, breakerOf, rateOf, turnOf } from "../parts/limits.js";
import { jobLink, link } from "../parts/links.js";
import { emptyBox } from "../parts/notice.js";
import { Table } from "../parts/table.js";
import { reload } from "../router.js";
import { mayAct } from "../session.js";
import { searchFor } from "./jobs_search.js";
import { makeWays } from "./jobs_ways.js";

const yesOrNo = (value) => (value === null || value === undefined ? null : value ? "yes" : "no");

function headOf(name, { queue, may, pauses }) {
  const own = pauses.find(({ queue: paused, job_type: type, throttle_key: key }) => paused === name && !type && !key);
  const act = (action) => async () => (await action({ queue: name })) && reload();
  const steer =
    mayAct() && may?.control
      ? own
        ? button("Resume", act(resume), { kind: "primary" })
        : button("Pause", act(pause), { icon: "pauses" })
      : null;
  const jobs = queue.may_read
    ? h("a", { class: "button", href: link("jobs"), onclick: () => searchFor({ queue: name }) }, "Jobs")
    : null;
  return pageHead(name, {
    beside: h("span", { class: "queue-state" }),
    words: `Owner ${queue.owner}, table ${queue.table_name}`,
    actions: [jobs, steer],
  });
}

const pauseNotes = (pauses) =>
  pauses.map(
    ({ job_type: type, throttle_key: key, paused_by: by, paused_time: time, paused_until: until, reason, queue, instance }) =>
      h(
        "div",
        { class: "notice is-warn" },
        h(
          "p",
          { class: "notice-title" },
          [
            type ? `Type ${type}` : queue ? "The queue" : `Instance ${instance}`,
            key ? `, key ${key},` : "",
            ` is paused by ${by} since `,
          ].join(""),
          timeOf(time),
          until ? [" until ", timeOf(until)] : null,
        ),
        reason ? h("p", {}, reason) : null,
      ),
  );

// The unfinished jobs by job type and throttle key, and what the first of each waits for. A role
// that may not read jobs sees no link to one.
function fillersPanel({ queue, may, fillers }) {
  const act = (filler) => async () =>
    (await pause({ queue: queue.queue, job_type: filler.job_type, throttle_key: filler.throttle_key })) && reload();
  const name = ({ job_type: type, throttle_key: key }) => (key ? `key ${key} of ${type}` : type);
  const table = new Table({
    label: "Who fills it",
    key: name,
    empty: "The queue has no unfinished jobs",
    columns: [
      { title: "Job type", kind: "main", value: ({ job_type: type }) => type },
      { title: "Throttle key", value: ({ throttle_key: key }) => key ?? "–" },
      { title: "Unfinished", kind: "number", value: ({ jobs }) => short(jobs) },
      { title: "Part", kind: "number", value: ({ percent: share }) => percent(share) },
      { title: "New, last minute", kind: "number", value: ({ last_minute: jobs }) => short(jobs) },
      { title: "Due since", value: ({ oldest_due_time: time }) => time, cell: ago },
      { title: "The first waits for", value: ({ waits_for: condition }) => condition ?? "–" },
      ...(queue.may_read
        ? [{ title: "First", value: ({ first_job: id }) => id, cell: (id) => jobLink(id) }]
        : []),
      ...(mayAct() && may?.control
        ? [
            {
              title: "",
              kind: "action",
              value: (filler) => filler,
              cell: (filler) =>
                filler.waits_for === "pause"
                  ? null
                  : button("Pause…", act(filler), { kind: "small", "aria-label": `Pause ${name(filler)}` }),
            },
          ]
        : []),
    ],
  });
  table.update(fillers);
  return foldingPanel("Who fills it", { kind: "flush" }, table.element);
}

function statisticsPanel(statistics) {
  const hour = statistics.filter(({ period }) => period === "hour");
  const rows = (what) =>
    hour
      .map((one) => ({ name: one.job_type ?? "all", p50: one[`${what}_p50`], p90: one[`${what}_p90`], p99: one[`${what}_p99`] }))
      .filter(({ p50 }) => p50 !== null && p50 !== undefined);
  const list = (title, what) =>
    foldingPanel(title, {}, rows(what).length > 0 ? ranges(rows(what)) : emptyBox("No job has run within the hour"));
  return h("div", { class: "grid is-even" }, list("Waiting time, last hour", "wait"), list("Run time, last hour", "run"));
}

function outcomesPanel(statistics) {
  const table = new Table({
    label: "Outcomes",
    key: ({ job_type: type, period }) => `${type ?? ""}/${period}`,
    empty: "Nothing has been counted yet",
    columns: [
      { title: "Job type", kind: "main", value: ({ job_type: type }) => type ?? "all" },
      { title: "Period", value: ({ period }) => (period === "hour" ? "last hour" : "in all") },
      ...["succeeded", "failed", "cancelled", "expired", "retried"].map((name) => ({
        title: name[0].toUpperCase() + name.slice(1),
        kind: "number",
        value: (row) => number(row[name]),
      })),
    ],
  });
  table.update(statistics);
  return foldingPanel("Outcomes", { kind: "flush" }, table.element);
}

function failuresPanel(failures) {
  const table = new Table({
    label: "Reasons of failures",
    key: ({ job_type: type, reason, period }) => `${type}/${reason}/${period}`,
    empty: "No attempt has failed",
    columns: [
      { title: "Reason", kind: "main", value: ({ reason }) => reason },
      { title: "Job type", value: ({ job_type: type }) => type },
      { title: "Period", value: ({ period }) => (period === "hour" ? "last hour" : "in all") },
      { title: "Attempts", kind: "number", value: ({ failures: count }) => number(count) },
      { title: "Retried", kind: "number", value: ({ retries }) => number(retries) },
      {
        title: "Then succeeded",
        kind: "number",
        value: ({ recoveries, retries }) =>
          Number(retries) > 0 ? percent((100 * Math.min(recoveries, retries)) / retries) : "–",
      },
    ],
  });
  table.update(failures);
  return foldingPanel("Why attempts failed", { kind: "flush" }, table.element);
}

function makeTypes() {
  return new Table({
    label: "Job types",
    key: ({ job_type: type }) => type,
    empty: "The queue has no job type",
    emptyWords: "hipq.register_job_type() makes one.",
    columns: [
      {
        title: "Job type",
        kind: "main",
        value: (row) => ({ type: row.job_type, isPaused: row.is_paused, breaker: breakerOf(row) }),
        cell: ({ type, isPaused, breaker }) => [
          type,
          isPaused ? badge("paused") : null,
          ...breakerMark(breaker),
        ],
      },
      {
        title: "Handler",
        kind: "wide",
        value: ({ handler, handler_kind: kind }) => handler ?? (kind === "notify" ? "external workers" : "none"),
        cell: (text) => h("code", {}, text),
      },
      { title: "Timeout", kind: "number", value: ({ default_timeout: seconds }) => `${seconds} s` },
      { title: "Retries", kind: "number", value: ({ max_retries: count }) => number(count) },
      { title: "Priority", kind: "number", value: ({ default_priority: priority }) => priority },
    ],
  });
}

const meterName = ({ job_type: type }) => type ?? "all of the queue";

const meter = (name, used, most, text, turn = null) =>
  h(
    "li",
    {},
    h("span", {}, name),
    h("progress", { max: most, value: used, class: used >= 0.9 * most ? "is-full" : null, "aria-label": `${text}, ${name}` }),
    h("b", {}, text),
    turn ? h("span", { class: "meter-words" }, "Next turn ", inTime(turn)) : null,
  );

const throttleMeter = (row) => {
  const [used, most] = [Number(row.throttle_used), Number(row.throttle_limit)];
  return meter(meterName(row), used, most, `${used} of ${most}`);
};

// A rate begins with its number: 100/min.
const rateMeter = (row) =>
  meter(meterName(row), Number(row.rate_used), Number.parseFloat(row.rate_limit), rateOf(row), turnOf(row));

// The queue has limits, and so has each of its types.
class LimitsPanel {
  #list = h("div", {});
  element = panel("Limits", {}, this.#list);

  update(queue, types) {
    const list = (words, rows) =>
      rows.length > 0 ? [h("p", { class: "panel-words" }, words), h("ul", { class: "meters" }, rows)] : [];
    const all = [queue, ...types];
    const throttled = all.filter(({ throttle_limit: limit }) => !isNone(limit)).map(throttleMeter);
    const rated = all.filter(({ rate_limit: limit }) => !isNone(limit)).map(rateMeter);
    this.#list.replaceChildren(
      ...list("What runs, and what may run at once.", throttled),
      ...list("What has started lately, and what may start in that time.", rated),
    );
    this.element.hidden = throttled.length + rated.length === 0;
  }
}

function sizesPanel(sizes) {
  const table = new Table({
    label: "Tables",
    key: ({ table_name: name }) => name,
    empty: "The queue has no table that you may see",
    columns: [
      { title: "Table", kind: "main", value: ({ table_name: name }) => name, cell: (name) => h("code", {}, name) },
      { title: "Kind", value: ({ kind }) => (kind === "live" ? "unfinished" : kind) },
      { title: "Rows, about", kind: "number", value: ({ row_estimate: rows }) => short(rows) },
      { title: "Size", kind: "number", value: ({ bytes: size }) => bytes(size) },
    ],
  });
  table.update(sizes);
  return foldingPanel("Tables", { kind: "flush" }, table.element);
}

const settingsPanel = (queue) =>
  panel(
    "Settings",
    {},
    facts(
      [
        ["Weight", queue.weight],
        ["Retention", queue.retention],
        ["History", queue.history],
        ["Durability", queue.durability],
        ["Longest timeout", `${queue.max_timeout} s`],
        ["Throttle limit", queue.throttle_limit],
        ["Rate", queue.rate_limit],
        ["Retries", queue.retry_enabled === false ? "off" : number(queue.max_retries)],
        ["Strict", yesOrNo(queue.is_strict)],
        ["Highest priority", queue.highest_priority],
        ["Time to accept", queue.queue_ttl === null || queue.queue_ttl === undefined ? null : `${queue.queue_ttl} s`],
        ["Dead letters", yesOrNo(queue.dead_letter_enabled)],
        ["Dead letters kept", queue.dead_letter_retention],
        ["At most", number(queue.dead_letter_max)],
        ["Their handler", queue.dead_letter_handler],
        ["Created", timeOf(queue.created_time)],
      ],
      "is-columns",
    ),
  );

// Its current state, as in the list.
function showState(view, name) {
  const state = live.latest?.queues.find(({ queue }) => queue === name)?.state;
  const place = view.element.querySelector(".queue-state");
  if (place && place.textContent !== (state ?? "")) place.replaceChildren(...(state ? [badge(state)] : []));
}

// The number of jobs that wait for other jobs is counted up to 10,000.
function heldWords(name, held) {
  if (isNone(held) || held === 0) return null;
  const jobs = h("a", { href: link("jobs"), onclick: () => searchFor({ queue: name, outcome: "held" }) }, `${short(held)} of them`);
  return [held < 10000 ? " " : " At least ", jobs, ` ${held === 1 ? "waits" : "wait"} for other jobs.`];
}

export async function showQueue(view, name) {
  view.fill(pageHead(name));
  const told = await get(`queues/${encodeURIComponent(name)}`);
  const throughput = new Throughput(name);
  const empty = told.pace[0]?.empty_in;
  const pace = isNone(empty) ? null : ` At the pace of the last minute it is empty in ${seconds(empty)}, if no more come.`;
  const depth = makeDepth(name, [heldWords(name, told.held[0]?.held), pace]);
  const limits = new LimitsPanel();
  const types = makeTypes();
  const showTypes = (queue, jobTypes) => {
    limits.update(queue, jobTypes);
    types.update(jobTypes);
  };
  showTypes(told.queue, told.job_types);
  view.fill(
    headOf(name, told),
    pauseNotes(told.pauses),
    h("div", { class: "grid" }, throughput.element, depth.element),
    fillersPanel(told),
    limits.element,
    statisticsPanel(told.statistics),
    outcomesPanel(told.statistics),
    failuresPanel(told.failures),
    foldingPanel("Job types", { kind: "flush" }, types.element),
    settingsPanel(told.queue),
    sizesPanel(told.sizes),
  );
  const ways = makeWays(name);
  view.element.querySelector(":scope > .page-head").after(ways.element);
  view.onLive(() => {
    showState(view, name);
    ways.draw();
    throughput.draw();
    depth.draw();
  });
  void view.every(30_000, () => throughput.load());
  void view.every(5000, async () => {
    const of = `?queue=${encodeURIComponent(name)}`;
    const [{ queues }, { job_types: jobTypes }] = await Promise.all([get(`queues${of}`), get(`job-types${of}`)]);
    if (queues.length > 0) showTypes(queues[0], jobTypes);
  });
}

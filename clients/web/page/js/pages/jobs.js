// The jobs: a search by type, key, outcome, error, time and data, newest first, in pages that each
// continue the previous one; and links to the pages of jobs.

import { get, post } from "../api.js";
import { h } from "../dom.js";
import { ago, firstLine, number } from "../format.js";
import { live } from "../live.js";
import { cancelJobs, retryJobs } from "../parts/actions.js";
import { badge, outcomeWord } from "../parts/badge.js";
import { field, valuesOf } from "../parts/dialog.js";
import { button, pageHead, panel } from "../parts/facts.js";
import { jobLink, queueLink } from "../parts/links.js";
import { emptyBox, errorBox, noticeBox } from "../parts/notice.js";
import { SelectionBar, Table } from "../parts/table.js";
import { mayAct, mayRead, session } from "../session.js";
import { showJob } from "./job.js";
import { requestOf, search, startAnew } from "./jobs_search.js";
import { makeWays } from "./jobs_ways.js";

const pageSize = 50;
const outcomes = ["waiting", "held", "running", "succeeded", "failed", "cancelled", "expired", "skipped"];
const rare = ["error", "contains", "from", "to", "trace"];

const lists = {
  queues: h("datalist", { id: "known-queues" }),
  types: h("datalist", { id: "known-types" }),
};

function showNames(list, names) {
  list.replaceChildren(...[...new Set(names)].sort().map((value) => h("option", { value })));
}

// Names to choose from. The search works without them.
async function loadNames() {
  showNames(
    lists.queues,
    (live.latest?.queues ?? []).map(({ queue }) => queue),
  );
  const { job_types: types } = await get("job-types").catch(() => ({ job_types: [] }));
  showNames(
    lists.types,
    types.map(({ job_type: type }) => type),
  );
}

function searchForm(whenSubmitted) {
  const { wanted } = search;
  const submit = (event) => {
    event.preventDefault();
    whenSubmitted(valuesOf(form));
  };
  const more = h(
    "details",
    { class: "more", open: rare.some((name) => wanted[name] !== "") },
    h("summary", {}, "Error, data, time, trace"),
    h(
      "div",
      { class: "search-fields" },
      field({ name: "error", label: "Error contains", value: wanted.error, placeholder: "timed out" }),
      field({
        name: "contains",
        label: "Data contains (JSON)",
        value: wanted.contains,
        placeholder: '{"to": "ann@example.com"}',
        class: "is-code",
      }),
      field({ name: "from", label: "Enqueued from", kind: "datetime-local", value: wanted.from }),
      field({ name: "to", label: "Enqueued until", kind: "datetime-local", value: wanted.to }),
      field({ name: "trace", label: "Trace id", value: wanted.trace, placeholder: "32 hexadecimal digits", class: "is-code" }),
    ),
  );
  const reset = () => {
    startAnew({});
    form.querySelectorAll("input, select").forEach((input) => void (input.value = ""));
    whenSubmitted({});
  };
  const form = h(
    "form",
    { class: "search", role: "search", "aria-label": "Jobs", onsubmit: submit },
    h(
      "div",
      { class: "search-fields" },
      field({
        name: "queue",
        label: "Queue",
        value: wanted.queue,
        list: "known-queues",
        placeholder: "any",
        "data-search": true,
      }),
      field({ name: "job_type", label: "Type", value: wanted.job_type, list: "known-types", placeholder: "any" }),
      field({
        name: "outcome",
        label: "Outcome",
        value: wanted.outcome,
        choices: [["", "any"], ...outcomes.map((outcome) => [outcome, outcome])],
      }),
      field({ name: "job_key", label: "Key", value: wanted.job_key, placeholder: "any" }),
      h(
        "div",
        { class: "search-buttons" },
        h("button", { class: "button is-primary", type: "submit" }, "Search"),
        button("Clear", reset),
      ),
    ),
    more,
    lists.queues,
    lists.types,
  );
  return form;
}

const makeTable = (whenSelected) =>
  new Table({
    label: "Jobs",
    key: ({ id }) => id,
    onSelect: mayAct() ? whenSelected : null,
    columns: [
      { title: "Job", kind: "main", value: ({ id }) => id, cell: (id) => jobLink(id) },
      { title: "Outcome", value: outcomeWord, cell: (outcome) => badge(outcome) },
      { title: "Type", value: ({ job_type: type }) => type },
      { title: "Queue", value: ({ queue }) => queue, cell: queueLink },
      { title: "Key", kind: "key", value: ({ job_key: key }) => key ?? "–", cell: (key) => h("span", { title: key }, key) },
      { title: "Attempts", kind: "number", value: ({ attempt }) => number(attempt) },
      { title: "Enqueued", value: ({ created_time: time }) => time, cell: (time) => ago(time) },
      {
        title: "Error",
        kind: "fill",
        value: ({ error }) => error ?? null,
        cell: (error) => (error ? h("span", { class: "error-text", title: error }, firstLine(error)) : "–"),
      },
    ],
  });

const nothingFound = () =>
  mayRead()
    ? emptyBox("No job is like that", `You see the jobs of queues that ${session.role} may read.`)
    : noticeBox("You may not read the jobs of any queue.", `Role ${session.role} sees how queues do, not their jobs.`);

// The message about the results.
function remarks() {
  const { isDone, isPartial, isByQueue, jobs } = search;
  return [
    isPartial
      ? noticeBox(
          "The search took too long and was cut.",
          "What was read so far is shown. Name a queue, a type or a time, or show older jobs to go on.",
        )
      : null,
    isByQueue && jobs.length > 0
      ? noticeBox(
          "There are many queues: they are read some at a time, so these are not the newest jobs of all.",
          "Name a queue to see its newest.",
        )
      : null,
    isDone && !isPartial && jobs.length === 0 ? nothingFound() : null,
  ].filter(Boolean);
}

function showList(view) {
  const said = h("div", { "aria-live": "polite" });
  const bar = new SelectionBar(
    button("Run again…", () => act(retryJobs), { icon: "retry" }),
    button("Cancel…", () => act(cancelJobs), { kind: "danger" }),
  );
  const table = makeTable((selected) => bar.show(selected.length));
  const older = button("Show older", () => void load());
  let turn = 0;
  view.onLeave(() => ++turn);

  const draw = () => {
    table.update(search.jobs);
    table.element.hidden = search.jobs.length === 0;
    older.hidden = !search.next;
    said.replaceChildren(...remarks());
  };
  // Ignores an answer that arrives after the next search has started.
  const load = async () => {
    const mine = ++turn;
    older.disabled = true;
    view.element.classList.add("is-loading");
    try {
      const answer = await post("jobs/search", requestOf(search.wanted, search.next, pageSize));
      if (mine !== turn) return;
      Object.assign(search, {
        jobs: [...search.jobs, ...answer.jobs],
        next: answer.next,
        isPartial: answer.partial,
        isByQueue: answer.by_queue === true,
        isDone: true,
      });
      draw();
    } catch (error) {
      if (mine === turn) said.replaceChildren(errorBox(error));
    } finally {
      if (mine === turn) {
        older.disabled = false;
        view.element.classList.remove("is-loading");
      }
    }
  };
  const begin = (wanted) => {
    startAnew(wanted);
    return load();
  };
  const act = async (action) => (await action(table.selected().map(({ id }) => id))) && begin(search.wanted);

  const form = searchForm(begin);
  const ways = makeWays(null, (outcome) => {
    form.elements.namedItem("outcome").value = outcome;
    form.requestSubmit();
  });
  view.fill(
    pageHead("Jobs"),
    ways.element,
    panel("Search", { kind: "search" }, form),
    panel("Found", { kind: "bare" }, said, table.element, h("div", { class: "more-row" }, older), bar.element),
  );
  view.onLive(ways.draw);
  void loadNames();
  if (!search.isDone) return load();
  return draw();
}

export const show = (view, id) => (id ? showJob(view, id) : showList(view));

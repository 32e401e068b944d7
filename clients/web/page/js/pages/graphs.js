// The lists of graphs and of batches, the newest first, live; with links to the pages of graphs and
// jobs.

import { get } from "../api.js";
import { h } from "../dom.js";
import { ago, number, seconds } from "../format.js";
import { badge } from "../parts/badge.js";
import { button, pageHead, panel } from "../parts/facts.js";
import { link, queueLink } from "../parts/links.js";
import { Table } from "../parts/table.js";
import { showGraph } from "./graph.js";

const atOnce = 50;

/** How a graph stands, from the counts of its jobs. */
function stateOf({ ended_time: ended, running, failed, waiting, succeeded }) {
  if (!ended) return Number(running) > 0 || Number(succeeded) > 0 || Number(waiting) === 0 ? "running" : "waiting";
  return Number(failed) > 0 ? "failed" : "succeeded";
}

const took = ({ created_time: from, ended_time: to }) => (to ? seconds((Date.parse(to) - Date.parse(from)) / 1000) : "–");

const graphOutcomes = ["failed", "skipped", "running", "waiting", "succeeded"];

/** The counts that are not 0: "1 failed, 2 succeeded". */
const outcomesOf = (group, names) =>
  names
    .filter((outcome) => Number(group[outcome]) > 0)
    .map((outcome) => `${number(group[outcome])} ${outcome}`)
    .join(", ");

const graphKey = ({ graph_id: id }) => id;
const graphTable = () =>
  new Table({
    label: "Graphs",
    key: graphKey,
    empty: "There is no graph",
    emptyWords: "hipq.enqueue_graph() makes one, of jobs that come after each other. You see the jobs that you may read.",
    columns: [
      {
        title: "Graph",
        kind: "main",
        value: ({ graph_id: id }) => id,
        cell: (id) => h("a", { href: link("graphs", id), class: "id" }, id),
      },
      { title: "State", value: stateOf, cell: (state) => badge(state) },
      {
        title: "Its jobs",
        kind: "wide",
        value: ({ names, jobs }) => `${names.join(", ")}${Number(jobs) > names.length ? ", …" : ""}`,
        cell: (names) => h("span", { class: "names" }, names),
      },
      { title: "Jobs", kind: "number", value: ({ jobs, has_more: hasMore }) => `${number(jobs)}${hasMore ? "+" : ""}` },
      { title: "Outcomes", kind: "wide", value: (graph) => outcomesOf(graph, graphOutcomes) },
      { title: "Queue", value: ({ queues }) => queues, cell: (queues) => queues.flatMap((queue) => [" ", queueLink(queue)]).slice(1) },
      { title: "Enqueued", value: ({ created_time: time }) => time, cell: ago },
      { title: "Took", kind: "number", value: took },
    ],
  });

const batchKey = ({ batch_id: id }) => id;
const batchOutcomes = ["failed", "skipped", "unfinished", "succeeded"];

const batchTable = () =>
  new Table({
    label: "Batches",
    key: batchKey,
    empty: "There is no batch",
    emptyWords: "hipq.create_batch() makes one, of any number of jobs with one at the end. You see those of queues that you may read.",
    columns: [
      { title: "Batch", kind: "main", value: batchKey },
      { title: "Name", kind: "wide", value: ({ name }) => name ?? "–" },
      { title: "State", value: ({ state }) => state, cell: (state) => badge(state) },
      { title: "Jobs", kind: "number", value: ({ jobs }) => number(jobs) },
      { title: "Outcomes", kind: "wide", value: (batch) => outcomesOf(batch, batchOutcomes) },
      { title: "Queue", value: ({ queue }) => queue, cell: (queue) => queueLink(queue) },
      {
        title: "Job after it",
        value: ({ callback_id: id }) => id ?? "–",
        cell: (id) => (id === "–" ? id : h("a", { href: link("jobs", id), class: "id" }, id)),
      },
      { title: "Made", value: ({ created_time: time }) => time, cell: ago },
    ],
  });

// A list that shows the newest entries first. A button loads older ones.
class NewestFirst {
  #rows = new Map();
  #route;
  #key;
  #table;
  #older = button("Show older", () => this.#loadOlder());

  constructor(title, route, key, table) {
    this.#route = route;
    this.#key = key;
    this.#table = table;
    this.#older.hidden = true;
    this.element = panel(title, { kind: "bare" }, table.element, h("div", { class: "more-row" }, this.#older));
  }

  async load() {
    const isFirst = this.#rows.size === 0;
    const { [this.#route]: rows } = await get(this.#route);
    const older = [...this.#rows].filter(([id]) => rows.length === atOnce && BigInt(id) < BigInt(this.#key(rows.at(-1))));
    this.#rows = new Map([...rows.map((row) => [this.#key(row), row]), ...older]);
    if (isFirst) this.#older.hidden = rows.length < atOnce;
    this.#table.update([...this.#rows.values()]);
  }

  async #loadOlder() {
    const { [this.#route]: rows } = await get(`${this.#route}?before=${[...this.#rows.keys()].at(-1)}`);
    for (const row of rows) this.#rows.set(this.#key(row), row);
    this.#older.hidden = rows.length < atOnce;
    this.#table.update([...this.#rows.values()]);
  }
}

async function showLists(view) {
  const graphs = new NewestFirst("Graphs", "graphs", graphKey, graphTable());
  const batches = new NewestFirst("Batches", "batches", batchKey, batchTable());
  view.fill(pageHead("Graphs", { words: "Jobs that come after each other, and batches of jobs." }), graphs.element, batches.element);
  await view.every(5000, async () => {
    await graphs.load();
    await batches.load();
  });
}

export const show = (view, id) => (id ? showGraph(view, id) : showLists(view));

// The list of graphs, the newest first, live; with links to their pages.

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

const outcomes = ["failed", "skipped", "running", "waiting", "succeeded"];

/** The counts that are not 0: "1 failed, 2 succeeded". */
const outcomesOf = (graph) =>
  outcomes
    .filter((outcome) => Number(graph[outcome]) > 0)
    .map((outcome) => `${number(graph[outcome])} ${outcome}`)
    .join(", ");

const makeTable = () =>
  new Table({
    label: "Graphs",
    key: ({ graph_id: id }) => id,
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
      { title: "Outcomes", kind: "wide", value: outcomesOf },
      { title: "Queue", value: ({ queues }) => queues, cell: (queues) => queues.flatMap((queue) => [" ", queueLink(queue)]).slice(1) },
      { title: "Enqueued", value: ({ created_time: time }) => time, cell: ago },
      { title: "Took", kind: "number", value: took },
    ],
  });

// The newest graphs, and those that the viewer has asked for.
class GraphList {
  #graphs = new Map();
  #table = makeTable();
  #older = button("Show older", () => this.#load([...this.#graphs.keys()].at(-1)));

  constructor() {
    this.#older.hidden = true;
    this.element = panel("Graphs", { kind: "bare" }, this.#table.element, h("div", { class: "more-row" }, this.#older));
  }

  async load() {
    const isFirst = this.#graphs.size === 0;
    const { graphs } = await get("graphs");
    const older = [...this.#graphs].filter(([id]) => graphs.length === atOnce && BigInt(id) < BigInt(graphs.at(-1).graph_id));
    this.#graphs = new Map([...graphs.map((graph) => [graph.graph_id, graph]), ...older]);
    if (isFirst) this.#older.hidden = graphs.length < atOnce;
    this.#table.update([...this.#graphs.values()]);
  }

  async #load(before) {
    const { graphs } = await get(`graphs?before=${before}`);
    for (const graph of graphs) this.#graphs.set(graph.graph_id, graph);
    this.#older.hidden = graphs.length < atOnce;
    this.#table.update([...this.#graphs.values()]);
  }
}

async function showList(view) {
  const list = new GraphList();
  view.fill(pageHead("Graphs", { words: "Jobs that come after each other." }), list.element);
  await view.every(5000, () => list.load());
}

export const show = (view, id) => (id ? showGraph(view, id) : showList(view));

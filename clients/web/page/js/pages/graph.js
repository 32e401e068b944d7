// The page of a graph: its jobs as a picture, and as a table. A graph that is too large for a
// picture shows its layers in a table.

import { get } from "../api.js";
import { GraphPicture, isDrawable } from "../charts/graph.js";
import { layerCount, nodesOf } from "../charts/layers.js";
import { h } from "../dom.js";
import { ago, firstLine, number, plural, seconds } from "../format.js";
import { badge } from "../parts/badge.js";
import { button, pageHead, panel } from "../parts/facts.js";
import { jobLink, queueLink } from "../parts/links.js";
import { noticeBox } from "../parts/notice.js";
import { filterField } from "../parts/search.js";
import { Table } from "../parts/table.js";
import { go } from "../router.js";

const outcomes = ["waiting", "running", "succeeded", "failed", "cancelled", "expired", "skipped"];
const atOnce = 100; // rows

// A job takes the server some 60 microseconds.
const pauseAfter = (jobs) => (jobs.length <= 100 ? 2000 : jobs.length <= 1000 ? 10_000 : 30_000);

const countOf = (jobs, outcome) => jobs.filter((job) => job.outcome === outcome).length;

const ran = ({ started_time: from, ended_time: to }) => (from && to ? seconds((Date.parse(to) - Date.parse(from)) / 1000) : "–");

const makeJobs = () =>
  new Table({
    label: "Jobs of the graph",
    key: ({ name }) => name,
    empty: "No job is like that",
    columns: [
      {
        title: "Name",
        kind: "main",
        value: ({ name, job_id }) => ({ name, job_id }),
        cell: ({ name, job_id: id }) => [jobLink(id, name), " ", h("span", { class: "of-them" }, `job ${id}`)],
      },
      { title: "Outcome", value: ({ outcome }) => outcome, cell: (outcome) => badge(outcome) },
      { title: "After", kind: "wide", value: ({ after }) => afterText(after) },
      {
        title: "Type",
        value: ({ job_type, queue }) => ({ job_type, queue }),
        cell: ({ job_type: type, queue }) => [type, " ", h("span", { class: "of-them" }, queueLink(queue))],
      },
      { title: "Started", value: ({ started_time: time }) => time, cell: ago },
      { title: "Ran", kind: "number", value: ran },
      {
        title: "Error",
        kind: "fill",
        value: ({ error }) => error,
        cell: (error) => (error ? h("span", { class: "error-text", title: error }, firstLine(error)) : "–"),
      },
    ],
  });

function afterText(names) {
  if (names.length === 0) return "–";
  return names.length <= 5 ? names.join(", ") : `${names.slice(0, 4).join(", ")} and ${number(names.length - 4)} more`;
}

const makeSteps = () =>
  new Table({
    label: "Layers of the graph",
    key: ({ key }) => key,
    columns: [
      { title: "Layer", kind: "main", value: ({ layer }) => String(layer + 1) },
      { title: "Type", value: ({ type }) => type },
      { title: "Jobs", kind: "number", value: ({ jobs }) => number(jobs.length) },
      ...outcomes.map((outcome) => ({
        title: outcome[0].toUpperCase() + outcome.slice(1),
        kind: "number",
        value: ({ jobs }) => number(countOf(jobs, outcome)),
      })),
    ],
  });

function stepsOf(nodes) {
  const steps = new Map();
  for (const { layer, job } of nodes.filter(({ job }) => job)) {
    const key = `${layer}/${job.job_type}`;
    if (!steps.has(key)) steps.set(key, { key, layer, type: job.job_type, jobs: [] });
    steps.get(key).jobs.push(job);
  }
  return [...steps.values()].sort((one, other) => one.layer - other.layer);
}

// The picture, or the layers. The first jobs decide.
function makeView(jobs, view) {
  const nodes = nodesOf(jobs);
  if (!isDrawable(nodes)) {
    const table = makeSteps();
    const words = h(
      "div",
      { class: "graph-ways" },
      h(
        "p",
        { class: "panel-words" },
        `${plural(jobs.length, "job")} in ${plural(layerCount(nodes), "layer")} are too many for a picture. `,
        "A job is in the layer after the last of the jobs that it comes after.",
      ),
    );
    return { element: panel("Layers", { kind: "flush" }, words, table.element), show: (now) => table.update(stepsOf(nodesOf(now))) };
  }
  const picture = new GraphPicture();
  const element = panel("Picture", {}, picture.element);
  const show = (now) => picture.show(now, picture.element.clientWidth - 12);
  const again = new ResizeObserver(() => latest.length > 0 && show(latest));
  let latest = [];
  again.observe(element);
  view.onLeave(() => again.disconnect());
  return { element, show: (now) => show((latest = now)) };
}

// The table of jobs with its filters: a text, and an outcome.
class Jobs {
  #jobs = [];
  #text = "";
  #outcome = null;
  #most = atOnce;
  #table = makeJobs();
  #counts = new Map();
  #more = button("Show more", () => {
    this.#most += atOnce;
    this.#draw();
  });

  constructor() {
    const filter = filterField("Filter jobs", (text) => {
      this.#text = text;
      this.#draw();
    });
    const ways = h("div", { class: "ways", role: "group", "aria-label": "Jobs by outcome" }, outcomes.map((outcome) => this.#way(outcome)));
    this.element = panel(
      "Jobs",
      { kind: "flush", beside: filter },
      h("div", { class: "graph-ways" }, ways),
      this.#table.element,
      h("div", { class: "more-row" }, this.#more),
    );
  }

  #way(outcome) {
    const count = h("b", {});
    const choose = () => {
      this.#outcome = this.#outcome === outcome ? null : outcome;
      for (const [name, { element }] of this.#counts) element.setAttribute("aria-pressed", String(name === this.#outcome));
      this.#draw();
    };
    const element = h("button", { type: "button", class: "way", "aria-pressed": "false", onclick: choose }, h("span", {}, outcome), " ", count);
    this.#counts.set(outcome, { element, count });
    return element;
  }

  show(jobs) {
    this.#jobs = jobs;
    for (const [outcome, { element, count }] of this.#counts) {
      const many = countOf(jobs, outcome);
      count.textContent = number(many);
      element.hidden = many === 0 && outcome !== this.#outcome;
    }
    this.#draw();
  }

  #draw() {
    const found = this.#jobs.filter(
      (job) =>
        (this.#outcome === null || job.outcome === this.#outcome) &&
        `${job.name} ${job.job_type} ${job.queue} ${job.job_id} ${job.error ?? ""}`.toLowerCase().includes(this.#text),
    );
    this.#table.update(found.slice(0, this.#most));
    this.#more.hidden = found.length <= this.#most;
  }
}

const wordsOf = (jobs) => {
  const left = jobs.filter(({ ended_time: time }) => !time).length;
  return [
    `${plural(jobs.length, "job")}, ${left === 0 ? "all have ended" : `${number(left)} not ended`}. Enqueued `,
    ago(jobs[0].created_time),
  ];
};

export async function showGraph(view, id) {
  if (!/^\d+$/.test(id)) {
    view.fill(
      pageHead("No such graph"),
      noticeBox("The id of a graph is a number."),
      button("All graphs", () => go("graphs")),
    );
    return;
  }
  view.fill(pageHead(`Graph ${id}`));
  const read = async () => {
    const { jobs, most } = await get(`graphs/${id}`);
    return { jobs: jobs.slice(0, most), isCut: jobs.length > most };
  };
  const { jobs, isCut } = await read();
  const words = h("p", { class: "page-words" });
  const drawing = makeView(jobs, view);
  const table = new Jobs();
  const show = (now) => {
    words.replaceChildren(...wordsOf(now));
    drawing.show(now);
    table.show(now);
  };
  view.fill(
    pageHead(`Graph ${id}`, { beside: words }),
    isCut ? noticeBox(`The graph has more jobs: here are ${number(jobs.length)} of them.`) : null,
    drawing.element,
    table.element,
  );
  show(jobs);
  await view.every(pauseAfter(jobs), async () => show((await read()).jobs));
}

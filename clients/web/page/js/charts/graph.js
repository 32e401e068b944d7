// A graph as a picture: a box for each job with its outcome in words, and arrows from the jobs that
// it comes after. Boxes are links; arrow keys go from one to the next. A change of an outcome leaves
// the boxes, and the focus, as they are.

import { h, newId, s, setText } from "../dom.js";
import { link } from "../parts/links.js";
import { layerCount, layout, nodesOf, pieceCount } from "./layers.js";

const mostNodes = 100;
const mostPieces = 500;

const tones = { running: "active", succeeded: "good", failed: "bad", cancelled: "off", expired: "odd", skipped: "off" };

const signOf = (jobs) => JSON.stringify(jobs.map(({ name, after }) => [name, after]));

/** Whether a graph can be drawn so that one can look at it. */
export const isDrawable = (nodes) => nodes.length <= mostNodes && pieceCount(nodes) <= mostPieces;

export class GraphPicture {
  element = h("div", { class: "graph", role: "group", onkeydown: (event) => this.#press(event) });
  #boxes = new Map(); // by the names of jobs
  #nodes = [];
  #sign = "";
  #isDown = false;

  /** Shows the jobs. room: the width that it has. */
  show(jobs, room) {
    const sign = `${room} ${signOf(jobs)}`;
    if (sign !== this.#sign) this.#draw(jobs, room);
    this.#sign = sign;
    for (const job of jobs) this.#fill(this.#boxes.get(job.name), job);
  }

  #draw(jobs, room) {
    const focused = [...this.#boxes].find(([, { element }]) => element === document.activeElement)?.[0];
    this.#nodes = nodesOf(jobs);
    const { isDown, width, height, places, paths } = layout(this.#nodes, room, room < 480 ? 136 : 172, 54);
    this.#isDown = isDown;
    this.#boxes = new Map(places.map((place) => [place.node.name, this.#box(place)]));
    const ordered = [...places].sort((one, other) => one.node.layer - other.node.layer);
    const list = h("ul", {}, ordered.map(({ node }) => this.#boxes.get(node.name).item));
    const canvas = h("div", { class: "graph-canvas" }, arrows(paths, width, height), list);
    Object.assign(canvas.style, { width: `${width}px`, height: `${height}px` });
    this.element.setAttribute("aria-label", `${jobs.length} jobs in ${layerCount(this.#nodes)} layers`);
    this.element.replaceChildren(canvas);
    this.#boxes.get(focused)?.element.focus();
  }

  #box({ node, x, y, width, height }) {
    const outcome = h("span", { class: "graph-outcome" });
    const before = node.before.map(({ name }) => name).join(", ");
    const element = h(
      "a",
      { class: "graph-box", "data-name": node.name, title: node.name, href: node.job ? null : link("jobs", node.name) },
      h("span", { class: "graph-name" }, node.job ? node.name : `job ${node.name}`),
      outcome,
      before ? h("span", { class: "hidden-text" }, `, after ${before}`) : null,
    );
    const item = h("li", {}, element);
    Object.assign(item.style, { left: `${x}px`, top: `${y}px`, width: `${width}px`, height: `${height}px` });
    if (!node.job) {
      element.classList.add("is-outside");
      setText(outcome, "not of this graph");
    }
    return { element, item, outcome };
  }

  #fill({ element, outcome }, job) {
    setText(outcome, job.outcome);
    element.className = `graph-box tone-${tones[job.outcome] ?? "calm"}`;
    if (element.getAttribute("href") !== link("jobs", job.job_id)) element.href = link("jobs", job.job_id);
  }

  // Along the arrows, and within a layer.
  #press(event) {
    const node = this.#nodes.find(({ name }) => name === event.target.dataset?.name);
    if (!node) return;
    const layer = [...this.#boxes.keys()].map((name) => this.#nodes.find((one) => one.name === name));
    const beside = layer.filter((one) => one.layer === node.layer);
    const at = beside.indexOf(node);
    const steps = [node.before[0], node.after[0], beside[at - 1], beside[at + 1]];
    const keys = this.#isDown
      ? ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"]
      : ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"];
    const key = keys.indexOf(event.key);
    if (key === -1) return;
    event.preventDefault();
    if (steps[key]) this.#boxes.get(steps[key].name).element.focus();
  }
}

function arrows(paths, width, height) {
  const head = newId("arrow");
  return s(
    "svg",
    { width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" },
    s(
      "marker",
      { id: head, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, orient: "auto" },
      s("path", { class: "graph-head", d: "M1 1l6 3l-6 3z" }),
    ),
    paths.map((d) => s("path", { class: "graph-arrow", d, "marker-end": `url(#${head})` })),
  );
}

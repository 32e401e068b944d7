// The list of queues, live; with links to their pages.

import { h } from "../dom.js";
import { ago, backlogText, heldText, number, plural, rate, seconds } from "../format.js";
import { live } from "../live.js";
import { badge } from "../parts/badge.js";
import { pageHead, panel } from "../parts/facts.js";
import { rateLines, rateOf, turnOf } from "../parts/limits.js";
import { queueLink } from "../parts/links.js";
import { filterField } from "../parts/search.js";
import { Table } from "../parts/table.js";
import { showQueue } from "./queue.js";

const waits = (value) => (value === null || value === undefined ? null : Number(value));

function makeTable() {
  const perSecond = ({ queue }) => live.history.recent(live.history.series(queue).succeeded);
  return new Table({
    label: "Queues",
    key: ({ queue }) => queue,
    sort: { column: 0, isDescending: false },
    empty: "There is no such queue",
    emptyWords: "You see the queues that you may read.",
    columns: [
      {
        title: "Queue",
        kind: "main",
        order: ({ queue }) => queue,
        value: ({ queue }) => queue,
        cell: (queue) => queueLink(queue),
      },
      { title: "State", order: ({ state }) => state, value: ({ state }) => state, cell: (state) => badge(state) },
      { title: "Owner", order: ({ owner }) => owner, value: ({ owner }) => owner },
      {
        title: "Done",
        kind: "number",
        order: perSecond,
        value: (queue) => ({ done: `${rate(perSecond(queue))}/s`, rate: rateOf(queue), turn: turnOf(queue) }),
        cell: ({ done, ...limit }) => [done, ...rateLines(limit)],
      },
      {
        title: "Failed",
        kind: "number",
        order: (queue) => Number(queue.per_minute.failed),
        value: (queue) => `${number(queue.per_minute.failed)}/min`,
      },
      {
        title: "Backlog",
        kind: "number",
        order: (queue) => waits(queue.backlog),
        value: (queue) => ({ backlog: backlogText(queue), held: Number(queue.held ?? 0) }),
        cell: ({ backlog, held }) => [backlog, held > 0 ? [" ", h("span", { class: "of-them" }, `${heldText(held)} held`)] : null].flat(),
      },
      { title: "Running", kind: "number", order: (queue) => Number(queue.running), value: (queue) => number(queue.running) },
      {
        title: "Waits (p50)",
        kind: "number",
        order: (queue) => waits(queue.wait_p50),
        value: (queue) => seconds(queue.wait_p50),
      },
      {
        title: "Waits (p99)",
        kind: "number",
        order: (queue) => waits(queue.wait_p99),
        value: (queue) => seconds(queue.wait_p99),
      },
      { title: "Runs (p99)", kind: "number", order: (queue) => waits(queue.run_p99), value: (queue) => seconds(queue.run_p99) },
      {
        title: "Due since",
        kind: "number",
        order: (queue) => queue.oldest_due,
        value: (queue) => queue.oldest_due,
        cell: (time) => ago(time),
      },
    ],
  });
}

function showList(view) {
  const table = makeTable();
  const count = h("p", { class: "page-words" });
  let text = "";
  const draw = () => {
    if (!live.latest) return;
    const queues = live.latest.queues.filter(({ queue, owner }) => `${queue} ${owner}`.toLowerCase().includes(text));
    count.textContent = plural(queues.length, "queue");
    table.update(queues);
  };
  const filter = filterField("Filter queues", (value) => {
    text = value;
    draw();
  });
  view.fill(pageHead("Queues", { beside: count, actions: filter }), panel("Queues", { kind: "bare" }, table.element));
  view.onLive(draw);
}

export const show = (view, name) => (name ? showQueue(view, name) : showList(view));

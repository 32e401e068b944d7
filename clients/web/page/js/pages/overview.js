// The overview: the activity in all queues, second by second.

import { makeDepth } from "../charts/depth.js";
import { ranges } from "../charts/ranges.js";
import { Spark } from "../charts/spark.js";
import { Throughput } from "../charts/throughput.js";
import { h, setText } from "../dom.js";
import { ago, backlogText, isNone, number, plural, rate, seconds, short } from "../format.js";
import { live } from "../live.js";
import { badge } from "../parts/badge.js";
import { pageHead, panel } from "../parts/facts.js";
import { emptyBox, noticeBox } from "../parts/notice.js";
import { Table } from "../parts/table.js";
import { link, queueLink } from "../parts/links.js";
import { mayRead, session } from "../session.js";

const shown = 8; // lines per list

const sum = (queues, value) => queues.reduce((total, queue) => total + Number(value(queue) ?? 0), 0);

class Tile {
  #value = h("span", { class: "tile-value" });
  #words = h("span", { class: "tile-words" });
  #spark;
  #kind;

  constructor(title, page, tone = null, kind = "") {
    this.#kind = kind;
    this.#spark = tone ? new Spark({ tone }) : null;
    this.element = h(
      "a",
      { class: `tile ${kind}`, href: link(page) },
      h("span", { class: "tile-title" }, title),
      this.#value,
      this.#words,
      this.#spark?.element,
    );
  }

  show(value, words, series = null, tone = null) {
    setText(this.#value, value);
    setText(this.#words, words);
    this.element.className = `tile ${this.#kind}${tone ? ` is-${tone}` : ""}`;
    if (series) this.#spark?.draw(series);
  }
}

function makeTiles() {
  const tiles = {
    done: new Tile("Jobs done", "jobs", "active"),
    failed: new Tile("Failures", "dead_letters", "bad"),
    backlog: new Tile("Backlog", "queues", "calm"),
    oldest: new Tile("Waits longest", "queues"),
    executors: new Tile("Executors", "executors"),
    workers: new Tile("Workers", "workers"),
    alerts: new Tile("Alarms", "alerts", null, "is-alarms"),
  };
  return {
    tiles,
    element: h(
      "div",
      { class: "tiles" },
      Object.values(tiles).map(({ element }) => element),
    ),
  };
}

function longestDue(queues) {
  return queues
    .filter(({ oldest_due: time }) => time)
    .reduce((oldest, queue) => (!oldest || queue.oldest_due < oldest.oldest_due ? queue : oldest), null);
}

const isUnknown = ({ backlog }) => isNone(backlog);

// The sum over all queues. A queue whose backlog is unknown is left out, and the sum is an estimate.
const backlogOf = (queues) => ({
  backlog: queues.length > 0 && queues.every(isUnknown) ? null : sum(queues, (queue) => queue.backlog),
  is_exact: queues.every((queue) => queue.is_exact),
});

function showTiles(tiles, { latest, history }) {
  const { queues, executors, workers, alerts, now } = latest;
  const all = history.series();
  tiles.done.show(
    `${rate(history.recent(all.succeeded))}/s`,
    `${short(sum(queues, (queue) => queue.per_minute.succeeded))}/min`,
    all.succeeded,
  );
  const failed = sum(queues, (queue) => queue.per_minute.failed);
  tiles.failed.show(`${short(failed)}/min`, `${short(sum(queues, (queue) => queue.per_minute.retried))}/min retried`, all.failed);
  tiles.backlog.show(
    backlogText(backlogOf(queues)),
    `${number(sum(queues, (queue) => queue.running))} running`,
    all.backlog,
  );
  const oldest = longestDue(queues);
  const unknown = queues.find(isUnknown);
  const waits = oldest ? seconds((Date.parse(now) - Date.parse(oldest.oldest_due)) / 1000) : unknown ? "?" : "–";
  tiles.oldest.show(waits, oldest?.queue ?? (unknown ? `${unknown.queue} is ${unknown.state}` : "no job is due"));
  tiles.executors.show(`${executors.busy}/${executors.max}`, `busy; ${executors.idle} idle`);
  const ill = Number(workers.degraded) + Number(workers.unhealthy);
  tiles.workers.show(
    number(Number(workers.healthy) + Number(workers.unknown) + ill),
    ill > 0 ? `${ill} not healthy` : "external",
    null,
    ill > 0 ? "warn" : null,
  );
  tiles.alerts.show(
    number(alerts?.alarm ?? null),
    alerts ? plural(alerts.information, "information") : "",
    null,
    alerts?.alarm > 0 ? "bad" : null,
  );
}

// The queues with the longest waits, at the 99th percentile. Redrawn only after a change, so that a
// link keeps the focus.
class Latency {
  #drawn = null;
  element = h("div", {});

  show(queues) {
    const measured = JSON.stringify(
      queues.map(({ queue, wait_p50: p50, wait_p90: p90, wait_p99: p99 }) => [queue, p50, p90, p99]),
    );
    if (measured !== this.#drawn) this.element.replaceChildren(latencyList(queues));
    this.#drawn = measured;
  }
}

function latencyList(queues) {
  const slowest = queues
    .filter(({ wait_p99: value }) => value !== null && value !== undefined)
    .sort((a, b) => b.wait_p99 - a.wait_p99)
    .slice(0, shown);
  if (slowest.length === 0) return emptyBox("No job has started within the hour");
  return ranges(
    slowest.map((queue) => ({ name: queueLink(queue.queue), p50: queue.wait_p50, p90: queue.wait_p90, p99: queue.wait_p99 })),
  );
}

class Failures {
  #body = h("div", {});
  #list = h("ul", { class: "spark-list" });
  #lines = new Map();
  element = panel(
    "Failures per queue",
    {},
    h("p", { class: "panel-words" }, "For good, in the last minute; the line shows two."),
    this.#body,
  );

  show(queues) {
    const worst = queues
      .map((queue) => ({
        name: queue.queue,
        last: Number(queue.per_minute.failed),
        series: live.history.series(queue.queue).failed,
      }))
      .map((queue) => ({ ...queue, weight: queue.last + queue.series.reduce((total, value) => total + value, 0) }))
      .filter(({ weight }) => weight > 0)
      .sort((a, b) => b.weight - a.weight)
      .slice(0, shown);
    if (worst.length === 0)
      this.#body.replaceChildren(emptyBox("Nothing has failed", "No job has failed for good in the last minutes."));
    else this.#show(worst.map((queue) => this.#line(queue)));
  }

  // Lines that do not move keep the focus.
  #show(lines) {
    const isSame =
      lines.length === this.#list.children.length && lines.every((line, index) => line === this.#list.children[index]);
    if (!isSame) this.#list.replaceChildren(...lines);
    if (!this.#list.isConnected) this.#body.replaceChildren(this.#list);
  }

  #line({ name, last, series }) {
    if (!this.#lines.has(name)) {
      const spark = new Spark({ tone: "bad", width: 160, height: 22 });
      const count = h("b", {});
      this.#lines.set(name, { spark, count, element: h("li", {}, queueLink(name), spark.element, count) });
    }
    const line = this.#lines.get(name);
    setText(line.count, `${number(last)}/min`);
    line.spark.draw(series);
    return line.element;
  }
}

function makeBusiest() {
  const perSecond = ({ queue }) => live.history.recent(live.history.series(queue).succeeded);
  return new Table({
    label: "Busiest queues",
    key: ({ queue }) => queue,
    empty: "There is no queue that you may see",
    emptyWords: "SELECT hipq.create_queue('app.mail') makes one.",
    columns: [
      {
        title: "Queue",
        kind: "main",
        value: ({ queue, state }) => ({ queue, state }),
        cell: ({ queue, state }) => [queueLink(queue), badge(state)],
      },
      { title: "Done", kind: "number", value: (queue) => `${rate(perSecond(queue))}/s` },
      { title: "Failed", kind: "number", value: (queue) => `${number(queue.per_minute.failed)}/min` },
      { title: "Backlog", kind: "number", value: backlogText },
      { title: "Running", kind: "number", value: (queue) => number(queue.running) },
      { title: "Waits (p99)", kind: "number", value: (queue) => seconds(queue.wait_p99) },
      { title: "Due since", kind: "number", value: (queue) => queue.oldest_due, cell: (time) => ago(time) },
    ],
  });
}

// The names of the busiest queues. They are chosen again only from time to time: a list whose lines
// jump each second is not readable.
class Busiest {
  #names = [];
  #ticks = 0;
  #table = makeBusiest();
  element = this.#table.element;

  show(queues) {
    if (this.#ticks++ % 5 === 0) this.#names = this.#choose(queues);
    const byName = new Map(queues.map((queue) => [queue.queue, queue]));
    this.#table.update(this.#names.map((name) => byName.get(name)).filter(Boolean));
  }

  #choose(queues) {
    const weigh = (queue) =>
      live.history.recent(live.history.series(queue.queue).succeeded) * 60 +
      Number(queue.running) * 10 +
      Math.min(Number(queue.backlog), 1000);
    return queues
      .map((queue) => ({ name: queue.queue, weight: weigh(queue) }))
      .sort((a, b) => b.weight - a.weight || (a.name < b.name ? -1 : 1))
      .slice(0, shown)
      .map(({ name }) => name);
  }
}

const rightsNotice = () =>
  mayRead()
    ? null
    : noticeBox(
        "You see queues, but no jobs.",
        `Role ${session.role} may not read any queue. Their owner grants that: SELECT hipq.grant_queue('app.mail', '${session.role}', 'read').`,
      );

export async function show(view) {
  const { tiles, element: tileRow } = makeTiles();
  const [throughput, depth, failures, busiest] = [new Throughput(), makeDepth(), new Failures(), new Busiest()];
  const latency = new Latency();
  const all = h("a", { class: "panel-link", href: link("queues") }, "All queues");
  view.fill(
    pageHead("Overview"),
    rightsNotice(),
    tileRow,
    h("div", { class: "grid" }, throughput.element, depth.element),
    h(
      "div",
      { class: "grid is-even" },
      panel(
        "Waiting time",
        {},
        h("p", { class: "panel-words" }, "From due to started, over the last hour: median, 90 and 99 percent."),
        latency.element,
      ),
      failures.element,
    ),
    panel("Busiest queues", { beside: all, kind: "flush" }, busiest.element),
  );
  view.onLive(() => {
    if (!live.latest) return;
    showTiles(tiles, live);
    throughput.draw();
    depth.draw();
    latency.show(live.latest.queues);
    failures.show(live.latest.queues);
    busiest.show(live.latest.queues);
  });
  void view.every(30_000, () => throughput.load());
}

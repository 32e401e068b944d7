// What comes each second: the latest overview, and the last five minutes of it as series for charts.

import { setServerTime } from "./format.js";

const kept = 300; // points, one a second
const counters = ["succeeded", "failed", "retried"];
const gauges = ["backlog", "running"];
export const metrics = [...counters, ...gauges];

const emptySeries = () => Object.fromEntries(metrics.map((metric) => [metric, []]));

function push(list, value) {
  list.push(value);
  if (list.length > kept) list.shift();
}

/** Rates and gauges over time, of each queue and of all. */
export class History {
  times = [];
  all = emptySeries();
  queues = new Map();
  #before = null;

  add(overview) {
    const time = Date.parse(overview.now);
    const elapsed = this.#before ? (time - this.#before.time) / 1000 : 0;
    if (this.#before && elapsed <= 0) return;
    const totals = new Map(overview.queues.map((queue) => [queue.queue, queue.total]));
    if (elapsed > 0) this.#addPoint(time, elapsed, overview.queues);
    this.#before = { time, totals };
  }

  #addPoint(time, elapsed, queues) {
    push(this.times, time);
    const sum = Object.fromEntries(metrics.map((metric) => [metric, 0]));
    for (const queue of queues) {
      const point = this.#pointOf(queue, elapsed);
      const series = this.#seriesOf(queue.queue);
      for (const metric of metrics) {
        push(series[metric], point[metric]);
        sum[metric] += point[metric];
      }
    }
    for (const metric of metrics) push(this.all[metric], sum[metric]);
    this.#dropGone(queues);
  }

  // Counters that were reset make no negative rate.
  #pointOf(queue, elapsed) {
    const before = this.#before.totals.get(queue.queue) ?? queue.total;
    const point = {};
    for (const counter of counters) point[counter] = Math.max(0, (queue.total[counter] - before[counter]) / elapsed);
    for (const gauge of gauges) point[gauge] = Number(queue[gauge] ?? 0);
    return point;
  }

  // A queue that is new has no past: zeros keep its series as long as the others.
  #seriesOf(name) {
    let series = this.queues.get(name);
    if (!series) {
      series = Object.fromEntries(metrics.map((metric) => [metric, new Array(this.times.length - 1).fill(0)]));
      this.queues.set(name, series);
    }
    return series;
  }

  #dropGone(queues) {
    if (this.queues.size === queues.length) return;
    const here = new Set(queues.map((queue) => queue.queue));
    for (const name of this.queues.keys()) if (!here.has(name)) this.queues.delete(name);
  }

  /** The mean of the last points of a series. */
  recent(series, points = 10) {
    const last = series.slice(-points);
    return last.length === 0 ? 0 : last.reduce((sum, value) => sum + value, 0) / last.length;
  }

  series(queue = null) {
    return queue === null ? this.all : (this.queues.get(queue) ?? emptySeries());
  }
}

export const live = { latest: null, history: new History(), state: "connecting" };

const listeners = new Set();
const patience = 30_000; // a hidden tab keeps the stream for so long
let source = null;
let whenAwake = null; // opens the stream again
let sleep = null;

/** Calls back at once, if something has come, and whenever something comes or the connection changes. Returns how to stop it. */
export function listen(callback) {
  listeners.add(callback);
  if (live.latest) callback();
  return () => listeners.delete(callback);
}

function tell() {
  for (const callback of [...listeners]) callback();
}

function setState(state, reason = null) {
  if (live.state === state && live.reason === reason) return;
  Object.assign(live, { state, reason });
  tell();
}

// Most events have only the queues that have changed since the one before.
function merged(before, overview) {
  if (overview.whole !== false || !before) return overview;
  const changed = new Map(overview.queues.map((queue) => [queue.queue, queue]));
  const queues = before.queues.map((queue) => {
    const latest = changed.get(queue.queue) ?? queue;
    changed.delete(queue.queue);
    return latest;
  });
  return { ...overview, queues: [...queues, ...changed.values()] };
}

/** Opens the stream of events. whenLost is called when it breaks: the session may be over. */
export function connect(whenLost) {
  Object.assign(live, { latest: null, history: new History() });
  setState("connecting");
  open(whenLost);
}

function open(whenLost) {
  disconnect();
  whenAwake = () => open(whenLost);
  source = new EventSource("api/events");
  source.addEventListener("overview", (event) => {
    live.latest = merged(live.latest, JSON.parse(event.data));
    setServerTime(live.latest.now);
    live.history.add(live.latest);
    Object.assign(live, { state: "live", reason: null });
    tell();
  });
  source.addEventListener("bye", (event) => {
    disconnect();
    setState("ended", JSON.parse(event.data).reason);
    whenLost();
  });
  // The browser opens it again by itself, unless the server has refused it.
  source.addEventListener("error", () => {
    if (source?.readyState === EventSource.CLOSED) {
      disconnect();
      setTimeout(whenLost, 1000);
    }
    setState("lost");
  });
}

export function disconnect() {
  source?.close();
  source = null;
  whenAwake = null;
}

// A browser opens six connections to a server at most: a tab that nobody looks at gives its own back.
document.addEventListener("visibilitychange", () => {
  clearTimeout(sleep);
  if (document.hidden) {
    sleep = setTimeout(() => {
      source?.close();
      source = null;
    }, patience);
  } else if (!source) whenAwake?.();
});

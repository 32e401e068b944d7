// The last five minutes of the live figures, as series for charts. Missed seconds, for example in a
// hidden tab, are a gap.

import { isNone } from "./format.js";

const kept = 300_000; // ms
const longest = 5_000; // ms between two points of one line: the server answers sooner, or not at all
const counters = ["succeeded", "failed", "retried"];
const gauges = ["backlog", "running"];
const metrics = [...counters, ...gauges];

const emptySeries = () => Object.fromEntries(metrics.map((metric) => [metric, []]));

/** Rates and gauges over time, for each queue and for all: as many values as times. null is a gap. */
export class History {
  times = [];
  all = emptySeries();
  queues = new Map();
  #before = null;

  add(overview) {
    const time = Date.parse(overview.now);
    const elapsed = this.#before ? time - this.#before.time : 0;
    if (this.#before && elapsed <= 0) return;
    const totals = new Map(overview.queues.map((queue) => [queue.queue, queue.total]));
    if (elapsed > longest) this.#addGap(time);
    else if (elapsed > 0) this.#addPoint(time, elapsed / 1000, overview.queues);
    this.#before = { time, totals };
    this.#dropOld(time - kept);
  }

  #addGap(time) {
    this.times.push(time);
    for (const series of this.#allSeries()) for (const metric of metrics) series[metric].push(null);
  }

  #addPoint(time, elapsed, queues) {
    this.times.push(time);
    const sum = Object.fromEntries(metrics.map((metric) => [metric, 0]));
    for (const queue of queues) {
      const point = this.#pointOf(queue, elapsed);
      const series = this.#seriesOf(queue.queue);
      for (const metric of metrics) {
        series[metric].push(point[metric]);
        sum[metric] = sum[metric] === null || point[metric] === null ? null : sum[metric] + point[metric];
      }
    }
    for (const metric of metrics) this.all[metric].push(sum[metric]);
    this.#dropGone(queues);
  }

  // A counter that was reset gives no negative rate.
  #pointOf(queue, elapsed) {
    const before = this.#before.totals.get(queue.queue) ?? queue.total;
    const point = {};
    for (const counter of counters) point[counter] = Math.max(0, (queue.total[counter] - before[counter]) / elapsed);
    for (const gauge of gauges) point[gauge] = isNone(queue[gauge]) ? null : Number(queue[gauge]);
    return point;
  }

  // A new queue has no past, but its series are as long as the others.
  #seriesOf(name) {
    let series = this.queues.get(name);
    if (!series) {
      series = Object.fromEntries(metrics.map((metric) => [metric, new Array(this.times.length - 1).fill(null)]));
      this.queues.set(name, series);
    }
    return series;
  }

  #allSeries() {
    return [this.all, ...this.queues.values()];
  }

  #dropGone(queues) {
    if (this.queues.size === queues.length) return;
    const here = new Set(queues.map((queue) => queue.queue));
    for (const name of this.queues.keys()) if (!here.has(name)) this.queues.delete(name);
  }

  #dropOld(oldest) {
    const old = this.times.findIndex((time) => time >= oldest);
    if (old <= 0) return;
    this.times.splice(0, old);
    for (const series of this.#allSeries()) for (const metric of metrics) series[metric].splice(0, old);
  }

  /** The mean of the last points of a series. */
  recent(series, points = 10) {
    const last = series.slice(-points).filter((value) => value !== null);
    return last.length === 0 ? 0 : last.reduce((sum, value) => sum + value, 0) / last.length;
  }

  series(queue = null) {
    return queue === null ? this.all : (this.queues.get(queue) ?? emptySeries());
  }
}

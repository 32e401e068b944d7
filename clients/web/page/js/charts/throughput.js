// The chart of throughput, for one queue or for all: the last five minutes second by second, or the
// last hour minute by minute.

import { get } from "../api.js";
import { rate } from "../format.js";
import { h } from "../dom.js";
import { live } from "../live.js";
import { choice, panel } from "../parts/facts.js";
import { LineChart } from "./line.js";

const minute = 60_000;
const shown = 5 * minute;

// Each point as the mean of itself and the four before, back to a gap, so that the figures do not
// jump from second to second.
const calm = (values) =>
  values.map((value, index) => {
    if (value === null) return null;
    const few = values.slice(Math.max(0, index - 4), index + 1);
    const near = few.slice(few.lastIndexOf(null) + 1);
    return near.reduce((sum, one) => sum + one, 0) / near.length;
  });

// Five minutes come from the stream, the hour from the statistics of each minute.
export class Throughput {
  #chart = new LineChart({
    label: "Throughput, jobs a second",
    format: rate,
    height: 220,
    series: [
      { name: "succeeded", tone: "active", isArea: true },
      { name: "retried", tone: "warn" },
      { name: "failed", tone: "bad" },
    ],
  });
  #range = "minutes";
  #hour = null;

  constructor(queue = null) {
    this.queue = queue;
    const beside = choice(
      "Range",
      [
        ["minutes", "5 min"],
        ["hour", "1 hour"],
      ],
      this.#range,
      (range) => this.#choose(range),
    );
    this.element = panel(
      "Throughput",
      { beside, kind: "wide" },
      h("p", { class: "panel-words" }, "Jobs a second."),
      this.#chart.element,
    );
  }

  async #choose(range) {
    this.#range = range;
    if (range === "hour") await this.load();
    this.draw();
  }

  async load() {
    const { minutes } = await get(this.queue ? `throughput?queue=${encodeURIComponent(this.queue)}` : "throughput");
    const whole = minutes.slice(0, -1); // the current minute is not complete
    this.#hour = {
      times: whole.map(({ minute }) => Date.parse(minute)),
      values: ["succeeded", "retried", "failed"].map((name) => whole.map((minute) => minute[name] / 60)),
    };
  }

  draw() {
    const { times } = live.history;
    const series = live.history.series(this.queue);
    if (this.#range === "hour" && this.#hour) this.#chart.draw(this.#hour);
    else this.#chart.draw(this.#withPast({ times, values: [series.succeeded, series.retried, series.failed].map(calm) }));
  }

  // The time before this page was opened: a point for each minute that was complete by then.
  #withPast({ times, values }) {
    const begin = times[0] ?? Date.now();
    const past = (this.#hour?.times ?? [])
      .map((time, index) => [time + minute / 2, index])
      .filter(([time]) => time < begin && time > (times.at(-1) ?? begin) - shown);
    return {
      times: [...past.map(([time]) => time), ...times],
      values: values.map((one, which) => [...past.map(([, index]) => this.#hour.values[which][index]), ...one]),
    };
  }
}

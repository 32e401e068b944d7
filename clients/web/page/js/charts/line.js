// A line chart over time, redrawn each second: a grid, lines with a faint area, a legend with the
// values, and a cross-hair with the values at the pointer. For screen readers its label has the
// latest values.

import { h, s, setText } from "../dom.js";
import { clockTime } from "../format.js";
import { area, labels, line, runs, ticks, timeTicks } from "./scale.js";

const margin = { top: 10, right: 6, bottom: 22, left: 44 };

export class LineChart {
  #label;
  #series;
  #format;
  #height;
  #least;
  #svg;
  #grid;
  #plot;
  #cross;
  #tip;
  #legend;
  #data = { times: [], values: [] };
  #width = 0;
  #observer;

  /** series: [{ name, tone, isArea? }]; format: formats a value; least: the smallest step of the
      axis. */
  constructor({ label, series, format, height = 200, least = 0 }) {
    this.#least = least;
    this.#label = label;
    this.#series = series;
    this.#format = format;
    this.#height = height;
    this.#grid = s("g", { class: "chart-grid" });
    this.#plot = s("g", {});
    this.#cross = s("line", { class: "chart-cross", y1: margin.top, y2: height - margin.bottom, visibility: "hidden" });
    this.#svg = s("svg", { class: "chart-svg", role: "img", height, "aria-label": label }, this.#grid, this.#plot, this.#cross);
    this.#tip = h("div", { class: "chart-tip", hidden: true, "aria-hidden": "true" });
    this.#legend = series.map(({ name, tone }) => ({
      value: h("span", { class: "legend-value" }),
      item: h("span", { class: `legend-item tone-${tone}` }, h("i", {}), name),
    }));
    const legend = h(
      "div",
      { class: "legend", "aria-hidden": "true" },
      this.#legend.map(({ item, value }) => h("span", {}, item, value)),
    );
    const frame = h("div", { class: "chart-frame" }, this.#svg, this.#tip);
    this.element = h("div", { class: "chart" }, legend, frame);
    this.#svg.addEventListener("pointermove", (event) => this.#point(event));
    this.#svg.addEventListener("pointerleave", () => this.#hideTip());
    this.#observer = new ResizeObserver(([entry]) => this.#resize(entry.contentRect.width));
    this.#observer.observe(frame);
  }

  #resize(width) {
    if (Math.abs(width - this.#width) < 1) return;
    this.#width = width;
    this.#svg.setAttribute("width", width);
    this.#svg.setAttribute("viewBox", `0 0 ${width} ${this.#height}`);
    this.draw(this.#data);
  }

  /** Draws { times: [ms], values: [[a value for each time] for each series] }. */
  draw(data) {
    this.#data = data;
    this.#showLatest();
    if (this.#width === 0) return;
    const largest = Math.max(
      0,
      ...data.values.flatMap((values) => values.reduce((most, value) => Math.max(most, value ?? 0), 0)),
    );
    const levels = ticks(largest, { least: this.#least });
    const { times } = data;
    const to = times.at(-1) ?? Date.now();
    const from = Math.min(times[0] ?? to, data.from ?? to - 60_000);
    const inner = this.#width - margin.left - margin.right;
    this.x = (time) => margin.left + ((time - from) / Math.max(1, to - from)) * inner;
    this.y = (value) => this.#height - margin.bottom - (value / levels.at(-1)) * (this.#height - margin.top - margin.bottom);
    this.#grid.replaceChildren(...this.#levelMarks(levels), ...this.#timeMarks(from, to));
    this.#plot.replaceChildren(...this.#series.flatMap((one, index) => this.#lineOf(one, data.values[index] ?? [])));
  }

  #showLatest() {
    const latest = this.#series.map((_, index) => this.#data.values[index]?.at(-1) ?? null);
    this.#legend.forEach(({ value }, index) => setText(value, this.#format(latest[index])));
    const spoken = this.#series.map(({ name }, index) => `${name} ${this.#format(latest[index])}`).join(", ");
    this.#svg.setAttribute("aria-label", `${this.#label}: ${spoken}`);
  }

  #levelMarks(levels) {
    const texts = labels(levels, this.#format);
    return levels.flatMap((level, index) => {
      const y = Math.round(this.y(level)) + 0.5;
      return [
        s("line", { x1: margin.left, x2: this.#width - margin.right, y1: y, y2: y, class: level === 0 ? "is-base" : null }),
        s("text", { x: margin.left - 8, y: y + 3.5, "text-anchor": "end" }, texts[index]),
      ];
    });
  }

  #timeMarks(from, to) {
    const list = timeTicks(from, to, Math.max(2, Math.floor(this.#width / 110)));
    const withSeconds = to - from < 120_000;
    return list
      .filter((time) => this.x(time) > margin.left + 14 && this.x(time) < this.#width - 18)
      .map((time) => s("text", { x: this.x(time), y: this.#height - 5, "text-anchor": "middle" }, clockTime(time, withSeconds)));
  }

  #lineOf({ tone, isArea }, values) {
    const parts = runs(values, (index) => this.x(this.#data.times[index]), this.y);
    if (parts.length === 0) return [];
    const areas = parts.map((points) => area(points, this.y(0)));
    const alone = parts.filter((points) => points.length === 1).map(([point]) => point);
    return [
      isArea ? s("path", { class: `chart-area tone-${tone}`, d: areas.join("") }) : null,
      s("path", { class: `chart-line tone-${tone}`, d: parts.map(line).join("") }),
      ...alone.map(([cx, cy]) => s("circle", { class: `chart-dot tone-${tone}`, cx, cy, r: 2 })),
    ].filter(Boolean);
  }

  #point(event) {
    const { times, values } = this.#data;
    if (times.length === 0) return;
    const at = event.clientX - this.#svg.getBoundingClientRect().left;
    const index = times.reduce(
      (best, time, here) => (Math.abs(this.x(time) - at) < Math.abs(this.x(times[best]) - at) ? here : best),
      0,
    );
    const x = this.x(times[index]);
    this.#cross.setAttribute("x1", x);
    this.#cross.setAttribute("x2", x);
    this.#cross.setAttribute("visibility", "visible");
    this.#tip.replaceChildren(
      h("div", { class: "chart-tip-time" }, clockTime(times[index], true)),
      ...this.#series.map(({ name, tone }, which) =>
        h(
          "div",
          {},
          h("span", { class: `legend-item tone-${tone}` }, h("i", {}), name),
          h("b", {}, this.#format(values[which]?.[index] ?? null)),
        ),
      ),
    );
    this.#tip.hidden = false;
    const isRight = x > this.#width / 2;
    this.#tip.style.left = isRight ? "" : `${x + 12}px`;
    this.#tip.style.right = isRight ? `${this.#width - x + 12}px` : "";
  }

  #hideTip() {
    this.#tip.hidden = true;
    this.#cross.setAttribute("visibility", "hidden");
  }
}

// Durations, one line for each name: a bar from the median to the 99th percentile with a mark at
// the 90th, on a logarithmic scale, because one queue waits for milliseconds and another one for
// minutes.

import { h, hiddenText, s } from "../dom.js";
import { seconds } from "../format.js";

const height = 14;
const width = 300;

function scaleOf(rows) {
  const values = rows.flatMap(({ p50, p99 }) => [p50, p99]).filter((value) => value > 0);
  const lowest = Math.floor(Math.log10(Math.min(0.001, ...values)));
  const highest = Math.max(Math.ceil(Math.log10(Math.max(1, ...values))), lowest + 1);
  return (value) => ((Math.log10(Math.max(value ?? 0, 10 ** lowest)) - lowest) / (highest - lowest)) * (width - 4) + 2;
}

function bar({ p50, p90, p99 }, x) {
  const left = x(p50);
  return s(
    "svg",
    { class: "range-svg", viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", height, "aria-hidden": "true" },
    s("line", { class: "range-track", x1: 0, x2: width, y1: height / 2, y2: height / 2 }),
    s("rect", { class: "range-bar", x: left, y: 4, width: Math.max(3, x(p99) - left), height: height - 8, rx: 2 }),
    p90 === undefined ? null : s("rect", { class: "range-mark", x: x(p90) - 1, y: 2, width: 2, height: height - 4 }),
    s("rect", { class: "range-median", x: left - 1.5, y: 2, width: 3, height: height - 4, rx: 1 }),
  );
}

/** rows: [{ name (an element or a text), p50, p90, p99 }], in seconds. */
export function ranges(rows) {
  const x = scaleOf(rows);
  const names = ["p50", "p90", "p99"];
  const head = h(
    "div",
    { class: "range-head", "aria-hidden": "true" },
    names.map((name) => h("span", {}, name)),
  );
  const values = (row) =>
    h(
      "span",
      { class: "range-values" },
      names.map((name) => h("span", {}, hiddenText(`${name} `), seconds(row[name]))),
    );
  return h(
    "div",
    { class: "ranges" },
    head,
    h(
      "ul",
      {},
      rows.map((row) => h("li", {}, h("span", { class: "range-name" }, row.name), bar(row, x), values(row))),
    ),
  );
}

// The chart of unfinished jobs, for one queue or for all, over the last five minutes.

import { h } from "../dom.js";
import { short } from "../format.js";
import { live } from "../live.js";
import { panel } from "../parts/facts.js";
import { LineChart } from "./line.js";

/** words: further texts and links. */
export function makeDepth(queue = null, words = []) {
  const chart = new LineChart({
    label: "Depth, unfinished jobs",
    format: short,
    height: 220,
    least: 1,
    series: [
      { name: "backlog", tone: "calm", isArea: true },
      { name: "running", tone: "active" },
    ],
  });
  const draw = () => {
    const series = live.history.series(queue);
    chart.draw({ times: live.history.times, values: [series.backlog, series.running] });
  };
  return { element: panel("Depth", {}, h("p", { class: "panel-words" }, "Unfinished jobs; of a large queue an estimate.", words), chart.element), draw };
}

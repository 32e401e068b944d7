// The runs of schedules over the next hours: a line for each schedule, with a mark for each run.
// Where a schedule runs too often for all its runs to be known, a bar goes on from the last mark.
// The marks are a picture; the words beside them say the same.

import { h, hiddenText, s } from "../dom.js";
import { age, clockTime, moment, number, plural, serverTime } from "../format.js";
import { hours } from "./scale.js";

const width = 1000;
const height = 18;

const place = (time, { from, to }) => ((Math.max(time, from) - from) / (to - from)) * width;

function strip({ marks, isCut }, range) {
  const places = marks.map((time) => place(time, range));
  return s(
    "svg",
    { class: "timeline-strip", viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", height, "aria-hidden": "true" },
    hours(range.from, range.to, 6).map((time) => {
      const x = place(time, range);
      return s("line", { class: "timeline-hour", x1: x, x2: x, y1: 0, y2: height });
    }),
    s("line", { class: "timeline-track", x1: 0, x2: width, y1: height / 2, y2: height / 2 }),
    isCut ? s("rect", { class: "timeline-more", x: places.at(-1), y: 4, width: width - places.at(-1), height: height - 8 }) : null,
    places.map((x) => s("line", { class: "timeline-run", x1: x, x2: x, y1: 2, y2: height - 2 })),
  );
}

// The hours of the axis, of the viewer's clock.
function axis(range) {
  const labels = hours(range.from, range.to, 6).map((time) => {
    const label = h("span", {}, clockTime(time));
    label.style.left = `${place(time, range) / (width / 100)}%`;
    return label;
  });
  return h("div", { class: "timeline-axis", "aria-hidden": "true" }, labels);
}

function words({ times: [first, ...then], runs, isCut }) {
  const next = new Date(first).toISOString();
  const later = then.map((time) => clockTime(time)).join(", ");
  return h(
    "span",
    { class: "timeline-words" },
    h("time", { datetime: next, title: moment(next), "data-age": true }, age(next)),
    later ? hiddenText(`, then ${later}`) : null,
    h("span", { class: "of-them" }, isCut ? `${number(runs)}+ runs` : plural(runs, "run")),
  );
}

/** rows: [{ name (an element or a text), times (the first ones), marks, runs (how many), isCut (there
    are more) }]; times and the length are in milliseconds. */
export function timeline(rows, length) {
  const from = serverTime();
  const range = { from, to: from + length };
  const row = (one) => h("li", {}, h("span", { class: "timeline-name" }, one.name), strip(one, range), words(one));
  return h("div", { class: "timeline" }, axis(range), h("ul", {}, rows.map(row)));
}

// Counts by outcome, for a queue or for all; each links to its jobs.

import { h, setText } from "../dom.js";
import { backlogText, isNone, short } from "../format.js";
import { live } from "../live.js";
import { mayRead } from "../session.js";
import { go } from "../router.js";
import { searchFor } from "./jobs_search.js";

const ended = ["succeeded", "failed", "cancelled", "expired"];

const sum = (queues, value) => queues.reduce((total, queue) => total + Number(value(queue) ?? 0), 0);

// Waiting jobs are the unfinished jobs that do not run.
function countsOf(queues) {
  const running = sum(queues, (queue) => queue.running);
  const waiting = queues.every(({ backlog }) => isNone(backlog))
    ? null
    : Math.max(0, sum(queues, (queue) => queue.backlog) - running);
  return {
    waiting: backlogText({ backlog: waiting, is_exact: queues.every((queue) => queue.is_exact) }),
    running: short(running),
    ...Object.fromEntries(ended.map((outcome) => [outcome, short(sum(queues, ({ total }) => total[outcome]))])),
  };
}

/** whenChosen is called with an outcome; without it the page of jobs opens. */
export function makeWays(queue = null, whenChosen = null) {
  const choose = (outcome) => {
    if (whenChosen) return whenChosen(outcome);
    searchFor({ queue: queue ?? "", outcome });
    return go("jobs");
  };
  const counts = Object.fromEntries(["waiting", "running", ...ended].map((outcome) => [outcome, h("b", {})]));
  const element = h(
    "div",
    { class: "ways", role: "group", "aria-label": "Jobs by outcome", title: "Those that have ended: since the statistics began" },
    Object.entries(counts).map(([outcome, count]) =>
      h(
        "button",
        { type: "button", class: "way", disabled: !mayRead(), onclick: () => choose(outcome) },
        h("span", {}, outcome),
        " ",
        count,
      ),
    ),
  );
  const draw = () => {
    const queues = (live.latest?.queues ?? []).filter((one) => queue === null || one.queue === queue);
    const shown = queues.length > 0 ? countsOf(queues) : {};
    for (const [outcome, count] of Object.entries(counts)) setText(count, shown[outcome] ?? "–");
  };
  return { element, draw };
}

// The schedules: a time line of their next runs, and a list.

import { get } from "../api.js";
import { timeline } from "../charts/timeline.js";
import { h } from "../dom.js";
import { ago, serverTime } from "../format.js";
import { badge } from "../parts/badge.js";
import { pageHead, panel } from "../parts/facts.js";
import { jobLink, queueLink } from "../parts/links.js";
import { Table } from "../parts/table.js";

const lastJob = ({ last_job_id: id, last_outcome: outcome }) => ({ id, outcome });

const day = 86_400_000;
const mostRuns = 1000; // of a schedule that runs more often within a day, the server tells the first ones

// The next run may be later than planned, by its jitter.
function rowOf({ name, queue, next_run_time: next, coming: { runs, first, marks } }) {
  const time = Math.max(Date.parse(next), serverTime());
  const later = (list) => list.map((second) => 1000 * second).filter((one) => one > time);
  return {
    name: [name, h("span", { class: "of-them" }, queue)],
    times: [time, ...later(first)].slice(0, 5),
    marks: [time, ...later(marks)],
    runs: Math.max(1, runs),
    isCut: runs === mostRuns,
  };
}

const comesWithinADay = ({ coming, next_run_time: next }) => coming && Date.parse(next) < serverTime() + day;

class TimelinePanel {
  #place = h("div", {});
  element = panel("Next 24 hours", {}, this.#place);

  update(schedules) {
    const known = schedules.filter(comesWithinADay).sort((a, b) => Date.parse(a.next_run_time) - Date.parse(b.next_run_time));
    this.element.hidden = schedules.length === 0;
    this.#place.replaceChildren(
      known.length > 0
        ? timeline(known.map(rowOf), day)
        : h("p", { class: "panel-words" }, "No schedule runs within 24 hours."),
    );
  }
}

const makeTable = () =>
  new Table({
    label: "Schedules",
    key: ({ queue, name }) => `${queue}/${name}`,
    sort: { column: 0, isDescending: false },
    empty: "There is no schedule",
    emptyWords: "hipq.schedule() makes one.",
    columns: [
      {
        title: "Schedule",
        kind: "main",
        order: ({ name }) => name,
        value: ({ name, is_active: isActive }) => [name, isActive],
        cell: ([name, isActive]) => [name, isActive ? null : badge("inactive", "warn")],
      },
      {
        title: "When",
        value: ({ cron, time_zone: zone }) => [cron, zone],
        cell: ([cron, zone]) => [h("code", {}, cron), zone ? h("span", { class: "of-them" }, zone) : null],
      },
      { title: "Type", order: ({ job_type: type }) => type, value: ({ job_type: type }) => type },
      { title: "Queue", order: ({ queue }) => queue, value: ({ queue }) => queue, cell: queueLink },
      { title: "Key", value: ({ job_key: key }) => key ?? "–" },
      { title: "Next", order: ({ next_run_time: time }) => time, value: ({ next_run_time: time }) => time, cell: ago },
      { title: "Last", order: ({ last_run_time: time }) => time, value: ({ last_run_time: time }) => time, cell: ago },
      {
        title: "It did",
        value: ({ last_action: action, last_error: error }) => [action ?? "–", error],
        cell: ([action, error]) => [action, error ? h("span", { class: "of-them" }, error) : null],
      },
      {
        title: "Its job",
        value: lastJob,
        cell: ({ id, outcome }) => (id ? [jobLink(id), outcome ? badge(outcome) : null] : "–"),
      },
      { title: "Role", value: ({ role }) => role },
    ],
  });

export async function show(view) {
  const table = makeTable();
  const next = new TimelinePanel();
  view.fill(
    pageHead("Schedules", { words: "Jobs that are enqueued again and again." }),
    next.element,
    panel("Schedules", { kind: "bare" }, table.element),
  );
  await view.every(5000, async () => {
    const { schedules } = await get("schedules");
    next.update(schedules);
    table.update(schedules);
  });
}

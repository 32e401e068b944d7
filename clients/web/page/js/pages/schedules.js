// The list of schedules, with which pg_cron enqueues jobs repeatedly.

import { get } from "../api.js";
import { h } from "../dom.js";
import { ago } from "../format.js";
import { badge } from "../parts/badge.js";
import { pageHead, panel } from "../parts/facts.js";
import { jobLink, queueLink } from "../parts/links.js";
import { Table } from "../parts/table.js";

const lastJob = ({ last_job_id: id, last_outcome: outcome }) => ({ id, outcome });

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
      { title: "When", value: ({ cron }) => cron, cell: (cron) => h("code", {}, cron) },
      { title: "Type", order: ({ job_type: type }) => type, value: ({ job_type: type }) => type },
      { title: "Queue", order: ({ queue }) => queue, value: ({ queue }) => queue, cell: queueLink },
      { title: "Key", value: ({ job_key: key }) => key ?? "–" },
      { title: "Next", order: ({ next_run_time: time }) => time, value: ({ next_run_time: time }) => time, cell: ago },
      { title: "Last", order: ({ last_run_time: time }) => time, value: ({ last_run_time: time }) => time, cell: ago },
      { title: "It did", value: ({ last_action: action }) => action ?? "–" },
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
  view.fill(
    pageHead("Schedules", { words: "Jobs that pg_cron enqueues again and again." }),
    panel("Schedules", { kind: "bare" }, table.element),
  );
  await view.every(5000, async () => table.update((await get("schedules")).schedules));
}

// The list of executors: the processes of the server that run SQL handlers.

import { get } from "../api.js";
import { ago, expectedEnd, number, percent, timeOf, waitEvent } from "../format.js";
import { live } from "../live.js";
import { badge } from "../parts/badge.js";
import { pageHead, panel } from "../parts/facts.js";
import { jobLink, queueLink } from "../parts/links.js";
import { Table } from "../parts/table.js";

const makeTable = () =>
  new Table({
    label: "Executors",
    key: ({ pid }) => pid,
    sort: { column: 1, isDescending: true },
    empty: "No executor runs",
    emptyWords: "They start when jobs are due, and end when there are none.",
    columns: [
      { title: "Process", kind: "main", order: ({ pid }) => pid, value: ({ pid }) => String(pid) },
      { title: "Status", order: ({ status }) => status, value: ({ status }) => status, cell: (status) => badge(status) },
      { title: "Job", value: ({ job_id: id }) => id, cell: (id) => jobLink(id) },
      { title: "Type", order: ({ job_type: type }) => type, value: ({ job_type: type }) => type ?? "–" },
      { title: "Queue", order: ({ queue }) => queue, value: ({ queue }) => queue, cell: queueLink },
      {
        title: "Runs since",
        order: ({ job_started_time: time }) => time,
        value: ({ job_started_time: time }) => time,
        cell: ago,
      },
      {
        title: "Progress",
        kind: "number",
        value: ({ done, total }) =>
          Number(total) > 0 ? `${number(done)} of ${number(total)}, ${percent((100 * done) / total)}` : number(done),
      },
      {
        title: "Waits for",
        value: (row) => [waitEvent(row) ?? "–", row.blocked_by ? `of ${row.blocked_by}` : ""].join(" ").trim(),
      },
      {
        title: "Ends",
        value: (row) => expectedEnd(row, row.job_started_time, row.reported_time),
        cell: timeOf,
      },
      { title: "Role", order: ({ role }) => role, value: ({ role }) => role },
      { title: "Database", value: ({ database }) => database },
      {
        title: "Jobs done",
        kind: "number",
        order: ({ jobs_done: count }) => Number(count),
        value: ({ jobs_done: count }) => number(count),
      },
      { title: "Started", order: ({ started_time: time }) => time, value: ({ started_time: time }) => time, cell: ago },
    ],
  });

export async function show(view) {
  const table = makeTable();
  const most = live.latest?.executors?.max;
  view.fill(
    pageHead("Executors", { words: `Processes of the server that run SQL handlers${most ? `, at most ${number(most)}` : ""}.` }),
    panel("Executors", { kind: "bare" }, table.element),
  );
  await view.every(2000, async () => table.update((await get("executors")).executors));
}

// The list of external workers, with their health.

import { get } from "../api.js";
import { ago, number, percent, seconds } from "../format.js";
import { badge } from "../parts/badge.js";
import { pageHead, panel } from "../parts/facts.js";
import { filterField } from "../parts/search.js";
import { Table } from "../parts/table.js";
import { queueLink } from "../parts/links.js";

const order = { unhealthy: 0, degraded: 1, unknown: 2, healthy: 3 };

const listOf = (names) => (names ?? []).flatMap((name, index) => [index > 0 ? ", " : null, queueLink(name)]);

// In addition to its health, everything unusual.
const healthCell = ([health, isDraining, status]) =>
  [badge(health), isDraining ? [" ", badge("draining")] : null, status === "active" ? null : [" ", badge(status)]].flat();

const makeTable = () =>
  new Table({
    label: "Workers",
    key: ({ worker_id: id }) => id,
    sort: { column: 1, isDescending: false },
    empty: "There is no external worker",
    emptyWords: "hipq-run or a client of hipq registers one. Jobs with SQL handlers need none.",
    columns: [
      { title: "Worker", kind: "main", order: ({ name }) => name, value: ({ name, worker_id: id }) => `${name} (${id})` },
      {
        title: "Health",
        order: ({ health }) => order[health.status] ?? 4,
        value: ({ health, is_draining: isDraining, status }) => [health.status, isDraining, status],
        cell: healthCell,
      },
      { title: "Heard of", order: ({ last_heartbeat: time }) => time, value: ({ last_heartbeat: time }) => time, cell: ago },
      {
        title: "Running",
        kind: "number",
        order: ({ running_jobs: count }) => Number(count),
        value: ({ running_jobs: count, capacity }) => `${number(count)} / ${number(capacity)}`,
      },
      {
        title: "Not accepted",
        kind: "number",
        order: ({ queue_depth: count }) => Number(count),
        value: ({ queue_depth: count }) => number(count),
      },
      {
        title: "Failed",
        kind: "number",
        order: ({ failure_rate: rate }) => (rate === null ? null : Number(rate)),
        value: ({ failure_rate: rate }) => percent(rate),
      },
      {
        title: "On average",
        kind: "number",
        value: ({ health }) => (health.average_execution_time_ms ? seconds(health.average_execution_time_ms / 1000) : "–"),
      },
      { title: "Queues", kind: "wide", value: ({ queues }) => queues, cell: listOf },
      { title: "Role", value: ({ role }) => role },
    ],
  });

export async function show(view) {
  const table = makeTable();
  let workers = [];
  let text = "";
  const draw = () =>
    table.update(
      workers.filter(({ name, role, queues, job_types: types }) =>
        [name, role, ...(queues ?? []), ...(types ?? [])].join(" ").toLowerCase().includes(text),
      ),
    );
  view.fill(
    pageHead("Workers", {
      words: "Programs outside the server that run jobs.",
      actions: filterField("Filter workers", (value) => {
        text = value;
        draw();
      }),
    }),
    panel("Workers", { kind: "bare" }, table.element),
  );
  await view.every(3000, async () => {
    ({ workers } = await get("workers"));
    draw();
  });
}

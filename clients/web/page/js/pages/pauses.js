// The list of pauses, with forms to make and to end one.

import { get, post } from "../api.js";
import { ago, isNone, timeOf } from "../format.js";
import { resume } from "../parts/actions.js";
import { badge } from "../parts/badge.js";
import { ask } from "../parts/dialog.js";
import { button, pageHead, panel } from "../parts/facts.js";
import { queueLink } from "../parts/links.js";
import { Table } from "../parts/table.js";
import { toast } from "../parts/toast.js";
import { mayAct } from "../session.js";

// The object of a pause, with the argument names of hipq.resume().
const targetOf = ({ instance, queue, job_type: type, throttle_key: key }) =>
  Object.fromEntries(
    Object.entries({ instance: queue ? null : instance, queue, job_type: type, throttle_key: key }).filter(
      ([, value]) => !isNone(value),
    ),
  );

async function pauseSomething() {
  const answer = await ask({
    title: "Pause",
    words: "No more jobs of it start. Those that run finish, and enqueueing goes on.",
    action: "Pause",
    fields: [
      { name: "queue", label: "Queue", placeholder: "app.mail", hint: "Or an instance, for all its queues." },
      { name: "instance", label: "Instance", placeholder: "app" },
      { name: "job_type", label: "Job type", hint: "Only this type of the queue. Empty: all." },
      { name: "throttle_key", label: "Throttle key", hint: "Only jobs of the type with this key: one tenant, say." },
      { name: "reason", label: "Why" },
    ],
    act: (values) => post("pauses", values),
  });
  if (answer) toast("Paused");
  return answer;
}

const makeTable = (load) =>
  new Table({
    label: "Pauses",
    key: (pause) => JSON.stringify(targetOf(pause)),
    empty: "Nothing is paused",
    columns: [
      {
        title: "Queue",
        kind: "main",
        value: ({ queue, instance }) => [queue, instance],
        cell: ([queue, instance]) => (queue ? queueLink(queue) : `all of instance ${instance}`),
      },
      { title: "Job type", value: ({ job_type: type }) => type ?? "all" },
      { title: "Throttle key", value: ({ throttle_key: key }) => key ?? "–" },
      {
        title: "By",
        value: ({ paused_by: by, crashes }) => [by, crashes],
        cell: ([by, crashes]) => (isNone(crashes) ? by : ["hipq ", badge(`${crashes} crashes`, "bad")]),
      },
      { title: "Since", value: ({ paused_time: time }) => time, cell: ago },
      { title: "Until", value: ({ paused_until: time }) => time, cell: timeOf },
      { title: "Why", kind: "wide", value: ({ reason }) => reason ?? "–" },
      ...(mayAct()
        ? [
            {
              title: "",
              kind: "action",
              value: targetOf,
              cell: (target) =>
                button("Resume", async () => (await resume(target)) && load(), {
                  kind: "small",
                  "aria-label": `Resume ${Object.values(target).join(", ")}`,
                }),
            },
          ]
        : []),
    ],
  });

export async function show(view) {
  const load = async () => table.update((await get("pauses")).pauses);
  const table = makeTable(load);
  const begin = mayAct() ? button("Pause…", async () => (await pauseSomething()) && load(), { icon: "pauses" }) : null;
  view.fill(
    pageHead("Pauses", { words: "What starts no jobs, because somebody wants it so.", actions: begin }),
    panel("Pauses", { kind: "bare" }, table.element),
  );
  await view.every(5000, load);
}

// Actions on jobs, dead letters and queues: each asks before it changes anything, and reports the
// result.

import { post } from "../api.js";
import { plural } from "../format.js";
import { ask, proceed } from "./dialog.js";
import { jobLink } from "./links.js";
import { toast, toastError } from "./toast.js";

const batch = 1000; // dead letters per call

function tellDone({ done, refused = [], new: jobs = {} }, what, noun = "job") {
  const made = Object.values(jobs);
  if (done > 0) toast([`${plural(done, noun)} ${what}`, made.length === 1 ? [": ", jobLink(made[0], `job ${made[0]}`)] : null]);
  if (refused.length > 0)
    toast(
      `${plural(refused.length, noun)} not ${what}: ${refused[0].message}${refused.length > 1 ? ", and more" : ""}`,
      "failed",
    );
}

async function onJobs(ids, path, what, question) {
  const answer = await ask({ ...question, act: () => post(path, { ids }) });
  if (answer) tellDone(answer, what);
  return answer;
}

const jobsOf = (ids) => (ids.length === 1 ? `job ${ids[0]}` : plural(ids.length, "job"));

export const cancelJobs = (ids) =>
  onJobs(ids, "jobs/cancel", "cancelled", {
    title: `Cancel ${jobsOf(ids)}?`,
    words: "A job that waits never runs. One that runs is stopped, and what it wrote is rolled back.",
    action: "Cancel it".replace("it", ids.length === 1 ? "the job" : "them"),
    isDangerous: true,
  });

export const retryJobs = (ids) =>
  onJobs(ids, "jobs/retry", "enqueued again", {
    title: `Run ${jobsOf(ids)} again?`,
    words: "Each is enqueued as a new job with the same data.",
    action: "Run again",
  });

export async function rescheduleJob(id, present) {
  const local = new Date(Date.parse(present) - new Date(present).getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
  const answer = await ask({
    title: `Reschedule job ${id}`,
    action: "Reschedule",
    fields: [
      {
        name: "time",
        label: "Not before",
        kind: "datetime-local",
        value: local,
        isRequired: true,
        hint: "In the time zone of your browser. A time that has passed means: now.",
      },
    ],
    act: ({ time }) => post("jobs/reschedule", { id, time: new Date(time).toISOString() }),
  });
  if (answer) tellDone(answer, "rescheduled");
  return answer;
}

const wordsOf = ({ queue, instance, job_type: type, throttle_key: key }) =>
  [type ? `type ${type}` : null, key ? `key ${key}` : null, queue ? `queue ${queue}` : `instance ${instance}`]
    .filter(Boolean)
    .join(", ");

export async function pause(target) {
  const answer = await ask({
    title: `Pause ${wordsOf(target)}?`,
    words: "No more jobs of it start. Those that run finish, and enqueueing goes on.",
    action: "Pause",
    fields: [{ name: "reason", label: "Why", hint: "Whoever looks at the pauses reads it." }],
    act: (values) => post("pauses", { ...target, ...values }),
  });
  if (answer) toast(`Paused: ${wordsOf(target)}`);
  return answer;
}

export async function resume(target) {
  const answer = await ask({
    title: `Resume ${wordsOf(target)}?`,
    words: "Its due jobs start at once.",
    action: "Resume",
    act: () => post("pauses/resume", target),
  });
  if (answer) toast(`Resumed: ${wordsOf(target)}`);
  return answer;
}

const verbs = {
  redrive: {
    path: "dead-letters/redrive",
    done: "redriven",
    action: "Redrive",
    words: "Each job is enqueued again as a new one, with all its retries.",
  },
  dismiss: {
    path: "dead-letters/dismiss",
    done: "dismissed",
    action: "Dismiss",
    words: "They count as dealt with. Their jobs do not run again, unless somebody redrives them.",
  },
};

export async function onLetters(verb, ids) {
  const { path, done, action, words } = verbs[verb];
  const answer = await ask({
    title: `${action} ${plural(ids.length, "dead letter")}?`,
    words,
    action,
    isDangerous: verb === "dismiss",
    act: () => post(path, { ids }),
  });
  if (answer) tellDone(answer, done, "dead letter");
  return answer;
}

/** Acts on all waiting dead letters of a group, a thousand at a time, and shows the progress. */
export async function onGroup(verb, { queue, job_type: type, reason, depth }) {
  const { path, done, action, words } = verbs[verb];
  const names = [type, reason].filter(Boolean).join(", ");
  const answer = await ask({
    title: `${action} ${plural(depth, "dead letter")} of ${queue}?`,
    words: [`Those of ${names} that wait. ${words}`],
    action,
    isDangerous: verb === "dismiss",
    fields: [
      {
        name: "before",
        label: "Only those that died before",
        kind: "datetime-local",
        hint: "In the time zone of your browser. Empty: all of them.",
      },
    ],
    act: (values) => values,
  });
  if (!answer) return null;
  const before = answer.before ? new Date(answer.before).toISOString() : null;
  try {
    const step = async () => (await post(path, { queue, job_type: type, reason, before, limit: batch })).done;
    const count = await proceed({ title: `${action} dead letters of ${queue}`, total: depth, step });
    toast(`${plural(count, "dead letter")} ${done}`);
    return count;
  } catch (error) {
    toastError(error);
    return null;
  }
}

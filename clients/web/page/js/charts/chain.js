// The retry chain as a picture: a line for each job, a mark for each attempt in order of time, and
// an arrow to the job that was enqueued as its retry. On a linear scale gaps of hours would make
// marks of seconds invisible, so attempts are side by side, with widths that roughly show their
// durations.

import { h, s } from "../dom.js";
import { age, seconds } from "../format.js";

const row = 58;
const left = 92;
const gap = 26;
const widest = 120;
const narrowest = 26;

const lengthOf = ({ started_time: from, ended_time: to }) => (from && to ? (Date.parse(to) - Date.parse(from)) / 1000 : null);

export const toneOf = (reason, isRunning = false) => {
  if (isRunning) return "active";
  if (reason === "succeeded") return "good";
  if (["cancelled", "expired", "skipped", "snoozed", "released"].includes(reason)) return "off";
  return "bad";
};

// The jobs in the order of the chain, each with its attempts.
function jobsOf(chain) {
  const jobs = new Map();
  for (const entry of chain) {
    if (!jobs.has(entry.job_id))
      jobs.set(entry.job_id, { id: entry.job_id, retryOf: entry.retry_of, manualReason: entry.manual_reason, attempts: [] });
    if (entry.attempt !== null) jobs.get(entry.job_id).attempts.push(entry);
  }
  return [...jobs.values()];
}

// Widths grow with the logarithm of an attempt's duration.
function widthOf(attempt) {
  const length = lengthOf(attempt) ?? 0;
  return Math.min(widest, narrowest + 14 * Math.log2(1 + length));
}

function attemptMark(attempt, x, y, width) {
  const isRunning = attempt.started_time && !attempt.ended_time && !attempt.reason;
  const length = lengthOf(attempt);
  const words = `attempt ${attempt.attempt}: ${isRunning ? "running" : (attempt.reason ?? "not known")}${length === null ? "" : `, ${seconds(length)}`}`;
  return s(
    "g",
    { class: `chain-attempt tone-${toneOf(attempt.reason, isRunning)}` },
    s("title", {}, words),
    s("rect", { x, y: y - 11, width, height: 22, rx: 6 }),
    s("text", { x: x + width / 2, y: y + 4, "text-anchor": "middle" }, String(attempt.attempt)),
  );
}

function pauseBetween(before, after, x, y) {
  const wait =
    before.ended_time && after.started_time ? (Date.parse(after.started_time) - Date.parse(before.ended_time)) / 1000 : null;
  return s(
    "g",
    {},
    wait === null ? null : s("title", {}, `${seconds(wait)} between them`),
    s("line", { class: "chain-link", x1: x, x2: x + gap, y1: y, y2: y }),
  );
}

function jobLine(job, index, current) {
  const y = 26 + index * row;
  const parts = [s("text", { class: `chain-name${job.id === current ? " is-current" : ""}`, x: 4, y: y + 4 }, `job ${job.id}`)];
  let x = left;
  job.attempts.forEach((attempt, number) => {
    if (number > 0) {
      parts.push(pauseBetween(job.attempts[number - 1], attempt, x, y));
      x += gap;
    }
    const width = widthOf(attempt);
    parts.push(attemptMark(attempt, x, y, width));
    x += width;
  });
  const content = s(
    "g",
    {},
    index > 0 ? againMark(job, y) : null,
    job.id === current ? parts : s("a", { href: `#/jobs/${job.id}` }, parts),
  );
  return { content, end: x };
}

function againMark(job, y) {
  const top = y - row + 16;
  const words =
    job.manualReason === "redriven"
      ? "redriven"
      : `retried${job.manualReason && job.manualReason !== "manual_retry" ? `: ${job.manualReason}` : ""}`;
  return s(
    "g",
    { class: "chain-again" },
    s("path", { d: `M20 ${top}V${y - 14}m-4 -5l4 5l4 -5` }),
    s("text", { x: 32, y: y - 22 }, words),
  );
}

/** chain: the rows of hipq.retry_chain(); current: the id of the displayed job. */
export function chainPicture(chain, current) {
  const jobs = jobsOf(chain);
  const lines = jobs.map((job, index) => jobLine(job, index, current));
  const width = Math.max(300, ...lines.map(({ end }) => end + 8));
  const height = 52 + (jobs.length - 1) * row;
  const label = jobs
    .map(
      (job) =>
        `job ${job.id}: ${job.attempts.map(({ attempt, reason }) => `attempt ${attempt} ${reason ?? "not ended"}`).join(", ") || "not tried yet"}`,
    )
    .join("; then ");
  const first = chain.find(({ started_time: time }) => time)?.started_time;
  return h(
    "figure",
    { class: "chain" },
    h(
      "div",
      { class: "chain-scroll", tabindex: "0", role: "region", "aria-label": "Attempts in order" },
      s(
        "svg",
        { width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": label },
        lines.map(({ content }) => content),
      ),
    ),
    first ? h("figcaption", {}, `First attempt ${age(first)}. A mark is an attempt; the wider, the longer it ran.`) : null,
  );
}

// The page of a job: its conditions, its outcome, its attempts with their messages, its data.

import { get } from "../api.js";
import { chainPicture, toneOf } from "../charts/chain.js";
import { h } from "../dom.js";
import { ago, expectedEnd, isNone, moment, number, plural, seconds, timeOf, waitEvent } from "../format.js";
import { icon } from "../icons.js";
import { cancelJobs, onLetters, rescheduleJob, retryJobs } from "../parts/actions.js";
import { badge, outcomeWord } from "../parts/badge.js";
import { button, copyable, facts, pageHead, panel } from "../parts/facts.js";
import { json } from "../parts/json.js";
import { jobLink, link, queueLink } from "../parts/links.js";
import { emptyBox, noticeBox } from "../parts/notice.js";
import { go } from "../router.js";
import { mayAct } from "../session.js";
import { searchFor } from "./jobs_search.js";

const isOver = ({ state }) => state === "final";

function headOf({ job, may, dead_letter: letter }, load) {
  // Then it is redriven, so that its dead letter is handled, too.
  const isDead = letter?.state === "waiting" && may.dead_letter;
  const then = (action) => async () => (await action()) && load();
  const actions = mayAct()
    ? [
        may.reschedule
          ? button(
              "Reschedule…",
              then(() => rescheduleJob(job.id, job.scheduled_run_time)),
            )
          : null,
        may.retry && !isDead
          ? button(
              "Run again…",
              then(() => retryJobs([job.id])),
              { icon: "retry" },
            )
          : null,
        isDead
          ? button(
              "Redrive…",
              then(() => onLetters("redrive", [job.id])),
              { icon: "retry" },
            )
          : null,
        isDead
          ? button(
              "Dismiss…",
              then(() => onLetters("dismiss", [job.id])),
            )
          : null,
        may.cancel
          ? button(
              "Cancel…",
              then(() => cancelJobs([job.id])),
              { kind: "danger" },
            )
          : null,
      ]
    : null;
  return pageHead(`Job ${job.id}`, { beside: badge(outcomeWord(job)), words: [job.job_type, " in ", queueLink(job.queue)], actions });
}

// The ids of jobs become links: "It comes after jobs that have not ended: 12, 13", "Job 12 has ...".
const withJobLinks = (text) => text.split(/(?<=: |, |^Job )(\d+)/).map((part, index) => (index % 2 === 1 ? jobLink(part) : part));

function whyPanel(why, job) {
  if (isOver(job) || why.length === 0) return null;
  // For a running job the only unmet condition is that it waits, which is not a problem.
  const isUnmet = ({ passed }) => passed === false && job.outcome !== "running";
  const unmet = why.filter(isUnmet).length;
  const line = ({ condition, passed, explanation }) =>
    h(
      "li",
      { class: isUnmet({ passed }) ? "is-unmet" : passed ? "is-met" : "is-open" },
      icon(isUnmet({ passed }) ? "cross" : passed ? "check" : "minus"),
      h("strong", {}, condition),
      h("span", {}, condition === "waits for" ? withJobLinks(explanation) : explanation),
    );
  const title = job.outcome === "running" ? "It runs" : "What it waits for";
  const words =
    job.outcome === "running"
      ? null
      : h(
          "p",
          { class: "panel-words" },
          unmet === 0
            ? "Every condition is met: it waits for its turn."
            : `${number(unmet)} of ${plural(why.length, "condition")} not met.`,
        );
  return panel(title, {}, words, h("ul", { class: "why" }, [...why.filter(isUnmet), ...why.filter((one) => !isUnmet(one))].map(line)));
}

// What the process that runs the job waits for in PostgreSQL, and which processes block it.
function waitPanel(running) {
  if (!running || (isNone(running.wait_event) && isNone(running.blocked_by))) return null;
  return panel(
    "What it waits for in PostgreSQL",
    {},
    facts([
      ["Wait event", waitEvent(running)],
      ["Blocked by", running.blocked_by],
      ["Process", running.pid],
    ]),
  );
}

const errorPanel = ({ error, outcome }) =>
  error
    ? panel(outcome === "failed" ? "Error" : "Last error", { kind: "error" }, h("pre", { class: "error-block" }, error))
    : null;

function attemptLine(attempt) {
  const length =
    attempt.started_time && attempt.ended_time
      ? seconds((Date.parse(attempt.ended_time) - Date.parse(attempt.started_time)) / 1000)
      : null;
  const by = attempt.worker_id ? `worker ${attempt.worker_id}` : attempt.executor_pid ? `executor ${attempt.executor_pid}` : null;
  const more = [attempt.detail, attempt.hint, attempt.context].filter((text) => !isNone(text));
  return h(
    "li",
    {},
    h(
      "div",
      { class: "attempt-head" },
      h("strong", {}, `Attempt ${attempt.attempt}`),
      badge(attempt.reason ?? "running", toneOf(attempt.reason, !attempt.reason)),
      attempt.sqlstate ? h("code", { class: "sqlstate" }, attempt.sqlstate) : null,
      h("span", { class: "attempt-when" }, ago(attempt.started_time), length ? `, took ${length}` : null, by ? `, ${by}` : null),
    ),
    attempt.error ? h("pre", { class: "error-block" }, attempt.error) : null,
    more.length > 0
      ? h(
          "details",
          { class: "more" },
          h("summary", {}, "Detail, hint, context"),
          h("pre", { class: "code", tabindex: "0" }, more.join("\n")),
        )
      : null,
  );
}

const attemptsPanel = (attempts, job) =>
  panel(
    "Attempts",
    {},
    attempts.length > 0
      ? h("ol", { class: "attempts" }, [...attempts].reverse().map(attemptLine))
      : emptyBox(
          Number(job.attempt) === 0 ? "It has not been tried yet" : "No attempt is recorded",
          Number(job.attempt) === 0 ? null : "The queue records those that failed. history => 'all' records each.",
        ),
  );

function logPanel(log) {
  if (log.length === 0) return null;
  const line = (entry) =>
    h(
      "li",
      { class: `log-${entry.level.toLowerCase()}` },
      h("time", { datetime: entry.logged_time, title: moment(entry.logged_time) }, moment(entry.logged_time).slice(11)),
      h("span", { class: "log-level" }, entry.level),
      h(
        "span",
        {},
        entry.message,
        ...[entry.detail, entry.hint].filter((text) => !isNone(text)).map((text) => h("small", {}, text)),
      ),
    );
  return panel("Log", {}, h("ol", { class: "log" }, log.map(line)));
}

function jsonPanel(title, text, words) {
  if (isNone(text) || text === "null") return null;
  return panel(title, {}, words ? h("p", { class: "panel-words" }, words) : null, json(text, `${title}, JSON`));
}

function dataPanel(job) {
  const text = job.job_data_text;
  return jsonPanel("Data", text, text?.includes('"***"') ? "Secret parameters are ***." : null);
}

const limitOf = (job) => (isNone(job.deadline) ? `${job.timeout} s` : [`${job.timeout} s, until `, timeOf(job.deadline)]);

const factsPanel = ({ job, graph }) =>
  panel(
    "Facts",
    {},
    facts([
      ["Queue", queueLink(job.queue)],
      [
        "Type",
        h("a", { href: link("jobs"), onclick: () => searchFor({ queue: job.queue, job_type: job.job_type }) }, job.job_type),
      ],
      ["Key", job.job_key],
      ["State", job.state],
      ["Priority", job.priority],
      ["Attempts", number(job.attempt)],
      ["Retries", `${number(job.retry_count)} of ${number(job.max_retries)}`],
      ["Last reason", job.retry_reason],
      ["Enqueued", timeOf(job.created_time)],
      ["Not before", timeOf(job.scheduled_run_time)],
      ["Started", timeOf(job.start_time)],
      [isOver(job) ? "Ended" : "Changed", timeOf(job.update_time)],
      ["Time limit", limitOf(job)],
      ["Expires", timeOf(job.expires_time)],
      ["Throttle key", job.throttle_key],
      ["Time windows", job.time_windows],
      ["Worker", job.worker_id],
      ["Graph", graph ? h("a", { href: link("graphs", graph.graph_id) }, `${graph.graph_id}, as ${graph.name}`) : null],
      ["Retry of", isNone(job.retry_of) ? null : jobLink(job.retry_of)],
      ["Again because", job.manual_reason],
      ["Trace", traceOf(job.traceparent)],
    ]),
  );

// The trace id is the second part of a traceparent.
const traceOf = (traceparent) => (isNone(traceparent) ? null : copyable(traceparent.split("-")[1] ?? traceparent));

function progressPanel(progress, began) {
  if (!progress) return null;
  const end = expectedEnd(progress, began, progress.reported_time);
  const { done, total, percent: share, message, reported_time: time } = progress;
  const words = [isNone(share) ? number(done) : `${number(done)} of ${number(total)}, ${Number(share)} %`, message]
    .filter((word) => !isNone(word))
    .join(": ");
  return panel(
    "Progress",
    {},
    isNone(share) ? null : h("progress", { max: 100, value: share, "aria-label": "Progress" }),
    h("p", { class: "progress-count" }, words, ", ", ago(time), end ? [". At this pace it ends at ", timeOf(end), "."] : null),
  );
}

function letterNotice(letter) {
  if (!letter) return null;
  const words =
    letter.state === "redriven"
      ? ["It was enqueued again as job ", jobLink(letter.redriven_as), "."]
      : [`Its dead letter is ${letter.state}.`];
  return h("div", { class: "notice" }, h("p", { class: "notice-title" }, "The job failed for good."), h("p", {}, words));
}

function draw(view, told, load) {
  const { job, attempts, why, log, chain, progress, running, dead_letter: letter } = told;
  view.fill(
    headOf(told, load),
    letterNotice(letter),
    h(
      "div",
      { class: "columns" },
      h(
        "div",
        { class: "column" },
        progressPanel(progress, progress?.started_time ?? job.start_time),
        whyPanel(why, job),
        waitPanel(running),
        errorPanel(job),
        chain.length > 0 ? panel("Retry chain", {}, chainPicture(chain, String(job.id))) : null,
        attemptsPanel(attempts, job),
        logPanel(log),
      ),
      h("div", { class: "column" }, factsPanel(told), dataPanel(job), jsonPanel("Result", job.result_text)),
    ),
  );
}

export async function showJob(view, id) {
  if (!/^\d+$/.test(id)) {
    view.fill(
      pageHead("No such job"),
      noticeBox("The id of a job is a number."),
      button("All jobs", () => go("jobs")),
    );
    return;
  }
  view.fill(pageHead(`Job ${id}`));
  // It is redrawn only when something has changed, and not after the end of the job, so that the
  // viewer's selection and position stay.
  let shown = "";
  let over = false;
  const load = async () => {
    const told = await get(`jobs/${id}`);
    const text = JSON.stringify(told);
    if (text !== shown) draw(view, told, load);
    shown = text;
    over = isOver(told.job);
  };
  await view.every(2000, async () => over || load());
}

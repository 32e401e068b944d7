import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { enqueue, openBrowser, outcomeOf, sql, Visitor } from "./support.js";

let browser, visitor;
before(async () => {
  browser = await openBrowser();
  visitor = await Visitor.enter(browser, "web_operator");
});
after(() => browser.close());

const depth = () => Number(sql("SELECT coalesce(sum(depth), 0) FROM hipq.dead_letter_reasons WHERE queue = 'web.letters'"));

test("dead letters of a group are redriven at once, with what it brought", async () => {
  assert.equal(outcomeOf(enqueue("web.letters", "letter", { fault: "letters" })), "failed");
  await visitor.open("dead_letters", "Dead letters", "web.letters");
  const waiting = depth();
  sql("DELETE FROM fault WHERE name = 'letters'");
  await visitor.page.getByRole("button", { name: "Redrive letter of web.letters, transient_error" }).click();
  await visitor.confirm("Redrive");
  await visitor.toast(new RegExp(`^${waiting} dead letters? redriven`));
  assert.equal(depth(), 0);
  sql("INSERT INTO fault VALUES ('letters')");
});

test("only the dead letters of a group that died before a time are redriven", async () => {
  const ids = [1, 2].map(() => enqueue("web.letters", "letter", { fault: "letters" }));
  for (const id of ids) assert.equal(outcomeOf(id), "failed");
  sql(`UPDATE hipq.dead_letter SET died_time = now() - interval '18 hours' WHERE job_id = ${ids[0]}`);
  await visitor.open("overview", "Overview");
  await visitor.open("dead_letters", "Dead letters", "web.letters");
  await visitor.page.getByRole("button", { name: "Redrive letter of web.letters, transient_error" }).click();
  const noon = new Date(Date.now() - 12 * 3_600_000 - new Date().getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
  await visitor.page.locator("dialog[open]").getByLabel("Only those that died before").fill(noon);
  await visitor.confirm("Redrive");
  await visitor.toast("1 dead letter redriven");
  assert.equal(sql(`SELECT string_agg(state, ' ' ORDER BY job_id) FROM hipq.dead_letters WHERE job_id IN (${ids})`), "redriven waiting");
  await visitor.page.getByLabel("State").selectOption("");
  await visitor.row(ids[0]).waitFor();
  await visitor.page.getByLabel("Died since").fill(noon);
  await visitor.row(ids[0]).waitFor({ state: "detached" });
  await visitor.row(ids[1]).waitFor();
  sql(`SELECT hipq.dismiss_dead_letter(${ids[1]})`);
});

test("who fills a queue is on its page, and one tenant is paused there", async () => {
  sql("INSERT INTO hipq.web_mail (job_type, throttle_key, job_data, scheduled_run_time)" +
      " SELECT 'receipt', 'tenant 7', '{\"to\": \"x\"}', now() + interval '1 day' FROM generate_series(1, 30)");
  await visitor.open("queues/web.mail", "web.mail", "Who fills it");
  await visitor.row("tenant 7").filter({ hasText: "scheduled time" }).waitFor();
  await visitor.page.getByRole("button", { name: "Pause key tenant 7 of receipt" }).click();
  await visitor.confirm("Pause");
  await visitor.toast("Paused: type receipt, key tenant 7, queue web.mail");
  assert.equal(sql("SELECT throttle_key FROM hipq.pauses WHERE queue = 'web.mail'"), "tenant 7");
  sql("SELECT hipq.resume('web.mail', 'receipt', 'tenant 7'), hipq.cancel_jobs('web.mail', 'receipt')");
});

test("dead letters that are selected are dismissed", async () => {
  const ids = [1, 2].map(() => enqueue("web.letters", "letter", { fault: "letters" }));
  for (const id of ids) assert.equal(outcomeOf(id), "failed");
  await visitor.open("overview", "Overview");
  await visitor.open("dead_letters", "Dead letters", ids[0]);
  for (const id of ids) await visitor.select(id);
  await visitor.page.getByText("2 selected").waitFor();
  await visitor.page.locator(".selection").getByRole("button", { name: "Dismiss…" }).click();
  await visitor.confirm("Dismiss");
  await visitor.toast("2 dead letters dismissed");
  assert.equal(sql(`SELECT string_agg(DISTINCT state, ' ') FROM hipq.dead_letters WHERE job_id IN (${ids})`), "dismissed");
});

test("somebody who thinks better of it does nothing", async () => {
  const id = enqueue("web.letters", "letter", { fault: "letters" });
  assert.equal(outcomeOf(id), "failed");
  await visitor.open("overview", "Overview");
  await visitor.open("dead_letters", "Dead letters", id);
  await visitor.page.getByRole("button", { name: "Dismiss letter of web.letters, transient_error" }).click();
  await visitor.confirm("Back");
  assert.equal(sql(`SELECT state FROM hipq.dead_letters WHERE job_id = ${id}`), "waiting");
});

test("a queue is paused with a reason, which everybody sees, and resumed", async () => {
  await visitor.open("queues/web.mail", "web.mail", "Retention");
  await visitor.button("Pause").click();
  await visitor.page.locator("dialog[open]").getByLabel("Why").fill("moving house");
  await visitor.confirm("Pause");
  await visitor.toast("Paused: queue web.mail");
  await visitor.sees("moving house");
  assert.equal(sql("SELECT reason, paused_by FROM hipq.pauses_detail WHERE queue = 'web.mail'"), "moving house|web_operator");
  await visitor.open("pauses", "Pauses", "moving house");
  await visitor.page.getByRole("button", { name: "Resume web.mail" }).click();
  await visitor.confirm("Resume");
  await visitor.toast("Resumed: queue web.mail");
  assert.equal(sql("SELECT count(*) FROM hipq.pauses WHERE queue = 'web.mail'"), "0");
});

test("a job type is paused from the list of pauses", async () => {
  await visitor.open("pauses", "Pauses");
  await visitor.button("Pause…").click();
  const dialog = visitor.page.locator("dialog[open]");
  await dialog.getByLabel("Queue").fill("web.mail");
  await dialog.getByLabel("Job type").fill("receipt");
  await visitor.confirm("Pause");
  await visitor.row("receipt").getByRole("button", { name: "Resume" }).click();
  await visitor.confirm("Resume");
  await visitor.toast("Resumed: type receipt, queue web.mail");
});

test("a tenant is paused by its throttle key, and the others of the type go on", async () => {
  await visitor.open("pauses", "Pauses");
  await visitor.button("Pause…").click();
  const dialog = visitor.page.locator("dialog[open]");
  await dialog.getByLabel("Queue").fill("web.mail");
  await dialog.getByLabel("Job type").fill("welcome");
  await dialog.getByLabel("Throttle key").fill("tenant 7");
  await visitor.confirm("Pause");
  await visitor.row("tenant 7").getByRole("button", { name: "Resume" }).waitFor();
  assert.equal(sql("SELECT job_type, throttle_key FROM hipq.pauses WHERE queue = 'web.mail'"), "welcome|tenant 7");
  assert.equal(
    outcomeOf(enqueue("web.mail", "welcome", { to: "another@example.com" }, ", throttle_key => 'tenant 8'")),
    "succeeded",
  );
  await visitor.row("tenant 7").getByRole("button", { name: "Resume" }).click();
  await visitor.confirm("Resume");
  await visitor.row("tenant 7").waitFor({ state: "detached" });
  assert.equal(sql("SELECT count(*) FROM hipq.pauses"), "0");
});

test("what the server refuses is said in the dialog, which stays", async () => {
  await visitor.open("pauses", "Pauses");
  await visitor.button("Pause…").click();
  await visitor.page.locator("dialog[open]").getByLabel("Queue").fill("web.nothing");
  await visitor.confirm("Pause");
  await visitor.page.locator("dialog[open]").getByRole("alert").getByText("42704").waitFor();
  await visitor.confirm("Back");
});

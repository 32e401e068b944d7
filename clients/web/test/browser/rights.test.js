import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openBrowser, sql, Visitor } from "./support.js";

let browser;
before(async () => void (browser = await openBrowser()));
after(() => browser.close());

test("a monitor sees every queue and no job, and is told so in place", async () => {
  const visitor = await Visitor.enter(browser, "web_monitor");
  await visitor.sees("You see queues, but no jobs.");
  await visitor.open("queues", "Queues", "web.parcels");
  await visitor.open("jobs", "Jobs", "You may not read the jobs of any queue.");
  const id = sql("SELECT id FROM hipq.jobs WHERE job_key = 'ann'");
  await visitor.open(`jobs/${id}`, `Job ${id}`);
  await visitor.page.getByRole("alert").waitFor();
  assert.doesNotMatch(await visitor.page.content(), /ann@example/);
  await visitor.leave();
});

test("a developer sees his queue alone, and no alerts", async () => {
  const visitor = await Visitor.enter(browser, "web_developer");
  await visitor.open("queues", "Queues", "web.mail");
  assert.equal(await visitor.row("web.parcels").count(), 0);
  await visitor.open("jobs", "Jobs", "welcome");
  await visitor.open("alerts", "Alerts", "Alerts are for members of pg_monitor.");
  await visitor.leave();
});

test("what a role may not do, PostgreSQL refuses, and the page says it in its words", async () => {
  const visitor = await Visitor.enter(browser, "web_developer");
  await visitor.open("pauses", "Pauses");
  await visitor.button("Pause…").click();
  await visitor.page.locator("dialog[open]").getByLabel("Queue").fill("web.mail");
  await visitor.confirm("Pause");
  await visitor.page.locator("dialog[open]").getByRole("alert").getByText("42501").waitFor();
  assert.equal(sql("SELECT count(*) FROM hipq.pauses"), "0");
  await visitor.leave();
});

test("a queue shows the buttons that its rights allow", async () => {
  const visitor = await Visitor.enter(browser, "web_developer");
  await visitor.open("queues/web.mail", "web.mail", "Retention");
  assert.equal(await visitor.button("Pause").count(), 0);
  await visitor.leave();
});

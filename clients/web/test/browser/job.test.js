import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { enqueue, openBrowser, outcomeOf, sql, Visitor } from "./support.js";

let browser, visitor;
before(async () => {
  browser = await openBrowser();
  visitor = await Visitor.enter(browser, "web_operator");
});
after(() => browser.close());

const idOf = (key) => sql(`SELECT id FROM hipq.jobs WHERE job_key = '${key}' ORDER BY id LIMIT 1`);
const region = (name) => visitor.page.getByRole("region", { name, exact: true });

test("a job that failed shows its error, its attempts with their log, and its chain", async () => {
  const id = idOf("bob");
  await visitor.open(`jobs/${id}`, `Job ${id}`, "The job failed for good.");
  await region("Error").getByText("the mail server is gone").waitFor();
  assert.equal(await region("Attempts").locator("li").count(), 2);
  await region("Attempts").getByText("08006").first().waitFor();
  await region("Log").getByText("mail to bob@example.com is written").first().waitFor();
  const picture = await region("Retry chain").getByRole("group").getAttribute("aria-label");
  assert.match(picture, new RegExp(`^job ${id}: attempt 1 \\w+, attempt 2 \\w+$`));
});

test("data is shown as it is stored: numbers in full, secrets masked", async () => {
  const id = idOf("ann");
  await visitor.open(`jobs/${id}`, `Job ${id}`, "ann@example.com");
  const text = await region("Data").locator("pre").textContent();
  assert.match(text, /"big": 12345678901234567890\b/);
  assert.match(text, /"token": "\*\*\*"/);
  assert.doesNotMatch(await visitor.page.content(), /s3cret/);
  await region("Result").getByText('"sent"').waitFor();
});

test("a job that waits says what for, and is rescheduled to now", async () => {
  const id = enqueue("web.mail", "receipt", { to: "late@example.com" }, ", scheduled_run_time => now() + '1 day'");
  await visitor.open(`jobs/${id}`, `Job ${id}`, "What it waits for");
  await region("What it waits for").locator("li.is-unmet").getByText("scheduled time").waitFor();
  assert.equal(await region("What it waits for").locator("li").first().getAttribute("class"), "is-unmet"); // unmet conditions come first
  const pressed = await visitor.button("Reschedule…").boundingBox();
  await visitor.button("Reschedule…").click();
  await visitor.page.getByLabel("Not before").fill("2026-01-01T00:00");
  await visitor.confirm("Reschedule");
  await visitor.toast("1 job rescheduled");
  const told = await visitor.page.locator("#toasts").boundingBox();
  assert.ok(told.y - (pressed.y + pressed.height) < 20 && told.x + told.width > pressed.x, JSON.stringify([pressed, told]));
  assert.equal(outcomeOf(id), "succeeded");
  await visitor.page.locator(".page-head .badge", { hasText: "succeeded" }).waitFor();
});

test("a held job links to the jobs that it waits for, and ends as skipped if they fail", async () => {
  const first = enqueue("web.mail", "receipt", { to: "first@example.com" }, ", scheduled_run_time => now() + '1 day'");
  const id = enqueue("web.letters", "letter", {}, `, after => ARRAY[${first}, ${idOf("tomorrow")}], on_failure => 'skip'`);
  await visitor.open("queues/web.letters", "web.letters", "1 of them");
  await visitor.page.getByRole("link", { name: "1 of them" }).click();
  await visitor.row(id).getByRole("link", { name: id }).click();
  await visitor.page.locator(".page-head .badge", { hasText: "held" }).waitFor();
  const waits = region("What it waits for").locator("li.is-unmet").filter({ hasText: "waits for" });
  assert.deepEqual((await waits.getByRole("link").allTextContents()).sort(), [first, idOf("tomorrow")].sort());
  assert.deepEqual(await visitor.violations(), []);
  await waits.getByRole("link", { name: first, exact: true }).click();
  await visitor.heading(`Job ${first}`);
  await visitor.button("Cancel…").click();
  await visitor.confirm("Cancel the job");
  assert.equal(outcomeOf(id), "skipped");
  await visitor.open(`jobs/${id}`, `Job ${id}`);
  await visitor.page.locator(".page-head .badge", { hasText: "skipped" }).waitFor();
});

test("a job that runs has no cross, and says what it waits for in PostgreSQL, and who is in its way", async () => {
  sql("INSERT INTO fault VALUES ('hold')");
  const first = enqueue("web.letters", "hold");
  const holder = () => sql(`SELECT pid FROM hipq.progress_detail WHERE id = ${first}`);
  while (holder() === "") await visitor.page.waitForTimeout(50);
  const id = enqueue("web.letters", "hold");
  await visitor.open(`jobs/${first}`, `Job ${first}`, "12 of 56, 21.4 %");
  await visitor.open(`jobs/${id}`, `Job ${id}`, "Lock: advisory");
  await region("What it waits for in PostgreSQL").getByText(`${holder()} (app`).waitFor();
  assert.equal(await region("It runs").locator("li.is-unmet").count(), 0);
  await visitor.open("executors", "Executors", "12 of 56, 21.4 %");
  await visitor.row(id).getByText("Lock: advisory").waitFor();
  await visitor.row(id).getByText(`${holder()} (app`).waitFor();
  sql("DELETE FROM fault WHERE name = 'hold'");
  assert.equal(outcomeOf(id), "succeeded");
});

test("a job that failed for good is redriven from its page, which then tells where it went", async () => {
  const id = enqueue("web.letters", "letter", { fault: "letters" });
  assert.equal(outcomeOf(id), "failed");
  await visitor.open(`jobs/${id}`, `Job ${id}`, "Its dead letter is waiting.");
  await visitor.button("Redrive…").click();
  await visitor.confirm("Redrive");
  await visitor.toast("1 dead letter redriven");
  const next = sql(`SELECT redriven_as FROM hipq.dead_letters_detail WHERE job_id = ${id}`);
  await visitor.sees("It was enqueued again as job");
  await visitor.page.locator(".notice").getByRole("link", { name: next }).click();
  await visitor.heading(`Job ${next}`);
});

test("a job without a worker says that", async () => {
  const id = idOf("parcel-1");
  await visitor.open(`jobs/${id}`, `Job ${id}`);
  await visitor.page
    .locator("main")
    .getByText(/worker/)
    .first()
    .waitFor();
});

test("a job that is run again is in the chain of the first one", async () => {
  const id = idOf("customer-1");
  await visitor.open(`jobs/${id}`, `Job ${id}`, "customer1@example.com");
  await visitor.button("Run again…").click();
  await visitor.confirm("Run again");
  const again = visitor.page.locator(".toast", { hasText: "1 job enqueued again" });
  const next = await again.getByRole("link").textContent();
  await again.getByRole("link").click(); // the toast is there for some seconds
  assert.equal(next, `job ${sql(`SELECT id FROM hipq.jobs_detail WHERE retry_of = ${id}`)}`);
  await visitor.heading(next.replace("job", "Job"));
  await visitor.sees("Retry of");
  await region("Retry chain").getByRole("link").getByText(`job ${id}`).click();
  await visitor.heading(`Job ${id}`);
});

test("a job's trace can be copied, and markup in its data is text", async () => {
  const trace = "4bf92f3577b34da6a3ce929d0e0e4736";
  const id = sql(
    `INSERT INTO hipq.web_mail (job_type, job_data, traceparent) VALUES ('welcome', '{"to": "<img src=x onerror=alert(1)>"}', '00-${trace}-00f067aa0ba902b7-01') RETURNING id`,
  );
  await visitor.open(`jobs/${id}`, `Job ${id}`, "<img src=x onerror=alert(1)>");
  assert.equal(await visitor.page.locator("main img").count(), 0);
  await visitor.page.getByRole("button", { name: `Copy ${trace}` }).waitFor();
});

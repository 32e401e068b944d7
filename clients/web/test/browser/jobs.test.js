import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { enqueue, openBrowser, outcomeOf, sql, Visitor } from "./support.js";

let browser, visitor;
before(async () => {
  browser = await openBrowser();
  visitor = await Visitor.enter(browser, "web_operator");
});
after(() => browser.close());

const idOf = (key) => sql(`SELECT id FROM hipq.jobs WHERE job_key = '${key}'`);
const shownIds = () => visitor.page.locator("main tbody td.is-main a").allTextContents();

// Presses a search button, and waits for the answer. Returns the request.
async function press(name) {
  const answered = visitor.page.waitForResponse((response) => response.url().endsWith("api/jobs/search"));
  await visitor.button(name).click();
  return (await answered).request();
}

// Searches only for these.
async function search(fields) {
  await visitor.open("jobs", "Jobs");
  await press("Clear");
  if (Object.keys(fields).some((label) => !["Queue", "Type", "Outcome", "Key"].includes(label))) {
    const more = visitor.page.locator("details.more");
    if ((await more.getAttribute("open")) === null) await more.locator("summary").click();
  }
  for (const [label, value] of Object.entries(fields)) {
    const field = visitor.page.getByRole("search").getByLabel(label, { exact: true });
    if (label === "Outcome") await field.selectOption(value);
    else await field.fill(value);
  }
  return press("Search");
}

async function finds(ids) {
  await visitor.page.waitForFunction(
    (wanted) => [...document.querySelectorAll("main tbody td.is-main a")].map((link) => link.textContent).join() === wanted,
    ids.join(),
  );
}

const minute = (iso) => iso.replace(" ", "T").slice(0, 16);

test("jobs are found by key, type, outcome, error, data and trace", async () => {
  await search({ Key: "ann" });
  await finds([idOf("ann")]);
  await search({ Type: "receipt", Outcome: "waiting" });
  await finds([idOf("after tomorrow"), idOf("tomorrow")]);
  await search({ Outcome: "held" });
  await finds([idOf("after tomorrow")]);
  await visitor.row(idOf("after tomorrow")).getByText("held", { exact: true }).waitFor();
  await search({ Queue: "web.mail", Outcome: "failed", "Error contains": "mail server" });
  await finds([idOf("bob")]);
  await search({ "Data contains (JSON)": '{"to": "ann@example.com"}' });
  await finds([idOf("ann")]);
  await search({ Key: "there is none of this" });
  await visitor.sees("No job is like that");
});

test("jobs are found by the time when they were enqueued", async () => {
  const [from, to] = sql(
    "SELECT created_time AT TIME ZONE 'UTC', (created_time + interval '1 minute') AT TIME ZONE 'UTC' FROM hipq.jobs_detail WHERE job_key = 'tomorrow'",
  ).split("|");
  await visitor.page.evaluate(() => Intl.DateTimeFormat().resolvedOptions().timeZone).then((zone) => assert.equal(zone, "UTC"));
  await search({ Key: "tomorrow", "Enqueued from": minute(from), "Enqueued until": minute(to) });
  await finds([idOf("tomorrow")]);
  await search({ Key: "tomorrow", "Enqueued from": "2040-01-01T00:00" });
  await visitor.sees("No job is like that");
});

test("what is searched for is in the body of the request, never in an address", async () => {
  const request = await search({ Key: "ann", "Data contains (JSON)": '{"to": "ann@example.com"}' });
  assert.equal(request.method(), "POST");
  assert.doesNotMatch(request.url(), /ann/);
  assert.match(request.postData(), /"job_key":"ann"/);
  assert.doesNotMatch(visitor.address(), /ann/);
});

test("data that is no JSON object is refused before anybody is asked", async () => {
  await visitor.open("jobs", "Jobs");
  const more = visitor.page.locator("details.more");
  if ((await more.getAttribute("open")) === null) await more.locator("summary").click();
  await visitor.page.getByLabel("Data contains (JSON)").fill("[1");
  await visitor.button("Search").click();
  await visitor.page.getByRole("alert").getByText("must contain a JSON object").waitFor();
});

test("the newest come first, and the next page goes on where the last one ended", async () => {
  await search({ Queue: "web.mail", Type: "welcome" });
  await visitor.page.waitForFunction(() => document.querySelectorAll("main tbody tr").length === 50);
  await visitor.button("Show older").click();
  await visitor.page.waitForFunction(() => document.querySelectorAll("main tbody tr").length > 50);
  const ids = await shownIds();
  const all = sql(
    "SELECT id FROM hipq.jobs_detail WHERE queue = 'web.mail' AND job_type = 'welcome' ORDER BY created_time DESC, id DESC LIMIT 100",
  ).split("\n");
  assert.deepEqual(ids, all.slice(0, ids.length));
});

test("a search whose answer comes too late leaves the next one alone", async () => {
  await search({ Queue: "web.mail" });
  const held = [];
  await visitor.page.route("**/api/jobs/search", async (route) => {
    await new Promise((go) => held.push(go));
    await route.continue();
  });
  const press = async () => {
    const asked = visitor.page.waitForRequest("**/api/jobs/search");
    await visitor.button("Search").click();
    await asked;
  };
  try {
    await press();
    await press();
    const tooLate = visitor.page.waitForResponse("**/api/jobs/search");
    held[0]();
    await visitor.digests(tooLate);
    assert.equal(await visitor.page.locator(".page.is-loading").count(), 1, "the next one goes on");
    held[1]();
    await visitor.page.locator(".page:not(.is-loading)").waitFor();
  } finally {
    held.forEach((go) => go());
    await visitor.page.unroute("**/api/jobs/search");
  }
});

test("what was found is still there when one comes back from a job", async () => {
  await search({ Key: "ann" });
  await finds([idOf("ann")]);
  await visitor.page.locator("main tbody td.is-main a").click();
  await visitor.heading(`Job ${idOf("ann")}`);
  await visitor.page.goBack();
  await finds([idOf("ann")]);
  assert.equal(await visitor.page.getByRole("search").getByLabel("Key", { exact: true }).inputValue(), "ann");
});

test("jobs that are selected are cancelled, and those that are over are said not to be", async () => {
  const waiting = enqueue("web.mail", "receipt", { to: "x" }, ", scheduled_run_time => now() + '1 day', job_key => 'cancel-me'");
  await search({ Type: "receipt" });
  await visitor.select(waiting);
  await visitor.button("Cancel…").click();
  await visitor.confirm("Cancel the job");
  await visitor.toast("1 job cancelled");
  assert.equal(outcomeOf(waiting), "cancelled");
});

test("a job is run again", async () => {
  const id = enqueue("web.mail", "welcome", { to: "again@example.com" });
  assert.equal(outcomeOf(id), "succeeded");
  await search({ "Data contains (JSON)": '{"to": "again@example.com"}' });
  await visitor.select(id);
  await visitor.button("Run again…").click();
  await visitor.confirm("Run again");
  await visitor.toast("1 job enqueued again");
  assert.equal(sql(`SELECT count(*) FROM hipq.jobs_detail WHERE retry_of = ${id}`), "1");
});

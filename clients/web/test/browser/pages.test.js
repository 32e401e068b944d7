import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openBrowser, sql, url, Visitor } from "./support.js";

let browser, failed, waiting;
before(async () => {
  browser = await openBrowser();
  failed = sql("SELECT id FROM hipq.jobs WHERE job_key = 'bob'");
  waiting = sql("SELECT id FROM hipq.jobs WHERE job_key = 'tomorrow'");
});
after(() => browser.close());

// Each page with its headline, and something that is there once it has loaded.
const pages = () => [
  ["overview", "Overview", "web.mail"],
  ["queues", "Queues", "web.parcels"],
  ["queues/web.mail", "web.mail", "Retention"],
  ["job_types", "Job types", "welcome"],
  ["jobs", "Jobs", "welcome"],
  [`jobs/${failed}`, `Job ${failed}`, "the mail server is gone"],
  [`jobs/${waiting}`, `Job ${waiting}`, "What it waits for"],
  ["dead_letters", "Dead letters", "transient_error"],
  ["pauses", "Pauses", null],
  ["schedules", "Schedules", "There is no schedule"],
  ["executors", "Executors", null],
  ["workers", "Workers", "labels-1"],
  ["alerts", "Alerts", null],
  ["doctor", "Doctor", null],
  ["settings", "Settings", "hipq.max_executors"],
  ["nowhere", "There is no such page", "Overview"],
];

for (const scheme of ["light", "dark"]) {
  test(`every page is accessible in ${scheme} colours, and says no error`, async () => {
    const visitor = await Visitor.come(browser, { scheme });
    await visitor.page.getByLabel("Password").waitFor();
    assert.deepEqual(await visitor.violations(), [], "signing in");
    await visitor.signIn("web_operator", "operator");
    await visitor.heading("Overview");
    for (const [route, name, content] of pages()) {
      await visitor.open(route, name, content);
      assert.deepEqual(await visitor.violations(), [], route);
    }
    assert.deepEqual(visitor.errors, []);
    await visitor.leave();
  });
}

for (const width of [360, 768, 1280]) {
  test(`every page fits ${width} pixels`, async () => {
    const visitor = await Visitor.enter(browser, "web_operator", { width });
    for (const [route, name, content] of pages()) {
      await visitor.open(route, name, content);
      assert.equal(await visitor.overflow(), 0, route);
    }
    await visitor.leave();
  });
}

test("on a narrow screen the pages are behind a button", async () => {
  const visitor = await Visitor.enter(browser, "web_operator", { width: 360 });
  const link = visitor.page.locator("nav a", { hasText: "Workers" });
  assert.equal(await link.isVisible(), false);
  await visitor.button("Menu").click();
  await link.click();
  await visitor.heading("Workers");
  await link.waitFor({ state: "hidden" });
  await visitor.leave();
});

test("the title of the window says where one is", async () => {
  const visitor = await Visitor.enter(browser, "web_operator");
  await visitor.open("queues/web.mail", "web.mail");
  assert.equal(await visitor.page.title(), "web.mail – Queues – hipq");
  await visitor.leave();
});

test("an address is opened after signing in, and the back button goes back", async () => {
  const visitor = await Visitor.come(browser, { to: `${url}#/queues/web.mail` });
  await visitor.signIn("web_operator", "operator");
  await visitor.heading("web.mail");
  await visitor.page.getByRole("link", { name: "Workers" }).click();
  await visitor.heading("Workers");
  await visitor.page.goBack();
  await visitor.heading("web.mail");
  await visitor.leave();
});

test("what is not there is said in place", async () => {
  const visitor = await Visitor.enter(browser, "web_operator");
  await visitor.open("jobs/900000000000000000", "Job 900000000000000000");
  await visitor.page.getByRole("alert").getByText("there is no job 900000000000000000 that your role may read").waitFor();
  await visitor.open("queues/web.nothing", "web.nothing");
  await visitor.page.getByRole("alert").getByText('there is no queue "web.nothing" that your role may see').waitFor();
  await visitor.leave();
});

test("every module is fetched at once", async () => {
  const visitor = await Visitor.enter(browser, "web_operator");
  const [loaded, named] = await visitor.page.evaluate(() => [
    performance
      .getEntriesByType("resource")
      .map(({ name }) => new URL(name).pathname.slice(1))
      .filter((name) => /^js\/(?!main|scheme)/.test(name)),
    [...document.querySelectorAll("link[rel=modulepreload]")].map((link) => link.getAttribute("href")),
  ]);
  assert.deepEqual(named, [...new Set(loaded)].sort());
  await visitor.leave();
});

test("the doctor says what is wrong, and what mends it", async () => {
  sql("SELECT hipq.alter_queue('web.parcels', throttle_limit => 0.5)");
  const visitor = await Visitor.enter(browser, "web_operator");
  await visitor.open("doctor", "Doctor", "limit below 1");
  await visitor.page.getByText("SELECT hipq.alter_queue('web.parcels', throttle_limit => 1)").waitFor();
  sql("SELECT hipq.alter_queue('web.parcels', throttle_limit => 0)");
  await visitor.page.getByRole("button", { name: "Look again" }).click();
  await visitor.page.getByText("limit below 1").waitFor({ state: "detached" });
  await visitor.leave();
});

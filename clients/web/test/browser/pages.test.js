import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openBrowser, sql, url, Visitor } from "./support.js";

let browser, failed, graph, held, waiting;
before(async () => {
  browser = await openBrowser();
  held = sql("SELECT id FROM hipq.jobs WHERE job_key = 'after tomorrow'");
  graph = sql("SELECT graph_id FROM hipq.graph_jobs WHERE name = 'greet'");
  failed = sql("SELECT id FROM hipq.jobs WHERE job_key = 'bob'");
  waiting = sql("SELECT id FROM hipq.jobs WHERE job_key = 'tomorrow'");
});
after(() => browser.close());

// Each page with its headline, and an element that appears once it has loaded.
const pages = () => [
  ["overview", "Overview", "web.mail"],
  ["queues", "Queues", "web.parcels"],
  ["queues/web.mail", "web.mail", "1 of them"],
  ["queues/web.letters", "web.letters", "Next turn in 30 d"],
  ["job_types", "Job types", "welcome"],
  ["jobs", "Jobs", "welcome"],
  [`jobs/${failed}`, `Job ${failed}`, "the mail server is gone"],
  [`jobs/${waiting}`, `Job ${waiting}`, "What it waits for"],
  [`jobs/${held}`, `Job ${held}`, "It comes after jobs"],
  ["graphs", "Graphs", "greet, thank"],
  [`graphs/${graph}`, `Graph ${graph}`, "all have ended"],
  ["dead_letters", "Dead letters", "transient_error"],
  ["pauses", "Pauses", null],
  ["schedules", "Schedules", "each night"],
  ["executors", "Executors", null],
  ["workers", "Workers", "labels-1"],
  ["alerts", "Alerts", null],
  ["doctor", "Doctor", null],
  ["settings", "Settings", "hipq.max_executors"],
  ["nowhere", "There is no such page", "Overview"],
];

// The schemes differ in colours alone, so the second is checked for contrast.
async function findViolations(visitor) {
  const inLight = await visitor.violations();
  await visitor.page.emulateMedia({ colorScheme: "dark" });
  const inDark = await visitor.violations(["color-contrast"]);
  await visitor.page.emulateMedia({ colorScheme: "light" });
  return [...inLight, ...inDark];
}

async function findOverflow(visitor) {
  const found = [];
  for (const width of [360, 768, 1280]) {
    await visitor.resize(width);
    if ((await visitor.overflow()) > 0) found.push(width);
  }
  return found;
}

test("every page is accessible in both colour schemes, fits three widths, and says no error", async () => {
  const visitor = await Visitor.come(browser);
  await visitor.page.getByLabel("Password").waitFor();
  assert.deepEqual(await findViolations(visitor), [], "signing in");
  await visitor.signIn("web_operator", "operator");
  await visitor.heading("Overview");
  for (const [route, name, content] of pages()) {
    await visitor.resize(360);
    await visitor.open(route, name, content);
    assert.deepEqual(await findOverflow(visitor), [], route);
    assert.deepEqual(await findViolations(visitor), [], route);
  }
  assert.deepEqual(visitor.errors, []);
  await visitor.leave();
});

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

test("an alert leads to what it is about, and has the statement that mends it", async () => {
  const id = sql("SELECT hipq.enqueue('wlecome', queue => 'web.mail', scheduled_run_time => now() + interval '1 day')");
  const visitor = await Visitor.enter(browser, "web_operator");
  await visitor.open("alerts", "Alerts", "jobs wait: handler");
  const card = visitor.page.locator(".alert", { hasText: "wlecome" });
  await card.getByText('1 job of type "wlecome" in queue "web.mail"').waitFor();
  await card.getByText("SELECT hipq.register_job_type('web.mail', 'wlecome', handler => ", { exact: false }).waitFor();
  await card.getByRole("link", { name: "Job types" }).waitFor();
  await card.getByRole("link", { name: "web.mail" }).click();
  await visitor.heading("web.mail");
  sql(`SELECT hipq.cancel(${id})`);
  await visitor.leave();
});

test("the statement of an alert names what is paused", async () => {
  const visitor = await Visitor.enter(browser, "web_operator");
  const statements = await visitor.page.evaluate(async () => {
    const { statementOf } = await import("/js/pages/alerts.js");
    const of = (paused) =>
      statementOf(
        { alert: "jobs wait: pause", detail: `1 job(s) wait: ${paused} is paused by ann since noon.`, hint: "SELECT hipq.resume()" },
        { queues: ["web.mail"], types: ["welcome"] },
      );
    return ['Instance "web"', 'Queue "web.mail"', 'Job type "welcome"', 'Throttle key "o\'hara"'].map(of);
  });
  assert.deepEqual(statements, [
    "SELECT hipq.resume(instance => 'web')",
    "SELECT hipq.resume('web.mail')",
    "SELECT hipq.resume('web.mail', 'welcome')",
    "SELECT hipq.resume('web.mail', 'welcome', 'o''hara')",
  ]);
  await visitor.leave();
});

test("one is singular, more are plural", async () => {
  const visitor = await Visitor.enter(browser, "web_operator");
  const said = await visitor.page.evaluate(async () => {
    const { plural, withPlurals } = await import("/js/format.js");
    return [plural("1", "job"), plural(2, "job"), withPlurals("1 job(s) of 12 job(s), 1,001 dead letter(s)")];
  });
  assert.deepEqual(said, ["1 job", "2 jobs", "1 job of 12 jobs, 1,001 dead letters"]);
  await visitor.leave();
});

test("no two labels of an axis are the same", async () => {
  const visitor = await Visitor.enter(browser, "web_operator");
  const same = await visitor.page.evaluate(async () => {
    const { labels, ticks } = await import("/js/charts/scale.js");
    const { rate, short } = await import("/js/format.js");
    const found = [];
    for (let largest = 0.001; largest < 1e8; largest *= 1.07)
      for (const [format, least] of [
        [rate, 0],
        [short, 1],
      ]) {
        const texts = labels(ticks(largest, { least }), format);
        if (new Set(texts).size < texts.length) found.push([largest, texts]);
      }
    return found;
  });
  assert.deepEqual(same, []);
  await visitor.leave();
});

test("a rate shows its next turn, an open breaker when a job tries", async () => {
  const visitor = await Visitor.enter(browser, "web_operator");
  await visitor.open("job_types", "Job types", "rated");
  await visitor.row(/^rated/).getByText("rate 1 of 1/31 day").waitFor();
  await visitor.row(/^rated/).getByText("next turn in 30 d").waitFor();
  await visitor.row(/^broken/).getByText("breaker open").waitFor();
  await visitor.row(/^broken/).getByText("one job tries in 8 h").waitFor();
  await visitor.open("queues/web.letters", "web.letters", "Next turn in 30 d");
  assert.equal(await visitor.page.getByLabel("1 of 1/31 day, rated").getAttribute("value"), "1");
  sql("SELECT hipq.close_breaker('web.letters', 'broken')");
  await visitor.row(/^broken/).getByText("breaker open").waitFor({ state: "detached" });
  sql("SELECT hipq.open_breaker('web.letters', 'broken', '9 h')");
  await visitor.leave();
});

test("the next runs of schedules are drawn, and said", async () => {
  const visitor = await Visitor.enter(browser, "web_operator");
  await visitor.open("schedules", "Schedules", "each night");
  const line = (name) => visitor.page.locator(".timeline li", { hasText: name });
  assert.match(await line("each night").textContent(), /in \d+ (h|min|s)1 run$/);
  assert.match(await line("each minute").textContent(), /in (1|2) h, then \d\d:\d\d(, \d\d:\d\d){3}1,000\+ runs$/);
  assert.equal(await line("each night").locator(".timeline-run").count(), 1);
  assert.equal(await line("each minute").locator(".timeline-more").count(), 1);
  await visitor.leave();
});

test("on a phone alarms come first, and a queue is short", async () => {
  const visitor = await Visitor.enter(browser, "web_operator", { width: 360, height: 720 });
  const tops = await visitor.page.locator(".tile").evaluateAll((tiles) =>
    tiles.map((tile) => [tile.classList.contains("is-alarms"), tile.getBoundingClientRect().top]),
  );
  const [[, alarms]] = tops.filter(([isAlarms]) => isAlarms);
  assert.equal(alarms, Math.min(...tops.map(([, top]) => top)));
  await visitor.open("queues/web.mail", "web.mail", "Who fills it");
  const height = await visitor.page.evaluate(() => document.documentElement.scrollHeight);
  assert.ok(height < 2400, `${height} pixels`);
  await visitor.page.locator("summary", { hasText: "Tables" }).click();
  await visitor.sees("web_mail_live");
  await visitor.leave();
});

test("counts by outcome lead to the jobs", async () => {
  const visitor = await Visitor.enter(browser, "web_operator");
  await visitor.open("queues/web.letters", "web.letters");
  await visitor.page.locator(".page-head .badge", { hasText: /^(idle|waits|runs|late)$/ }).waitFor();
  const ways = visitor.page.getByRole("group", { name: "Jobs by outcome" });
  await ways.getByRole("button", { name: /^failed [1-9]/ }).click();
  await visitor.heading("Jobs");
  await visitor.row("failed").first().waitFor();
  assert.deepEqual([...new Set(await visitor.page.locator("main tbody .badge").allTextContents())], ["failed"]);
  await ways.getByRole("button", { name: /^succeeded [1-9]/ }).click();
  await visitor.row("succeeded").first().waitFor();
  assert.equal(await visitor.row("failed").count(), 0);
  await visitor.leave();
});

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openBrowser, sql, Visitor } from "./support.js";

let browser;
before(async () => void (browser = await openBrowser()));
after(() => browser.close());

test("the overview shows jobs as they are done, by itself", async () => {
  const visitor = await Visitor.enter(browser, "web_operator");
  await visitor.page.locator(".live").getByText("Live").waitFor();
  const labelOfChart = () => {
    const label = document.querySelector('svg[aria-label^="Throughput"]').getAttribute("aria-label");
    return /succeeded (?!0,|–)/.test(label) && label;
  };
  let label = null;
  for (let tries = 0; label === null && tries < 3; ++tries) {
    // Jobs that end while the page misses a second are in its gap.
    sql(
      `INSERT INTO hipq.web_mail (job_type, job_data) SELECT 'welcome', jsonb_build_object('to', 'live' || n) FROM generate_series(1, 20) AS n`,
    );
    const shown = visitor.page.waitForFunction(labelOfChart, null, { timeout: 10_000 });
    label = await shown.then((handle) => handle.jsonValue()).catch(() => null);
  }
  assert.match(
    label ?? "none is shown",
    /^Throughput, jobs a second: succeeded [\d.]+, retried [\d.]+, failed [\d.]+$/,
  );
  await visitor.leave();
});

test("a tab that nobody looks at gives its stream back, and takes it again", async () => {
  const visitor = await Visitor.enter(browser, "web_operator");
  await visitor.page.locator(".live").getByText("Live").waitFor();
  const isStream = (request) => request.url().endsWith("/api/events");
  const show = (hidden) =>
    visitor.page.evaluate((value) => {
      Object.defineProperty(document, "hidden", { configurable: true, get: () => value });
      document.dispatchEvent(new Event("visibilitychange"));
    }, hidden);
  await visitor.page.clock.install();
  const closed = visitor.page.waitForEvent("requestfailed", isStream);
  await show(true);
  await visitor.page.clock.fastForward("00:31");
  await closed;
  const opened = visitor.page.waitForRequest(isStream);
  await show(false);
  await opened;
  await visitor.leave();
});

// The overview as the server sends it, once.
const overviewOf = (visitor) =>
  visitor.page.evaluate(() => {
    const source = new EventSource("api/events");
    return new Promise((resolve) =>
      source.addEventListener("overview", ({ data }) => {
        source.close();
        resolve(JSON.parse(data));
      }),
    );
  });

test("an estimate is marked, and what nobody knows is no 0", async () => {
  const visitor = await Visitor.enter(browser, "web_operator");
  const whole = await overviewOf(visitor);
  const queues = whole.queues.map((queue) =>
    queue.queue === "web.mail"
      ? { ...queue, backlog: 20_000, is_exact: false, held: 1000, state: "late", oldest_due: null }
      : queue.queue === "web.letters"
        ? { ...queue, backlog: null, is_exact: false, state: "locked", oldest_due: null }
        : { ...queue, backlog: 3, is_exact: true, held: 2, state: "1 type paused", oldest_due: null },
  );
  const body = `event: overview\ndata: ${JSON.stringify({ ...whole, queues })}\n\n`;
  await visitor.page.route("**/api/events", (route) => route.fulfill({ contentType: "text/event-stream", body }));
  await visitor.page.reload();
  const tile = (name) => visitor.page.locator(".tile", { hasText: name });
  await tile("Backlog").getByText("~20K", { exact: true }).waitFor();
  await tile("Waits longest").getByText("web.letters is locked").waitFor();
  await visitor.open("queues", "Queues", "web.mail");
  for (const [queue, backlog, state] of [
    ["web.mail", "~20K 1,000+ held", "late"],
    ["web.letters", "?", "locked"],
    ["web.parcels", "3 2 held", "1 type paused"],
  ]) {
    assert.equal(await visitor.row(queue).locator('[data-title="Backlog"]').textContent(), backlog);
    assert.equal(await visitor.row(queue).locator(".badge").textContent(), state);
  }
  await visitor.page.unrouteAll({ behavior: "ignoreErrors" });
  await visitor.leave();
});

test("what was missed is a gap in the charts, not a line", async () => {
  const visitor = await Visitor.enter(browser, "web_operator");
  const whole = await overviewOf(visitor);
  // The same figures repeatedly, with one missing minute.
  const start = Date.parse(whole.now);
  const seconds = [0, 1, 2, 3, 4, 64, 65, 66];
  const events = seconds.map((second) => ({ ...whole, now: new Date(start + second * 1000) }));
  const body = events.map((data) => `event: overview\ndata: ${JSON.stringify(data)}\n\n`).join("");
  await visitor.page.route("**/api/events", (route) => route.fulfill({ contentType: "text/event-stream", body }));
  await visitor.page.reload();
  for (const [name, tone] of [
    ["Depth", "calm"],
    ["Throughput", "active"],
  ]) {
    const chart = visitor.page.locator(`svg[aria-label^="${name}"]`);
    // The events may come in two parts, of which the first has one line.
    await visitor.page
      .waitForFunction(
        (query) => document.querySelector(query)?.getAttribute("d").split("M").length > 2,
        `svg[aria-label^="${name}"] .chart-line.tone-${tone}`,
      )
      .catch(() => null);
    const path = await chart.locator(`.chart-line.tone-${tone}`).getAttribute("d");
    const lines = path.split("M").slice(1);
    assert.equal(lines.length, 2, `${name}: ${path}`);
    const places = lines.map((line) => line.split("L").map(parseFloat));
    const second = places[0].at(-1) - places[0].at(-2);
    assert.ok(places[1][0] - places[0].at(-1) > 40 * second, `${name}: ${path}`);
    assert.equal((await chart.locator(`.chart-area.tone-${tone}`).getAttribute("d")).split("Z").length - 1, 2);
  }
  await visitor.page.unrouteAll({ behavior: "ignoreErrors" });
  await visitor.leave();
});

test("the hour is drawn when it is asked for", async () => {
  const visitor = await Visitor.enter(browser, "web_operator");
  const throughput = visitor.page.getByRole("region", { name: "Throughput" });
  await throughput.getByRole("button", { name: "1 hour" }).click();
  assert.equal(await throughput.getByRole("button", { name: "1 hour" }).getAttribute("aria-pressed"), "true");
  await throughput.locator("path.chart-line").first().waitFor({ state: "attached" });
  await visitor.leave();
});

test("a queue that is paused is marked in the list, in the second after", async () => {
  const visitor = await Visitor.enter(browser, "web_operator");
  await visitor.open("queues", "Queues", "web.letters");
  sql("SELECT hipq.pause('web.letters', reason => 'a test')");
  await visitor.row("web.letters").getByText("paused").waitFor();
  sql("SELECT hipq.resume('web.letters')");
  await visitor.row("web.letters").getByText("paused").waitFor({ state: "detached" });
  await visitor.leave();
});

test("the list of queues is filtered and sorted", async () => {
  const visitor = await Visitor.enter(browser, "web_operator");
  await visitor.open("queues", "Queues", "web.letters");
  const names = () => visitor.page.locator("main tbody td.is-main a").allTextContents();
  assert.deepEqual(await names(), ["web.letters", "web.mail", "web.parcels"]);
  await visitor.page.getByRole("columnheader", { name: "Queue" }).getByRole("button").click();
  assert.deepEqual(await names(), ["web.parcels", "web.mail", "web.letters"]);
  await visitor.page.getByLabel("Filter queues").fill("PARC");
  assert.deepEqual(await names(), ["web.parcels"]);
  await visitor.page.getByText("1 queue", { exact: true }).waitFor();
  await visitor.leave();
});

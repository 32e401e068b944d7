import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openBrowser, sql, Visitor } from "./support.js";

let browser;
before(async () => void (browser = await openBrowser()));
after(() => browser.close());

test("the overview shows jobs as they are done, by itself", async () => {
  const visitor = await Visitor.enter(browser, "web_operator");
  const chart = visitor.page.getByRole("img", { name: /^Throughput/ });
  await visitor.page.locator(".live").getByText("Live").waitFor();
  sql(
    `INSERT INTO hipq.web_mail (job_type, job_data) SELECT 'welcome', jsonb_build_object('to', 'live' || n) FROM generate_series(1, 20) AS n`,
  );
  await visitor.page.waitForFunction(() =>
    /succeeded (?!0,|–)/.test(document.querySelector('svg[aria-label^="Throughput"]').getAttribute("aria-label")),
  );
  assert.match(
    await chart.getAttribute("aria-label"),
    /^Throughput, jobs a second: succeeded [\d.]+, retried [\d.]+, failed [\d.]+$/,
  );
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

// Takes the pictures of the manual from the running demo: node pictures.js FOLDER. HIPQ_WEB_URL is
// the demo's URL.

import { openBrowser, Visitor } from "./support.js";

const [folder] = process.argv.slice(2);
const seconds = Number(process.env.HIPQ_PICTURES_AFTER ?? 150); // the time that the charts take to fill
const size = { width: 1280, height: 800 };

const browser = await openBrowser();

async function enter(options) {
  const visitor = await Visitor.come(browser, options);
  await visitor.signIn("operator", "operator");
  await visitor.heading("Overview");
  return visitor;
}

async function save(visitor, name) {
  await visitor.page.mouse.move(0, 0);
  await visitor.page.evaluate(() => document.activeElement?.blur());
  await visitor.page.screenshot({ path: `${folder}/web-${name}.png` });
  console.log(`web-${name}.png`);
}

// A job with more than one attempt, found by a search as a user would.
async function openFailedJob(visitor) {
  await visitor.open("jobs", "Jobs");
  await visitor.page.getByRole("search").getByLabel("Queue", { exact: true }).fill("shop.mail");
  await visitor.page.getByRole("search").getByLabel("Outcome").selectOption("failed");
  await visitor.button("Search").click();
  await visitor.page.locator("main tbody .error-text").first().waitFor();
  await save(visitor, "jobs");
  const link = visitor.page.locator("main tbody td.is-main a").nth(3);
  const id = await link.textContent();
  await link.click();
  await visitor.heading(`Job ${id}`);
  await visitor.sees("Attempts");
}

// A graph of which some jobs have ended.
async function openGraph(visitor) {
  await visitor.open("graphs", "Graphs");
  const row = visitor.page.locator("main tbody tr", { hasText: "running" }).filter({ hasText: "waiting" }).first();
  const link = row.locator("td.is-main a");
  const id = await link.textContent();
  await link.click();
  await visitor.heading(`Graph ${id}`);
  await visitor.page.locator(".graph-box").first().waitFor();
}

const [light, dark, narrow] = await Promise.all([
  enter({ ...size }),
  enter({ ...size, scheme: "dark" }),
  enter({ width: 360, height: 720 }),
]);
await light.page.waitForTimeout(seconds * 1000);
await save(light, "overview");
await save(dark, "overview-dark");
await save(narrow, "narrow");
await openFailedJob(light);
await save(light, "job");
await openGraph(light);
await save(light, "graph");
await dark.open("dead_letters", "Dead letters", "One by one");
await dark.page.locator("main tbody .error-text").first().waitFor();
await save(dark, "dead-letters");
await dark.open("queues/shop.thumbnails", "shop.thumbnails", "Limits");
await save(dark, "queue");
for (const visitor of [light, dark, narrow]) await visitor.leave();
await browser.close();

// Measures for bench/web how long pages take to paint, in a new browser that is signed in: until
// the browser first paints part of the page (first contentful paint), and until the page shows the
// server's figures.
//
//   HIPQ_WEB_URL=http://127.0.0.1:8484/ RUNS=5 node paint.js ROLE PASSWORD

import { openBrowser, url, Visitor } from "./support.js";

const [role, password] = process.argv.slice(2);
const runs = Number(process.env.RUNS ?? 5);

const row = (page) => page.locator("main tbody tr");
const pages = [
  ["overview", (page) => page.locator(".tile", { hasText: /^Backlog\s*\d/ })],
  ["queues", row],
  ["job_types", row],
  ["jobs", row],
];

const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];

/** The times since the request of the page, ms. */
async function paint(browser, state, name, figures) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, storageState: state });
  const page = await context.newPage();
  await page.goto(`${url}#/${name}`, { waitUntil: "commit" });
  await figures(page).first().waitFor();
  const times = await page.evaluate(() => ({
    figures: performance.now(),
    first: performance.getEntriesByName("first-contentful-paint")[0].startTime,
  }));
  await context.close();
  return times;
}

const browser = await openBrowser();
try {
  const visitor = await Visitor.come(browser);
  await visitor.signIn(role, password);
  await visitor.heading("Overview");
  const state = await visitor.context.storageState();
  console.log(`${"page".padEnd(20)} first paint, ms      with its figures, ms`);
  for (const [name, figures] of pages) {
    const times = [];
    for (let run = 0; run < runs; run++) times.push(await paint(browser, state, name, figures));
    const tell = (of) => `${Math.round(median(times.map(of)))} (at most ${Math.round(Math.max(...times.map(of)))})`.padEnd(20);
    console.log(`${name.padEnd(20)} ${tell((time) => time.first)} ${tell((time) => time.figures)}`);
  }
} finally {
  await browser.close();
}

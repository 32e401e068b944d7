import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openBrowser, outcomeOf, sql, Visitor } from "./support.js";

let browser;
before(async () => {
  browser = await openBrowser();
});
after(() => browser.close());

// Enqueues a graph of jobs of web.letters, and returns its number.
const enqueueGraph = (jobs) => {
  sql(`SELECT hipq.enqueue_graph('${JSON.stringify(jobs)}', queue => 'web.letters')`);
  return sql(`SELECT max(graph_id) FROM hipq.graph_jobs WHERE name = '${jobs[0].name}'`);
};
const job = (name, after = [], rest = {}) => ({
  name,
  job_type: "hold",
  ...(after.length > 0 ? { after } : { scheduled_run_time: "2100-01-01 00:00:00+00" }),
  ...rest,
});
const idOf = (graph, name) => sql(`SELECT job_id FROM hipq.graph_jobs WHERE graph_id = ${graph} AND name = '${name}'`);
const box = (visitor, name) => visitor.page.locator(`.graph-box[data-name="${name}"]`);
const focused = (visitor) => visitor.page.evaluate(() => document.activeElement.dataset.name);

test("a graph is drawn, and its picture follows the jobs", async () => {
  const graph = enqueueGraph([job("start"), job("left", ["start"]), job("right", ["start"]), job("end", ["left", "right"])]);
  const visitor = await Visitor.enter(browser, "web_operator");
  await visitor.open("graphs", "Graphs");
  await visitor.row("start, left, right, end").getByText("4 waiting").waitFor();
  await visitor.page.getByRole("link", { name: graph, exact: true }).click();
  await visitor.heading(`Graph ${graph}`);
  await box(visitor, "end").getByText("waiting").waitFor();
  assert.equal(await visitor.page.locator(".graph-arrow").count(), 4);
  assert.equal(await box(visitor, "end").innerText(), "end\nwaiting\n, after left, right");
  await box(visitor, "left").focus();
  sql(`SELECT hipq.cancel(${idOf(graph, "start")})`);
  await box(visitor, "start").getByText("cancelled").waitFor();
  await box(visitor, "end").getByText("failed").waitFor();
  assert.equal(await focused(visitor), "left", "a change leaves the focus where it is");
  await visitor.row("did not start because").first().waitFor();
  await visitor.page.getByRole("button", { name: "cancelled 1" }).click();
  assert.deepEqual(await visitor.page.locator("main tbody td.is-main a").allTextContents(), ["start"]);
  assert.deepEqual(visitor.errors, []);
  await visitor.leave();
});

test("keys go along the arrows, and Enter opens the job, which leads back", async () => {
  const graph = enqueueGraph([job("one"), job("two", ["one"]), job("three", ["one"]), job("four", ["two"])]);
  const visitor = await Visitor.enter(browser, "web_operator");
  const { keyboard } = visitor.page;
  await visitor.open(`graphs/${graph}`, `Graph ${graph}`, "waiting");
  await box(visitor, "one").focus();
  const way = [];
  for (const key of ["ArrowRight", "ArrowDown", "ArrowUp", "ArrowRight", "ArrowRight", "ArrowLeft", "ArrowLeft"]) {
    await keyboard.press(key);
    way.push(await focused(visitor));
  }
  assert.deepEqual(way, ["two", "three", "two", "four", "four", "two", "one"]);
  await keyboard.press("Tab");
  assert.equal(await focused(visitor), "two");
  await keyboard.press("Enter");
  const id = idOf(graph, "two");
  await visitor.heading(`Job ${id}`);
  await visitor.page.getByRole("link", { name: `${graph}, as two` }).click();
  await visitor.heading(`Graph ${graph}`);
  sql(`SELECT hipq.cancel_graph(${graph})`);
  await visitor.leave();
});

test("on a narrow screen a chain goes down", async () => {
  const graph = enqueueGraph([job("first"), job("second", ["first"]), job("third", ["second"])]);
  const visitor = await Visitor.enter(browser, "web_operator", { width: 360 });
  await visitor.open(`graphs/${graph}`, `Graph ${graph}`, "waiting");
  const [first, third] = await Promise.all(["first", "third"].map((name) => box(visitor, name).boundingBox()));
  assert.equal(first.x, third.x);
  assert.ok(third.y > first.y + 2 * first.height);
  await box(visitor, "first").focus();
  await visitor.page.keyboard.press("ArrowDown");
  assert.equal(await focused(visitor), "second");
  sql(`SELECT hipq.cancel_graph(${graph})`);
  await visitor.leave();
});

test("a graph of many jobs is shown by layers", async () => {
  const many = Array.from({ length: 150 }, (_, number) => `part ${number}`);
  const graph = enqueueGraph([job("begin"), ...many.map((name) => job(name, ["begin"])), job("sum up", many)]);
  const visitor = await Visitor.enter(browser, "web_operator");
  await visitor.open(`graphs/${graph}`, `Graph ${graph}`, "152 jobs in 3 layers are too many for a picture");
  const layers = visitor.page.getByRole("table", { name: "Layers of the graph" });
  assert.match(await layers.locator("tbody tr").nth(1).innerText(), /^2\s+hold\s+150\s+150\s/);
  const rows = visitor.page.getByRole("table", { name: "Jobs of the graph" }).locator("tbody tr");
  assert.equal(await rows.count(), 100);
  await visitor.button("Show more").click();
  assert.equal(await rows.count(), 152);
  await visitor.page.getByLabel("Filter jobs").fill("sum up");
  assert.equal(await rows.count(), 1);
  assert.match(await rows.innerText(), /part 3 and 146 more/);
  assert.deepEqual(await visitor.violations(), []);
  sql(`SELECT hipq.cancel_graph(${graph})`);
  await visitor.leave();
});

test("batches are listed with the job after each", async () => {
  const batch = sql("SELECT hipq.create_batch('parcels of today', callback_type => 'hold', queue => 'web.letters')");
  sql(`SELECT hipq.enqueue_many('hold', ARRAY['{}', '{}']::jsonb[], queue => 'web.letters', batch => ${batch},
    scheduled_run_time => '2100-01-01 00:00:00+00')`);
  const callback = sql(`SELECT callback_id FROM hipq.batches_detail WHERE batch_id = ${batch}`);
  const visitor = await Visitor.enter(browser, "web_operator");
  await visitor.open("graphs", "Graphs", "parcels of today");
  const row = visitor.row("parcels of today");
  await row.getByText("2 unfinished").waitFor();
  await row.getByText("open", { exact: true }).waitFor();
  sql(`SELECT hipq.cancel_batch(${batch})`);
  await row.getByText("2 failed").waitFor();
  await row.getByRole("link", { name: callback, exact: true }).click();
  await visitor.heading(`Job ${callback}`);
  assert.deepEqual(visitor.errors, []);
  await visitor.leave();
});

test("a graph that is not there is said in place", async () => {
  const visitor = await Visitor.enter(browser, "web_operator");
  await visitor.open("graphs/900000000000000000", "Graph 900000000000000000");
  await visitor.page.getByRole("alert").getByText("there is no graph 900000000000000000 that your role may read").waitFor();
  await visitor.open("graphs/first", "No such graph");
  await visitor.leave();
});

test("boxes do not overlap, and arrows are as many as pairs of jobs", async () => {
  const visitor = await Visitor.enter(browser, "web_operator");
  const found = await visitor.page.evaluate(async () => {
    const { layout, nodesOf } = await import("/js/charts/layers.js");
    const jobs = Array.from({ length: 40 }, (_, n) => ({
      name: `job ${n}`,
      after: n === 0 ? ["7"] : [...new Set([n >> 1, (n * 7) % n, n - 1 - (n % 3)])].filter((m) => m >= 0 && m < n).map((m) => `job ${m}`),
    }));
    const problems = [];
    for (const room of [300, 4000]) {
      const nodes = nodesOf(jobs);
      const { places, paths, width, height } = layout(nodes, room, 172, 54);
      if (paths.length !== nodes.reduce((sum, node) => sum + node.before.length, 0)) problems.push("paths");
      for (const { before, layer } of nodes) if (before.some((earlier) => earlier.layer >= layer)) problems.push("layers");
      for (const one of places) {
        if (one.x < 0 || one.y < 0 || one.x + one.width > width + 0.1 || one.y + one.height > height + 0.1) problems.push("outside");
        for (const other of places)
          if (one !== other && Math.abs(one.x - other.x) < one.width && Math.abs(one.y - other.y) < one.height) problems.push("overlap");
      }
    }
    return problems;
  });
  assert.deepEqual(found, []);
  await visitor.leave();
});

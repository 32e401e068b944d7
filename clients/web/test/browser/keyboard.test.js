import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openBrowser, sql, Visitor } from "./support.js";

let browser, visitor, keys;
before(async () => {
  browser = await openBrowser();
  visitor = await Visitor.enter(browser, "web_operator");
  keys = visitor.page.keyboard;
});
after(() => browser.close());

const focused = () =>
  visitor.page.evaluate(() => document.activeElement.textContent || document.activeElement.getAttribute("aria-label"));

test("g and a letter opens each page", async () => {
  const letters = {
    q: "Queues",
    t: "Job types",
    j: "Jobs",
    r: "Graphs",
    d: "Dead letters",
    p: "Pauses",
    s: "Schedules",
    e: "Executors",
    w: "Workers",
    a: "Alerts",
    c: "Settings",
    o: "Overview",
  };
  for (const [letter, name] of Object.entries(letters)) {
    await keys.press("g");
    await keys.press(letter);
    await visitor.heading(name);
  }
});

test("j and k go through a list, x selects, Enter opens", async () => {
  await visitor.open("jobs", "Jobs", "welcome");
  const ids = await visitor.page.locator("main tbody td.is-main a").allTextContents();
  await keys.press("j");
  await keys.press("j");
  assert.equal(await focused(), ids[1]);
  await keys.press("x");
  await visitor.page.getByText("1 selected").waitFor();
  await keys.press("k");
  assert.equal(await focused(), ids[0]);
  await keys.press("Enter");
  await visitor.heading(`Job ${ids[0]}`);
});

test("/ goes to the field that searches, Escape leaves it", async () => {
  await visitor.open("queues", "Queues", "web.mail");
  await keys.press("/");
  await keys.type("parcels");
  await visitor.row("web.mail").waitFor({ state: "detached" });
  await keys.press("Escape");
  assert.equal(await visitor.page.evaluate(() => document.activeElement.tagName), "BODY");
});

test("? tells the keys", async () => {
  await keys.press("?");
  await visitor.page.locator("dialog[open]").getByRole("heading", { name: "Keys" }).waitFor();
  assert.deepEqual(await visitor.violations(), []);
  await keys.press("Escape");
  await visitor.page.locator("dialog[open]").waitFor({ state: "detached" });
});

test("Control and K goes to a job by its id and to a queue by a part of its name", async () => {
  const id = sql("SELECT id FROM hipq.jobs WHERE job_key = 'ann'");
  await keys.press("Control+k");
  await keys.type(id);
  await keys.press("Enter");
  await visitor.heading(`Job ${id}`);
  await keys.press("Control+k");
  await keys.type("parc");
  await visitor.page.getByRole("option", { name: "web.parcels" }).waitFor();
  assert.deepEqual(await visitor.violations(), []);
  await keys.press("Enter");
  await visitor.heading("web.parcels");
});

test("who is faster than the page keeps the focus", async () => {
  let answer;
  const isAnswered = new Promise((resolve) => (answer = resolve));
  await visitor.page.route("**/api/pauses", async (route) => {
    await isAnswered;
    await route.continue();
  });
  try {
    const response = visitor.page.waitForResponse("**/api/pauses");
    await visitor.open("pauses", "Pauses");
    await visitor.button("Pause…").focus();
    answer();
    await visitor.digests(response);
    assert.equal(await focused(), "Pause…");
  } finally {
    answer();
    await visitor.page.unroute("**/api/pauses");
  }
});

test("a dialog keeps the focus, and gives it back", async () => {
  await visitor.open("pauses", "Pauses");
  await visitor.button("Pause…").focus();
  await keys.press("Enter");
  await visitor.page.locator("dialog[open]").waitFor();
  assert.deepEqual(await visitor.violations(), []);
  for (let n = 0; n < 9; n++) await keys.press("Tab");
  assert.ok(
    await visitor.page.evaluate(
      () => document.activeElement === document.body || document.querySelector("dialog").contains(document.activeElement),
    ),
  );
  await keys.press("Escape");
  assert.equal(await focused(), "Pause…");
});

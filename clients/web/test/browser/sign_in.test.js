import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openBrowser, serviceUrl, sql, Visitor } from "./support.js";

let browser;
before(async () => void (browser = await openBrowser()));
after(() => browser.close());

test("a wrong password is refused, the right one opens the overview", async () => {
  const visitor = await Visitor.come(browser);
  await visitor.signIn("web_developer", "wrong");
  await visitor.page.getByRole("alert").getByText("the role or the password is wrong").waitFor();
  await visitor.signIn("web_developer", "developer");
  await visitor.heading("Overview");
  assert.equal(await visitor.page.locator(".who").textContent(), "Signed in as web_developer");
  await visitor.leave();
});

test("no address holds the password, and no script can read the cookie", async () => {
  const visitor = await Visitor.enter(browser, "web_operator");
  assert.doesNotMatch(visitor.address(), /operator|password/);
  assert.equal(await visitor.page.evaluate(() => document.cookie), "");
  const [cookie] = await visitor.context.cookies();
  assert.deepEqual([cookie.httpOnly, cookie.sameSite], [true, "Strict"]);
  await visitor.leave();
});

test("the session outlives a reload, and ends with signing out", async () => {
  const visitor = await Visitor.enter(browser, "web_operator");
  await visitor.page.reload();
  await visitor.heading("Overview");
  await visitor.button("Sign out").click();
  await visitor.page.getByLabel("Password").waitFor();
  await visitor.page.reload();
  await visitor.page.getByLabel("Password").waitFor();
  await visitor.leave();
});

test("a page whose session has ended elsewhere goes to sign-in", async () => {
  const visitor = await Visitor.enter(browser, "web_operator");
  await visitor.context.clearCookies();
  await visitor.page.evaluate(() => void (location.hash = "#/workers"));
  await visitor.page.getByText("The session is over. Sign in again.").waitFor();
  await visitor.leave();
});

test("a page whose connection to the server was ended goes to sign-in, and one can go on there", async () => {
  const visitor = await Visitor.enter(browser, "web_monitor");
  await visitor.open("queues", "Queues", "web.mail");
  assert.equal(
    sql(
      "SELECT bool_and(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'hipq-web' AND usename = 'web_monitor'",
    ),
    "t",
  );
  await visitor.page.evaluate(() => void (location.hash = "#/pauses"));
  await visitor.page.getByText("The session is over. Sign in again.").waitFor();
  await visitor.signIn("web_monitor", "monitor");
  await visitor.heading("Pauses");
  await visitor.leave();
});

// A visitor whose stream has ended, and whose page has asked whether the session is over. It is;
// the page has learned this from another request, and shows the sign-in form. tell() delivers the
// late answer.
async function loseSession() {
  const visitor = await Visitor.come(browser);
  let end, answer;
  const isEnded = new Promise((resolve) => (end = resolve));
  const isAnswered = new Promise((resolve) => (answer = resolve));
  const bye = { contentType: "text/event-stream", body: 'event: bye\ndata: {"reason": "over"}\n\n' };
  await visitor.page.route("**/api/events", (route) => isEnded.then(() => route.fulfill(bye)), { times: 1 });
  await visitor.signIn("web_operator", "operator");
  await visitor.heading("Overview");
  await visitor.page.route("**/api/session", async (route) => route.fulfill({ response: await isAnswered }), { times: 1 });
  const asked = visitor.page.waitForRequest("**/api/session");
  end();
  await asked;
  await visitor.context.clearCookies();
  await visitor.page.evaluate(() => void (location.hash = "#/pauses"));
  await visitor.page.getByText("The session is over. Sign in again.").waitFor();
  const isOver = await visitor.context.request.get(new URL("api/session", visitor.page.url()).href);
  const tell = async () => {
    const response = visitor.page.waitForResponse("**/api/session");
    answer(isOver);
    await visitor.digests(response);
  };
  return { visitor, tell };
}

test("who is signing in keeps what he has typed when the end of the session before is told late", async () => {
  const { visitor, tell } = await loseSession();
  await visitor.page.getByLabel("Role").fill("web_operator");
  await tell();
  assert.equal(await visitor.page.getByLabel("Role").inputValue(), "web_operator");
  await visitor.leave();
});

test("who has signed in again stays so when the end of the session before is told late", async () => {
  const { visitor, tell } = await loseSession();
  await visitor.signIn("web_operator", "operator");
  await visitor.heading("Pauses");
  await tell();
  await visitor.open("jobs", "Jobs", "welcome"); // requested by POST
  await visitor.leave();
});

test("the colours follow the system until somebody chooses, and the browser remembers that", async () => {
  const visitor = await Visitor.enter(browser, "web_operator", { scheme: "dark" });
  const ground = () => visitor.page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  const dark = "rgb(13, 15, 19)";
  const light = "rgb(247, 247, 249)";
  assert.equal(await ground(), dark);
  await visitor.button("Light").click();
  assert.equal(await ground(), light);
  await visitor.page.reload();
  await visitor.heading("Overview");
  assert.equal(await ground(), light);
  await visitor.button("As the system").click();
  assert.equal(await ground(), dark);
  await visitor.page.emulateMedia({ colorScheme: "light" });
  assert.equal(await ground(), light);
  await visitor.button("Dark").click();
  assert.equal(await ground(), dark);
  await visitor.leave();
});

test("the service role needs no password and changes nothing", { skip: !serviceUrl }, async () => {
  const visitor = await Visitor.come(browser, { to: serviceUrl });
  await visitor.heading("Overview");
  await visitor.page.getByText("read only").waitFor();
  const id = sql("SELECT id FROM hipq.jobs WHERE job_key = 'tomorrow'");
  await visitor.open(`jobs/${id}`, `Job ${id}`, "What it waits for");
  assert.equal(await visitor.button("Cancel…").count(), 0);
  await visitor.open("pauses", "Pauses");
  assert.equal(await visitor.button("Pause…").count(), 0);
  await visitor.leave();
});

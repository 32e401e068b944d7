// A visitor of the page in a real browser, and its database.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export const url = process.env.HIPQ_WEB_URL;
export const serviceUrl = process.env.HIPQ_WEB_SERVICE_URL;

/** Runs SQL as superuser and returns psql's output: rows, with | between columns. */
export const sql = (text) =>
  execFileSync("psql", ["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", text], { encoding: "utf8" }).trim();

/** Enqueues a job and returns its id. */
export const enqueue = (queue, type, data = {}, rest = "") =>
  sql(`SELECT hipq.enqueue('${type}', '${JSON.stringify(data)}', queue => '${queue}'${rest})`);

export const outcomeOf = (id) => sql(`SELECT outcome FROM hipq.wait_for(${id}, '30 s')`);

// As root and in most containers the browser has no sandbox. It opens only our own pages.
export const openBrowser = () =>
  chromium.launch({
    executablePath: process.env.HIPQ_BROWSER ?? "/usr/bin/chromium",
    args: ["--disable-dev-shm-usage", "--no-sandbox"],
  });

const patience = 20_000;

// A toast is visible for some seconds, which may pass on a busy machine before a test looks: the
// page reports each one.
function reportToasts() {
  new MutationObserver((changes) => {
    for (const node of changes.flatMap(({ addedNodes }) => [...addedNodes]))
      if (node.classList?.contains("toast")) window.reportToast(node.textContent);
  }).observe(document, { childList: true, subtree: true });
}

/** A visitor in a separate browser, with cookies, colour scheme and width; errors of its pages. */
export class Visitor {
  errors = [];
  toasts = []; // toasts that no test has waited for yet
  whenToast = () => {};

  static async come(browser, { scheme = "light", width = 1280, height = 900, to = url } = {}) {
    const visitor = new Visitor();
    visitor.context = await browser.newContext({ viewport: { width, height }, colorScheme: scheme, reducedMotion: "reduce" });
    await visitor.context.exposeFunction("reportToast", (text) => {
      visitor.toasts.push(text);
      visitor.whenToast();
    });
    await visitor.context.addInitScript(reportToasts);
    visitor.page = await visitor.context.newPage();
    visitor.page.setDefaultTimeout(patience);
    visitor.page.on("pageerror", (error) => visitor.errors.push(error.stack));
    visitor.page.on("console", (message) => message.type() === "error" && visitor.errors.push(message.text()));
    await visitor.page.goto(to);
    return visitor;
  }

  static async enter(browser, role, options) {
    const visitor = await Visitor.come(browser, options);
    await visitor.signIn(role, role.replace("web_", ""));
    await visitor.heading("Overview");
    return visitor;
  }

  async signIn(role, password) {
    await this.page.getByLabel("Role").fill(role);
    await this.page.getByLabel("Password").fill(password);
    await this.page.getByRole("button", { name: "Sign in" }).click();
  }

  heading(name) {
    return this.page.getByRole("heading", { level: 1, name, exact: true }).waitFor();
  }

  /** Opens a page by its URL, and waits for its headline and for an element on it. */
  async open(route, name, content = null) {
    await this.page.evaluate((hash) => void (location.hash = hash), `#/${route}`);
    await this.heading(name);
    if (content) await this.sees(content);
  }

  /** Waits until the page shows a text. */
  sees(text) {
    return this.page.locator("main").getByText(text).filter({ visible: true }).first().waitFor();
  }

  row(text) {
    return this.page.locator("main tbody tr", { hasText: text });
  }

  /** Selects the row of a job. */
  select(id) {
    return this.page.getByRole("checkbox", { name: `Select ${id}`, exact: true }).check();
  }

  button(name) {
    return this.page.getByRole("button", { name, exact: true });
  }

  /** Waits until the page has drawn what it knows. */
  async #draws() {
    await this.page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done))));
  }

  /** Waits until the page has received and processed an answer of the server. */
  async digests(response) {
    await (await response).finished();
    await this.#draws();
  }

  /** Gives the window another width, in pixels. */
  async resize(width) {
    await this.page.setViewportSize({ width, height: 900 });
    await this.#draws();
  }

  /** Answers the open dialog. */
  async confirm(name) {
    await this.page.locator("dialog[open]").getByRole("button", { name, exact: true }).click();
  }

  /** Waits until the page has shown a toast that contains a text or matches a pattern. */
  async toast(wanted) {
    const isWanted = (text) => (wanted instanceof RegExp ? wanted.test(text) : text.includes(wanted));
    let hasWaited = false;
    const limit = setTimeout(() => {
      hasWaited = true;
      this.whenToast();
    }, patience);
    while (!hasWaited && !this.toasts.some(isWanted)) await new Promise((resolve) => void (this.whenToast = resolve));
    clearTimeout(limit);
    assert(this.toasts.some(isWanted), `no toast ${wanted}, but: ${JSON.stringify(this.toasts)}`);
    this.toasts = this.toasts.slice(this.toasts.findIndex(isWanted) + 1);
  }

  // The page's policy allows no scripts.
  async #loadAxe() {
    if (await this.page.evaluate(() => "axe" in window)) return;
    const session = await this.context.newCDPSession(this.page);
    await session.send("Runtime.evaluate", { expression: axe });
    await session.detach();
  }

  /** The violations of accessibility rules that axe finds: of these rules, or of all. */
  async violations(rules) {
    await this.#loadAxe();
    const runOnly = rules && { type: "rule", values: rules };
    const { violations } = await this.page.evaluate(
      (options) => window.axe.run({ resultTypes: ["violations"], ...options }),
      runOnly ? { runOnly } : {},
    );
    return violations.map(
      ({ id, nodes }) =>
        `${id}: ${nodes
          .slice(0, 3)
          .map(({ html, failureSummary }) => `${html.slice(0, 160)} ${failureSummary}`)
          .join("\n")}`,
    );
  }

  /** The number of pixels by which the page is wider than the window. */
  overflow() {
    return this.page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  }

  /** The URL and the history of the browser. */
  address() {
    return this.page.url();
  }

  /** Signs out, so that the server keeps no session, and closes the browser. */
  async leave() {
    if ((await this.button("Sign out").count()) > 0)
      await this.page.evaluate(() => import("/js/session.js").then(({ signOut }) => signOut()));
    await this.context.close();
  }
}

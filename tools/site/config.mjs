// How VitePress makes the site from the files that gather.mjs puts into pages/.
import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const pages = fileURLToPath(new URL("../pages", import.meta.url));

// ---- Markdown as on a forge

// The anchor of a heading.
const slugify = (heading) => heading.trim().toLowerCase().replace(/[^\p{L}\p{N}_\- ]/gu, "").replace(/ /g, "-");

// The target of a link that is written for the checkout: README.md and a folder become index.md
// here.
function target(link, page) {
  const [, path, anchor] = link.match(/^([^#]*)(.*)$/);
  const there = join(pages, dirname(page), path);
  const isFolder = path !== "" && existsSync(there) && statSync(there).isDirectory();
  return (isFolder ? join(path, "index.md") : path.replace(/README\.md$/, "index.md")) + anchor;
}

function follow(link, page) {
  const href = link.attrGet("href");
  if (/^(\w+:|#)/.test(href)) return;
  link.attrSet("href", target(href, page));
  // Any other file is opened unchanged.
  if (!/\.md(#|$)/.test(link.attrGet("href"))) link.attrSet("target", "_self");
}

function markdown(md) {
  md.core.ruler.push("links_of_a_checkout", ({ tokens, env }) => {
    const inline = tokens.flatMap((token) => token.children ?? []);
    for (const link of inline.filter((token) => token.type === "link_open")) follow(link, env.relativePath);
  });
  // HTML is shown as text, except comments, which are left out. Vue's expressions are shown as
  // text, in code too.
  const asText = (tokens, index) => md.utils.escapeHtml(tokens[index].content.replace(/<!--.*?-->/gs, ""));
  Object.assign(md.renderer.rules, { html_inline: asText, html_block: asText });
  const render = md.render.bind(md);
  md.render = (...page) => render(...page).replaceAll("{{", "&#123;&#123;");
}

// ---- the list of pages: the pages of docs/README.md, by section

const title = (path) => readFileSync(join(pages, path), "utf8").match(/^# (.*)$/m)?.[1].replace(/`/g, "") ?? path;

// The pages to which a text links.
function linked(text, page) {
  const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => target(link.replace(/#.*/, ""), page));
  const paths = links.filter((link) => link.endsWith(".md")).map((link) => join(dirname(page), link));
  return [...new Set(paths)].filter((path) => path !== page && existsSync(join(pages, path)));
}

const entry = (path) => ({ text: title(path), link: `/${path.replace(/(index)?\.md$/, "")}` });

// The page of a folder includes the pages of its subfolder.
function item(path) {
  if (!path.endsWith("/index.md")) return entry(path);
  const inside = linked(readFileSync(join(pages, path), "utf8"), path).filter((other) => other.startsWith(`${dirname(path)}/`));
  return { ...entry(path), collapsed: true, items: inside.map(entry) };
}

function sidebar(page) {
  const sections = readFileSync(join(pages, page), "utf8").split(/^## /m).slice(1);
  return sections.map((section) => ({ text: section.match(/.*/)[0], items: linked(section, page).map(item) }));
}

// ---- the search

const indexed = (text) =>
  text.split(/[^\p{L}\p{N}_]+/u).flatMap((word) => (word.includes("_") ? [word, ...word.split("_")] : word));

// The search finds names such as retry_jobs both whole and by their words. These functions go into
// the page as text, so none uses another.
const search = {
  options: { tokenize: indexed },
  searchOptions: {
    tokenize: (text) => text.replace(/\bhipq\./g, "").split(/[^\p{L}\p{N}_]+/u),
    prefix: (word) => word.length > 2,
    fuzzy: (word) => word.length > 3 && 0.2,
  },
};

export default {
  title: "hipq",
  description: "A job queue inside PostgreSQL",
  srcDir: "pages",
  // check_links.mjs checks all links of the site, with anchors.
  ignoreDeadLinks: true,
  // Pictures are in public/, with their original paths.
  vue: { template: { transformAssetUrls: { tags: {} } } },
  markdown: { anchor: { slugify }, attrs: { disable: true }, emoji: { enabled: [] }, config: markdown },
  themeConfig: {
    nav: [
      { text: "Manual", link: "/docs/" },
      { text: "Reference", link: "/docs/reference/" },
      { text: "Changes", link: "/CHANGELOG" },
    ],
    sidebar: sidebar("docs/index.md"),
    search: { provider: "local", options: { miniSearch: search } },
  },
};

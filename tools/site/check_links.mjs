// Follows each link and picture of a site, with its anchor, and prints the broken ones: node
// check_links.mjs FOLDER
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

const [folder] = process.argv.slice(2);
const read = (path) => readFileSync(join(folder, path), "utf8");
const found = (html, pattern) => [...html.matchAll(pattern)].map(([, value]) => value);

const pages = readdirSync(folder, { recursive: true }).filter((path) => path.endsWith(".html")).sort();
const anchors = new Map(pages.map((page) => [page, new Set(found(read(page), / id="([^"]*)"/g))]));

function isDead(link, page) {
  const { pathname, hash, host } = new URL(link, `http://site/${page}`);
  if (host !== "site") return false;
  const path = decodeURIComponent(pathname).slice(1).replace(/(^|\/)$/, "$1index.html");
  return !existsSync(join(folder, path)) || (hash !== "" && !anchors.get(path)?.has(decodeURIComponent(hash.slice(1))));
}

let failed = false;
for (const page of pages) {
  for (const link of new Set(found(read(page), / (?:href|src)="([^"]*)"/g))) {
    if (!isDead(link, page)) continue;
    console.error(`${page}: ${link} leads nowhere`);
    failed = true;
  }
}
process.exit(failed ? 1 : 0);

// Copies the pages of the site out of a checkout: README.md, all of docs/, and everything to which
// they link. For a folder without a README it makes a page of the file names, as a forge does. Each
// file keeps its path, so that links work; only README.md becomes index.md.
//
//   node gather.mjs CHECKOUT FOLDER
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

const [checkout, folder] = process.argv.slice(2);
const gathered = new Set();

function write(path, text) {
  const target = join(folder, path.replace(/README\.md$/, "index.md"));
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, text);
}

function gatherPage(path) {
  const text = readFileSync(join(checkout, path), "utf8");
  write(path, text);
  for (const [, link] of text.matchAll(/\]\(([^)\s#]+)/g)) {
    if (!/^\w+:/.test(link)) gather(join(dirname(path), link));
  }
}

function gatherFolder(path) {
  const names = readdirSync(join(checkout, path));
  if (names.includes("README.md")) return gather(join(path, "README.md"));
  write(join(path, "README.md"), `# ${path}\n\n${names.map((name) => `- [${name}](${name})\n`).join("")}`);
  for (const name of names) gather(join(path, name));
}

// The link check reports missing files.
function gather(link) {
  const path = normalize(link).replace(/\/$/, "");
  if (gathered.has(path) || path.startsWith("..") || !existsSync(join(checkout, path))) return;
  gathered.add(path);
  if (statSync(join(checkout, path)).isDirectory()) gatherFolder(path);
  else if (path.endsWith(".md")) gatherPage(path);
  else cpSync(join(checkout, path), join(folder, "public", path), { recursive: true });
}

gather("README.md");
for (const path of readdirSync(join(checkout, "docs"), { recursive: true })) {
  if (path.endsWith(".md")) gather(join("docs", path));
}

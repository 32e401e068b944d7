// Searches a site as its pages do, and prints the target of each hit, best first: node find.mjs
// FOLDER WORDS
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import MiniSearch from "minisearch";
import config from "./.vitepress/config.mjs";

const [folder, words] = process.argv.slice(2);
const chunks = join(folder, "assets/chunks");
const index = readdirSync(chunks).find((name) => name.startsWith("@localSearchIndex"));
const { options, searchOptions } = config.themeConfig.search.options.miniSearch;
const boost = { title: 4, text: 2, titles: 1 };
// Imports the text: by its path Node.js 18 does not treat the file as a module.
const module = await import(`data:text/javascript;base64,${readFileSync(join(chunks, index), "base64")}`);
const search = MiniSearch.loadJSON(module.default, {
  fields: Object.keys(boost),
  ...options,
  searchOptions: { boost, ...searchOptions },
});
for (const { id } of search.search(words)) console.log(id);

// JSON as text with colours. The server's text is coloured, and never parsed and written again,
// because that would change numbers of more than 53 bits.

import { h } from "../dom.js";

const token = /("(?:[^"\\]|\\.)*")(\s*:)?|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|\b(?:true|false|null)\b/g;

function kindOf([whole, string, colon]) {
  if (colon) return "key";
  if (string) return string === '"***"' ? "secret" : "string";
  return /^[tfn]/.test(whole) ? "word" : "number";
}

/** label: what it is, for screen readers. */
export function json(text, label) {
  const parts = [];
  let end = 0;
  for (const match of text.matchAll(token)) {
    const shown = match[2] ? match[1] : match[0];
    parts.push(text.slice(end, match.index), h("span", { class: `json-${kindOf(match)}` }, shown));
    end = match.index + shown.length;
  }
  return h("pre", { class: "code", tabindex: "0", role: "region", "aria-label": label }, parts, text.slice(end));
}

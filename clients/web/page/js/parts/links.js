// URLs of pages, and links to queues and jobs. A URL contains only names and ids.

import { h } from "../dom.js";

/** The URL of a page: link("queues", "app.mail") is #/queues/app.mail. */
export const link = (...parts) => `#/${parts.map(encodeURIComponent).join("/")}`;

export const queueLink = (name) => (name ? h("a", { href: link("queues", name) }, name) : "–");

export const jobLink = (id, text = id) => (id ? h("a", { href: link("jobs", id), class: "id" }, text) : "–");

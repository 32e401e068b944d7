// The list of settings, with their values and meanings.

import { get } from "../api.js";
import { h } from "../dom.js";
import { badge } from "../parts/badge.js";
import { pageHead, panel } from "../parts/facts.js";
import { filterField } from "../parts/search.js";
import { Table } from "../parts/table.js";

// pg_settings shows some values in units of the setting: for example 30 with the unit 8kB.
const valueOf = ({ setting, unit }) => (unit && setting !== "" ? `${setting} ${unit}` : setting === "" ? "(empty)" : setting);

const changes = {
  postmaster: "restart",
  sighup: "reload",
  superuser: "superuser",
  user: "session",
  backend: "new session",
  "superuser-backend": "new session",
};

const makeTable = () =>
  new Table({
    label: "Settings",
    key: ({ name }) => name,
    sort: { column: 0, isDescending: false },
    empty: "There is no such setting",
    columns: [
      {
        title: "Setting",
        kind: "main",
        order: ({ name }) => name,
        value: ({ name }) => name,
        cell: (name) => h("code", {}, name),
      },
      {
        title: "Value",
        value: (row) => [valueOf(row), row.source],
        cell: ([value, source]) => [h("code", {}, value), " ", source === "default" ? null : badge("set", "active")],
      },
      { title: "What it does", kind: "wide", value: ({ description }) => description },
      { title: "From", order: ({ source }) => source, value: ({ source }) => source },
      { title: "To change", order: ({ context }) => context, value: ({ context }) => changes[context] ?? context },
    ],
  });

export async function show(view) {
  const table = makeTable();
  const { settings } = await get("settings");
  const draw = (text) =>
    table.update(settings.filter(({ name, description }) => `${name} ${description}`.toLowerCase().includes(text)));
  view.fill(
    pageHead("Settings", { words: "Of the server, as they are in force here.", actions: filterField("Filter settings", draw) }),
    panel("Settings", { kind: "bare" }, table.element),
  );
  draw("");
}

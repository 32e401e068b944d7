// The dead letters: jobs that failed for good. By group, to redrive or dismiss many; and one by
// one.

import { get, post } from "../api.js";
import { h } from "../dom.js";
import { ago, firstLine, number } from "../format.js";
import { onGroup, onLetters } from "../parts/actions.js";
import { badge } from "../parts/badge.js";
import { field, valuesOf } from "../parts/dialog.js";
import { button, pageHead, panel } from "../parts/facts.js";
import { jobLink, queueLink } from "../parts/links.js";
import { errorBox } from "../parts/notice.js";
import { SelectionBar, Table } from "../parts/table.js";
import { mayAct } from "../session.js";

const pageSize = 50;
const states = ["waiting", "handled", "redriven", "dismissed"];

function groupActions(group, load) {
  if (Number(group.depth) === 0) return null;
  const act = (verb) => async () => (await onGroup(verb, { ...group, depth: Number(group.depth) })) !== null && load();
  const name = `${group.job_type} of ${group.queue}, ${group.reason}`;
  return [
    button("Redrive…", act("redrive"), { kind: "small", "aria-label": `Redrive ${name}` }),
    button("Dismiss…", act("dismiss"), { kind: "small", "aria-label": `Dismiss ${name}` }),
  ];
}

const makeGroups = (load, choose) =>
  new Table({
    label: "Dead letters by type and reason",
    key: ({ queue, job_type: type, reason }) => `${queue}/${type}/${reason}`,
    sort: { column: 3, isDescending: true },
    empty: "There is no dead letter",
    emptyWords: "No job has failed for good, or somebody has purged them.",
    columns: [
      {
        title: "Job type",
        kind: "main",
        order: ({ job_type: type }) => type,
        value: ({ queue, job_type, reason }) => ({ queue, job_type, reason }),
        cell: (group) =>
          h(
            "a",
            {
              href: "#/dead_letters",
              onclick: (event) => {
                event.preventDefault();
                choose(group);
              },
            },
            group.job_type,
          ),
      },
      { title: "Queue", order: ({ queue }) => queue, value: ({ queue }) => queue, cell: queueLink },
      { title: "Reason", order: ({ reason }) => reason, value: ({ reason }) => reason },
      { title: "Waiting", kind: "number", order: ({ depth }) => Number(depth), value: ({ depth }) => number(depth) },
      {
        title: "Kept",
        kind: "number",
        order: ({ dead_letters: count }) => Number(count),
        value: ({ dead_letters: count }) => number(count),
      },
      { title: "Last", order: ({ last_died_time: time }) => time, value: ({ last_died_time: time }) => time, cell: ago },
      ...(mayAct() ? [{ title: "", kind: "action", value: (group) => group, cell: (group) => groupActions(group, load) }] : []),
    ],
  });

const makeLetters = (whenSelected) =>
  new Table({
    label: "Dead letters",
    key: ({ job_id: id }) => id,
    empty: "No dead letter is like that",
    onSelect: mayAct() ? whenSelected : null,
    columns: [
      { title: "Job", kind: "main", value: ({ job_id: id }) => id, cell: (id) => jobLink(id) },
      { title: "State", value: ({ state }) => state, cell: (state) => badge(state, state === "waiting" ? "bad" : undefined) },
      { title: "Type", value: ({ job_type: type }) => type },
      { title: "Queue", value: ({ queue }) => queue, cell: queueLink },
      { title: "Reason", value: ({ reason }) => reason },
      { title: "Attempts", kind: "number", value: ({ attempts }) => number(attempts) },
      { title: "Died", value: ({ died_time: time }) => time, cell: ago },
      {
        title: "Error",
        kind: "fill",
        value: ({ error }) => error,
        cell: (error) => (error ? h("span", { class: "error-text", title: error }, firstLine(error)) : "–"),
      },
    ],
  });

function filterForm(whenChanged) {
  const form = h(
    "form",
    {
      class: "search is-inline",
      "aria-label": "Filter dead letters",
      onsubmit: (event) => event.preventDefault(),
      onchange: () => whenChanged(valuesOf(form)),
    },
    h(
      "div",
      { class: "search-fields" },
      field({ name: "queue", label: "Queue", placeholder: "any", "data-search": true }),
      field({ name: "job_type", label: "Type", placeholder: "any" }),
      field({ name: "reason", label: "Reason", placeholder: "any" }),
      field({ name: "since", label: "Died since", kind: "datetime-local" }),
      field({
        name: "state",
        label: "State",
        value: "waiting",
        choices: [["", "any"], ...states.map((state) => [state, state])],
      }),
    ),
  );
  return form;
}

// The dead letters found so far, and where to continue.
class Letters {
  #wanted = { state: "waiting" };
  #found = [];
  #next = null;
  #turn = 0;
  #bar = new SelectionBar(
    button("Redrive…", () => this.#act("redrive"), { icon: "retry" }),
    button("Dismiss…", () => this.#act("dismiss"), { kind: "danger" }),
  );
  #table = makeLetters((selected) => this.#bar.show(selected.length));
  #said = h("div", { "aria-live": "polite" });
  #older = button("Show older", () => this.#load());
  #form = filterForm((values) => this.begin(values));

  constructor(whenDone) {
    this.whenDone = whenDone;
    this.element = panel(
      "One by one",
      { kind: "flush" },
      this.#form,
      this.#said,
      this.#table.element,
      h("div", { class: "more-row" }, this.#older),
      this.#bar.element,
    );
  }

  choose({ queue, job_type: type, reason }) {
    for (const [name, value] of Object.entries({ queue, job_type: type, reason, state: "waiting" }))
      this.#form.elements[name].value = value ?? "";
    this.element.scrollIntoView({ block: "start" });
    return this.begin(valuesOf(this.#form));
  }

  begin(wanted = this.#wanted) {
    this.#wanted = wanted;
    this.#found = [];
    this.#next = null;
    return this.#load();
  }

  async #load() {
    const mine = ++this.#turn;
    try {
      const { since } = this.#wanted;
      const answer = await post("dead-letters/search", {
        ...this.#wanted,
        since: since ? new Date(since).toISOString() : null,
        limit: pageSize,
        after: this.#next,
      });
      if (mine !== this.#turn) return;
      this.#found = [...this.#found, ...answer.dead_letters];
      this.#next = answer.next;
      this.#said.replaceChildren();
      this.#table.update(this.#found);
      this.#older.hidden = !this.#next;
    } catch (error) {
      if (mine === this.#turn) this.#said.replaceChildren(errorBox(error));
    }
  }

  async #act(verb) {
    if (
      await onLetters(
        verb,
        this.#table.selected().map(({ job_id: id }) => id),
      )
    )
      await this.whenDone();
  }
}

export async function show(view) {
  const loadGroups = async () => groups.update((await get("dead-letters/groups")).groups);
  const loadAll = () => Promise.all([loadGroups(), letters.begin()]);
  const letters = new Letters(loadAll);
  const groups = makeGroups(loadAll, (group) => letters.choose(group));
  view.fill(
    pageHead("Dead letters", {
      words: "Jobs that failed for good. Redrive runs them again; dismiss says that nothing is to be done.",
    }),
    panel("By type and reason", { kind: "flush" }, groups.element),
    letters.element,
  );
  await Promise.all([view.every(10_000, loadGroups), letters.begin()]);
}

// Tables that change in place: rows are kept by key, and a cell is only rebuilt when its value
// changes. So a table that is redrawn each second neither flickers nor loses the focus. On narrow
// screens rows become cards (css/tables.css).

import { h, hiddenText, newId } from "../dom.js";
import { emptyBox } from "./notice.js";

/**
 * Columns: { title, value(row), cell?(value, row), order?(row), kind?: "number" | "main" | "wide" | "fill" | "key" | "action" }.
 * The cell depends on value; cell makes a text or an element from it; a column with order can be sorted.
 */
export class Table {
  #columns;
  #key;
  #rows = new Map();
  #data = [];
  #sort;
  #body;
  #heads = [];
  #selected;
  #onSelect;
  #table;
  #nothing;
  #all;

  constructor({ label, columns, key, sort = null, empty = "Nothing here", emptyWords = null, onSelect = null }) {
    this.#columns = columns;
    this.#key = key;
    this.#sort = sort;
    this.#selected = onSelect ? new Set() : null;
    this.#onSelect = onSelect;
    this.#body = h("tbody", { role: "rowgroup" });
    this.#table = h(
      "table",
      { role: "table", "aria-label": label },
      h("thead", { role: "rowgroup" }, this.#headRow()),
      this.#body,
    );
    this.#nothing = emptyBox(empty, emptyWords);
    this.#nothing.hidden = true;
    this.element = h("div", { class: "table" }, this.#table, this.#nothing);
    this.#showSort();
  }

  #headRow() {
    this.#heads = this.#columns.map((column, index) => this.#head(column, index));
    return h("tr", { role: "row" }, this.#selected ? this.#headOfSelection() : null, this.#heads);
  }

  #head(column, index) {
    const attributes = { role: "columnheader", scope: "col", class: column.kind ? `is-${column.kind}` : null };
    if (!column.title) return h("td", { role: "cell", class: attributes.class });
    if (!column.order) return h("th", attributes, column.title);
    return h("th", attributes, h("button", { type: "button", class: "sort", onclick: () => this.#sortBy(index) }, column.title));
  }

  #headOfSelection() {
    this.#all = h("input", {
      type: "checkbox",
      "aria-label": "Select all rows",
      onchange: () => this.#selectAll(this.#all.checked),
    });
    return h("td", { role: "cell", class: "is-check" }, this.#all);
  }

  #sortBy(index) {
    const isSame = this.#sort?.column === index;
    this.#sort = { column: index, isDescending: isSame ? !this.#sort.isDescending : this.#columns[index].kind === "number" };
    this.#showSort();
    this.update(this.#data);
  }

  #showSort() {
    this.#heads.forEach((head, index) => {
      if (index !== this.#sort?.column) head.removeAttribute("aria-sort");
      else head.setAttribute("aria-sort", this.#sort.isDescending ? "descending" : "ascending");
    });
  }

  #sorted(data) {
    if (!this.#sort) return data;
    const { order } = this.#columns[this.#sort.column];
    const direction = this.#sort.isDescending ? -1 : 1;
    const compare = (a, b) => {
      const [left, right] = [order(a), order(b)];
      if (left === right) return 0;
      if (left === null || left === undefined) return 1;
      if (right === null || right === undefined) return -1;
      return (left < right ? -1 : 1) * direction;
    };
    return [...data].sort(compare);
  }

  /** Shows these rows, in this order or in that of the selected column. */
  update(data) {
    this.#data = data;
    const wanted = this.#sorted(data);
    const keys = new Set();
    let place = this.#body.firstChild;
    for (const item of wanted) {
      const key = String(this.#key(item));
      keys.add(key);
      const row = this.#rows.get(key) ?? this.#newRow(key);
      this.#fillRow(row, item);
      if (row.element === place) place = place.nextSibling;
      else this.#body.insertBefore(row.element, place);
    }
    this.#removeAllBut(keys);
    this.#nothing.hidden = data.length > 0;
    this.#table.hidden = data.length === 0;
    this.#showSelection();
  }

  #newRow(key) {
    const cells = this.#columns.map((column) =>
      h("td", { role: "cell", "data-title": column.title || null, class: column.kind ? `is-${column.kind}` : null }),
    );
    const row = { cells, signs: [], box: null };
    if (this.#selected) row.box = h("input", { type: "checkbox", onchange: () => this.#select(key, row.box.checked) });
    row.element = h("tr", { role: "row" }, row.box ? h("td", { role: "cell", class: "is-check" }, row.box) : null, cells);
    this.#rows.set(key, row);
    if (row.box) row.box.setAttribute("aria-label", `Select ${key}`);
    return row;
  }

  #fillRow(row, item) {
    this.#columns.forEach((column, index) => {
      const value = column.value(item);
      const sign = typeof value === "object" ? JSON.stringify(value) : value;
      if (index in row.signs && row.signs[index] === sign) return;
      row.signs[index] = sign;
      const content = column.cell ? column.cell(value, item) : (value ?? "");
      row.cells[index].replaceChildren(...[content].flat().filter((part) => part !== null && part !== undefined));
      row.cells[index].classList.toggle("is-none", row.cells[index].textContent === "–");
    });
  }

  #removeAllBut(keys) {
    for (const [key, row] of this.#rows) {
      if (keys.has(key)) continue;
      row.element.remove();
      this.#rows.delete(key);
      this.#selected?.delete(key);
    }
  }

  #select(key, isSelected) {
    if (isSelected) this.#selected.add(key);
    else this.#selected.delete(key);
    this.#showSelection();
  }

  #selectAll(isSelected) {
    this.#selected = new Set(isSelected ? this.#rows.keys() : []);
    this.#showSelection();
  }

  #showSelection() {
    if (!this.#selected) return;
    for (const [key, row] of this.#rows) {
      row.box.checked = this.#selected.has(key);
      row.element.classList.toggle("is-selected", row.box.checked);
    }
    this.#all.checked = this.#selected.size > 0 && this.#selected.size === this.#rows.size;
    this.#all.indeterminate = this.#selected.size > 0 && this.#selected.size < this.#rows.size;
    this.#onSelect(this.selected());
  }

  /** The selected rows. */
  selected() {
    return this.#data.filter((item) => this.#selected.has(String(this.#key(item))));
  }

  clearSelection() {
    this.#selectAll(false);
  }
}

/** A bar below a table with the actions on selected rows; hidden without a selection. */
export class SelectionBar {
  #count = h("span", { class: "selection-count", "aria-live": "polite" });

  constructor(...actions) {
    this.element = h("div", { class: "selection", id: newId("selection"), hidden: true }, this.#count, actions);
  }

  show(count) {
    this.element.hidden = count === 0;
    this.#count.replaceChildren(String(count), " selected", hiddenText(" rows"));
  }
}

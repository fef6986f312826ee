// A table in sync with a list: sorted by any column, updated in place, shown as cards on a phone.

import { h, keyed, setText } from "./dom.js";

/**
 * `columns`: [{name, value(item), sort(item), num, wide, make(item), update(cell, item)}]. `value`
 * returns the text of a cell. Other content comes from `make` once, and from `update` on every
 * change. `sort` returns a number or text, and makes the column sortable. `num` aligns right,
 * `wide` takes a whole line on a phone.
 */
export class Table {
  constructor({ columns, key, empty, caption, sort = null, descending = false, row = null }) {
    this.columns = columns;
    this.key = key;
    this.sorted = sort;
    this.descending = descending;
    this.decorate = row; // (tr, item) => updates the row's attributes
    this.items = [];
    this.body = h("tbody");
    this.heads = columns.map((column) => this.head(column));
    this.nothing = h("p", { class: "empty", hidden: true }, empty);
    this.table = h(
      "table",
      {},
      h("caption", { class: "visually-hidden" }, caption),
      h("thead", {}, h("tr", {}, this.heads)),
      this.body,
    );
    this.element = h(
      "div",
      { class: "table cards", tabindex: "0", role: "group", "aria-label": caption },
      this.table,
      this.nothing,
    );
    this.updateOrder();
  }

  head(column) {
    const name = column.sort
      ? h("button", { type: "button", onclick: () => this.sortBy(column) }, column.name)
      : column.name || h("span", { class: "visually-hidden" }, "Actions");
    return h("th", { scope: "col", class: column.num ? "num" : null }, name);
  }

  sortBy(column) {
    this.descending = this.sorted === column.name ? !this.descending : Boolean(column.num);
    this.sorted = column.name;
    this.updateOrder();
    this.show(this.items);
  }

  updateOrder() {
    this.columns.forEach((column, i) => {
      if (column.sort)
        this.heads[i].setAttribute(
          "aria-sort",
          column.name !== this.sorted ? "none" : this.descending ? "descending" : "ascending",
        );
    });
  }

  show(items) {
    this.items = items;
    const column = this.columns.find(({ name }) => name === this.sorted);
    const order = column?.sort
      ? [...items].sort(
          (a, b) => compare(column.sort(a), column.sort(b)) * (this.descending ? -1 : 1),
        )
      : items;
    keyed(
      this.body,
      order,
      this.key,
      (item) => this.make(item),
      (row, item) => this.update(row, item),
    );
    this.table.hidden = !items.length;
    this.nothing.hidden = items.length > 0;
  }

  /** Update the cells without moving the rows, for numbers that tick. */
  refresh() {
    for (const item of this.items) {
      const row = this.body.keyed?.get(this.key(item));
      if (row) this.update(row, item);
    }
  }

  make(item) {
    return h(
      "tr",
      {},
      this.columns.map((column) =>
        h(
          "td",
          {
            class: [column.num ? "num" : "", column.wide ? "wide" : ""].join(" ").trim() || null,
            "data-label": column.name || null,
          },
          column.make?.(item),
        ),
      ),
    );
  }

  update(row, item) {
    this.columns.forEach((column, i) => {
      const cell = row.cells[i];
      if (column.update) column.update(cell, item);
      else if (!column.make) setText(cell, column.value(item));
    });
    this.decorate?.(row, item);
  }
}

const inOrder = new Intl.Collator("en", { numeric: true }).compare; // creating a collator is slow

function compare(a, b) {
  if (a === b) return 0;
  if (a === null) return 1;
  if (b === null) return -1;
  return typeof a === "string" ? inOrder(a, b) : a - b;
}

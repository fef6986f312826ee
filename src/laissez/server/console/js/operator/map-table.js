// The map as a table: what is right below the node that is shown. It says the same as the colours, and is the way through the tree without them.

import { h } from "../dom.js";
import { count, dollars } from "../format.js";
import { href } from "../router.js";
import { Table } from "../table.js";

const EVERY_MS = 2000;

const rate = (name, key) => ({
  name,
  num: true,
  value: (row) => (row[key] === null ? "–" : dollars(row[key])),
  sort: (row) => row[key],
});
const number = (name, key) => ({
  name,
  num: true,
  value: (row) => count(row[key]),
  sort: (row) => row[key],
});

const COLUMNS = [
  {
    name: "Node",
    make: ({ node }) => h("a", { href: href("map", node.path) }, node.name),
    update: () => {},
    sort: ({ node }) => node.name,
  },
  number("Leaves", "leaves"),
  number("Leased", "leased"),
  number("Idle", "idle"),
  number("Offline", "offline"),
  rate("Lowest", "low"),
  rate("Median", "middle"),
  rate("Highest", "high"),
];

/** Gives {element, show(node), close()}. Figures are made only while somebody looks. */
export function childrenTable(levels) {
  const caption = "What is below, in figures; rates in dollars per hour";
  const table = new Table({
    columns: COLUMNS,
    key: ({ node }) => node.path,
    empty: "There is nothing below.",
    caption,
  });
  const element = h(
    "details",
    { class: "as-table", ontoggle: () => update() },
    h("summary", {}, "As a table"),
    table.element,
  );
  let shown = null;

  function update() {
    if (element.open && shown)
      table.show(shown.children.map((node) => ({ node, ...levels.figures(node) })));
  }

  const timer = setInterval(update, EVERY_MS);
  return {
    element,
    show(node) {
      shown = node;
      update();
    },
    close: () => clearInterval(timer),
  };
}

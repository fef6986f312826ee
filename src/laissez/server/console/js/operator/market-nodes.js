// The roots of the topology and what is right below them: what a leaf costs there and how much is let.

import { Problem, all, at, get } from "../api.js";
import { h, say } from "../dom.js";
import { cost, count, micros, percent, perHour, plural } from "../format.js";
import { poll } from "../poll.js";
import { href } from "../router.js";
import { Table } from "../table.js";
import { card, sayShare, shareCell } from "./parts.js";

const EVERY_MS = 10_000;
const NODES_MOST = 60; // each is a question of its own

export class MarketNodes {
  constructor() {
    const caption = "Roots and what is right below them";
    this.table = new Table({
      columns: COLUMNS,
      key: ({ node }) => node,
      caption,
      empty: "There are no nodes yet.",
    });
    this.more = h("p", { class: "small soft" });
    this.element = card(h("h2", {}, "By place"), this.more, this.table.element);
    this.poll = poll(() => this.ask(), EVERY_MS);
  }

  async ask() {
    this.wanted ??= await nodes();
    const books = [];
    for (const node of this.wanted.slice(0, NODES_MOST)) books.push(await book(node));
    this.table.show(books.filter(Boolean));
    const left = this.wanted.length - NODES_MOST;
    say(this.more, left > 0 ? `${plural(left, "more node")}: see the map` : "");
  }

  close() {
    this.poll.stop();
  }
}

/** Every root, each followed by those right below it. */
async function nodes() {
  return (await all("/v1/topology")).flatMap(({ path, children }) => [path, ...children]);
}

/** A node that went away is left out. */
async function book(node) {
  try {
    return await get(at("/v1/books", node));
  } catch (problem) {
    if (problem instanceof Problem && problem.status === 404) return null;
    throw problem;
  }
}

const link = ({ node }) =>
  h("a", { class: node.includes("/") ? "below" : "root", href: href("map", node) }, node);
const leasedShare = ({ leased, online }) => (online ? leased / online : 0);
const sayLeased = (cell, book) =>
  sayShare(cell, leasedShare(book), `${percent(leasedShare(book))} of ${count(book.online)}`);
const price = (name, field) => ({
  name,
  num: true,
  sort: (book) => micros(book[field]),
  value: (book) => perHour(book[field]),
});

const COLUMNS = [
  { name: "Node", sort: ({ node }) => node, make: link },
  { name: "Leased", num: true, sort: leasedShare, make: () => shareCell("of"), update: sayLeased },
  {
    name: "Offline",
    num: true,
    sort: ({ leaves, online }) => leaves - online,
    value: ({ leaves, online }) => count(leaves - online),
  },
  price("Floor in force", "floor_in_force"),
  price("Standing rate", "standing_rate"),
  {
    ...price("Wins a leaf now", "quote"),
    value: ({ quote }) => (quote === null ? "nothing does" : perHour(quote)),
  },
  { name: "Open orders", num: true, sort: ordersAt, value: (book) => count(ordersAt(book)) },
  {
    name: "Charges now",
    num: true,
    sort: ({ rate_now }) => micros(rate_now),
    value: ({ rate_now }) => `${cost(rate_now)}/h`,
  },
];

/** Those that rest here or further below. */
function ordersAt({ orders_here, orders_below }) {
  return orders_here + orders_below;
}

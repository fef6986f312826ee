// Quotes of this tenant's pricing domain, with a short history that is kept in the page.

import { all } from "../api.js";
import { micros } from "../format.js";
import { poll } from "../poll.js";
import { rate } from "./figures.js";

const EVERY_MS = 5000;
const KEPT = 60;

export class PriceBook {
  /** `changed()` is called after each answer. */
  constructor(changed) {
    this.quotes = new Map(); // scope -> micro-dollars, or null if nothing is to be had
    this.histories = new Map();
    this.known = false;
    this.poll = poll(async () => {
      const found = await all("/v1/prices");
      this.quotes = new Map(found.map(({ scope, price }) => [scope, micros(price)]));
      this.known = true;
      this.remember();
      changed();
    }, EVERY_MS);
  }

  remember() {
    for (const scope of this.histories.keys())
      if (!this.quotes.has(scope)) this.histories.delete(scope);
    for (const [scope, price] of this.quotes) {
      const history = this.histories.get(scope) ?? [];
      if (price !== null) history.push(price);
      if (history.length > KEPT) history.shift();
      this.histories.set(scope, history);
    }
  }

  /** Micro-dollars; null: nothing at any price; undefined: not for us to see. */
  quote(scope) {
    return this.quotes.get(scope);
  }

  text(scope) {
    const quote = this.quote(scope);
    return quote === undefined ? "" : quote === null ? "nothing to be had" : rate(quote);
  }

  close() {
    this.poll.stop();
  }
}

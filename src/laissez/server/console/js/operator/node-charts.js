// Charts beside the map: a node's standing rate during the last hour, and the lease of a GPU.

import { all, at, get, serverNow } from "../api.js";
import { Chart, legend } from "../chart.js";
import { card, factList } from "../components.js";
import { fill, h, setText } from "../dom.js";
import {
  HOUR_MS,
  MICROS,
  clock,
  cost,
  dollars,
  duration,
  micros,
  moment,
  perHour,
  percent,
} from "../format.js";
import { poll } from "../timers.js";
import { limitText, ownerName } from "./levels.js";

const RATES_EVERY_MS = 5000;
const LEAST_MS = 120_000; // the shortest time axis
const LEASE_EVERY_MS = 4000;
const LIVE_MS = 500;
const FAR = 4; // a limit this many times above the charges is not drawn: they would look flat
const SEARCHED = 5000; // leases of one tenant to search

const hourAgo = () => new Date(serverNow() - HOUR_MS).toISOString();

export class RateChart {
  constructor(node) {
    const value = (rate) => dollars(Math.round(rate * MICROS), 2);
    this.chart = new Chart({
      label: `Standing rate of ${node.path}, dollars per hour`,
      height: 150,
      value,
    });
    const keys = [
      { name: "Standing rate", class: "s1" },
      { name: "Floor in force now", class: "floor" },
    ];
    this.element = card({ title: "Last hour" }, this.chart.element, legend(keys));
    this.price = null;
    this.polling = poll(
      async () => this.show(await get(at("/v1/rates", node.path), { since: hourAgo() })),
      RATES_EVERY_MS,
    );
    this.now = this.polling.now;
  }

  close() {
    this.polling.stop();
  }

  show({ until, segments }) {
    const begun = Math.max(
      0,
      segments.findIndex(({ rate }) => rate !== "0"),
    ); // skip the time before the first price
    this.points = segments
      .slice(begun)
      .map(({ start, rate }) => [Date.parse(start), micros(rate) / MICROS]);
    this.until = Date.parse(until);
    this.draw();
  }

  floor(price) {
    this.price = micros(price) / MICROS;
    this.draw();
  }

  draw() {
    if (!this.points?.length) return;
    const from = Math.min(this.points[0][0], this.until - LEAST_MS);
    const rate = {
      name: "Standing rate",
      class: "s1",
      step: true,
      area: true,
      points: this.points,
    };
    const floor = {
      name: "Floor",
      class: "floor",
      points:
        this.price === null
          ? []
          : [
              [from, this.price],
              [this.until, this.price],
            ],
    };
    this.chart.draw({ series: [rate, floor], from, until: this.until });
  }
}

export class LeaseCard {
  constructor(node, levels) {
    this.node = node;
    this.levels = levels;
    const names = ["Owner", "Rate", "Limit", "Headroom", "Held for", "Cost so far"];
    this.values = Object.fromEntries(names.map((name) => [name, h("dd", {}, "–")]));
    const value = (rate) => dollars(Math.round(rate * MICROS), 2);
    this.chart = new Chart({
      label: `Charges of the lease of ${node.path}, dollars per hour`,
      height: 130,
      value,
    });
    this.keys = h("div", {});
    this.history = h("div", { class: "lease-history" }, this.chart.element, this.keys);
    const facts = factList(Object.entries(this.values));
    this.element = card({ title: "Lease" }, facts, this.history);
    this.lease = null;
    this.timer = setInterval(() => this.live(), LIVE_MS);
    this.polling = poll(() => this.ask(), LEASE_EVERY_MS);
    this.live();
  }

  close() {
    clearInterval(this.timer);
    this.polling.stop();
  }

  /** Show what the map knows already. */
  live() {
    const { levels, values } = this;
    const i = this.node.first;
    const isLeased = levels.owner[i] >= 0;
    if (levels.owner[i] !== this.owner) {
      this.owner = levels.owner[i];
      this.lease = null;
      this.polling?.now();
    }
    setText(values.Owner, ownerName(levels, i));
    setText(values.Rate, perHour(levels.rate[i]));
    setText(values.Limit, isLeased ? limitText(levels, i) : "–");
    setText(
      values.Headroom,
      !isLeased ? "–" : Number.isNaN(levels.limit[i]) ? "no limit" : percent(levels.headroom(i)),
    );
    this.history.hidden = !this.lease;
    if (!this.lease) for (const name of ["Held for", "Cost so far"]) setText(values[name], "–");
    else this.since();
  }

  since() {
    const begun = Date.parse(this.lease.started_at);
    setText(this.values["Held for"], duration(serverNow() - begun));
    this.values["Held for"].title = `since ${moment(begun)}, ${clock(begun)}`;
    setText(this.values["Cost so far"], cost(this.lease.cost));
    this.values["Cost so far"].title = `$${this.lease.cost}`;
  }

  /**
   * Fetch the lease. The API has no lookup by GPU: search the owner's leases once, then fetch by
   * ID.
   */
  async ask() {
    const { levels, node } = this;
    if (levels.owner[node.first] < 0) return;
    const tenant = ownerName(levels, node.first);
    const found = this.lease ? await this.known(this.lease.id) : await this.search(tenant);
    this.lease =
      found?.tenant === ownerName(levels, node.first) || found?.tenant === null ? found : null;
    if (this.lease) this.draw(await get(at("/v1/leases", `${this.lease.id}/prices`)));
    this.live();
  }

  async search(tenant) {
    const leases = await all("/v1/leases", { tenant }, SEARCHED);
    return leases.find(({ leaf }) => leaf === this.node.path);
  }

  /** Fetch a lease by ID; null if it is no longer kept. */
  async known(id) {
    try {
      return await get(at("/v1/leases", id));
    } catch (problem) {
      if (problem.status !== 404) throw problem;
      return null;
    }
  }

  draw({ segments }) {
    if (!segments.length) return;
    const points = segments.map(({ start, rate }) => [
      Date.parse(start),
      rate === null ? null : micros(rate) / MICROS,
    ]);
    const [from, until] = [points[0][0], Date.parse(segments.at(-1).end)];
    const series = [{ name: "Charged", class: "s1", step: true, area: true, points }];
    const limit = (micros(this.lease.limit) ?? Infinity) / MICROS;
    const highest = points.reduce((most, [, rate]) => Math.max(most, rate ?? 0), 0);
    if (limit <= FAR * highest)
      series.push({
        name: "Limit",
        class: "limit",
        points: [
          [from, limit],
          [until, limit],
        ],
      });
    this.chart.draw({ series, from, until });
    fill(this.keys, legend(series));
  }
}

// The standing rate of a node during the last hour.

import { at, get, serverNow } from "../api.js";
import { Chart, legend } from "../chart.js";
import { h } from "../dom.js";
import { MICROS, dollars, micros } from "../format.js";
import { poll } from "../poll.js";

const EVERY_MS = 5000;
const HOUR_MS = 3_600_000;
const LEAST_MS = 120_000; // a shorter history is stretched to this

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
    this.element = h(
      "section",
      { class: "card" },
      h("header", {}, h("h2", {}, "Last hour")),
      this.chart.element,
      legend(keys),
    );
    this.price = null;
    this.polling = poll(
      async () => this.show(await get(at("/v1/rates", node.path), { since: hourAgo() })),
      EVERY_MS,
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
    ); // before there was any price, there was no market
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

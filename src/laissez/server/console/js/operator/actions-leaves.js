// Taking leaves offline and bringing them back: one, or all below a node.

import { at, change } from "../api.js";
import { plural } from "../format.js";
import { toast } from "../messages.js";
import { askWithPreview } from "./actions-preview.js";
import { whatHappened } from "./actions-told.js";
import { IDLE, OFFLINE } from "./map-levels.js";

export const PREVIEWED_MAX = 1000; // as many as a preview takes
const BATCH = 500;

const ACTS = {
  take_offline: { fits: (owner) => owner >= IDLE, verb: "Take", state: "offline", online: false },
  bring_online: {
    fits: (owner) => owner === OFFLINE,
    verb: "Bring",
    state: "online",
    online: true,
  },
};

/** The dialog for one of the two. */
export function switchLeaves(type) {
  const { fits, verb, state, online } = ACTS[type];
  return (node, book, levels) => {
    const leaves = levels.leaves
      .slice(node.first, node.last)
      .filter((_, i) => fits(levels.owner[node.first + i]));
    const what =
      node.height === 0 ? node.path : `${plural(leaves.length, "leaf", "leaves")} of ${node.path}`;
    return askWithPreview({
      title: `${verb} ${what} ${state}`,
      commands: () => leaves.map((leaf) => ({ type, leaf })),
      label: () =>
        `${verb} ${node.height === 0 ? node.name : plural(leaves.length, "leaf", "leaves")} ${state}`,
      leases: book?.leased ?? 0,
      async act(commands) {
        const { events, refused } =
          node.height === 0 ? await one(node, online) : await many(commands);
        const failed = refused.length
          ? `; ${plural(refused.length, "leaf was", "leaves were")} refused: ${refused[0].detail}`
          : "";
        const did = `${plural(commands.length - refused.length, "leaf", "leaves")} ${online ? "back online" : "taken offline"}`;
        toast(whatHappened(`${did}${failed}`, events), refused.length ? "bad" : "");
      },
    });
  };
}

async function one(node, online) {
  const { events } = await change("PATCH", at("/v1/resources", node.path), { online });
  return { events, refused: [] };
}

async function many(commands) {
  const results = [];
  for (let from = 0; from < commands.length; from += BATCH) {
    results.push(
      ...(await change("POST", "/v1/batch", { commands: commands.slice(from, from + BATCH) }))
        .results,
    );
  }
  return {
    events: results.flatMap(({ events }) => events ?? []),
    refused: results.filter(({ status }) => status >= 400),
  };
}

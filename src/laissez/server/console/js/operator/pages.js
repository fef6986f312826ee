// The operator's pages, in the order of the navigation.

import { events } from "../events.js";
import { webhooks } from "../webhooks.js";
import { inframaps } from "./inframaps.js";
import { map } from "./map.js";
import { market } from "./market.js";
import { tenants } from "./tenants.js";

export const pages = [map, market, tenants, inframaps, webhooks, events];

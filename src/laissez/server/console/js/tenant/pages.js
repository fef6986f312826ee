// The tenant's pages, in the order of the navigation.

import { events } from "../events.js";
import { webhooks } from "../webhooks.js";
import { bill } from "./bill.js";
import { leases } from "./leases.js";
import { orders } from "./orders.js";

export const pages = [leases, orders, bill, webhooks, events];

// Tenants: all of them in a table, or one of them with everything that is its own.

import { h } from "../dom.js";
import { TenantsList } from "./tenants-list.js";
import { TenantsOne } from "./tenants-one.js";

export const tenants = {
  path: "tenants",
  name: "Tenants",
  mount(main, context) {
    const place = h("div", { class: "stack" });
    main.append(place);
    let shown = null;
    let name = null;
    return {
      show([wanted = ""]) {
        if (wanted === name) return name;
        name = wanted;
        shown?.close();
        shown = wanted ? new TenantsOne(wanted, context) : new TenantsList(context);
        place.replaceChildren(...shown.elements);
        return name;
      },
      close() {
        shown?.close();
      },
    };
  },
};

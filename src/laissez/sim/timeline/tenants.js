// The list of tenants: the results of each, and a button that shows only its leases.
const HOURS = ["useful", "reconfiguring", "lost", "surplus"];
const tenantList = document.getElementById("tenants");
const order = document.getElementById("order");
const hoursMax = Math.max(...tenants.map(heldHours), 1e-9);

const ORDERS = {
  kind: (one, other) => kindsHere.indexOf(tenants[one].kind) - kindsHere.indexOf(tenants[other].kind),
  retention: (one, other) => tenants[one].retention - tenants[other].retention,
  cost: (one, other) => tenants[other].cost - tenants[one].cost,
  hours: (one, other) => heldHours(tenants[other]) - heldHours(tenants[one]),
};

const buttons = tenants.map((one, at) => {
  const hours = one.hours.map((value, part) => `${value.toFixed(1)} ${HOURS[part]}`).join(", ");
  const bar = element("span", { class: "bar", role: "img", "aria-label": `GPU-hours: ${hours}`, title: `GPU-hours: ${hours}` });
  one.hours.forEach((value, part) => {
    if (value > 0) bar.append(element("i", { class: HOURS[part], style: `width:${((100 * value) / hoursMax).toFixed(2)}%` }));
  });
  const taken = one.revocations ? `, ${one.revocations} taken away` : "";
  const button = element(
    "button", { "aria-pressed": "false" },
    element("span", { class: "swatch" }),
    element("span", { class: "who", title: one.name }, one.name),
    element("span", { class: "kept", title: "retention" }, percent(one.retention)),
    element("span", { class: "paid", title: "cost" }, money(one.cost)),
    element("span", { class: "more" }, element("span", {}, one.kind + taken), element("span", {}, `${heldHours(one).toFixed(1)} GPU-h`)),
    bar,
  );
  button.addEventListener("click", () => choose(state.tenant === at ? null : at));
  return button;
});

function listTenants() {
  const sorted = [...tenants.keys()].sort((one, other) => ORDERS[order.value](one, other) || one - other);
  const headings = ["", "", "retention", "cost"].map((text) => element("span", {}, text));
  const columns = element("li", { class: "columns", "aria-hidden": "true" }, ...headings);
  tenantList.replaceChildren(columns, ...sorted.map((at) => element("li", {}, buttons[at])));
}

function choose(tenant) {
  state.tenant = tenant;
  tenantList.classList.toggle("chosen", tenant !== null);
  buttons.forEach((button, at) => button.setAttribute("aria-pressed", `${at === tenant}`));
  if (tenant !== null) buttons[tenant].scrollIntoView({ block: "nearest" });
  redraw();
}

function colourTenants() {
  buttons.forEach((button, at) => { button.firstChild.style.background = palette.tenants[at]; });
}

order.addEventListener("change", listTenants);

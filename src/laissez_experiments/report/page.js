// The choices on the page: the claims in the list and the clouds in a figure; and the reader's place in the contents.
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const press = (buttons, isPressed) => buttons.forEach((button) => button.setAttribute("aria-pressed", `${isPressed(button)}`));

const filters = all("[data-show]");
for (const filter of filters) {
  filter.addEventListener("click", () => {
    press(filters, (button) => button === filter);
    for (const table of all("table.claims")) showOnly(table, filter.dataset.show);
  });
}

// A table that has nothing to show goes, and so does the name of an experiment without claims of that kind.
function showOnly(table, verdict) {
  for (const row of all("[data-verdict]", table)) row.hidden = verdict !== "all" && row.dataset.verdict !== verdict;
  for (const body of table.tBodies) body.hidden = all("[data-verdict]", body).every((row) => row.hidden);
  table.hidden = [...table.tBodies].every((body) => body.hidden);
}

for (const toggle of all("[data-toggle]")) {
  const figure = toggle.closest("figure");
  toggle.addEventListener("click", () => {
    const isShown = toggle.getAttribute("aria-pressed") !== "true";
    press([toggle], () => isShown);
    for (const part of all("[data-cloud]", figure)) if (part.dataset.cloud === toggle.dataset.toggle) part.classList.toggle("off", !isShown);
  });
}

const nav = document.querySelector("nav");
const entries = new Map(all("li", nav).map((entry) => [entry.querySelector("a").hash.slice(1), entry]));
const sections = all("main > section[id]");
let here = null;
function markHere() {
  const found = sections.findLast((section) => section.getBoundingClientRect().top < innerHeight / 3) ?? sections[0];
  if (found === here) return;
  entries.get(here?.id)?.classList.remove("here");
  here = found;
  const entry = entries.get(here.id);
  entry.classList.add("here");
  nav.scrollTo({ left: entry.offsetLeft - nav.clientWidth / 2, top: entry.offsetTop - nav.clientHeight / 2 });
}
addEventListener("scroll", markHere, { passive: true });
addEventListener("resize", markHere);
markHere();

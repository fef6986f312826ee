// The texts of the marks of a figure: shown beside the pointer, or beside a mark that was reached with the keyboard.
const NEAR = 9; // pixels: small marks need not be hit exactly
const BESIDE = [[0, 0], [3, 0], [-3, 0], [0, 3], [0, -3], [5, 5], [-5, 5], [5, -5], [-5, -5]];
const texts = JSON.parse(document.getElementById("tips").textContent);
const tip = document.getElementById("tip");
let asked = null;

// A group with one text is one mark; else each of its shapes is one, in the order of the texts.
const figures = all("figure[data-figure]").map((figure) => {
  const marks = all("[data-tip]", figure).flatMap((group) => {
    const told = texts[figure.dataset.figure]?.[group.dataset.tip] ?? [];
    const uses = all("use", group);
    const shapes = told.length === 1 ? [group] : (uses.length ? uses : all("path", group).filter((path) => !path.closest("defs")));
    const found = shapes.slice(0, told.length).map((shape, at) => ({ shape, group, text: told[at] }));
    if (found.length) listen(group, found);
    return found;
  });
  return { figure, marks, byShape: new Map(marks.map((mark) => [mark.shape, mark])) };
});

const isShown = (mark) => !mark.group.closest(".off");
// In the units of the figure, where it stays; and on the screen, where it moves.
const placed = (mark) => {
  if (!mark.at) {
    const box = mark.shape.getBBox();
    mark.at = new DOMPoint(box.x + box.width / 2, box.y + box.height / 2);
  }
  return mark.at;
};
const onScreen = (mark) => placed(mark).matrixTransform(mark.shape.ownerSVGElement.getScreenCTM());

for (const one of figures) {
  const svg = one.figure.querySelector("svg");
  svg?.addEventListener("pointermove", (event) => {
    const mark = under(one, event.clientX, event.clientY) ?? nearest(one, svg, event.clientX, event.clientY);
    if (mark) tell(mark, event.clientX, event.clientY);
    else hush();
  });
  svg?.addEventListener("pointerleave", hush);
}
addEventListener("scroll", hush, { passive: true });
addEventListener("keydown", (event) => { if (event.key === "Escape") hush(); });

function under({ figure, byShape }, x, y) {
  for (const [right, down] of BESIDE) {
    for (let part = document.elementFromPoint(x + right, y + down); part && part !== figure; part = part.parentElement) {
      if (byShape.has(part)) return byShape.get(part);
    }
  }
  return null;
}

function nearest({ marks }, svg, x, y) {
  const screen = svg.getScreenCTM();
  const pointer = new DOMPoint(x, y).matrixTransform(screen.inverse());
  let [best, least] = [null, NEAR / screen.a];
  for (const mark of marks) {
    if (mark.shape === mark.group || !isShown(mark)) continue;
    const distance = Math.hypot(placed(mark).x - pointer.x, placed(mark).y - pointer.y);
    if (distance < least) [best, least] = [mark, distance];
  }
  return best;
}

// Tab reaches a group, and the arrow keys its marks one after the other.
function listen(group, found) {
  let at = -1;
  group.setAttribute("tabindex", "0");
  group.setAttribute("role", "img");
  group.setAttribute("aria-label", found.length === 1 ? found[0].text : `${group.dataset.cloud ?? ""} ${found.length} marks; arrow keys`.trim());
  const go = (step) => {
    at = (at + step + found.length) % found.length;
    const { x, y } = onScreen(found[at]);
    tell(found[at], x, y);
  };
  group.addEventListener("focus", () => { if (group.matches(":focus-visible")) { at = -1; go(1); } });
  group.addEventListener("blur", hush);
  group.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    go(step);
  });
}

function tell(mark, x, y) {
  if (asked !== mark) {
    asked?.shape.classList.remove("asked");
    asked = mark;
    if (mark.shape !== mark.group) mark.shape.classList.add("asked");
    tip.textContent = mark.text;
    tip.hidden = false;
  }
  const { width, height } = tip.getBoundingClientRect();
  const left = Math.min(Math.max(12, x + 14), document.documentElement.clientWidth - width - 12);
  const top = y + 18 + height > innerHeight - 8 ? y - height - 12 : y + 18;
  tip.style.transform = `translate(${left}px, ${top}px)`;
}

function hush() {
  asked?.shape.classList.remove("asked");
  asked = null;
  tip.hidden = true;
}

document.documentElement.dataset.marks = figures.reduce((sum, one) => sum + one.marks.length, 0);

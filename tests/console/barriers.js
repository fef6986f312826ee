// Lists the accessibility barriers of the page, one sentence each.
() => {
  const found = [];
  const shown = (element) =>
    element.checkVisibility({ visibilityProperty: true, opacityProperty: true }) &&
    element.getClientRects().length > 0;
  const text = (id) => document.getElementById(id)?.textContent ?? "";
  const words = (element) =>
    element.textContent.trim() ||
    element.querySelector("img[alt], svg[aria-label]")?.getAttribute("alt") ||
    "";
  const given = (element) =>
    (
      element.getAttribute("aria-label") ??
      (element.getAttribute("aria-labelledby") ?? "").split(" ").map(text).join(" ")
    ).trim();
  const name = (element) =>
    given(element) ||
    [...(element.labels ?? [])].map(words).join(" ") ||
    (element.matches("input, select, textarea") ? "" : words(element));
  const about = (element) => element.outerHTML.slice(0, 120);

  const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  if (wide > 0) found.push(`${wide} px too wide`);
  for (const cell of document.querySelectorAll(".table.cards td")) {
    const beyond = cell.getBoundingClientRect().right - document.documentElement.clientWidth;
    if (getComputedStyle(cell.parentElement).display === "grid" && beyond > 0)
      found.push(`${Math.round(beyond)} px out of sight: ${about(cell)}`);
  }

  for (const element of document.querySelectorAll(
    "a, button, input, select, textarea, summary, canvas, dialog, [tabindex='0'], [role=img]",
  )) {
    if (shown(element) && !name(element)) found.push(`no name: ${about(element)}`);
  }
  for (const element of document.querySelectorAll("th"))
    if (!words(element)) found.push(`an empty heading of a column: ${about(element)}`);

  const ids = [...document.querySelectorAll("[id]")].map(({ id }) => id);
  for (const id of new Set(ids.filter((one, i) => ids.indexOf(one) !== i)))
    found.push(`the id ${id} is there twice`);
  for (const attribute of ["aria-labelledby", "aria-describedby", "aria-controls", "for"]) {
    for (const element of document.querySelectorAll(`[${attribute}]`)) {
      for (const id of element.getAttribute(attribute).split(" "))
        if (!document.getElementById(id))
          found.push(`${attribute} leads nowhere: ${about(element)}`);
    }
  }

  const landmarks = [
    ...document.querySelectorAll(
      "nav, aside, section[aria-label], section[aria-labelledby], [role=region]",
    ),
  ].filter(shown);
  const called = landmarks.map((element) => `${element.tagName} ${name(element)}`);
  for (const one of new Set(called.filter((other, i) => called.indexOf(other) !== i)))
    found.push(`two parts of the page are called ${one}`);

  let before = 0;
  for (const heading of [...document.querySelectorAll("h1, h2, h3, h4")].filter(shown)) {
    const level = Number(heading.tagName[1]);
    if (level > before + 1)
      found.push(`a heading of level ${level} after one of level ${before}: ${about(heading)}`);
    before = level;
  }

  // Text needs a contrast of 4.5 to its background; large text needs 3.
  const parts = (colour) => (colour.match(/[\d.]+/g) ?? [0, 0, 0, 0]).map(Number);
  const over = ([r, g, b, a = 1], below) =>
    [r, g, b].map((value, i) => value * a + below[i] * (1 - a));
  const light = (colour) =>
    colour
      .map((value) =>
        value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4,
      )
      .reduce((sum, value, i) => sum + value * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (element) =>
    element
      ? over(parts(getComputedStyle(element).backgroundColor), behind(element.parentElement))
      : [255, 255, 255];
  for (const element of document.querySelectorAll("body *")) {
    const says = [...element.childNodes].some(
      (node) => node.nodeType === Node.TEXT_NODE && node.textContent.trim(),
    );
    if (!says || !shown(element) || element.closest("svg, :disabled, .visually-hidden, option"))
      continue;
    const style = getComputedStyle(element);
    const ground = behind(element);
    const [least, most] = [light(over(parts(style.color), ground)), light(ground)].sort(
      (a, b) => a - b,
    );
    const size = parseFloat(style.fontSize);
    const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const contrast = (most + 0.05) / (least + 0.05);
    if (contrast < (isLarge ? 3 : 4.5))
      found.push(`contrast ${contrast.toFixed(2)}: ${about(element)}`);
  }
  return found;
};

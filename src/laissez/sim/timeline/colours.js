// Each kind of tenant has its own hue and its own band of lightness, so that kinds differ in grey and for colour-blind readers too. Tenants of
// a kind vary within it. Prices follow one ramp whose lightness only falls (on a light page) or only rises (on a dark one).
const KINDS = {
  inference: { hue: 258, chroma: 0.14, light: [0.34, 0.5], dark: [0.48, 0.6] },
  training: { hue: 70, chroma: 0.145, light: [0.74, 0.85], dark: [0.8, 0.88] },
  batch: { hue: 172, chroma: 0.1, light: [0.57, 0.67], dark: [0.66, 0.74] },
};
const OTHER_KIND = { hue: 340, chroma: 0.13, light: [0.5, 0.6], dark: [0.6, 0.7] };
const [GOLDEN, SILVER] = [0.618034, 0.414214]; // steps that spread any number of tenants evenly

const darkness = matchMedia("screen and (prefers-color-scheme: dark)");
const kindsHere = [...new Set([...Object.keys(KINDS), ...tenants.map((one) => one.kind)])].filter((kind) => tenants.some((one) => one.kind === kind));
const rankInKind = tenants.map((one, at) => tenants.slice(0, at).filter((other) => other.kind === one.kind).length);

let palette = {};

function readPalette() {
  const style = getComputedStyle(document.documentElement);
  const named = ["paper", "panel", "ink", "soft", "faint", "line", "lane", "dim", "grid", "accent", "quoted", "charged", "leased", "mark"];
  palette = Object.fromEntries(named.map((name) => [name, style.getPropertyValue("--" + name).trim()]));
  palette.isDark = darkness.matches;
  palette.tenants = tenants.map((one, at) => tenantColour(one.kind, rankInKind[at]));
  palette.texts = tenants.map((one, at) => (lightnessOf(one.kind, rankInKind[at]) > 0.54 ? "#101418" : "#ffffff"));
}

const family = (kind) => (Object.hasOwn(KINDS, kind) ? KINDS[kind] : OTHER_KIND);

function lightnessOf(kind, rank) {
  const [low, high] = family(kind)[palette.isDark ? "dark" : "light"];
  return low + ((0.25 + rank * GOLDEN) % 1) * (high - low);
}

function tenantColour(kind, rank) {
  const { hue, chroma } = family(kind);
  return oklch(lightnessOf(kind, rank), chroma, hue + (((rank * SILVER) % 1) - 0.5) * 40);
}

// From the lowest price (0) to the highest (1).
function priceColour(share) {
  const lightness = palette.isDark ? 0.36 + 0.52 * share : 0.9 - 0.56 * share;
  const hue = palette.isDark ? 300 + 140 * share : 95 - 130 * share;
  return oklch(lightness, 0.09 + 0.08 * Math.sin(Math.PI * (0.15 + 0.7 * share)), hue);
}

// Björn Ottosson's Oklab, to sRGB.
function oklch(lightness, chroma, hue) {
  const a = chroma * Math.cos((hue * Math.PI) / 180);
  const b = chroma * Math.sin((hue * Math.PI) / 180);
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const linear = [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
  const bytes = linear.map((part) => {
    const held = Math.min(1, Math.max(0, part));
    return Math.round(255 * (held <= 0.0031308 ? 12.92 * held : 1.055 * held ** (1 / 2.4) - 0.055));
  });
  return `rgb(${bytes.join(" ")})`;
}

// The lowest and highest price of the leases of each type. The highest 1 % of the time share the last colour, because a spike would hide the
// rest.
const priceRanges = new Map();
for (const { tree } of run.series) {
  const paid = leases.filter((lease) => treeOf(run.leaves[lease.leaf]) === tree).flatMap((lease) => [...pieces(lease)]);
  if (paid.length === 0) continue;
  paid.sort((one, other) => one[2] - other[2]);
  const total = paid.reduce((sum, [start, end]) => sum + end - start, 0);
  let passed = 0;
  const high = paid.find(([start, end]) => (passed += end - start) >= 0.99 * total) ?? paid.at(-1);
  priceRanges.set(tree, { low: paid[0][2], high: high[2], isCut: paid.at(-1)[2] > high[2] });
}

function priceShare(tree, price) {
  const { low, high } = priceRanges.get(tree);
  return high > low ? Math.min(1, Math.max(0, (price - low) / (high - low))) : 0.35;
}

// Colours between colours, mixed in OKLab: equal steps look equal, in light and dark, and to the colour-blind by lightness alone.

/** `#rrggbb` as [lightness, a, b]. */
function lab(hex) {
  const [r, g, b] = [1, 3, 5].map((at) => linear(parseInt(hex.slice(at, at + 2), 16) / 255));
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}

/** The other way round. */
function hex([lightness, a, b]) {
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const parts = [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
  return `#${parts
    .map((part) =>
      Math.round(255 * shown(part))
        .toString(16)
        .padStart(2, "0"),
    )
    .join("")}`;
}

function linear(part) {
  return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
}

function shown(part) {
  const within = Math.min(1, Math.max(0, part));
  return within <= 0.0031308 ? 12.92 * within : 1.055 * within ** (1 / 2.4) - 0.055;
}

export function mix(one, other, share) {
  const [from, to] = [lab(one), lab(other)];
  return hex(from.map((part, i) => part + (to[i] - part) * share));
}

/** `steps` colours from the first stop to the last, evenly. */
export function ramp(stops, steps) {
  return Array.from({ length: steps }, (_, i) => {
    const place = (i / (steps - 1)) * (stops.length - 1);
    const before = Math.min(Math.floor(place), stops.length - 2);
    return mix(stops[before], stops[before + 1], place - before);
  });
}

/** Black or white, whichever can be read on a colour. */
export function inkOn(colour) {
  return lab(colour)[0] > 0.57 ? "#101315" : "#ffffff";
}

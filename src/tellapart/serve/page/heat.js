/** The attention of a word over the photo: a soft heat map, and a line round the region with half of the attention. */

import { make } from "/elements.js";

const SIDE = 96;  // cells per side of the drawn map
const BLUR = 0.9;  // standard deviation in cells of the given grid
const REGION_SHARE = 0.5;  // of all attention
// Red, green, blue and opacity from no attention to the most: dark, clear, yellow, orange, red.
const RAMP = [[8, 10, 30, 150], [60, 50, 40, 70], [255, 214, 70, 80], [255, 140, 20, 125], [225, 30, 10, 150]];

/** An element that covers the photo: colours on a canvas, and the outline of the region. */
export function attentionOverlay(rows) {
  const field = smoothed(rows);
  const level = regionLevel(field);
  const canvas = make("canvas", { width: SIDE, height: SIDE });
  const image = canvas.getContext("2d").createImageData(SIDE, SIDE);
  const highest = Math.max(...field.flat());
  field.flat().forEach((weight, cell) => image.data.set(colour(highest ? weight / highest : 0), 4 * cell));
  canvas.getContext("2d").putImageData(image, 0, 0);
  return make("div", {}, canvas, outline(field, level));
}

/** Where most of the attention lies: "top left", "middle", … */
export function placeInWords(rows) {
  const total = rows.flat().reduce((sum, weight) => sum + weight, 0);
  const mean = (position) => rows.reduce((sum, row, y) => sum + row.reduce((some, weight, x) => some + weight * position(x, y), 0), 0) / total;
  const part = (share, first, last) => (share < 0.4 ? first : share > 0.6 ? last : "middle");
  const across = part(mean((x) => (x + 0.5) / rows[0].length), "left", "right");
  const down = part(mean((x, y) => (y + 0.5) / rows.length), "top", "bottom");
  return across === down ? "middle" : `${down} ${across}`;
}

/** The attention at each cell of the map: a weighted mean of the cells of the grid round it. */
function smoothed(rows) {
  const across = kernel(rows[0].length), down = kernel(rows.length);
  const wide = rows.map((row) => across.map((weights) => row.reduce((sum, weight, x) => sum + weight * weights[x], 0)));
  return down.map((weights) => across.map((_, x) => wide.reduce((sum, row, y) => sum + row[x] * weights[y], 0)));
}

/** For each of SIDE positions, the weights of the cells of one side of the grid. */
function kernel(cells) {
  return Array.from({ length: SIDE }, (_, place) => {
    const centre = ((place + 0.5) * cells) / SIDE - 0.5;
    const weights = Array.from({ length: cells }, (_, cell) => Math.exp(-(((cell - centre) / BLUR) ** 2) / 2));
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    return weights.map((weight) => weight / total);
  });
}

/** The weight above which the strongest cells together hold their share of the attention. */
function regionLevel(field) {
  const weights = field.flat().sort((one, other) => other - one);
  const wanted = REGION_SHARE * weights.reduce((sum, weight) => sum + weight, 0);
  let sum = 0;
  return weights.find((weight) => (sum += weight) >= wanted) ?? 0;
}

function colour(weight) {
  const place = Math.min(weight, 1) * (RAMP.length - 1), below = Math.min(Math.floor(place), RAMP.length - 2);
  return RAMP[below].map((value, part) => value + (RAMP[below + 1][part] - value) * (place - below));
}

/** The border of the region, found by marching squares; the border of the photo closes a region that touches it. */
function outline(field, level) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", `0 0 ${SIDE} ${SIDE}`);
  svg.setAttribute("preserveAspectRatio", "none");
  const lines = [];
  for (let y = 0; y < SIDE - 1; y++) {
    for (let x = 0; x < SIDE - 1; x++) {
      const points = crossings(field, level, x, y);
      for (let at = 0; at + 1 < points.length; at += 2) lines.push(`M${points[at]}L${points[at + 1]}`);
    }
  }
  for (const name of ["halo", "line"]) {
    const path = document.createElementNS(svg.namespaceURI, "path");
    path.setAttribute("d", lines.join(""));
    path.setAttribute("class", name);
    path.setAttribute("vector-effect", "non-scaling-stroke");
    svg.append(path);
  }
  return svg;
}

/** Where the border crosses the four sides of a square between neighbouring cells. */
function crossings(field, level, x, y) {
  const corners = [[x, y], [x + 1, y], [x + 1, y + 1], [x, y + 1]];
  return corners.flatMap(([x1, y1], side) => {
    const [x2, y2] = corners[(side + 1) % 4];
    const first = field[y1][x1] - level, second = field[y2][x2] - level;
    if (first >= 0 === second >= 0) return [];
    const share = first / (first - second);
    return [`${(x1 + 0.5 + share * (x2 - x1)).toFixed(2)} ${(y1 + 0.5 + share * (y2 - y1)).toFixed(2)}`];
  });
}

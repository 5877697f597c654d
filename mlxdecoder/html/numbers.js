// Numbers: from the page's levels to values, and from values to colours and words.

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const PLACES = new Uint8Array(128);
[...DIGITS].forEach((digit, place) => { PLACES[digit.charCodeAt(0)] = place; });
const TOP = 4091, EXACT = 4092;
const UNUSABLE = { 4093: NaN, 4094: Infinity, 4095: -Infinity };

// The weights of a head, row by row; two digits make a level, and what no level can hold is listed beside them.
function decode({ levels, exact }) {
  const values = new Float64Array(levels.length / 2);
  let listed = 0;
  for (let i = 0; i < values.length; i++) {
    const code = 64 * PLACES[levels.charCodeAt(2 * i)] + PLACES[levels.charCodeAt(2 * i + 1)];
    values[i] = code <= TOP ? code / TOP : code === EXACT ? exact[listed++] : UNUSABLE[code];
  }
  return values;
}

// 256 colours between stops at equal distances, as [red, green, blue].
function palette(stops) {
  const parts = stops.map((stop) => [0, 2, 4].map((at) => parseInt(stop.slice(at, at + 2), 16)));
  return Array.from({ length: 256 }, (_, i) => {
    const place = (i / 255) * (parts.length - 1);
    const below = Math.min(Math.floor(place), parts.length - 2);
    return parts[below].map((low, c) => Math.round(low + (parts[below + 1][c] - low) * (place - below)));
  });
}

// One pixel a cell; what is not finite stays transparent, so that the hatched ground shows.
function paint(canvas, values, rows, columns, { colours, low, high }) {
  canvas.width = columns;
  canvas.height = rows;
  const context = canvas.getContext("2d");
  const image = context.createImageData(columns, rows);
  values.forEach((value, i) => {
    if (!Number.isFinite(value)) return;
    const place = Math.floor(((value - low) / (high - low)) * 256);
    image.data.set([...colours[Math.min(Math.max(place, 0), 255)], 255], 4 * i);
  });
  context.putImageData(image, 0, 0);
}

// The largest of each block of `side` x `side` cells, so that thin lines stay visible; what is not finite wins.
function pool(values, rows, columns, side) {
  const height = Math.ceil(rows / side), width = Math.ceil(columns / side);
  const pooled = new Float64Array(height * width).fill(-Infinity);
  for (let t = 0; t < rows; t++) {
    for (let s = 0; s < columns; s++) {
      const at = Math.floor(t / side) * width + Math.floor(s / side), value = values[t * columns + s];
      pooled[at] = Number.isFinite(value) ? Math.max(pooled[at], value) : NaN;
    }
  }
  return { values: pooled, rows: height, columns: width };
}

const within = (number, count) => Math.min(Math.max(number, 0), count - 1);

function spell(value, signed = false) {
  if (Number.isNaN(value)) return "NaN";
  const size = Math.abs(value);
  const digits = size === Infinity ? "∞" : size < 100 ? size.toFixed(3) : size.toPrecision(4);
  return (value < 0 ? "−" : signed && value > 0 ? "+" : "") + digits;
}

// One heatmap: a canvas with one pixel a cell, and over it, as lines and words, tokens, outline, row sums and cursor.

const SVG = document.querySelector("svg").namespaceURI;
const SUMS = 66;  // pixels for flags and sums beside the cells
const STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];
const pen = document.createElement("canvas").getContext("2d");

function element(name, properties = {}, children = []) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

function setAll(element, attributes) {
  Object.entries(attributes).forEach(([key, value]) => element.setAttribute(key, value));
}

function shape(name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  setAll(made, attributes);
  if (text !== undefined) made.textContent = text;
  return made;
}

function widthOf(text, size) {
  pen.font = `600 ${size}px ${getComputedStyle(document.body).fontFamily}`;
  return pen.measureText(text).width;
}

// Where the panel has its parts, in pixels: gutters for tokens and sums around `rows` x `columns` cells of side `cell`.
function measure(kind, cell) {
  const size = Math.min(13, Math.max(9.5, cell * 0.8));
  const step = STEPS.find((each) => each * cell >= size * 1.15) ?? 2000;
  const widest = (tokens) => Math.max(...tokens.map(({ label }) => widthOf(label, size))) + (step > 1 ? 3 * size : 0);
  const level = step === 1 && widest(kind.keys) + 6 <= cell;
  return {
    cell, size, step, level,
    rows: kind.queries.length,
    columns: kind.keys.length,
    left: Math.ceil(widest(kind.queries)) + 12,
    top: Math.ceil(level ? size * 1.6 : widest(kind.keys) + 12) + 4,
  };
}

// The border of the allowed cells as one path, in cells.
function outline(allowed, rows, columns) {
  const may = (t, s) => t >= 0 && s >= 0 && t < rows && s < columns && allowed[t * columns + s] === "1";
  const parts = [];
  const trace = (lines, length, differs, move, draw) => {
    for (let line = 0; line <= lines; line++) {
      for (let at = 0; at < length; at++) {
        const start = at;
        while (at < length && differs(line, at)) at++;
        if (at > start) parts.push(move(line, start) + draw(at));
      }
    }
  };
  trace(rows, columns, (t, s) => may(t - 1, s) !== may(t, s), (t, s) => `M${s} ${t}`, (s) => `H${s}`);
  trace(columns, rows, (s, t) => may(t, s - 1) !== may(t, s), (s, t) => `M${s} ${t}`, (t) => `V${t}`);
  return parts.join("");
}

function drawOutline(svg, allowed, { rows, columns, cell, top }, left) {
  if (!allowed || !allowed.includes("0")) return;
  const d = outline(allowed, rows, columns), width = Math.min(Math.max(cell / 12, 0.4), 2);
  // Thin enough to leave the cells beside it their colour.
  for (const [name, wide] of [["halo", Math.min(2.6 * width, cell / 3)], ["line", width]]) {
    const place = `translate(${left} ${top}) scale(${cell})`;
    svg.append(shape("path", { class: name, d, transform: place, "stroke-width": wide }));
  }
}

function drawTokens(svg, kind, sizes, left, named) {
  const { cell, size, step, level, top } = sizes;
  const text = ({ label }, at) => (step > 1 ? `${at} ${label}` : label);
  kind.keys.forEach((token, s) => {
    if (s % step) return;
    const x = left + (s + 0.5) * cell;
    const turn = level ? {} : { transform: `rotate(-90 ${x} ${top - 8})`, dy: "0.34em" };
    const anchor = level ? "middle" : "start";
    svg.append(shape("text", { x, y: top - 8, "text-anchor": anchor, "font-size": size, ...turn }, text(token, s)));
  });
  if (!named) return;
  kind.queries.forEach((token, t) => {
    if (t % step) return;
    const place = { x: left - 8, y: sizes.top + (t + 0.5) * cell, dy: "0.34em", "text-anchor": "end" };
    svg.append(shape("text", { ...place, "font-size": size }, text(token, t)));
  });
}

function drawSums(svg, head, { rows, columns, cell, size, step, top }, left) {
  const edge = left + columns * cell, flag = Math.min(size + 2, Math.max(5, cell));
  const write = (x, y, look, text) =>
    svg.append(shape("text", { x: edge + x, y, "font-size": size, dy: "0.34em", class: "sum", ...look }, text));
  write(28, top - 12, { "font-size": 11 }, "sum");
  for (let t = 0; t < rows; t++) {
    const y = top + (t + 0.5) * cell, wrong = head.wrong.includes(t);
    if (head.leaking.includes(t)) write(4, y, { class: "alarm", "font-size": flag }, "◂");
    if (wrong) write(15, y, { class: "alarm", "font-size": flag }, "○");
    if (t % step === 0) write(28, y, { class: wrong ? "sum alarm" : "sum" }, shortSum(Number(head.sums[t])));
  }
}

function shortSum(sum) {
  return Number.isFinite(sum) && Math.abs(sum) < 100 ? sum.toFixed(2) : spell(sum);
}

// The cell that is looked at: a ring around it, and its two tokens over whatever stands in the gutters.
function makeCursor(svg, kind, sizes, left, named) {
  const { cell, size, level, top } = sizes, side = Math.max(cell, 7);
  const group = svg.appendChild(shape("g", { class: "cursor", visibility: "hidden" }));
  const rings = ["ring halo", "ring"].map((name) =>
    group.appendChild(shape("rect", { class: name, width: side, height: side, rx: 1.5 })));
  const tag = () => {
    const ground = shape("rect", { class: "tag", rx: 3, height: size * 1.5 });
    const text = shape("text", { "font-size": size, "font-weight": 600, dy: "0.34em" });
    group.append(ground, text);
    return (words, x, y, anchor, turn = "") => {
      const width = widthOf(words, size) + 8;
      const from = { start: x - 4, middle: x - width / 2, end: x - width + 4 }[anchor];
      setAll(ground, { x: from, y: y - size * 0.75, width, transform: turn });
      setAll(text, { x, y, "text-anchor": anchor, transform: turn });
      text.textContent = words;
    };
  };
  const tagKey = tag(), tagQuery = named ? tag() : () => {};
  return ({ t, s }) => {
    const x = left + (s + 0.5) * cell, y = top + (t + 0.5) * cell;
    group.setAttribute("visibility", "visible");
    rings.forEach((ring) => setAll(ring, { x: x - side / 2, y: y - side / 2 }));
    if (level) tagKey(kind.keys[s].label, x, top - 12, "middle");
    else tagKey(kind.keys[s].label, x, top - 8, "start", `rotate(-90 ${x} ${top - 8})`);
    tagQuery(kind.queries[t].label, left - 8, y, "end");
  };
}

function makeScale(scale, name) {
  const { low, high } = scale, bar = element("canvas");
  paint(bar, Float64Array.from({ length: 256 }, (_, i) => low + ((i + 0.5) / 256) * (high - low)), 1, 256, scale);
  const ends = [low, (low + high) / 2, high].map((value) => String(value).replace("-", "−"));
  return element("div", { className: "scale" }, [
    element("span", { className: "name", textContent: name }),
    bar,
    element("div", { className: "ends" }, ends.map((textContent) => element("span", { textContent }))),
  ]);
}

// `part` is what to draw: {name, values, scale, scaleName, allowed, head, findings}; `named` says whether queries are
// named at its left.
function makePanel(part, kind, sizes, named) {
  const { rows, columns, cell, top } = sizes, left = named ? sizes.left : 4;
  const width = left + columns * cell + (part.head ? SUMS : 12), height = top + rows * cell + 4;
  const canvas = element("canvas", { className: "cells" });
  paint(canvas, part.values, rows, columns, part.scale);
  const area = { left, top, width: columns * cell, height: rows * cell };
  Object.entries(area).forEach(([side, pixels]) => { canvas.style[side] = `${pixels}px`; });
  const svg = shape("svg", { width, height, "aria-hidden": "true" });
  drawTokens(svg, kind, sizes, left, named);
  drawOutline(svg, part.allowed, sizes, left);
  if (part.head) drawSums(svg, part.head, sizes, left);
  const point = makeCursor(svg, kind, sizes, left, named);
  const plot = element("div", { className: "plot" }, [canvas, svg]);
  Object.assign(plot.style, { width: `${width}px`, height: `${height}px` });
  const bar = makeScale(part.scale, part.scaleName);
  bar.style.marginLeft = `${left}px`;
  const words = element("figcaption", {}, [
    element("strong", { textContent: part.name, dir: "auto" }),
    ...part.findings.map(({ text, wrong, more = "" }) =>
      element("p", { textContent: text, className: wrong ? "alarm" : "fine", title: more })),
  ]);
  words.style.marginLeft = `${left}px`;
  words.style.maxWidth = `${Math.max(columns * cell + 60, 200)}px`;
  return { figure: element("figure", {}, [words, plot, bar]), canvas, point };
}

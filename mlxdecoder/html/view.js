// The page: what is chosen, and the chosen head, large.

const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const SCALES = {
  weights: { colours: palette(data.colours.weights), low: 0, high: 1 },
  differences: { colours: palette(data.colours.differences), low: -data.reach, high: data.reach },
};
const THUMB = 68, GAP = 24, SMALLEST = 1.5, LARGEST = 48;
const HINT = "Point at a cell, or choose the map with the tab key and go by arrow keys.";
const chosen = { kind: 0, layer: 0, head: 0, cell: null };  // no cell: an example is shown
const compared = data.variants.length > 1;
let panels = [], example = null, decoded = new Map();

const kind = () => data.kinds[chosen.kind];
const headOf = (variant, layer, head) => variant.maps[chosen.kind].heads[layer][head];

function valuesOf(head) {
  if (!decoded.has(head)) decoded.set(head, decode(head));
  return decoded.get(head);
}

// --- controls

function makeControls() {
  data.kinds.forEach(({ name }, at) => {
    const radio = element("input", { type: "radio", name: "kind", checked: at === 0 });
    radio.addEventListener("change", () => choose({ kind: at }));
    byId("kinds").append(element("label", {}, [radio, element("span", { textContent: name })]));
  });
  for (const name of ["layer", "head"]) {
    byId(name).addEventListener("change", (event) => choose({ [name]: event.target.selectedIndex }));
  }
}

function fillSelect(name, numbers) {
  const select = byId(name);
  select.replaceChildren(...numbers.map((number) => element("option", { textContent: number })));
  select.selectedIndex = chosen[name];
  select.parentElement.hidden = numbers.length === 1;
}

function choose(change) {
  const before = chosen.kind;
  Object.assign(chosen, change);
  chosen.layer = Math.min(chosen.layer, kind().layers.length - 1);
  chosen.head = Math.min(chosen.head, kind().heads.length - 1);
  fillSelect("layer", kind().layers);
  fillSelect("head", kind().heads);
  if (chosen.kind !== before) {
    chosen.cell = null;
    drawOverview();
  }
  markThumb();
  drawStage();
}

// --- stage: the chosen head, large

function partsToDraw() {
  const weights = data.variants.map((variant) => {
    const head = headOf(variant, chosen.layer, chosen.head), allowed = variant.maps[chosen.kind].intended;
    const scale = { scale: SCALES.weights, scaleName: "weight" };
    return { name: variant.name, values: valuesOf(head), allowed, head, findings: findingsOf(head, allowed), ...scale };
  });
  return compared ? [...weights, difference(...weights)] : [{ ...weights[0], name: "" }];
}

function findingsOf(head, allowed) {
  const outside = allowed?.includes("0") ? "nothing lies outside the mask" : "the mask allows everything";
  const fine = allowed ? `✓ Rows sum to 1, and ${outside}.` : "The intended mask is not known.";
  const found = head.findings.map((text) => ({ text, wrong: true }));
  const told = head.remarks.map((text) => ({ text, wrong: false, more: text[0] === "▽" ? kind().aboutSinks : "" }));
  return [...found, ...(found.length && allowed ? [] : [{ text: fine, wrong: false }]), ...told];
}

function difference(first, second) {
  const values = second.values.map((value, i) => value - first.values[i]);
  const text = values.every((value) => value === 0) ? "No difference." : "One scale for all layers, heads and kinds.";
  const names = { name: "difference", scaleName: `${second.name} minus ${first.name}` };
  return { ...names, values, allowed: first.allowed, scale: SCALES.differences, findings: [{ text, wrong: false }] };
}

function fittingSizes(count) {
  const { queries, keys } = kind(), room = byId("stage").clientWidth;
  const abreast = room < 620 ? 1 : count;
  const tokens = Math.max(measure(kind(), LARGEST).left, measure(kind(), SMALLEST).left);
  const gutters = tokens + abreast * (abreast > 1 ? 54 : SUMS) + (abreast - 1) * GAP + 8;
  const fitting = Math.min(LARGEST, (room - gutters) / abreast / keys.length, Math.max(14, 640 / queries.length));
  const cell = Math.max(SMALLEST, fitting < 4 ? Math.floor(2 * fitting) / 2 : Math.floor(fitting));
  return { ...measure(kind(), cell), abreast };
}

function drawStage() {
  const parts = partsToDraw(), sizes = fittingSizes(parts.length);
  const { name, about, layers, heads, queriesName, keysName } = kind();
  byId("heading").textContent = `${name}, layer ${layers[chosen.layer]}, head ${heads[chosen.head]}`;
  byId("axes").textContent = `rows: ${queriesName} · columns: ${keysName}`;
  byId("about").textContent = about;
  panels = parts.map((part, at) => makePanel(part, kind(), sizes, sizes.abreast === 1 || at === 0));
  byId("plots").replaceChildren(...panels.map(({ figure }) => figure));
  byId("plots").classList.toggle("stacked", sizes.abreast === 1);
  byId("plots").setAttribute("aria-label", `${byId("heading").textContent}: arrow keys go from cell to cell`);
  example = largest(parts.at(-1).values);
  point(chosen.cell);
}

// The largest value as an example; the first row is spared, since it may have had no choice.
function largest(values) {
  const first = kind().queries.length > 1 ? kind().keys.length : 0;
  const sizes = values.map((value, i) => (i >= first && Number.isFinite(value) ? Math.abs(value) : 0));
  const at = sizes.reduce((best, size, i) => (size > sizes[best] ? i : best), first);
  return { t: Math.floor(at / kind().keys.length), s: at % kind().keys.length };
}

// --- start

function start() {
  const plots = byId("plots");
  makeControls();
  document.querySelector(".note").hidden = !document.querySelector(".note").textContent;
  for (const name of ["pointermove", "pointerdown"]) plots.addEventListener(name, followPointer);
  plots.addEventListener("keydown", moveCell);
  plots.addEventListener("focus", () => point(chosen.cell ?? example, true));
  drawOverview();
  choose({});
  let room = byId("stage").clientWidth;
  new ResizeObserver(() => {
    if (byId("stage").clientWidth === room) return;
    room = byId("stage").clientWidth;
    drawStage();
  }).observe(byId("stage"));
}

start();

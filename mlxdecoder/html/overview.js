// The overview: every head small, a layer a row; one of them is chosen.

function drawOverview() {
  const { layers, heads, keys } = kind(), overview = byId("overview");
  byId("body").className = !compared && heads.length <= 4 && keys.length <= 40 ? "beside" : "above";
  overview.hidden = layers.length * heads.length === 1;
  const names = heads.map((number) => element("span", { className: "number", textContent: `head ${number}` }));
  const lines = layers.flatMap((number, layer) => [
    element("span", { className: "number", textContent: `layer ${number}` }),
    ...heads.map((_, head) => makeThumb(layer, head)),
  ]);
  const grid = element("div", { className: "thumbs" }, [element("span"), ...names, ...lines]);
  grid.style.gridTemplateColumns = `auto repeat(${heads.length}, max-content)`;
  grid.addEventListener("keydown", (event) => moveThumb(event));
  overview.replaceChildren(element("h2", { textContent: "All heads" }), ...overviewNote(), grid);
}

function overviewNote() {
  const names = data.variants.map(({ name }) => name);
  const note = `${names[0]} at the left, ${names[1]} at the right`;
  return compared ? [element("p", { className: "quiet", textContent: note })] : [];
}

function makeThumb(layer, head) {
  const found = data.variants.flatMap((variant) => headOf(variant, layer, head).findings);
  const flags = [...new Set(found.map((words) => words[0]))].join("");
  const told = [...new Set(data.variants.flatMap((variant) => headOf(variant, layer, head).remarks))];
  const name = `layer ${kind().layers[layer]}, head ${kind().heads[head]}`;
  const pictures = data.variants.map((variant) => makeMiniature(valuesOf(headOf(variant, layer, head))));
  const button = element("button", { type: "button", className: "thumb", title: [name, ...found, ...told].join("\n") }, [
    ...pictures,
    element("span", { className: "alarm", textContent: flags, ariaHidden: "true" }),
  ]);
  button.setAttribute("aria-label", [name, ...found, ...told].join("; "));
  Object.assign(button.dataset, { layer, head });
  button.addEventListener("click", () => choose({ layer, head }));
  return button;
}

function makeMiniature(values) {
  const rows = kind().queries.length, columns = kind().keys.length, longest = Math.max(rows, columns);
  const small = pool(values, rows, columns, Math.ceil(longest / (2 * THUMB)));
  const canvas = element("canvas", { className: "cells" });
  paint(canvas, small.values, small.rows, small.columns, SCALES.weights);
  const side = (count) => `${Math.max((THUMB * count) / longest, 6)}px`;
  Object.assign(canvas.style, { width: side(columns), height: side(rows) });
  return canvas;
}

// The overview is one stop of the tab key; arrows go from head to head.
function markThumb() {
  document.querySelectorAll(".thumb").forEach((thumb) => {
    const here = Number(thumb.dataset.layer) === chosen.layer && Number(thumb.dataset.head) === chosen.head;
    thumb.setAttribute("aria-pressed", here);
    thumb.tabIndex = here ? 0 : -1;
  });
}

function moveThumb(event) {
  const moves = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
  if (!(event.key in moves) || event.altKey || event.metaKey) return;
  event.preventDefault();
  const [down, right] = moves[event.key];
  choose({
    layer: within(chosen.layer + down, kind().layers.length),
    head: within(chosen.head + right, kind().heads.length),
  });
  document.querySelector('.thumb[aria-pressed="true"]').focus();
}

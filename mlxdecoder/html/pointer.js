// The cell that is looked at, by pointer or by keys, and what is said about it.

function point(cell, spoken = false) {
  chosen.cell = cell;
  const shown = cell ?? example, words = sentence(shown);
  panels.forEach((panel) => panel.point(shown));
  byId("readout").setAttribute("aria-live", spoken ? "polite" : "off");
  byId("readout").replaceChildren(
    ...(cell ? words : ["For example: ", ...words]),
    element("span", { className: "quiet", textContent: cell ? detail(cell) : HINT }),
  );
}

const quoted = ({ text }) => element("bdi", { textContent: `‘${text}’` });

function sentence({ t, s }) {
  const at = t * kind().keys.length + s;
  const weights = data.variants.map((variant) => ({
    value: valuesOf(headOf(variant, chosen.layer, chosen.head))[at],
    outside: variant.maps[chosen.kind].intended?.[at] === "0",
    name: variant.name,
  }));
  const [first, second] = weights;
  const both = () => weights.map(({ name, value }) => `${spell(value)} (${name})`).join(" and ");
  const words = compared
    ? `${both()}, difference ${spell(second.value - first.value, true)}`
    : spell(first.value) + (Number.isFinite(first.value) ? "" : ", which is not finite");
  const outside = weights.some((weight) => weight.outside);
  return [
    "query ", quoted(kind().queries[t]), " looks at key ", quoted(kind().keys[s]), " with weight ",
    element("strong", { textContent: words }),
    ...(outside ? [element("span", { className: "alarm", textContent: " (outside the intended mask)" })] : []),
  ];
}

function detail({ t, s }) {
  const sums = data.variants.map((variant) => {
    const head = headOf(variant, chosen.layer, chosen.head), of = compared ? ` (${variant.name})` : "";
    const outside = head.leaking.includes(t) ? `, ${spell(Number(head.outside[t]))} of it outside the mask` : "";
    return `row sum ${spell(Number(head.sums[t]))}${of}${outside}`;
  });
  return [`row ${t}, column ${s}`, ...sums].join(" · ");
}

function cellUnder(event) {
  const { queries, keys } = kind();
  for (const { canvas } of panels) {
    const box = canvas.getBoundingClientRect();
    const t = Math.floor(((event.clientY - box.top) / box.height) * queries.length);
    const s = Math.floor(((event.clientX - box.left) / box.width) * keys.length);
    if (t >= 0 && s >= 0 && t < queries.length && s < keys.length) return { t, s };
  }
  return null;
}

function followPointer(event) {
  const cell = cellUnder(event);
  if (cell && (cell.t !== chosen.cell?.t || cell.s !== chosen.cell?.s)) point(cell);
}

function moveCell(event) {
  if (event.altKey || event.metaKey) return;
  const { t, s } = chosen.cell ?? example, far = event.ctrlKey ? Infinity : 0;
  const places = {
    ArrowUp: [t - 1, s], ArrowDown: [t + 1, s], ArrowLeft: [t, s - 1], ArrowRight: [t, s + 1],
    PageUp: [t - 10, s], PageDown: [t + 10, s], Home: [t - far, 0], End: [t + far, Infinity],
  };
  if (!(event.key in places)) return;
  event.preventDefault();
  const [row, column] = places[event.key];
  point({ t: within(row, kind().queries.length), s: within(column, kind().keys.length) }, true);
}

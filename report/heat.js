"use strict";
// The map of role x layer: one square for each, in the color of its type or the depth of a figure.

// `worse` says which end of a figure is drawn deep; "" is plain size. Shares and kurtosis crowd near
// their low end, so the color follows the square root.
const kMetrics = [
  {key: "type", title: "Type"},
  {key: "bits", title: "Bits per weight", deep: "high", text: bitsText},
  {key: "sqnr_db", title: "SQNR", deep: "low", text: decibelText, values: true},
  {key: "saturated", title: "Saturated", deep: "high", text: shareText, values: true, root: true},
  {
    key: "flushed",
    title: "Flushed to zero",
    deep: "high",
    text: shareText,
    values: true,
    root: true,
  },
  {key: "kurtosis", title: "Kurtosis", deep: "high", text: measuredText, values: true, root: true},
];

let heatMetric = "type"; // kept when another tab is chosen

// Squares by role and layer; one of several types holds several cells.
function squaresOf(cells) {
  const squares = new Map();
  for (const cell of cells) {
    const key = `${cell.role} ${cell.layer}`;
    if (!squares.has(key)) squares.set(key, []);
    squares.get(key).push(cell);
  }
  return squares;
}

// The figure of a square: bits of all its bytes, of measured figures the worst.
function squareValue(cells, metric) {
  if (metric.key === "bits") {
    const weights = cells.reduce((sum, c) => sum + c.weights, 0);
    return weights > 0 ? (cells.reduce((sum, c) => sum + c.size_bytes, 0) * 8) / weights : null;
  }
  const values = cells.map((c) => c[metric.key]).filter(known);
  if (values.length === 0) return null;
  return metric.deep === "low" ? Math.min(...values) : Math.max(...values);
}

// Depth from 0 to 1 and back, between the extremes of all squares.
function depthScale(squares, metric) {
  let [low, high] = [Infinity, -Infinity];
  for (const cells of squares.values()) {
    const value = squareValue(cells, metric);
    if (!known(value)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  if (low > high) return null;
  const bend = metric.root ? 0.5 : 1;
  const depth = (value) => {
    const t = high > low ? ((value - low) / (high - low)) ** bend : 0.5;
    return metric.deep === "low" ? 1 - t : t;
  };
  const valueAt = (t) => low + (metric.deep === "low" ? 1 - t : t) ** (1 / bend) * (high - low);
  return {low, high, depth, valueAt};
}

function squareLines(cells, compared) {
  const title = `${cells[0].roleName}, ${layerText(cells[0].layer)}`;
  return [title, ...cells.flatMap((cell) => figuresOf(cell, compared))];
}

function squareLabel(cells, compared) {
  const [title, ...pairs] = squareLines(cells, compared);
  return shown(`${title}: ${pairs.map(([name, text]) => `${name} ${text}`).join(", ")}`);
}

function square(cells, compared) {
  if (!cells) return element("td", {class: "none"}, element("span", {class: "unseen"}, "none"));
  const node = element("td", {
    class: "square",
    tabindex: "-1",
    "aria-label": squareLabel(cells, compared),
  });
  node.cells = cells;
  return tipped(node, () => squareLines(cells, compared));
}

function paintType(node) {
  const [first, second] = [...node.cells].sort((a, b) => b.size_bytes - a.size_bytes);
  node.className = `square ${typeClass(first.type)}`;
  const mixed = second && second.type !== first.type;
  if (mixed) node.classList.add("mixed");
  node.style.setProperty(
    "--second",
    mixed ? `var(--type-${(typeNumbers.get(second.type) || 0) % kTypeColors})` : "",
  );
}

function paintDepth(node, metric, scale) {
  const value = squareValue(node.cells, metric);
  const equal =
    metric.key === "sqnr_db" && node.cells.every((c) => !known(c.sqnr_db) && c.relative === 0);
  node.className = known(value)
    ? `square depth ${metric.values ? "error" : "plain"}`
    : equal
      ? "square equal"
      : "square unknown";
  node.style.setProperty("--t", known(value) ? `${scale.depth(value) * 100}%` : "0%");
}

function heatLegend(checkpoint, metric, scale, cells) {
  if (metric.key === "type") {
    const several = [...squaresOf(cells).values()].some((list) => list.length > 1);
    return element(
      "ul",
      {class: "legend"},
      summed(cells, (c) => c.type).map((s) => element("li", null, typeChip(s.name))),
      several ? element("li", {class: "muted"}, "two colors: several types in one square") : null,
    );
  }
  if (!scale) return note("No square has this figure.");
  const stops = scale.low === scale.high ? [0.5] : [0, 0.5, 1];
  return element(
    "div",
    {class: "legend"},
    element(
      "div",
      {class: "ramp-place"},
      element("div", {class: `ramp ${metric.values ? "error" : "plain"}`, "aria-hidden": "true"}),
      element(
        "ol",
        {class: "ramp-texts"},
        stops.map((t) => element("li", null, metric.text(scale.valueAt(t)))),
      ),
    ),
    metric.values
      ? element("span", {class: "chip"}, element("span", {class: "swatch unknown"}), "not compared")
      : null,
    metric.key === "sqnr_db"
      ? element(
          "span",
          {class: "chip"},
          element("span", {class: "swatch equal"}),
          "equal to the base",
        )
      : null,
  );
}

// Arrow keys move between squares; one square at a time is in the order of focus.
function walkable(grid, rows) {
  const first = rows.flat().find((node) => node.cells);
  if (first) first.tabIndex = 0;
  const kMoves = {ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0]};
  grid.addEventListener("keydown", (event) => {
    const move = kMoves[event.key];
    const from = event.target;
    if (!move || !from.cells) return;
    event.preventDefault();
    let [r, c] = [rows.findIndex((row) => row.includes(from)), 0];
    c = rows[r].indexOf(from);
    do {
      r += move[0];
      c += move[1];
    } while (rows[r] && rows[r][c] && !rows[r][c].cells);
    if (!rows[r] || !rows[r][c]) return;
    from.tabIndex = -1;
    rows[r][c].tabIndex = 0;
    rows[r][c].focus();
  });
}

function heatColumns(cells) {
  const layers = [...new Set(cells.map((c) => c.layer))].filter(known).sort((a, b) => a - b);
  return cells.some((c) => !known(c.layer)) ? [null, ...layers] : layers;
}

function heatHeading(layer, every) {
  const text = known(layer) ? String(layer) : "";
  const visible = known(layer) && layer % every === 0;
  return element(
    "th",
    {scope: "col", class: known(layer) ? null : "outside"},
    element("span", {class: visible ? "layer-number" : "unseen"}, text || "outside layers"),
  );
}

const kSquare = {least: 12, most: 34}; // pixels across, with the gap

// How wide names and squares are in `width` pixels, and how many layers go next to each other: a map
// of more layers continues below, so that it is never cut at the edge.
function heatPlace(names, layers, width) {
  const longest = Math.max(...names.map((name) => shown(name).length));
  const label = Math.min(longest * 7.7 + 14, Math.max(104, width * 0.3));
  const fitting = Math.max(1, Math.floor((width - label) / kSquare.least));
  const across = Math.ceil(layers.length / Math.ceil(layers.length / fitting));
  return {label, across, square: Math.min(kSquare.most, (width - label) / across)};
}

// Names break after a dot or an underscore.
function breakable(name) {
  return shown(name)
    .split(/(?<=[._])/)
    .flatMap((part) => [part, element("wbr")]);
}

// The squares of `layers` from number `from` on, one row a role that has any.
function heatBand(roles, rows, layers, place, from) {
  const band = layers.slice(from, from + place.across);
  const every = layers.length > 12 ? 5 : 1;
  const shares = {"--label": `${place.label}px`, "--width": `${place.label + band.length * place.square}px`};
  return element(
    "table",
    {role: "grid", class: "heat", ...shares},
    element("caption", {class: "unseen"}, "Role by layer; arrow keys move, the table below has the same data"),
    element(
      "thead",
      null,
      element(
        "tr",
        null,
        element("th", {scope: "col", class: "corner"}, "Role, by layer"),
        band.map((layer) => heatHeading(layer, every)),
      ),
    ),
    element(
      "tbody",
      null,
      roles.map((role, i) => {
        const squares = rows[i].slice(from, from + place.across);
        if (!squares.some((node) => node.cells)) return null;
        return element("tr", null, element("th", {scope: "row"}, breakable(role)), squares);
      }),
    ),
  );
}

function heatGrid(checkpoint, cells, width) {
  const compared = hasValues(checkpoint);
  const squares = squaresOf(cells);
  const layers = heatColumns(cells);
  const roles = [...new Set(cells.map((c) => c.role))].sort((a, b) => a - b);
  const names = roles.map((role) => checkpoint.roles[role]);
  const rows = roles.map((role) =>
    layers.map((layer) => square(squares.get(`${role} ${layer}`), compared)),
  );
  const place = heatPlace(names, layers, width);
  const bands = [];
  for (let from = 0; from < layers.length; from += place.across)
    bands.push(heatBand(names, rows, layers, place, from));
  const grid = element("div", {class: "heat-bands"}, bands);
  walkable(grid, rows);
  return {grid, nodes: rows.flat().filter((node) => node.cells)};
}

function cellTable(checkpoint, cells) {
  const compared = hasValues(checkpoint);
  const figures = kMetrics
    .filter((m) => m.values && compared)
    .map((m) => ({
      title: m.title,
      numeric: true,
      value: (c) => c[m.key],
      text: m.key === "sqnr_db" ? sqnrText : (c) => m.text(c[m.key]),
    }));
  return sortableTable({
    caption: "Role by layer",
    rows: cells,
    columns: [
      {title: "Role", head: true, kind: "code", value: (c) => c.roleName},
      {
        title: "Layer",
        numeric: true,
        value: (c) => c.layer,
        text: (c) => (known(c.layer) ? String(c.layer) : "outside"),
      },
      {title: "Type", value: (c) => c.type, node: (c) => typeChip(c.type)},
      ...sumColumns(1).filter((c) => c.title !== "Share"),
      ...figures,
    ],
  });
}

function heatSection(checkpoint) {
  const cells = cellsOf(checkpoint);
  if (cells.length === 0) return null;
  const squares = squaresOf(cells);
  const legendPlace = element("div");
  const metrics = kMetrics.filter((m) => !m.values || hasValues(checkpoint));
  let nodes = [];
  const paint = (key) => {
    const metric = metrics.find((m) => m.key === key) || metrics[0];
    heatMetric = metric.key;
    const scale = metric.key === "type" ? null : depthScale(squares, metric);
    for (const node of nodes)
      if (metric.key === "type") paintType(node);
      else paintDepth(node, metric, scale);
    legendPlace.replaceChildren(heatLegend(checkpoint, metric, scale, cells));
  };
  const place = responsive(
    (width) => {
      const drawn = heatGrid(checkpoint, cells, width);
      nodes = drawn.nodes;
      paint(heatMetric);
      return drawn.grid;
    },
    {class: "heat-place", role: "region", "aria-label": "Map of role by layer"},
  );
  if (!metrics.some((m) => m.key === heatMetric)) heatMetric = "type";
  paint(heatMetric);
  return section(
    "layers",
    "Layers",
    choice(
      "Figure",
      metrics.map((m) => [m.key, m.title]),
      heatMetric,
      paint,
    ),
    legendPlace,
    place,
    saveButton("layers", () => place.firstChild),
    folded("The same data as a table", () => cellTable(checkpoint, cells), true),
  );
}

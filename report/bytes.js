"use strict";
// Where the bytes are: a treemap of module groups and types, and the same as tables.

// Squarified treemap (Bruls, Huizing, van Wijk 2000): rectangles for `items` (largest first) in `box`.
function worstRatio(row, sum, side) {
  const [largest, smallest] = [row[0].area, row[row.length - 1].area];
  return Math.max((side * side * largest) / (sum * sum), (sum * sum) / (side * side * smallest));
}

function laidRow(row, sum, box, placed) {
  const wide = box.w >= box.h;
  const depth = sum / (wide ? box.h : box.w);
  let along = 0;
  for (const {item, area} of row) {
    const length = area / depth;
    placed.push(
      wide
        ? {item, x: box.x, y: box.y + along, w: depth, h: length}
        : {item, x: box.x + along, y: box.y, w: length, h: depth},
    );
    along += length;
  }
  return wide
    ? {x: box.x + depth, y: box.y, w: box.w - depth, h: box.h}
    : {x: box.x, y: box.y + depth, w: box.w, h: box.h - depth};
}

function squarified(items, box) {
  const total = items.reduce((sum, item) => sum + item.size_bytes, 0);
  const placed = [];
  if (total <= 0 || box.w <= 0 || box.h <= 0) return placed;
  const areas = items
    .filter((item) => item.size_bytes > 0)
    .map((item) => ({item, area: (item.size_bytes / total) * box.w * box.h}));
  let row = [];
  let sum = 0;
  let rest = box;
  for (const next of areas) {
    const side = Math.min(rest.w, rest.h);
    if (
      row.length > 0 &&
      worstRatio([...row, next], sum + next.area, side) > worstRatio(row, sum, side)
    ) {
      rest = laidRow(row, sum, rest, placed);
      [row, sum] = [[], 0];
    }
    row.push(next);
    sum += next.area;
  }
  if (row.length > 0) laidRow(row, sum, rest, placed);
  return placed;
}

const kSmallest = 3; // pixels, with the gap of 1; smaller tiles are summed up below the map

const hasRoom = (box, text, characterWidth) => box.w > text.length * characterWidth + 18;

// Across in shares of the width, which differs on paper.
function tile(box, group, sum, total, width) {
  const share = shareText(sum.size_bytes / total);
  const label = shown(`${group}, ${sum.name}: ${bytesText(sum.size_bytes)}, ${share}`);
  const more = shown(`${sum.name}, ${bytesText(sum.size_bytes)}`);
  const isNamed = box.h > 30 && hasRoom(box, group, 8.6);
  const node = element(
    "li",
    {class: `tile ${typeClass(sum.name)}`, tabindex: "0", "aria-label": label},
    isNamed ? element("span", {class: "tile-name"}, group) : null,
    isNamed && box.h > 48 && hasRoom(box, more, 7.6)
      ? element("span", {class: "tile-more"}, more)
      : null,
  );
  node.style.left = `${(box.x / width) * 100}%`;
  node.style.width = `${(box.w / width) * 100}%`;
  node.style.top = `${box.y}px`;
  node.style.height = `${box.h}px`;
  return tipped(node, () => [
    `${group}: ${sum.name}`,
    ["size", bytesText(sum.size_bytes)],
    ["share", share],
    ["bits per weight", bitsText(sum.bits)],
    ["weights", weightsText(sum.weights)],
    ["tensors", exactText(sum.tensors)],
  ]);
}

// The sentence about parts that are too small to draw.
function smallParts(small, total) {
  const bytes = small.reduce((sum, part) => sum + part.size_bytes, 0);
  const count = plural(small.length, "part is", "parts are");
  return note(`${count} too small to draw: ${bytesText(bytes)}, ${shareText(bytes / total)}.`);
}

function treemap(groups, total, width) {
  const height = Math.round(Math.min(380, Math.max(260, width * 0.42)));
  const [tiles, small] = [[], []];
  for (const {item: group, ...box} of squarified(groups, {x: 0, y: 0, w: width, h: height})) {
    const inner = {x: box.x, y: box.y, w: Math.max(0.1, box.w - 2), h: Math.max(0.1, box.h - 2)};
    const types = summed(group.cells, (c) => c.type);
    for (const {item: sum, ...at} of squarified(types, inner)) {
      if (at.w < kSmallest || at.h < kSmallest) small.push(sum);
      else tiles.push(tile({...at, w: at.w - 1, h: at.h - 1}, group.name, sum, total, width));
    }
  }
  const list = element(
    "ul",
    {
      class: "treemap",
      "aria-label": "Size by module group and type; the tables below hold the same",
    },
    tiles,
  );
  list.style.height = `${height}px`;
  return element("div", null, list, small.length > 0 ? smallParts(small, total) : null);
}

function sumColumns(total) {
  return [
    {
      title: "Size",
      numeric: true,
      value: (r) => r.size_bytes,
      text: (r) => bytesText(r.size_bytes),
    },
    {
      title: "Share",
      numeric: true,
      value: (r) => r.size_bytes,
      node: (r) => shareBar(r.size_bytes / total),
    },
    {title: "Bits per weight", numeric: true, value: (r) => r.bits, text: (r) => bitsText(r.bits)},
    {title: "Weights", numeric: true, value: (r) => r.weights, text: (r) => weightsText(r.weights)},
    {title: "Tensors", numeric: true, value: (r) => r.tensors, text: (r) => exactText(r.tensors)},
  ];
}

function shareBar(share) {
  return element(
    "span",
    {class: "share"},
    element("span", {class: "share-bar", "aria-hidden": "true", "--t": `${share * 100}%`}),
    shareText(share),
  );
}

function bytesSection(checkpoint) {
  const cells = cellsOf(checkpoint);
  const total = cells.reduce((sum, cell) => sum + cell.size_bytes, 0);
  if (total === 0) return null;
  const groups = summed(cells, (cell) => groupOf(cell.roleName));
  const legend = element(
    "ul",
    {class: "legend", "aria-label": "Types"},
    summed(cells, (c) => c.type).map((sum) => element("li", null, typeChip(sum.name))),
  );
  return section(
    "bytes",
    "Bytes",
    legend,
    responsive((width) => treemap(groups, total, width), {class: "treemap-place"}),
    saveButton("bytes", () => document.querySelector("#bytes .treemap")),
    element(
      "div",
      {class: "columns wide"},
      sortableTable({
        caption: "Types",
        rows: checkpoint.types,
        columns: [
          {title: "Type", head: true, value: (r) => r.type, node: (r) => typeChip(r.type)},
          ...sumColumns(total),
        ],
      }),
      sortableTable({
        caption: "Module groups",
        rows: groups,
        columns: [{title: "Group", head: true, value: (r) => r.name}, ...sumColumns(total)],
      }),
    ),
  );
}

"use strict";
// Error against bits: a point a cell or a checkpoint, and the front that no other point beats.

// Points that have a higher SQNR than every point of as many or fewer bits.
function paretoFront(points) {
  const front = [];
  for (const point of [...points].sort((a, b) => a.bits - b.bits || b.sqnr - a.sqnr)) {
    if (front.length === 0 || point.sqnr > front[front.length - 1].sqnr) front.push(point);
  }
  return front;
}

function cellPoints(checkpoint) {
  return cellsOf(checkpoint)
    .filter((c) => known(c.sqnr_db) && known(c.bits))
    .map((c) => ({
      type: c.type,
      bits: c.bits,
      sqnr: c.sqnr_db,
      weights: c.weights,
      kind: typeClass(c.type),
      name: `${c.roleName}, ${layerText(c.layer)}`,
      lines: () => [`${c.roleName}, ${layerText(c.layer)}`, ...figuresOf(c, true)],
    }));
}

function checkpointPoints(checkpoints) {
  return checkpoints
    .filter((c) => hasValues(c) && known(c.values.sqnr_db) && known(c.bits_per_weight))
    .map((c, i) => ({
      bits: c.bits_per_weight,
      sqnr: c.values.sqnr_db,
      kind: `type-${i % kTypeColors}`,
      number: String(i + 1),
      name: c.name,
      lines: () => [
        c.name,
        ["bits per weight", bitsText(c.bits_per_weight)],
        ["SQNR", decibelText(c.values.sqnr_db)],
        ["relative error", plainText(c.values.relative)],
        ["size", bytesText(c.size_bytes)],
      ],
    }));
}

function around(values, least) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const room = Math.max(least, (high - low) * 0.08);
  return [low - room, high + room];
}

function frontPath(front, placeX, placeY) {
  return front
    .map((p, i) =>
      i === 0 ? `M${placeX(p.bits)} ${placeY(p.sqnr)}` : `H${placeX(p.bits)}V${placeY(p.sqnr)}`,
    )
    .join("");
}

function pointRadius(point, heaviest) {
  return 2.5 + 6 * Math.sqrt(point.weights / heaviest);
}

// Where a point of a column goes, in pixels from the column's middle: the nearest place that is free,
// or, in a full column, the place that is furthest from other points.
function freeOffset(point, placed, room) {
  let best = {offset: 0, distance: -1};
  for (let step = 0; step <= room; step += 2) {
    for (const offset of step === 0 ? [0] : [step, -step]) {
      const distance = Math.min(
        ...placed.map((other) => {
          const between = Math.hypot(offset - other.offset, point.y - other.y);
          return between / (point.radius + other.radius);
        }),
      );
      if (distance >= 0.9) return offset;
      if (distance > best.distance) best = {offset, distance};
    }
  }
  return best.offset;
}

// Types in the order of their bits; one column each.
function typeColumns(points) {
  const columns = new Map();
  for (const point of points) {
    if (!columns.has(point.type)) columns.set(point.type, {type: point.type, points: []});
    columns.get(point.type).points.push(point);
  }
  for (const column of columns.values()) {
    const bits = column.points.map((p) => p.bits);
    [column.low, column.high] = [Math.min(...bits), Math.max(...bits)];
  }
  return [...columns.values()].sort((a, b) => a.low - b.low || a.high - b.high);
}

function pointMark(point, at, radius, onFront) {
  const label = shown(
    `${point.name}: ${bitsText(point.bits)} bits per weight, ${decibelText(point.sqnr)}`,
  );
  const mark = drawn("circle", {
    cx: at.x,
    cy: at.y,
    r: radius,
    class: `point ${point.kind}${onFront ? " front" : ""}`,
    tabindex: onFront ? "0" : null,
    role: "img",
    "aria-label": label,
  });
  return tipped(mark, point.lines);
}

function columnTitle(column, width) {
  const [low, high] = [bitsText(column.low), bitsText(column.high)];
  const texts = [low === high ? low : `${low} to ${high}`, low];
  return texts.find((text) => text.length * 6.8 < width) || "";
}

const kColumnWidth = 240;

// The points of each type in its column; points of similar SQNR are next to each other.
function columnPlot(points, width) {
  const height = Math.round(Math.min(420, Math.max(280, width * 0.5)));
  const columns = typeColumns(points);
  const place = frame({
    width,
    height,
    label: "SQNR of each type; the tables have the same data",
    x: [-0.5, columns.length - 0.5],
    xTicks: columns.map((column, i) => [i, columnTitle(column, (width - 66) / columns.length)]),
    y: around(
      points.map((p) => p.sqnr),
      0.5,
    ),
    xTitle: "bits per weight, a column for each type",
    yTitle: "SQNR (dB)",
  });
  const front = paretoFront(points);
  const heaviest = Math.max(1, ...points.map((p) => p.weights));
  const room = Math.min(kColumnWidth, (place.right - place.left) / columns.length) / 2 - 9;
  columns.forEach((column, i) => {
    const marks = [];
    for (const point of column.points.sort((a, b) => b.sqnr - a.sqnr)) {
      const mark = {y: place.placeY(point.sqnr), radius: pointRadius(point, heaviest)};
      const near = marks.filter((other) => mark.y - other.y < mark.radius + other.radius);
      mark.offset = freeOffset(mark, near, room);
      marks.push(mark);
      const at = {x: place.placeX(i) + mark.offset, y: mark.y};
      place.svg.append(pointMark(point, at, mark.radius, front.includes(point)));
    }
  });
  return place.svg;
}

// Checkpoints at their values; the legend names them by number.
function checkpointPlot(points, width) {
  const height = Math.round(Math.min(420, Math.max(280, width * 0.5)));
  const values = (key) => points.map((p) => p[key]);
  const place = frame({
    width,
    height,
    label: "SQNR against bits per weight; the table above has the same data",
    x: around(values("bits"), 0.5),
    y: around(values("sqnr"), 0.5),
    xTitle: "bits per weight",
    yTitle: "SQNR (dB)",
  });
  const front = paretoFront(points);
  place.svg.append(
    drawn("path", {class: "front-line", d: frontPath(front, place.placeX, place.placeY)}),
  );
  for (const point of points) {
    const at = {x: place.placeX(point.bits), y: place.placeY(point.sqnr)};
    const where = {class: `point-number ${point.kind}`, x: at.x, y: at.y + 4, "text-anchor": "middle"};
    place.svg.append(
      pointMark(point, at, 10, front.includes(point)),
      drawn("text", where, point.number),
    );
  }
  return place.svg;
}

function numberedLegend(points) {
  return points.map((point) =>
    element(
      "li",
      null,
      element(
        "span",
        {class: "chip"},
        element("span", {class: `swatch numbered ${point.kind}`}, point.number),
        element("span", {class: "chip-text long"}, point.name),
      ),
    ),
  );
}

const kPlots = {
  cells: {
    note:
      "One point for each role, layer and type; its area grows with the weights. An outlined point " +
      "has a higher SQNR than every point of as many or fewer bits.",
    legend: (points) =>
      typeColumns(points).map((column) => element("li", null, typeChip(column.type))),
    plot: columnPlot,
  },
  checkpoints: {
    note: "One point for each checkpoint. The line joins those that no other beats in both bits and SQNR.",
    legend: numberedLegend,
    plot: checkpointPlot,
  },
};

function scatterSection(checkpoint) {
  const sets = {
    cells: cellPoints(checkpoint),
    checkpoints: checkpointPoints(reportData.checkpoints),
  };
  const choices = [
    ["cells", "Squares of this checkpoint"],
    ["checkpoints", "Checkpoints"],
  ].filter(([key]) => sets[key].length > (key === "cells" ? 0 : 1));
  if (choices.length === 0) return null;
  const place = element("div");
  const show = (key) => {
    const kind = kPlots[key];
    place.replaceChildren(
      note(kind.note),
      element("ul", {class: "legend"}, kind.legend(sets[key])),
      responsive((width) => kind.plot(sets[key], width), {class: "plot-place"}),
    );
  };
  show(choices[0][0]);
  return section(
    "error",
    "Error against bits",
    choices.length > 1 ? choice("Points", choices, choices[0][0], show) : null,
    place,
    saveButton("error", () => place.querySelector(".plot")),
  );
}

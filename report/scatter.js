"use strict";
// Error against bits: a point a cell or a checkpoint, and the front that no other point beats.

// Points that no other has both fewer bits and a higher SQNR than.
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
    .map((c) => ({
      bits: c.bits_per_weight,
      sqnr: c.values.sqnr_db,
      weights: null,
      kind: "type-0",
      name: c.name,
      named: true,
      lines: () => [
        c.name,
        ["bits a weight", bitsText(c.bits_per_weight)],
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
  return point.weights === null ? 6 : 2.5 + 6 * Math.sqrt(point.weights / heaviest);
}

// Where a point of a column goes, as pixels beside the column: the nearest place where none lies,
// or, when the column's share of the width is full, the one that is furthest from the others.
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

const kColumnWidth = 240;

// Points of one type have the same bits. They are spread sideways, the best of a column in its
// middle, so that each can be seen; half the way to the next column is theirs.
function spread(points, heaviest, place) {
  const marks = points.map((point) => ({
    point,
    x: place.placeX(point.bits),
    y: place.placeY(point.sqnr),
    radius: pointRadius(point, heaviest),
    offset: 0,
  }));
  const columns = new Map();
  for (const mark of marks) {
    const key = Math.round(mark.x);
    if (!columns.has(key)) columns.set(key, []);
    columns.get(key).push(mark);
  }
  const places = [...columns.keys()].sort((a, b) => a - b);
  places.forEach((key, i) => {
    const room = Math.min(
      (key - (places[i - 1] ?? -Infinity)) / 2,
      ((places[i + 1] ?? Infinity) - key) / 2,
      key - place.left,
      place.right - key,
      kColumnWidth / 2,
    );
    const placed = [];
    for (const mark of columns.get(key).sort((a, b) => a.y - b.y)) {
      const near = placed.filter((other) => mark.y - other.y < mark.radius + other.radius);
      mark.offset = freeOffset(mark, near, room);
      placed.push(mark);
    }
  });
  return marks;
}

function pointMark({point, x, y, radius, offset}, onFront) {
  const label = shown(
    `${point.name}: ${bitsText(point.bits)} bits a weight, ${decibelText(point.sqnr)}`,
  );
  const mark = drawn("circle", {
    cx: x + offset,
    cy: y,
    r: radius,
    class: `point ${point.kind}${onFront ? " front" : ""}`,
    tabindex: onFront ? "0" : null,
    role: "img",
    "aria-label": label,
  });
  return tipped(mark, point.lines);
}

function scatterPlot(points, width) {
  const height = Math.round(Math.min(420, Math.max(280, width * 0.5)));
  const place = frame({
    width,
    height,
    label: "SQNR against bits a weight; the tables hold the same",
    x: around(
      points.map((p) => p.bits),
      0.5,
    ),
    y: around(
      points.map((p) => p.sqnr),
      0.5,
    ),
    xTitle: "bits a weight",
    yTitle: "SQNR (dB)",
  });
  const front = paretoFront(points);
  const heaviest = Math.max(1, ...points.map((p) => p.weights || 0));
  place.svg.append(
    drawn("path", {class: "front-line", d: frontPath(front, place.placeX, place.placeY)}),
  );
  const heavyFirst = (a, b) => (b.weights || 0) - (a.weights || 0) || a.bits - b.bits;
  for (const mark of spread([...points].sort(heavyFirst), heaviest, place))
    place.svg.append(pointMark(mark, front.includes(mark.point)));
  for (const point of points.filter((p) => p.named)) {
    const x = place.placeX(point.bits);
    place.svg.append(
      drawn(
        "text",
        {
          class: "point-name",
          x: x + (x > width * 0.7 ? -11 : 11),
          y: place.placeY(point.sqnr) + 4,
          "text-anchor": x > width * 0.7 ? "end" : "start",
        },
        point.name,
      ),
    );
  }
  return place.svg;
}

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
  const show = (key) =>
    place.replaceChildren(
      note(
        key === "cells"
          ? "One point a role, layer and type; its area grows with the weights. Points of the same bits stand side by side, around their place. "
          : "One point a checkpoint. ",
        "The line joins points that no other beats in both bits and SQNR.",
      ),
      key === "cells"
        ? element(
            "ul",
            {class: "legend"},
            [
              ...new Set(
                cellsOf(checkpoint)
                  .filter((c) => known(c.sqnr_db))
                  .map((c) => c.type),
              ),
            ].map((t) => element("li", null, typeChip(t))),
          )
        : "",
      responsive((width) => scatterPlot(sets[key], width), {class: "plot-place"}),
    );
  show(choices[0][0]);
  return section(
    "error",
    "Error against bits",
    choices.length > 1 ? choice("Points", choices, choices[0][0], show) : null,
    place,
    saveButton("error", () => place.querySelector(".plot")),
  );
}

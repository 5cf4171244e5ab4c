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

function pointMark(point, heaviest, place, onFront) {
  const radius = point.weights === null ? 6 : 2.5 + 6 * Math.sqrt(point.weights / heaviest);
  const [cx, cy] = [place.placeX(point.bits), place.placeY(point.sqnr)];
  const label = shown(
    `${point.name}: ${bitsText(point.bits)} bits a weight, ${decibelText(point.sqnr)}`,
  );
  const mark = drawn("circle", {
    cx,
    cy,
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
      0.25,
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
  const order = [...points].sort((a, b) => (b.weights || 0) - (a.weights || 0) || a.bits - b.bits);
  for (const point of order)
    place.svg.append(pointMark(point, heaviest, place, front.includes(point)));
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
          ? "One point a role, layer and type; its area grows with the weights. "
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
  );
}

"use strict";
// Parts that drawings of figures share: a frame with axes, and histograms.

// frame({width, height, x: [low, high], y: [low, high], xTitle, yTitle}): an SVG with its axes, and
// the functions that place values in it. xTicks: [[value, text]...] instead of round numbers.
function frame(options) {
  const {width, height, x, y} = options;
  const edge = {left: 52, right: 14, top: 12, bottom: 44};
  const placeX = (v) =>
    edge.left + ((v - x[0]) / (x[1] - x[0] || 1)) * (width - edge.left - edge.right);
  const placeY = (v) =>
    height - edge.bottom - ((v - y[0]) / (y[1] - y[0] || 1)) * (height - edge.top - edge.bottom);
  const [bottom, right] = [height - edge.bottom, width - edge.right];
  const wanted = Math.max(3, Math.min(8, width / 90));
  const xTicks = options.xTicks || ticksBetween(x[0], x[1], wanted).map((v) => [v, tickText(v)]);
  const svg = drawn(
    "svg",
    {viewBox: `0 0 ${width} ${height}`, class: "plot", role: "group", "aria-label": options.label},
    xTicks.map(([v, text]) => [
      drawn("line", {class: "rule", x1: placeX(v), x2: placeX(v), y1: edge.top, y2: bottom}),
      drawn("text", {x: placeX(v), y: bottom + 16, "text-anchor": "middle"}, text),
    ]),
    ticksBetween(y[0], y[1], 5).map((v) => [
      drawn("line", {class: "rule", x1: edge.left, x2: right, y1: placeY(v), y2: placeY(v)}),
      drawn("text", {x: edge.left - 8, y: placeY(v) + 4, "text-anchor": "end"}, tickText(v)),
    ]),
    drawn(
      "text",
      {class: "axis", x: (edge.left + right) / 2, y: height - 8, "text-anchor": "middle"},
      options.xTitle,
    ),
    drawn(
      "text",
      {
        class: "axis",
        transform: `translate(13 ${(edge.top + bottom) / 2}) rotate(-90)`,
        "text-anchor": "middle",
      },
      options.yTitle,
    ),
  );
  return {svg, placeX, placeY, left: edge.left, right};
}

function stepPath(counts, height, width, top, outline) {
  const step = width / counts.length;
  let path = outline ? "" : `M0 ${height}`;
  counts.forEach((count, i) => {
    const y = (height - (top > 0 ? count / top : 0) * (height - 2)).toFixed(1);
    path += `${path === "" ? "M" : "L"}${(i * step).toFixed(1)} ${y}H${((i + 1) * step).toFixed(1)}`;
  });
  return outline ? path : `${path}V${height}Z`;
}

// Counts of bins as steps: `sets` are [counts, class], the first filled and others as outlines. With
// `root` the height follows the square root, so that tails can be seen.
function histogram(sets, size, label, root) {
  const bent = sets.map(([counts, kind]) => [root ? counts.map(Math.sqrt) : counts, kind]);
  const top = Math.max(0, ...bent.flatMap(([counts]) => counts));
  return drawn(
    "svg",
    {
      viewBox: `0 0 ${size.w} ${size.h}`,
      class: "histogram",
      role: "img",
      "aria-label": label,
      width: size.fixed ? size.w : null,
      height: size.fixed ? size.h : null,
      preserveAspectRatio: "none",
    },
    bent.map(([counts, kind], i) =>
      drawn("path", {
        class: kind,
        d: stepPath(counts, size.h, size.w, top, i > 0),
        "vector-effect": "non-scaling-stroke",
      }),
    ),
  );
}

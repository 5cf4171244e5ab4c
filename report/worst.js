"use strict";
// The tensors with the lowest SQNR, with histograms of their weights and of the error.

function weightSets(histogramOfWeights) {
  return [
    [histogramOfWeights.this, "filled"],
    [histogramOfWeights.base, "outline"],
  ];
}

function smallHistogram(counts, label) {
  return histogram(counts, {w: 96, h: 30, fixed: true}, label, true);
}

function largeHistogram(title, range, sets, legend, root) {
  const ends = [range.from, (range.from + range.to) / 2, range.to];
  return element(
    "figure",
    {class: "distribution"},
    element("figcaption", null, title, legend),
    histogram(sets, {w: 640, h: 170}, title, root),
    element(
      "div",
      {class: "ends"},
      ends.map((v) => element("span", null, plainText(v))),
    ),
  );
}

function distributionLegend() {
  return element(
    "span",
    {class: "legend inline"},
    element("span", {class: "chip"}, element("span", {class: "swatch filled"}), "this checkpoint"),
    element("span", {class: "chip"}, element("span", {class: "swatch outline"}), "base"),
  );
}

function tensorDetail(tensor, root) {
  const weights = tensor.weight_histogram;
  const errors = tensor.error_histogram;
  return element(
    "div",
    {class: "card detail", "aria-live": "polite"},
    element("h3", {class: "code"}, tensor.tensor),
    element(
      "div",
      {class: "columns"},
      weights
        ? largeHistogram("Weights", weights, weightSets(weights), distributionLegend(), root)
        : null,
      errors
        ? largeHistogram(
            "Error (difference from the base)",
            errors,
            [[errors.counts, "filled wrong"]],
            null,
            root,
          )
        : null,
    ),
  );
}

function worstColumns(cells, choose) {
  const measured = [
    ["sqnr_db", "SQNR", decibelText],
    ["relative", "Relative", measuredText],
    ["cosine", "Cosine", (v) => (known(v) ? v.toFixed(5) : kNotKnown)],
    ["max_error", "Max error", measuredText],
    ["saturated", "Saturated", shareText],
    ["flushed", "Flushed", shareText],
    ["kurtosis", "Kurtosis", measuredText],
    ["weights", "Weights", weightsText],
  ];
  const typeOf = (t) => (cells[t.cell] ? cells[t.cell].type : null);
  return [
    {
      title: "Tensor",
      head: true,
      kind: "code",
      value: (t) => t.tensor,
      node: (t) =>
        element("button", {type: "button", class: "link", onclick: () => choose(t)}, t.tensor),
    },
    {title: "Type", value: typeOf, node: (t) => (typeOf(t) ? typeChip(typeOf(t)) : null)},
    {title: "SQNR", numeric: true, value: (t) => t.sqnr_db, text: sqnrText},
    {
      title: "Distribution",
      fixed: true,
      value: (t) => t.kurtosis,
      node: (t) =>
        t.weight_histogram
          ? smallHistogram(
              weightSets(t.weight_histogram),
              "Histogram of the weights of this checkpoint and of the base",
            )
          : null,
    },
    {
      title: "Error",
      fixed: true,
      value: (t) => t.max_error,
      node: (t) =>
        t.error_histogram
          ? smallHistogram([[t.error_histogram.counts, "filled wrong"]], "Histogram of the error")
          : null,
    },
    ...measured.slice(1).map(([key, title, text]) => ({
      title,
      numeric: true,
      value: (t) => t[key],
      text: (t) => text(t[key]),
    })),
  ];
}

function worstSection(checkpoint) {
  const worst = hasValues(checkpoint) ? checkpoint.values.worst || [] : [];
  if (worst.length === 0) return null;
  const place = element("div");
  let [current, root] = [worst[0], true];
  const show = () => place.replaceChildren(tensorDetail(current, root));
  show();
  return section(
    "worst",
    "Worst tensors",
    note(
      `The ${plural(worst.length, "tensor", "tensors")} with the lowest SQNR; a name shows its histograms large. Small ones follow the square root of the counts.`,
    ),
    choice(
      "Height",
      [
        ["root", "Square root of counts"],
        ["linear", "Counts"],
      ],
      "root",
      (key) => {
        root = key === "root";
        show();
      },
    ),
    place,
    sortableTable({
      caption: "Worst tensors",
      rows: worst,
      kind: "worst",
      columns: worstColumns(cellsOf(checkpoint), (tensor) => {
        current = tensor;
        show();
      }),
    }),
  );
}

"use strict";
// Figures of other files: tokens that each expert saw, and an evaluation.

const kCoverageSteps = 6;

function sortedNumbers(list) {
  return [...list].sort((a, b) => a - b);
}

function entryStats(checkpoint, entry) {
  const sorted = sortedNumbers(entry.experts);
  return {
    role: checkpoint.roles[entry.role],
    layer: entry.layer,
    experts: sorted.length,
    never: sorted.filter((n) => n === 0).length,
    fewest: sorted[0],
    median: sorted[Math.floor((sorted.length - 1) / 2)],
    most: sorted[sorted.length - 1],
    entry,
  };
}

// The size of the map: rows are layers, columns experts.
function coveragePlace(rows, width) {
  const left = 44;
  const experts = Math.max(...rows.map((r) => r.experts));
  const h = Math.max(5, Math.min(16, 420 / rows.length));
  return {left, width, w: (width - left) / experts, h, height: rows.length * h};
}

function coverageDepth(tokens, most) {
  if (tokens === 0) return 0;
  const share = Math.log1p(tokens) / Math.log1p(most);
  return 1 + Math.min(kCoverageSteps - 1, Math.floor(share * kCoverageSteps));
}

// One path a depth, which follows the logarithm of the tokens.
function coveragePaths(rows, place) {
  const most = Math.max(1, ...rows.map((r) => r.most));
  const paths = Array.from({length: kCoverageSteps + 1}, () => "");
  const [across, down] = [(place.w * 0.92).toFixed(2), (place.h * 0.9).toFixed(2)];
  rows.forEach((row, y) =>
    row.entry.experts.forEach((tokens, x) => {
      const start = `M${(place.left + x * place.w).toFixed(2)} ${(y * place.h).toFixed(2)}`;
      paths[coverageDepth(tokens, most)] += `${start}h${across}v${down}h-${across}z`;
    }),
  );
  return paths.map((d, i) => {
    const kind = i === 0 ? "never" : "depth plain";
    return d ? drawn("path", {d, class: kind, "--t": `${(i / kCoverageSteps) * 100}%`}) : null;
  });
}

// Tokens of the expert under the pointer.
function tippedByPointer(svg, rows, place) {
  let at = null;
  tipped(svg, () => at || ["Tokens each expert saw"]);
  svg.addEventListener("mousemove", ({clientX, clientY}) => {
    const box = svg.getBoundingClientRect();
    const x = Math.floor((((clientX - box.left) / box.width) * place.width - place.left) / place.w);
    const row = rows[Math.floor(((clientY - box.top) / box.height) * rows.length)];
    at = null;
    hideTip();
    if (!row || x < 0 || x >= row.experts) return;
    const tokens = exactText(row.entry.experts[x]);
    at = [`${layerText(row.layer)}, expert ${x}`, ["tokens", tokens]];
    showTip(svg);
    const pointer = {left: clientX, width: 0, top: clientY, bottom: clientY};
    placeTip(pointer, document.getElementById("tip"));
  });
}

function coverageMap(rows, width) {
  const place = coveragePlace(rows, width);
  const every = Math.ceil(14 / place.h);
  const label =
    "Tokens that each expert saw, layers down and experts across; the table below has the sums";
  const svg = drawn(
    "svg",
    {
      viewBox: `0 0 ${width} ${place.height}`,
      class: "plot coverage",
      role: "img",
      "aria-label": label,
    },
    rows.map((row, y) => {
      const middle = Math.max(7, (y + 0.5) * place.h);
      const at = {x: place.left - 8, y: middle, "text-anchor": "end", "dominant-baseline": "central"};
      return y % every === 0 && known(row.layer) ? drawn("text", at, String(row.layer)) : null;
    }),
    coveragePaths(rows, place),
  );
  tippedByPointer(svg, rows, place);
  return svg;
}

function coverageTable(rows) {
  const counted = (key, title) => ({
    title,
    numeric: true,
    value: (r) => r[key],
    text: (r) => exactText(r[key]),
  });
  return sortableTable({
    caption: "Coverage by the importance matrix",
    rows,
    columns: [
      {title: "Role", head: true, kind: "code", value: (r) => r.role},
      {
        title: "Layer",
        numeric: true,
        value: (r) => r.layer,
        text: (r) => (known(r.layer) ? String(r.layer) : "outside"),
      },
      counted("experts", "Experts"),
      counted("never", "Without a token"),
      counted("fewest", "Fewest tokens"),
      counted("median", "Median"),
      counted("most", "Most"),
    ],
  });
}

function coverageSummary(imatrix, rows) {
  const chunks = known(imatrix.chunks) ? `, ${plural(imatrix.chunks, "chunk", "chunks")}` : "";
  const experts = rows.reduce((sum, r) => sum + r.experts, 0);
  const never = rows.reduce((sum, r) => sum + r.never, 0);
  const sets = imatrix.datasets || [];
  const measured = sets.length > 0 ? `, measured on ${sets.map(shown).join(", ")}` : "";
  const missed = `${exactText(never)} of ${exactText(experts)}`;
  const seen =
    never === 0
      ? "Each saw tokens."
      : `${missed} (experts counted in each role and layer) saw no token.`;
  const legacy = imatrix.kind === "legacy" ? "A .dat file does not say what each expert saw. " : "";
  return [imatrix.file, chunks, measured, ". ", legacy, experts > 0 ? seen : "", misfits(imatrix)];
}

// Names of the file and of the model that have no partner.
function misfits(imatrix) {
  const [missing, unknown] = [imatrix.missing || [], imatrix.unknown || []];
  const named = (names) => `${shown(names[0])}${names.length > 1 ? ", ..." : ""}`;
  return [
    missing.length > 0
      ? ` ${plural(missing.length, "weight has", "weights have")} no statistics (${named(missing)}).`
      : "",
    unknown.length > 0
      ? ` ${plural(unknown.length, "name", "names")} of the file ${
          unknown.length > 1 ? "are" : "is"
        } not in the model (${named(unknown)}).`
      : "",
  ].join("");
}

function coverageLegend() {
  const never = element("span", {class: "swatch never"});
  return element(
    "ul",
    {class: "legend"},
    element("li", null, element("span", {class: "chip"}, never, "no token")),
    element(
      "li",
      {class: "muted"},
      "layers down, experts across; tokens on a logarithmic scale:",
    ),
    element(
      "li",
      {class: "ramp-place"},
      element("div", {class: "ramp plain", "aria-hidden": "true"}),
      element(
        "ol",
        {class: "ramp-texts"},
        ["few", "many"].map((word) => element("li", null, word)),
      ),
    ),
  );
}

function imatrixSection(checkpoint) {
  const imatrix = checkpoint.imatrix;
  if (!imatrix) return null;
  const rows = (imatrix.entries || [])
    .filter((e) => e.experts && e.experts.length > 0)
    .map((e) => entryStats(checkpoint, e));
  const roles = [...new Set(rows.filter((r) => r.experts > 1).map((r) => r.role))];
  const pairs = roles.map((role) => [role, role]);
  const place = element("div");
  const show = (role) => {
    const ofRole = rows.filter((r) => r.role === role);
    const draw = (width) => coverageMap(ofRole, width);
    place.replaceChildren(responsive(draw, {class: "plot-place"}));
  };
  if (roles.length > 0) show(roles[0]);
  return section(
    "imatrix",
    "Importance matrix",
    note(coverageSummary(imatrix, rows)),
    roles.length > 1 ? choice("Role", pairs, roles[0], show) : null,
    roles.length > 0
      ? [
          coverageLegend(),
          place,
          saveButton("coverage", () => place.querySelector(".plot")),
        ]
      : null,
    rows.length > 0
      ? folded("Figures of each role and layer", () => coverageTable(rows), true)
      : null,
  );
}

const kEvaluationTitles = {name: "Name", kl: "KL divergence", perplexity: "Perplexity"};

function evaluationSection(checkpoint) {
  const evaluation = checkpoint.evaluation;
  if (!evaluation || !evaluation.rows || evaluation.rows.length === 0) return null;
  const keys = [...new Set(evaluation.rows.flatMap((row) => Object.keys(row)))];
  return section(
    "evaluation",
    "Evaluation",
    note(`As ${shown(evaluation.file)} says; ckpt computed none of it.`),
    sortableTable({
      caption: "Evaluation",
      rows: evaluation.rows,
      columns: keys.map((key, i) => {
        const of = (row) => (Object.hasOwn(row, key) ? row[key] : null);
        return {
          title: Object.hasOwn(kEvaluationTitles, key) ? kEvaluationTitles[key] : key,
          head: i === 0,
          numeric: evaluation.rows.some((row) => typeof of(row) === "number"),
          value: of,
          text: (row) => {
            const value = of(row);
            if (typeof value === "number") return plainText(value);
            return known(value) ? String(value) : kNotKnown;
          },
        };
      }),
    }),
  );
}

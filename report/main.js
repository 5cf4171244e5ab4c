"use strict";
// Puts the sections together: the comparison of several checkpoints, a tab for each, the contents.

const reportData = JSON.parse(document.getElementById("data").textContent);

const kSections = [
  identitySection,
  servingSection,
  bytesSection,
  heatSection,
  againstSection,
  scatterSection,
  worstSection,
  memorySection,
  imatrixSection,
  evaluationSection,
];

// Columns of what was measured against the base, which says so in its own row.
function measuredColumns() {
  const measured = (title, value, text) => ({
    title,
    numeric: true,
    value: (c) => (hasValues(c) ? value(c.values) : null),
    text: (c) => {
      if (hasValues(c)) return text(c.values);
      return c === reportData.against ? "base" : kNotKnown;
    },
  });
  return [
    measured("SQNR", (v) => v.sqnr_db, sqnrText),
    measured(
      "Relative error",
      (v) => v.relative,
      (v) => measuredText(v.relative),
    ),
  ];
}

// KL divergence and perplexity, where a row of the evaluation has the checkpoint's name.
function evaluatedColumns(checkpoints) {
  const row = (c) => ((c.evaluation && c.evaluation.rows) || []).find((r) => r.name === c.name);
  const evaluated = checkpoints.filter(row);
  return ["kl", "perplexity"]
    .filter((key) => evaluated.some((c) => typeof row(c)[key] === "number"))
    .map((key) => ({
      title: kEvaluationTitles[key],
      numeric: true,
      value: (c) => (row(c) && typeof row(c)[key] === "number" ? row(c)[key] : null),
      text: (c) => (row(c) && typeof row(c)[key] === "number" ? plainText(row(c)[key]) : kNotKnown),
    }));
}

function sizeColumns() {
  const sized = (title, key, text) => ({
    title,
    numeric: true,
    value: (c) => c[key],
    text: (c) => text(c[key]),
  });
  return [
    sized("Size", "size_bytes", bytesText),
    sized("Bits per weight", "bits_per_weight", bitsText),
    sized("Weights", "weights", weightsText),
    sized("Tensors", "tensors", exactText),
  ];
}

function comparison(checkpoints, choose) {
  const link = (c) => {
    const at = checkpoints.indexOf(c);
    if (at < 0 || checkpoints.length === 1) return c.name;
    const chosen = {type: "button", class: "link", onclick: () => choose(at)};
    return element("button", chosen, c.name);
  };
  const table = sortableTable({
    caption: "Checkpoints",
    rows: reportData.against ? [...checkpoints, reportData.against] : checkpoints,
    columns: [
      {title: "Checkpoint", head: true, value: (c) => c.name, node: link},
      {title: "Format", value: (c) => c.format},
      ...sizeColumns(),
      ...(checkpoints.some(hasValues) ? measuredColumns() : []),
      ...evaluatedColumns(checkpoints),
    ],
  });
  return section("comparison", "Side by side", table, verdictTable(checkpoints, choose));
}

function showContents(places) {
  const sections = places.flatMap((place) => [...place.querySelectorAll("section")]);
  document.getElementById("contents").replaceChildren(
    element(
      "ul",
      null,
      sections.map((s) =>
        element("li", null, element("a", {href: `#${s.id}`}, s.querySelector("h2").textContent)),
      ),
    ),
  );
}

function tabs(checkpoints, chosen) {
  const buttons = checkpoints.map((c, i) =>
    element(
      "button",
      {
        type: "button",
        role: "tab",
        id: `tab-${i}`,
        "aria-controls": "checkpoint",
        onclick: () => select(i),
      },
      c.name,
    ),
  );
  function select(i) {
    buttons.forEach((b, j) => {
      b.setAttribute("aria-selected", String(i === j));
      b.tabIndex = i === j ? 0 : -1;
    });
    chosen(i);
  }
  const list = element(
    "div",
    {class: "tabs", role: "tablist", "aria-label": "Checkpoints"},
    buttons,
  );
  list.addEventListener("keydown", (event) => {
    const move = {ArrowRight: 1, ArrowLeft: -1}[event.key];
    if (!move) return;
    const i = (buttons.indexOf(document.activeElement) + move + buttons.length) % buttons.length;
    select(i);
    buttons[i].focus();
  });
  return {list, select};
}

function titleOf(checkpoints) {
  if (checkpoints.length === 1) return checkpoints[0].name;
  return plural(checkpoints.length, "checkpoint", "checkpoints");
}

function subtitle(checkpoints) {
  const base = reportData.against
    ? [" compared with ", element("strong", null, reportData.against.name)]
    : null;
  const facts =
    checkpoints.length === 1
      ? [checkpoints[0].architecture, checkpoints[0].format].filter(known).join(", ")
      : checkpoints.map((c) => c.name).join(", ");
  return facts || base ? element("p", {class: "subtitle"}, facts, base) : null;
}

function showReport() {
  const main = document.getElementById("main");
  const checkpoints = reportData.checkpoints;
  numberTypes(reportData.against ? [...checkpoints, reportData.against] : checkpoints);
  document.title = `${shown(titleOf(checkpoints))} \u2013 ckpt report`;
  main.append(element("h1", null, titleOf(checkpoints)), subtitle(checkpoints) || "");
  const several = checkpoints.length > 1;
  const panel = element("div", several ? {id: "checkpoint", role: "tabpanel"} : {id: "checkpoint"});
  const top = element("div");
  const show = (i) => {
    hideTip();
    if (several) panel.setAttribute("aria-labelledby", `tab-${i}`);
    panel.replaceChildren(...kSections.map((make) => make(checkpoints[i])).filter(Boolean));
    showContents([top, panel]);
  };
  const {list, select} = several ? tabs(checkpoints, show) : {list: "", select: show};
  if (several || reportData.against)
    top.append(
      comparison(checkpoints, (i) => {
        select(i);
        if (several) document.getElementById(`tab-${i}`).focus({preventScroll: true});
      }),
    );
  main.append(top, list, panel);
  select(0);
  document
    .getElementById("foot")
    .append(
      element(
        "p",
        null,
        `ckpt ${reportData.version || ""}. This page is one file and loads nothing from a network.`,
      ),
    );
}

const kPaper = 860; // pixels of a table on the screen that fit on a sheet, in print's smaller type

function startPrinting() {
  let opened = [];
  window.addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")].filter(
      (details) => details.openForPrint,
    );
    for (const details of opened) details.openForPrint();
    for (const place of document.querySelectorAll(".table"))
      stackWhereNarrow(place, Math.min(kPaper, place.clientWidth));
  });
  window.addEventListener("afterprint", () => {
    for (const details of opened) details.open = false;
    for (const place of document.querySelectorAll(".table"))
      stackWhereNarrow(place, place.clientWidth);
  });
}

// A link into a part that is closed opens it first.
function startLinks() {
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element && event.target.closest('a[href^="#"]');
    const to = link && document.getElementById(link.getAttribute("href").slice(1));
    const closed = to && to.closest("details:not([open])");
    if (closed) closed.open = true;
  });
}

startTheme();
startTips();
startPrinting();
startLinks();
if (reportData && reportData.checkpoints && reportData.checkpoints.length > 0) showReport();
else
  document
    .getElementById("main")
    .append(
      element("h1", null, "ckpt report"),
      note("This page holds no data. ckpt report writes pages that do."),
    );

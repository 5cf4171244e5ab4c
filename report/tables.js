"use strict";
// Tables that sort by a click on a heading. Figures to the right, what is not known always last.

// A column: title, value(row) to sort by, text(row) or node(row) to show (value when neither is
// there), numeric, head for the one that names the row, fixed for drawings, which do not sort.
function bodyCell(column, row) {
  const content = column.node
    ? column.node(row)
    : column.text
      ? column.text(row)
      : column.value(row);
  return element(
    column.head ? "th" : "td",
    {
      scope: column.head ? "row" : null,
      class: [column.numeric ? "number" : "", column.kind || ""].join(" ").trim() || null,
      "data-title": column.head ? null : shown(column.title),
    },
    known(content) ? content : kNotKnown,
  );
}

function compareValues(a, b, up) {
  if (!known(a) || !known(b)) return Number(!known(a)) - Number(!known(b));
  const order =
    typeof a === "number" && typeof b === "number"
      ? a - b
      : String(a).localeCompare(String(b), "en", {numeric: true});
  return up ? order : -order;
}

// A table that is wider than its place shows each row as a block of titled figures instead, so that
// no figure is cut at an edge.
function stackWhereNarrow(place, width) {
  place.classList.remove("stacked");
  place.classList.toggle("stacked", place.firstChild.scrollWidth > width + 1);
}

function placed(table) {
  const place = element("div", {class: "table"}, table);
  let last = 0;
  new ResizeObserver(() => {
    if (place.clientWidth === 0 || place.clientWidth === last) return;
    last = place.clientWidth;
    stackWhereNarrow(place, last);
  }).observe(place);
  return place;
}

// table({caption, columns, rows, sorted: [column, up]}): rows keep their order until a heading is used.
function sortableTable(options) {
  const {caption, columns, rows} = options;
  const body = element("tbody");
  const drawnRows = rows.map((row) => [row, null]);
  const nodeOf = (pair) => {
    pair[1] =
      pair[1] ||
      element(
        "tr",
        null,
        columns.map((c) => bodyCell(c, pair[0])),
      );
    return pair[1];
  };
  let state = options.sorted || [-1, true];
  const headings = columns.map((column, i) => {
    const button = element("button", {type: "button", onclick: () => sortBy(i)}, column.title);
    return element(
      "th",
      {scope: "col", class: column.numeric ? "number" : null},
      column.fixed ? column.title : button,
    );
  });
  function show() {
    const [at, up] = state;
    const order = [...drawnRows];
    if (at >= 0)
      order.sort((a, b) => compareValues(columns[at].value(a[0]), columns[at].value(b[0]), up));
    body.replaceChildren(...order.map(nodeOf));
    headings.forEach((th, i) => {
      if (i === at) th.setAttribute("aria-sort", up ? "ascending" : "descending");
      else th.removeAttribute("aria-sort");
    });
  }
  function sortBy(i) {
    const up = state[0] === i ? !state[1] : !columns[i].numeric;
    state = [i, up];
    show();
    announce(`${caption}: sorted by ${columns[i].title}, ${up ? "ascending" : "descending"}`);
  }
  show();
  return placed(
    element(
      "table",
      {class: [options.kind || "", rows.length < 2 ? "single" : ""].join(" ").trim() || null},
      element("caption", null, caption),
      element("thead", null, element("tr", null, headings)),
      body,
    ),
  );
}

// A part that opens: `make` is called when it is opened the first time. Printing opens it unless it
// is long.
function folded(title, make, long) {
  const place = element("div");
  const node = element("details", {class: "fold"}, element("summary", null, title), place);
  node.addEventListener("toggle", () => {
    if (node.open && !place.firstChild) place.append(make());
  });
  if (!long)
    node.openForPrint = () => {
      if (!place.firstChild) place.append(make());
      node.open = true;
    };
  return node;
}

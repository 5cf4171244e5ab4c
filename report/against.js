"use strict";
// A checkpoint next to its base, role by role: bytes, bits and types of both, and the error.

// Roles where both name them alike; module groups for two formats, which name them differently.
function sharedKey(checkpoint, base) {
  const roles = new Set(base.roles);
  const alike = checkpoint.roles.filter((role) => roles.has(role)).length;
  return alike * 2 >= checkpoint.roles.length
    ? {title: "Role", of: (cell) => cell.roleName, kind: "code"}
    : {title: "Module group", of: (cell) => groupOf(cell.roleName), kind: ""};
}

function sideBySide(checkpoint, base) {
  const key = sharedKey(checkpoint, base);
  const sides = [checkpoint, base].map(
    (side) => new Map(summed(cellsOf(side), key.of).map((sum) => [sum.name, sum])),
  );
  const names = [...new Set([...sides[0].keys(), ...sides[1].keys()])];
  const rows = names.map((name) => {
    const [own, other] = sides.map((side) => side.get(name) || null);
    const errors = own ? own.cells.filter((c) => known(c.sqnr_db) || known(c.relative)) : [];
    const worst = errors.filter((c) => known(c.sqnr_db)).map((c) => c.sqnr_db);
    return {
      name,
      own,
      other,
      sqnr_db: worst.length > 0 ? Math.min(...worst) : null,
      equal: errors.length > 0 && worst.length === 0,
    };
  });
  return {key, rows};
}

function typesText(sum) {
  return summed(sum.cells, (c) => c.type).map((s) => shown(s.name)).join(", ");
}

function sideColumns(side, titles) {
  const figure = (title, key, text) => ({
    title,
    numeric: true,
    value: (r) => (r[side] ? r[side][key] : null),
    text: (r) => (r[side] ? text(r[side][key]) : "none"),
  });
  return [
    {
      title: titles[0],
      value: (r) => (r[side] ? typesText(r[side]) : null),
      text: (r) => (r[side] ? typesText(r[side]) : "none"),
    },
    figure(titles[1], "size_bytes", bytesText),
    figure(titles[2], "bits", bitsText),
  ];
}

function changeText(row) {
  if (!row.own || !row.other || row.other.size_bytes === 0) return kNotKnown;
  const change = row.own.size_bytes / row.other.size_bytes - 1;
  return `${change > 0 ? "+" : change < 0 ? "\u2212" : ""}${shareText(Math.abs(change))}`;
}

function againstSection(checkpoint) {
  const base = reportData.against;
  if (!base || !base.cells || !checkpoint.cells) return null;
  const {key, rows} = sideBySide(checkpoint, base);
  const change = {
    title: "Change",
    numeric: true,
    value: (r) => (r.own && r.other ? r.own.size_bytes / r.other.size_bytes : null),
    text: changeText,
  };
  const error = {
    title: "Worst SQNR",
    numeric: true,
    value: (r) => r.sqnr_db,
    text: (r) => (r.equal ? "equal" : decibelText(r.sqnr_db)),
  };
  return section(
    "against",
    "Compared with the base",
    note(`The base is ${shown(base.name)}. Bits: bits per weight.`),
    sortableTable({
      caption: "Bytes and error next to the base",
      rows,
      columns: [
        {title: key.title, head: true, kind: key.kind, value: (r) => r.name},
        ...sideColumns("own", ["Types", "Size", "Bits"]),
        ...sideColumns("other", ["Base types", "Base size", "Base bits"]),
        change,
        ...(hasValues(checkpoint) ? [error] : []),
      ],
    }),
  );
}

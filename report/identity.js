"use strict";
// The facts about a checkpoint: figures, files, what was published.

function figure(title, text, exact) {
  return element(
    "div",
    {class: "figure"},
    element("dt", null, title),
    element("dd", {title: exact || null}, text),
  );
}

function factRows(checkpoint) {
  const listed = (list) => (list && list.length > 0 ? list.join(", ") : kNotKnown);
  const rows = [
    ["Path", checkpoint.path],
    ["Format", checkpoint.format],
    ["Architecture", checkpoint.architecture],
    ["Layers", known(checkpoint.layers) ? exactText(checkpoint.layers) : null],
    ["License", checkpoint.license],
    ["Base model", listed(checkpoint.base_models)],
  ];
  return rows.map(([name, text]) => [
    element("dt", null, name),
    element(
      "dd",
      {class: known(text) && text !== kNotKnown ? null : "muted"},
      known(text) ? text : kNotKnown,
    ),
  ]);
}

function publishedRows(published) {
  if (!published) return null;
  const {sums, signature, provenance} = published;
  const tool =
    provenance && typeof provenance.tool === "string"
      ? `recorded by ${provenance.tool}`
      : "recorded";
  const rows = [
    ["Sums", sums, "SHA256SUMS lists the files", "no SHA256SUMS"],
    ["Signature", signature, `signed in ${signature} (not verified here)`, "not signed"],
    ["Provenance", provenance, tool, "not recorded"],
  ];
  return rows.map(([name, there, yes, no]) => [
    element("dt", null, name),
    element("dd", {class: there ? null : "muted"}, there ? yes : no),
  ]);
}

function provenanceFold(published) {
  if (!published || !published.provenance) return null;
  return folded("Provenance", () =>
    element(
      "pre",
      null,
      JSON.stringify(published.provenance, null, 2)
        .split("\n")
        .map((line) => [shown(line), element("br")]),
    ),
  );
}

function filesFold(checkpoint) {
  const files = checkpoint.files || [];
  if (files.length === 0) return null;
  return folded(
    `${plural(files.length, "file", "files")}, ${bytesText(checkpoint.size_bytes)}`,
    () =>
      sortableTable({
        caption: "Files",
        rows: files,
        columns: [
          {title: "File", head: true, kind: "code", value: (f) => f.name},
          {
            title: "Size",
            numeric: true,
            value: (f) => f.size_bytes,
            text: (f) => bytesText(f.size_bytes),
          },
          {
            title: "Bytes",
            numeric: true,
            value: (f) => f.size_bytes,
            text: (f) => exactText(f.size_bytes),
          },
          {
            title: "SHA-256 as listed",
            kind: "code",
            value: (f) => f.sha256,
            text: (f) => (known(f.sha256) ? f.sha256 : "not listed"),
          },
        ],
      }),
  );
}

function identitySection(checkpoint) {
  const figures = [
    figure("Size", bytesText(checkpoint.size_bytes), `${exactText(checkpoint.size_bytes)} bytes`),
    figure("Bits per weight", bitsText(checkpoint.bits_per_weight)),
    figure("Weights", weightsText(checkpoint.weights), exactText(checkpoint.weights)),
    figure("Tensors", exactText(checkpoint.tensors)),
  ];
  if (hasValues(checkpoint)) {
    figures.push(figure("SQNR", sqnrText(checkpoint.values)));
    figures.push(figure("Relative error", plainText(checkpoint.values.relative)));
  }
  const compared = hasValues(checkpoint)
    ? note(
        `Values of ${plural(checkpoint.values.compared, "tensor", "tensors")} compared with `,
        element("strong", null, reportData.against ? reportData.against.name : "the base"),
        known(checkpoint.values.not_compared) && checkpoint.values.not_compared > 0
          ? `; ${exactText(checkpoint.values.not_compared)} not compared.`
          : ".",
      )
    : null;
  return section(
    "identity",
    "Identity",
    element("dl", {class: "figures"}, figures),
    compared,
    element(
      "div",
      {class: "columns"},
      element("dl", {class: "facts"}, factRows(checkpoint)),
      element("dl", {class: "facts"}, publishedRows(checkpoint.published)),
    ),
    filesFold(checkpoint),
    provenanceFold(checkpoint.published),
  );
}

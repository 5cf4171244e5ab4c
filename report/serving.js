"use strict";
// Which programs load a checkpoint and compute the right results, and why not: a row for each.

const kVerdicts = {yes: ["\u2713", "good"], no: ["\u2717", "bad"]};

// A verdict, as a link to the element that explains it where there is one.
function verdict(text, explanation) {
  const [sign, kind] = kVerdicts[text] || ["\u2013", "muted"];
  return element(
    explanation ? "a" : "span",
    {class: `verdict ${kind}`, href: explanation ? `#${explanation}` : null},
    element("span", {"aria-hidden": "true"}, `${sign} `),
    known(text) ? text : kNotKnown,
  );
}

const rowOfProfile = (checkpoint, profile) => `serving-${checkpoint.profiles.indexOf(profile)}`;

// The first explained check of a profile, else the words of the verdicts.
function explanationOf(profile, word) {
  const checks = profile.explained || [];
  return word === "no" && checks.length > 0 ? checkId(checks[0].check) : "verdicts";
}

const checkId = (check) => `check-${String(check).replace(/[^A-Za-z0-9]/g, "")}`;

// "T02 error: file: text" begins with the check, which links to its explanation.
function findingItem(text, profile) {
  const known = (profile.explained || []).find(({check}) => text.startsWith(`${check} `));
  if (!known) return element("li", null, text);
  const link = element("a", {href: `#${checkId(known.check)}`}, known.check);
  return element("li", null, link, text.slice(known.check.length));
}

function serverRow(checkpoint, profile) {
  const findings = profile.findings || [];
  const name = shown(profile.label || profile.name);
  const pair = (title, word) =>
    element("p", {class: "verdicts"}, `${title} `, verdict(word, explanationOf(profile, word)));
  const left = (profile.left || []).length > 0 ? note(`It leaves ${profile.left.join(", ")}.`) : null;
  return element(
    "article",
    {class: "server", id: rowOfProfile(checkpoint, profile), "aria-label": `Program ${name}`},
    element("h3", null, name),
    pair("loads", profile.loads),
    profile.loads === "no" ? element("p", {class: "verdicts"}) : pair("correct", profile.sound),
    element(
      "div",
      {class: "server-more"},
      findings.length > 0
        ? element(
            "ul",
            {class: "findings"},
            findings.map((text) => findingItem(text, profile)),
          )
        : null,
      known(profile.fix)
        ? [element("h4", null, "Fix"), command(profile.fix, `Fix for ${name}`), left]
        : null,
      known(profile.serve)
        ? [element("h4", null, "Serve"), command(profile.serve, `Serve with ${name}`)]
        : null,
      known(profile.convert)
        ? [element("h4", null, "Convert"), command(profile.convert, `Convert for ${name}`)]
        : null,
    ),
  );
}

const kWords = [
  ["loads", "the program accepts the configuration, the tokenizer and every weight"],
  ["correct", "the program computes the results that the checkpoint defines"],
  ["not checked", "a check could not run; no problem was found"],
];

function explanations(profiles) {
  const checks = new Map();
  for (const profile of profiles)
    for (const one of profile.explained || []) checks.set(one.check, one);
  const entries = [...checks.values()].map(({check, title, cause, symptom, command, advice}) => [
    element("dt", {id: checkId(check)}, check),
    element(
      "dd",
      null,
      `Expected: ${shown(title)}. `,
      known(cause) ? `Cause: ${shown(cause)} ` : null,
      known(symptom) ? `Symptom: ${shown(symptom)}. ` : null,
      known(command) || known(advice) ? "Fix: " : null,
      known(command) ? element("code", null, shown(command)) : null,
      known(command) && known(advice) ? "; or " : null,
      known(advice) ? `${shown(advice)}.` : null,
    ),
  ]);
  return element(
    "div",
    {class: "explanations", id: "verdicts", tabindex: "-1"},
    element("h3", null, "What the verdicts mean"),
    element(
      "dl",
      {class: "facts"},
      kWords.map(([word, text]) => [element("dt", null, word), element("dd", null, `${text}.`)]),
      entries,
    ),
    checks.size > 0
      ? note("ckpt help CODE, for example ", element("code", null, `ckpt help ${[...checks.keys()][0]}`), ", lists the programs that a check concerns.")
      : null,
  );
}

function servingSection(checkpoint) {
  const profiles = checkpoint.profiles || [];
  if (profiles.length === 0) return null;
  return section(
    "doctor",
    "Serving",
    note("Verdicts of ckpt doctor for the current release of each program, from headers and documents."),
    element(
      "div",
      {class: "servers"},
      profiles.map((profile) => serverRow(checkpoint, profile)),
    ),
    explanations(profiles),
  );
}

// Programs by checkpoints; a verdict leads to its row in the checkpoint's tab.
function verdictTable(checkpoints, choose) {
  const names = [
    ...new Set(checkpoints.flatMap((c) => (c.profiles || []).map((p) => p.name))),
  ];
  if (names.length === 0) return null;
  const of = (c, name) => (c.profiles || []).find((p) => p.name === name);
  const labelOf = (name) => {
    const first = checkpoints.map((c) => of(c, name)).find(Boolean);
    return shown(first.label || name);
  };
  const pair = (c, i, p) => {
    const leads = (word) => {
      const link = verdict(word, rowOfProfile(c, p));
      link.addEventListener("click", () => choose(i));
      return link;
    };
    return element(
      "span",
      {class: "verdict-pair"},
      element("span", null, "loads ", leads(p.loads)),
      p.loads === "no" ? null : element("span", null, "correct ", leads(p.sound)),
    );
  };
  return sortableTable({
    caption: "Programs",
    rows: names,
    columns: [
      {title: "Program", head: true, value: labelOf},
      ...checkpoints.map((c, i) => ({
        title: c.name,
        kind: "verdict-cell",
        value: (name) => {
          const p = of(c, name);
          return p ? `${p.loads} ${p.sound}` : null;
        },
        node: (name) => {
          const p = of(c, name);
          return p ? pair(c, i, p) : element("span", {class: "muted"}, "does not apply");
        },
      })),
    ],
  });
}

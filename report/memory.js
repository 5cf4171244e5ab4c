"use strict";
// Memory while serving: weights, K and V of a context, recurrent state.

// Bytes a value of a cache's type: q8_0 and q4_0 hold an F16 scale for 32 values, nvfp4 an FP8 scale for 16.
const kCacheTypes = {
  safetensors: [
    ["bf16", 2],
    ["fp8", 1],
    ["nvfp4", 9 / 16],
  ],
  gguf: [
    ["f16", 2],
    ["q8_0", 34 / 32],
    ["q4_0", 18 / 32],
  ],
};

let [askedContext, askedSequences] = [null, 1]; // kept when another checkpoint is looked at

function memoryRows(checkpoint, context, sequences) {
  const memory = checkpoint.memory;
  const windowed = Math.min(context, memory.window || 0) * (memory.window_values_per_token || 0);
  const values = ((memory.kv_values_per_token || 0) * context + windowed) * sequences;
  const state = (memory.state_bytes || 0) * sequences;
  return (kCacheTypes[checkpoint.format] || kCacheTypes.safetensors).map(([type, bytes]) => {
    const row = {type, weights: memory.weights_bytes, cache: Math.ceil(values * bytes), state};
    row.total = row.weights + row.cache + row.state;
    return row;
  });
}

function memoryBar(row, most) {
  const parts = [
    ["weights", row.weights],
    ["cache", row.cache],
    ["state", row.state],
  ];
  return element(
    "span",
    {class: "stack", "aria-hidden": "true"},
    parts.map(([kind, bytes]) =>
      element("span", {class: `part ${kind}`, "--t": `${(bytes / most) * 100}%`}),
    ),
  );
}

function memoryTable(checkpoint, context, sequences) {
  const rows = memoryRows(checkpoint, context, sequences);
  const most = Math.max(...rows.map((r) => r.total));
  const sized = (key, title) => ({
    title,
    numeric: true,
    value: (r) => r[key],
    text: (r) => bytesText(r[key]),
  });
  return sortableTable({
    caption: `Memory for ${plural(sequences, "sequence", "sequences")} of ${plural(context, "token", "tokens")}`,
    rows,
    columns: [
      {title: "Cache type", head: true, value: (r) => r.type},
      sized("total", "Together"),
      sized("weights", "Weights"),
      sized("cache", "K and V cache"),
      sized("state", "State"),
      {
        title: "Parts",
        fixed: true,
        kind: "wide",
        value: (r) => r.total,
        node: (r) => memoryBar(r, most),
      },
    ],
  });
}

function clamped(value, low, high, otherwise) {
  return Number.isFinite(value) && value >= low ? Math.min(Math.round(value), high) : otherwise;
}

// A slider over powers (each step an eighth of a doubling) with a number beside it.
function numberWithSlider(label, limits, start, changed) {
  const steps = 8;
  const id = freshId("number");
  const toSlider = (v) => Math.round(Math.log2(v / limits.low) * steps);
  const fromSlider = (s) =>
    Math.min(
      limits.high,
      Math.max(limits.low, roundedTokens(limits.low * 2 ** (s / steps), limits)),
    );
  const slider = element("input", {
    type: "range",
    id: `${id}-slider`,
    min: 0,
    max: toSlider(limits.high),
    step: 1,
    value: toSlider(start),
    "aria-label": `${label}, slider`,
  });
  const input = element("input", {
    type: "number",
    id,
    min: limits.low,
    max: limits.high,
    step: 1,
    value: start,
  });
  const sayValue = (v) => slider.setAttribute("aria-valuetext", exactText(v));
  slider.addEventListener("input", () => {
    const v = fromSlider(Number(slider.value));
    input.value = v;
    sayValue(v);
    changed(v);
  });
  input.addEventListener("input", () => {
    const v = clamped(Number(input.value), limits.low, limits.high, null);
    if (v) {
      slider.value = toSlider(v);
      sayValue(v);
      changed(v);
    }
  });
  input.addEventListener("change", () => {
    input.value = clamped(Number(input.value), limits.low, limits.high, start);
    input.dispatchEvent(new Event("input"));
  });
  sayValue(start);
  return element("div", {class: "asked"}, element("label", {for: id}, label), slider, input);
}

// Lengths as people ask for them: multiples of 256 from some thousands on.
function roundedTokens(value, limits) {
  if (value >= limits.high) return limits.high;
  return value >= 4096 ? Math.round(value / 256) * 256 : Math.round(value);
}

function memoryFacts(memory) {
  const parts = [];
  if (memory.kv_layers)
    parts.push(
      `${plural(memory.kv_layers, "layer keeps", "layers keep")} K and V of every token (${exactText(memory.kv_values_per_token)} values a token)`,
    );
  if (memory.window_layers)
    parts.push(
      `${plural(memory.window_layers, "layer keeps", "layers keep")} the last ${exactText(memory.window)} tokens (${exactText(memory.window_values_per_token)} values a token)`,
    );
  if (memory.state_bytes)
    parts.push(`the recurrent state is ${bytesText(memory.state_bytes)} a sequence, in F32`);
  return parts.length > 0 ? `${parts.join("; ")}.` : "";
}

function memorySection(checkpoint) {
  const memory = checkpoint.memory;
  if (!memory) return null;
  const longest = Math.max(256, memory.max_context || 131072);
  const place = element("div");
  let context = Math.min(askedContext || 32768, longest);
  const show = () => place.replaceChildren(memoryTable(checkpoint, context, askedSequences));
  show();
  const key = element(
    "ul",
    {class: "legend"},
    [
      ["weights", "weights"],
      ["cache", "K and V cache"],
      ["state", "state"],
    ].map(([kind, title]) =>
      element(
        "li",
        null,
        element("span", {class: "chip"}, element("span", {class: `swatch part ${kind}`}), title),
      ),
    ),
  );
  return section(
    "memory",
    "Memory for a context",
    element(
      "div",
      {class: "asked-row"},
      numberWithSlider("Context (tokens)", {low: 256, high: longest}, context, (v) => {
        context = v;
        askedContext = v;
        show();
      }),
      numberWithSlider("Parallel sequences", {low: 1, high: 256}, askedSequences, (v) => {
        askedSequences = v;
        show();
      }),
    ),
    key,
    place,
    note(
      memoryFacts(memory),
      memory.max_context
        ? ` The model's longest context is ${exactText(memory.max_context)} tokens.`
        : "",
      " Activations and buffers of the serving program come on top.",
    ),
  );
}

"use strict";
// The data as rows: cells of a checkpoint, types and their colors, groups of roles.

const kValueColumns = ["sqnr_db", "relative", "saturated", "flushed", "kurtosis"];

// Each role x layer x type with its figures. `bits` is of the bytes that it takes.
function cellsOf(checkpoint) {
  const columns = checkpoint.cells;
  if (!columns) return [];
  return columns.role.map((role, i) => {
    const type = checkpoint.types[columns.type[i]];
    const cell = {
      index: i,
      role,
      roleName: checkpoint.roles[role],
      layer: columns.layer[i],
      type: type.type,
      tensors: columns.tensors[i],
      weights: columns.weights[i],
      size_bytes: columns.size_bytes[i],
      bits: columns.weights[i] > 0 ? (columns.size_bytes[i] * 8) / columns.weights[i] : null,
    };
    for (const name of kValueColumns) cell[name] = columns[name] ? columns[name][i] : null;
    return cell;
  });
}

function hasValues(checkpoint) {
  return Boolean(checkpoint.values);
}

function layerText(layer) {
  return known(layer) ? `layer ${layer}` : "outside layers";
}

// Groups of roles, by what names of Hugging Face's and GGUF's tensors say; the first that fits.
const kGroups = [
  ["Vision and audio", /(^|\.)(visual|vision\w*|audio\w*|multi_modal\w*|mm|v|mmproj)(\.|$)/],
  ["Multi-token prediction", /(^|[._])(mtp|nextn)([._]|$)/],
  ["Norms", /(norm|layernorm|ln_\w+)(\.|_|\d|$)/],
  [
    "Routers",
    /(router|gate_inp|(mlp|moe|feed_forward|block_sparse_moe)\.gate(\.|$)|e_score_correction_bias|exp_probs_b)/,
  ],
  ["Shared experts", /shared_expert|shexp/],
  ["Experts", /experts|_exps/],
  ["Linear attention", /linear_attn|ssm|mamba|mixer|conv1d|time_mix/],
  ["Attention", /attn|attention|(^|\.)(q|k|v|o|qkv)_proj/],
  ["Embeddings", /embed|embd|wte|wpe/],
  ["Output head", /lm_head|^output$|embed_out|^score$/],
  ["MLP", /mlp|ffn|feed_forward|(gate|up|down)_proj|fc\d|dense/],
];

function groupOf(role) {
  const found = kGroups.find(([, pattern]) => pattern.test(role));
  return found ? found[0] : "Other";
}

// Sums of cells by what `key` gives, largest first.
function summed(cells, key) {
  const sums = new Map();
  for (const cell of cells) {
    const name = key(cell);
    if (!sums.has(name)) sums.set(name, {name, tensors: 0, weights: 0, size_bytes: 0, cells: []});
    const sum = sums.get(name);
    sum.tensors += cell.tensors;
    sum.weights += cell.weights;
    sum.size_bytes += cell.size_bytes;
    sum.cells.push(cell);
  }
  const list = [...sums.values()];
  for (const sum of list) sum.bits = sum.weights > 0 ? (sum.size_bytes * 8) / sum.weights : null;
  return list.sort((a, b) => b.size_bytes - a.size_bytes);
}

// A type has one color in all checkpoints; from the ninth on colors come again, striped.
const kTypeColors = 8;
const typeNumbers = new Map();

function numberTypes(checkpoints) {
  for (const checkpoint of checkpoints) {
    for (const {type} of checkpoint.types) {
      if (!typeNumbers.has(type)) typeNumbers.set(type, typeNumbers.size);
    }
  }
}

function typeClass(type) {
  const number = typeNumbers.get(type) || 0;
  return `type-${number % kTypeColors}${number >= kTypeColors ? " striped" : ""}`;
}

function typeChip(type) {
  return element(
    "span",
    {class: "chip"},
    element("span", {class: `swatch ${typeClass(type)}`}),
    element("span", {class: shown(type).length > 24 ? "chip-text long" : "chip-text"}, type),
  );
}

// The figures of a cell, as pairs of a name and a text; null where nothing was compared.
function figuresOf(cell, compared) {
  const pairs = [
    ["type", shown(cell.type)],
    ["bits per weight", bitsText(cell.bits)],
    ["size", bytesText(cell.size_bytes)],
    ["weights", weightsText(cell.weights)],
    ["tensors", exactText(cell.tensors)],
  ];
  if (!compared) return pairs;
  if (!known(cell.sqnr_db) && !known(cell.relative)) return [...pairs, ["values", "not compared"]];
  return [
    ...pairs,
    ["SQNR", sqnrText(cell)],
    ["relative error", plainText(cell.relative)],
    ["saturated", shareText(cell.saturated)],
    ["flushed to zero", shareText(cell.flushed)],
    ["kurtosis", plainText(cell.kurtosis)],
  ];
}

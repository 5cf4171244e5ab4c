"use strict";
// Numbers as text. What is null is "not known"; sizes are decimal (1 GB = 1,000,000,000 bytes).

const kNotKnown = "not known";

function known(value) {
  return value !== null && value !== undefined && !Number.isNaN(value);
}

function scaled(value, steps) {
  for (const [size, unit] of steps) {
    if (value < size * 0.9995) continue;
    const part = value / size;
    return part.toFixed(part < 9.995 ? 2 : part < 99.95 ? 1 : 0) + unit;
  }
  return null;
}

function bytesText(value) {
  if (!known(value)) return kNotKnown;
  return (
    scaled(value, [
      [1e12, " TB"],
      [1e9, " GB"],
      [1e6, " MB"],
      [1e3, " kB"],
    ]) || `${value} B`
  );
}

// Weights as the names of models count them: 9.00B is nine billion.
function weightsText(value) {
  if (!known(value)) return kNotKnown;
  if (value < 10_000) return exactText(value);
  return scaled(value, [
    [1e12, "T"],
    [1e9, "B"],
    [1e6, "M"],
    [1e3, "K"],
  ]);
}

function exactText(value) {
  return known(value) ? value.toLocaleString("en-US") : kNotKnown;
}

function bitsText(value) {
  return known(value) ? value.toFixed(2) : kNotKnown;
}

function decibelText(value) {
  return known(value) ? `${value.toFixed(1)} dB` : kNotKnown;
}

function shareText(value) {
  if (!known(value)) return kNotKnown;
  if (value === 0) return "0%";
  const percent = value * 100;
  if (percent < 0.001) return "<0.001%";
  return `${percent.toFixed(percent < 0.1 ? 3 : percent < 10 ? 2 : 1)}%`;
}

function plainText(value) {
  if (!known(value)) return kNotKnown;
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-4) return value.toExponential(2);
  return size >= 1000 ? exactText(Math.round(value)) : String(Number(value.toPrecision(3)));
}

// A figure of a column: three digits in every row.
function measuredText(value) {
  const isPlain = known(value) && Math.abs(value) >= 1e-4 && Math.abs(value) < 1000;
  return isPlain ? value.toPrecision(3) : plainText(value);
}

// SQNR of a comparison that took place; equal values have no error, and the data has null for it.
function sqnrText(measured) {
  if (known(measured.sqnr_db)) return decibelText(measured.sqnr_db);
  return measured.relative === 0 ? "equal" : kNotKnown;
}

function plural(count, one, many) {
  return `${exactText(count)} ${count === 1 ? one : many}`;
}

// Round places on an axis from `low` to `high`, about `wanted` of them.
function ticksBetween(low, high, wanted) {
  const span = high - low;
  if (!(span > 0)) return [low];
  const rough = span / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough * 0.999);
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i += 1)
    ticks.push(i * step);
  return ticks;
}

function tickText(value) {
  return value === 0 ? "0" : String(Number(value.toPrecision(4)));
}

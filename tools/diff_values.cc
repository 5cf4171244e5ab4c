#include "tools/diff_values.h"

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/compare.h"
#include "core/glob.h"
#include "core/value_compare.h"
#include "quantizers/quantizers.h"
#include "tools/commands.h"
#include "transforms/transforms.h"

namespace ckpt {
namespace {

// ---- what the values are -----------------------------------------------------------------------

const Codec& codec_of(const Tensor& tensor) {
  return tensor.is_stored() ? *tensor.codec : *tensor.recoded().from->codec;
}

// A folder of quantized weights becomes what it stands for; nothing is rounded.
Result<Checkpoint> as_values(Checkpoint checkpoint) {
  if (checkpoint.format != "safetensors") return checkpoint;
  const Transform* dequantize = find_transform("dequantize");
  CKPT_CHECK(dequantize != nullptr);
  Options options;
  options.add("type", "f32");
  Context context;
  context.codecs = all_codecs();
  return dequantize->apply(std::move(checkpoint), options, context);
}

// NVFP4 in GGUF has its tensor scales beside it: "X.scale", one for each matrix of "X.weight". They
// stay when the weights become another type: llama.cpp multiplies products of any type with them.
Status apply_gguf_scales(Checkpoint& checkpoint) {
  constexpr std::string_view kWeight = ".weight";
  constexpr uint64_t kMaxMatrices = 1 << 16;
  if (checkpoint.format != "gguf") return {};
  std::map<std::string, const Tensor*> scales;
  const std::vector<Tensor> before = checkpoint.tensors;
  for (const Tensor& tensor : before) {
    if (tensor.name.ends_with(".scale") && tensor.values() <= kMaxMatrices) {
      scales[tensor.name] = &tensor;
    }
  }
  std::set<std::string> used;
  for (Tensor& tensor : checkpoint.tensors) {
    if (tensor.shape.size() < 2 || !tensor.name.ends_with(kWeight)) continue;
    const std::string parent = tensor.name.substr(0, tensor.name.size() - kWeight.size());
    const auto found = scales.find(parent + ".scale");
    if (found == scales.end() || tensor.rows() % found->second->values() != 0) continue;
    CKPT_ASSIGN(const std::vector<float> values, read_values(*found->second, kMaxMatrices));
    auto factors = std::make_shared<std::vector<float>>();
    for (uint64_t row = 0; row < tensor.rows(); ++row) {
      factors->push_back(values[row / (tensor.rows() / values.size())]);
    }
    CKPT_ASSIGN(tensor, recode(std::move(tensor), plain_codec(all_codecs(), Dtype::kF32)));
    CKPT_ASSIGN(tensor, with_op(std::move(tensor), ScaleRows{std::move(factors)}));
    used.insert(found->first);
    used.insert(parent + ".input_scale");
  }
  std::erase_if(checkpoint.tensors,
                [&](const Tensor& tensor) { return used.contains(tensor.name); });
  return {};
}

// ---- which tensors -----------------------------------------------------------------------------

struct Paired {
  std::vector<ValuePair> values, bytes;  // of floats; of integers and types that are only copied
};

class Report {
 public:
  Report(const Console& console, const ValueQuestion& question)
      : console_(console), question_(question) {}

  void cannot_compare(std::string_view tensor, std::string_view why) {
    ++not_compared_;
    console_.answer(fmt::format("{}  {}", tensor, why));
    console_.object("difference", {{"what", tensor}, {"kind", "tensor"}, {"detail", why}});
  }
  void bytes_differ(std::string_view tensor) {
    ++differing_;
    console_.answer(fmt::format("{}  bytes differ", tensor));
    console_.object("difference", {{"what", tensor}, {"kind", "bytes"}, {"detail", "differ"}});
  }
  void add(const ValuePair& pair, const ValueDifference& difference);
  void add_total(const ValueDifference& total, size_t tensors);
  Status check_gates(const std::vector<ValuePair>& pairs,
                     const std::vector<ValueDifference>& differences, const ValueDifference& total);
  bool is_well() const {
    if (not_compared_ > 0 || failed_ > 0) return false;
    return !question_.gates.empty() || differing_ == 0;
  }
  uint64_t differing() const { return differing_; }
  uint64_t not_compared() const { return not_compared_; }
  void print_table() const {
    if (table_.size() < 2) return;
    for (const std::string& line : table_.lines(kFlushRight)) console_.answer(line);
  }

 private:
  static Json json_of(const ValueDifference& difference);
  static std::vector<std::string> cells(const ValueDifference& difference);
  void gate_failed(const Gate& gate, std::string_view tensor, double value);

  static const std::vector<bool> kFlushRight;
  const Console& console_;
  const ValueQuestion& question_;
  Table table_{{"tensor", "A", "B", "rmse", "relative", "sqnr dB", "cosine", "max", "saturated",
                "flushed", "non-finite"}};
  uint64_t differing_ = 0, not_compared_ = 0, failed_ = 0;
};

const std::vector<bool> Report::kFlushRight = {false, false, false, true, true, true,
                                               true,  true,  true,  true, true};

bool is_different(const ValueDifference& difference) {
  return difference.sum_squared_errors > 0 || difference.max_error > 0 || difference.one_sided > 0;
}

std::vector<std::string> Report::cells(const ValueDifference& difference) {
  const ValueSide& coded = coded_side(difference);
  const auto saturated = coded.saturated();
  const double sqnr = difference.sqnr_db();
  return {fmt::format("{:.3e}", difference.rmse()),
          fmt::format("{:.4f}", difference.relative()),
          std::isfinite(sqnr) ? fmt::format("{:.2f}", sqnr)
          : sqnr > 0          ? "same"
                              : "-inf",
          fmt::format("{:.6f}", difference.cosine()),
          fmt::format("{:.3e}", difference.max_error),
          saturated ? fmt::format("{:.2f} %", 100 * *saturated) : "-",
          coded.blocks == 0 ? "-" : fmt::format("{}", coded.flushed_blocks),
          fmt::format("{}", difference.sides[0].nonfinite + difference.sides[1].nonfinite)};
}

// Infinite numbers become null: JSON has no word for them.
Json Report::json_of(const ValueDifference& difference) {
  const auto finite = [](double value) { return std::isfinite(value) ? Json(value) : Json(); };
  Json out = {{"values", difference.values},
              {"same", !is_different(difference)},
              {"rmse", finite(difference.rmse())},
              {"relative", finite(difference.relative())},
              {"sqnr_db", finite(difference.sqnr_db())},
              {"cosine", finite(difference.cosine())},
              {"max", finite(difference.max_error)}};
  const char* names[] = {"a", "b"};
  for (size_t i = 0; i < 2; ++i) {
    const ValueSide& side = difference.sides[i];
    const auto saturated = side.saturated();
    out[names[i]] = {{"nonfinite", side.nonfinite},
                     {"saturated", saturated ? Json(*saturated) : Json()},
                     {"blocks", side.blocks},
                     {"flushed_blocks", side.flushed_blocks}};
  }
  return out;
}

void Report::add(const ValuePair& pair, const ValueDifference& difference) {
  Json fields = {{"tensor", pair.a->name},
                 {"type_a", codec_of(*pair.a).name},
                 {"type_b", codec_of(*pair.b).name}};
  fields.update(json_of(difference));
  console_.object("values", std::move(fields));
  if (!is_different(difference)) return;
  ++differing_;
  std::vector<std::string> row = {pair.a->name, std::string(codec_of(*pair.a).name),
                                  std::string(codec_of(*pair.b).name)};
  for (std::string& cell : cells(difference)) row.push_back(std::move(cell));
  table_.add(std::move(row));
}

void Report::add_total(const ValueDifference& total, size_t tensors) {
  std::vector<std::string> row = {fmt::format("total of {} tensors", tensors), "", ""};
  for (std::string& cell : cells(total)) row.push_back(std::move(cell));
  table_.add(std::move(row));
  Json fields = {{"tensors", tensors}};
  fields.update(json_of(total));
  console_.object("total", std::move(fields));
}

void Report::gate_failed(const Gate& gate, std::string_view tensor, double value) {
  ++failed_;
  console_.answer(
      fmt::format("failed: {}  {}  {} {:.6g}", gate.text, tensor, gate.metric->name, value));
  console_.object("gate", {{"gate", gate.text},
                           {"tensor", tensor},
                           {"metric", gate.metric->name},
                           {"value", std::isfinite(value) ? Json(value) : Json()},
                           {"passed", false}});
}

Status Report::check_gates(const std::vector<ValuePair>& pairs,
                           const std::vector<ValueDifference>& differences,
                           const ValueDifference& total) {
  for (const Gate& gate : question_.gates) {
    uint64_t asked = 0;
    const auto ask = [&](std::string_view name, const ValueDifference& difference) {
      const std::optional<double> value = gate.metric->of(difference);
      if (!value) return;
      ++asked;
      if (gate.fails(*value)) gate_failed(gate, name, *value);
    };
    if (gate.of_total) ask("total", total);
    for (size_t i = 0; !gate.of_total && i < pairs.size(); ++i) {
      ask(pairs[i].a->name, differences[i]);
    }
    if (asked == 0) {
      return fail(ErrorCode::kUsage, "--fail-if '{}': none of the {} tensors has this number",
                  gate.text, pairs.size());
    }
  }
  // A NaN on one side is in no sum, so that no other gate would notice it.
  for (size_t i = 0; !question_.gates.empty() && i < pairs.size(); ++i) {
    if (differences[i].one_sided == 0) continue;
    cannot_compare(pairs[i].a->name, fmt::format("{} values are NaN or Inf on one side only",
                                                 differences[i].one_sided));
  }
  return {};
}

std::string shape_text(const Tensor& tensor) {
  return fmt::format("[{}]", fmt::join(tensor.shape, ","));
}

Paired pair_tensors(const Checkpoint& a, const Checkpoint& b, const std::string& glob,
                    Report& report) {
  std::map<std::string_view, const Tensor*> of_b;
  for (const Tensor& tensor : b.tensors) of_b[tensor.name] = &tensor;
  std::set<std::string_view> of_a;
  const Glob wanted(glob);
  Paired out;
  for (const Tensor& tensor : a.tensors) {
    of_a.insert(tensor.name);
    if (!wanted.matches(tensor.name)) continue;
    const auto found = of_b.find(tensor.name);
    if (found == of_b.end()) {
      report.cannot_compare(tensor.name, "only in A");
    } else if (tensor.shape != found->second->shape) {
      report.cannot_compare(tensor.name, fmt::format("shape {} -> {}", shape_text(tensor),
                                                     shape_text(*found->second)));
    } else if (codec_of(tensor).decode != nullptr && codec_of(*found->second).decode != nullptr) {
      out.values.push_back({&tensor, found->second});
    } else if (tensor.codec == found->second->codec) {
      out.bytes.push_back({&tensor, found->second});
    } else {
      report.cannot_compare(tensor.name,
                            fmt::format("{} -> {}, of which one cannot be decoded",
                                        codec_of(tensor).name, codec_of(*found->second).name));
    }
  }
  for (const Tensor& tensor : b.tensors) {
    if (wanted.matches(tensor.name) && !of_a.contains(tensor.name)) {
      report.cannot_compare(tensor.name, "only in B");
    }
  }
  return out;
}

Status compare_all_bytes(const std::vector<ValuePair>& pairs, Report& report) {
  for (const ValuePair& pair : pairs) {
    CKPT_ASSIGN(const bool same, same_bytes(*pair.a, *pair.b));
    if (!same) report.bytes_differ(pair.a->name);
  }
  return {};
}

}  // namespace

Result<bool> diff_values(Checkpoint a, Checkpoint b, const ValueQuestion& question,
                         const Console& console, const CommonOptions& common) {
  CKPT_ASSIGN(a, in("A", as_values(std::move(a))));
  CKPT_ASSIGN(b, in("B", as_values(std::move(b))));
  CKPT_TRY(apply_gguf_scales(a));
  CKPT_TRY(apply_gguf_scales(b));
  Report report(console, question);
  const Paired pairs = pair_tensors(a, b, question.tensors, report);
  if (pairs.values.empty() && pairs.bytes.empty() && report.not_compared() == 0) {
    return fail(ErrorCode::kUsage, "no tensor is called like '{}'", question.tensors);
  }
  CKPT_TRY(compare_all_bytes(pairs.bytes, report));
  ProgressLine progress(console, "comparing");
  CKPT_ASSIGN(const std::vector<ValueDifference> differences,
              compare_values(pairs.values, plain_codec(all_codecs(), Dtype::kF32),
                             {common.threads, common.memory_bytes, &interrupted, &progress}));
  progress.clear();
  ValueDifference total;
  for (size_t i = 0; i < pairs.values.size(); ++i) {
    report.add(pairs.values[i], differences[i]);
    combine(total, differences[i]);
  }
  report.add_total(total, pairs.values.size());
  report.print_table();
  CKPT_TRY(report.check_gates(pairs.values, differences, total));
  console.talk(fmt::format("{} of {} tensors have other values{}", report.differing(),
                           pairs.values.size() + pairs.bytes.size(),
                           report.not_compared() == 0
                               ? ""
                               : fmt::format("; {} could not be compared", report.not_compared())));
  return report.is_well();
}

}  // namespace ckpt

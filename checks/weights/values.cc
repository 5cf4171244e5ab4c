// Deep checks of values. Every tensor is read once, some million values at a time. Scales of one
// number are always read, if they are in local files and not too many.
//
// An E4M3 scale of 0x7f is NaN and makes 16 weights NaN, although their packed codes look normal.
#include <algorithm>
#include <cmath>
#include <limits>

#include "checks/subject/subject.h"
#include "core/base/find.h"
#include "core/base/threads.h"
#include "core/io/remote_files.h"
#include "core/model/tensor_names.h"

namespace ckpt {
namespace {

constexpr uint64_t kPieceValues = uint64_t{4} << 20;
constexpr uint64_t kMaxScaleValues = uint64_t{1} << 24;
constexpr size_t kMaxScalesAtHand = 4096;

bool can_read(const Tensor& tensor) {
  return tensor.is_stored() && tensor.codec->decode != nullptr && tensor.values() != 0 &&
         tensor.row_values() <= kPieceValues * 16;
}

struct Scan {
  bool has_nonfinite = false;
  uint64_t zero_rows = 0;
};

void scan_rows(std::span<const float> values, uint64_t row_values, Scan& scan) {
  for (size_t at = 0; at < values.size(); at += row_values) {
    bool has_value = false;
    for (const float value : values.subspan(at, row_values)) {
      has_value |= value != 0;
      scan.has_nonfinite |= !std::isfinite(value);
    }
    if (!has_value) ++scan.zero_rows;
  }
}

// Counts the bytes read out of the bytes to read.
struct ReadProgress {
  const DiagnosisOptions& options;
  uint64_t done_bytes = 0, total_bytes = 0;

  Status add(uint64_t bytes) {
    CKPT_TRY(check_not_interrupted(options.interrupted));
    done_bytes += bytes;
    if (options.progress != nullptr) options.progress->advanced(done_bytes, total_bytes);
    return {};
  }
};

Result<Scan> scan_tensor(const Tensor& tensor, ReadProgress& reading) {
  Scan scan;
  const uint64_t row_bytes = size_bytes(tensor) / tensor.rows();
  const uint64_t band = std::max<uint64_t>(tensor.codec->band_rows, 1);
  const uint64_t wanted = std::max<uint64_t>(kPieceValues / tensor.row_values(), 1);
  const uint64_t step = (wanted + band - 1) / band * band;
  // A part that belongs to the entire tensor is included in every piece.
  for (uint64_t first = 0; first < tensor.rows(); first += step) {
    const uint64_t count = std::min(step, tensor.rows() - first);
    CKPT_ASSIGN(const Tensor piece, take_rows(tensor, first, count));
    CKPT_ASSIGN(const std::vector<float> values, read_values(piece, piece.values()));
    scan_rows(values, tensor.row_values(), scan);
    CKPT_TRY(reading.add(count * row_bytes));
  }
  return scan;
}

// Names of a module's input scale in ModelOpt, compressed-tensors and transformers.
constexpr std::string_view kInputScales[] = {".input_scale", ".input_global_scale",
                                             ".activation_scale"};

bool is_bad_scale(float scale) { return !std::isfinite(scale) || scale <= 0; }

// Reads a scale of one number, or of one per row, and returns a bad value if there is one.
Result<std::optional<float>> scale_of(const Subject& on, const std::string& name) {
  const Tensor* tensor = on.tensor(name);
  if (tensor == nullptr || !can_read(*tensor) || tensor->values() > kMaxScaleValues) {
    return std::optional<float>();
  }
  CKPT_ASSIGN(const std::vector<float> values, read_values(*tensor, kMaxScaleValues));
  for (const float value : values) {
    if (is_bad_scale(value)) return std::optional(value);
  }
  return std::optional(values.front());
}

// The last part of a tensor if it is one float; else nullptr.
const Slice* last_number(const Tensor& tensor) {
  if (!tensor.is_stored() || tensor.codec->parts.back().dtype != Dtype::kF32) return nullptr;
  if (tensor.stored().parts.empty()) return nullptr;
  const std::vector<Slice>& slices = tensor.stored().parts.back();
  return slices.size() == 1 && slices[0].size_bytes == sizeof(float) ? &slices[0] : nullptr;
}

// The scale of an entire weight; nullptr if it has none.
const Slice* whole_scale_of(const Tensor& weight) {
  const auto& rules = weight.codec->parts;
  return rules.size() < 2 || rules.back().tile_rows != 0 ? nullptr : last_number(weight);
}

Result<float> number_in(const Slice& slice) {
  float out = 0;
  CKPT_TRY(slice.source->read(slice.offset_bytes, std::as_writable_bytes(std::span(&out, 1))));
  return out;
}

Result<std::optional<float>> whole_scale(const Tensor& weight) {
  const Slice* slice = whole_scale_of(weight);
  if (slice == nullptr) return std::optional<float>();
  CKPT_ASSIGN(const float scale, number_in(*slice));
  return std::optional(scale);
}

// The parts that servers join with `name`, if it is the first of them; else empty.
std::vector<const Module*> parts_run_with(const Subject& on, const std::string& name) {
  std::vector<const Module*> out;
  const std::string_view word = last_word(name);
  const ProjectionGroup* row = group_with(word);
  if (row == nullptr || row->members[0] != word) return out;
  for (const std::string_view part : row->parts()) {
    const std::string other = name.substr(0, name.size() - word.size()) + std::string(part);
    const Module* found = find_mapped(on.modules, other);
    const bool is_fp4 = found != nullptr && found->weight != nullptr &&
                        (found->form == Form::kNvfp4 || found->form == Form::kPackedNvfp4);
    // FP8 is requantized to the larger scale when it is loaded; FP4 is not.
    if (is_fp4) out.push_back(found);
  }
  return out;
}

// Rounding a block scale changes it by up to 1/16; larger differences give wrong results.
constexpr float kRoundingOfScales = 1.0F / 16;

Status compare_parts(std::span<const Module* const> parts, ValueFacts& out) {
  float least = std::numeric_limits<float>::max(), most = 0;
  for (const Module* part : parts) {
    CKPT_ASSIGN(const auto scale, whole_scale(*part->weight));
    if (!scale || is_bad_scale(*scale)) return {};
    least = std::min(least, *scale);
    most = std::max(most, *scale);
  }
  if (least == most) return {};
  const bool is_far = most > least * (1 + kRoundingOfScales);
  (is_far ? out.far_scales : out.unequal_scales).push_back(parts[0]->name);
  return {};
}

Status compare_inputs(const Subject& on, std::span<const Module* const> parts, ValueFacts& out) {
  CKPT_ASSIGN(const auto first, scale_of(on, parts[0]->name + ".input_scale"));
  for (const Module* part : parts.subspan(1)) {
    CKPT_ASSIGN(const auto other, scale_of(on, part->name + ".input_scale"));
    if (first != other) {
      out.unequal_scales.push_back(parts[0]->name);
      break;
    }
  }
  return {};
}

Status read_scales(const Subject& on, ValueFacts& out) {
  std::map<float, size_t> inputs;
  size_t count = 0;
  for (const auto& [name, module] : on.modules) {
    for (const std::string_view end : kInputScales) {
      const std::string input = fmt::format("{}{}", name, end);
      CKPT_ASSIGN(const auto scale, scale_of(on, input));
      if (!scale) continue;
      if (is_bad_scale(*scale)) out.bad_scales.push_back(input);
      if (end != kInputScales[0]) continue;
      ++inputs[std::isnan(*scale) ? 0 : *scale];
      ++count;
    }
    if (module.weight == nullptr) continue;
    CKPT_ASSIGN(const auto scale, whole_scale(*module.weight));
    if (scale && is_bad_scale(*scale)) out.bad_scales.push_back(name);
    const std::vector<const Module*> parts = parts_run_with(on, name);
    if (parts.size() > 1) {
      CKPT_TRY(compare_parts(parts, out));
      CKPT_TRY(compare_inputs(on, parts, out));
    }
  }
  for (const auto& [value, times] : inputs) {
    if (count >= 16 && times * 10 >= count * 9) out.are_inputs_constant = true;
  }
  return {};
}

void report_names(const CheckContext& context, const std::vector<std::string>& names,
                  std::string_view what) {
  if (names.empty()) return;
  context.report(names.front(), names.size() == 1
                                    ? std::string(what)
                                    : fmt::format("{}; so are {} more", what, names.size() - 1));
}

void check_finite_values(const CheckContext& context) {
  report_names(context, context.on.values.nonfinite, "NaN or Inf among its values");
}

void check_scale_values(const CheckContext& context) {
  report_names(context, context.on.values.bad_scales, "a scale of zero or below, NaN or Inf");
}

void check_zero_rows(const CheckContext& context) {
  const auto& found = context.on.values.zero_rows;
  if (found.empty()) return;
  uint64_t rows = 0;
  for (const auto& entry : found) rows += entry.rows;
  context.tell(found.front().tensor, "rows of zeros: {} in {} quantized tensors", rows,
               found.size());
}

// Globs of modules that are stored as codes, for options: "*.mlp.experts.*".
std::string globs_of_codes(const Subject& on) {
  std::set<std::string> globs;
  for (const auto& [name, module] : on.modules) {
    if (module.weight == nullptr || module.form == Form::kPlain) continue;
    constexpr std::string_view kLayers = "layers.";
    const size_t layers = name.find(kLayers), experts = experts_module(name).size();
    const size_t dot = layers == name.npos ? layers : name.find('.', layers + kLayers.size());
    if (dot == name.npos) {
      globs.insert(name);
    } else if (experts > dot) {
      globs.insert(fmt::format("*{}.*", name.substr(dot, experts - dot)));
    } else {
      globs.insert("*" + name.substr(dot));
    }
  }
  std::string out;
  for (const std::string& glob : globs) out += fmt::format(" --only '{}'", glob);
  return out;
}

// The command that quantizes the same modules again with the same kind of inputs; --amax-from
// cannot read scales of compressed-tensors.
std::string quantized_alike(const Subject& on) {
  const auto has = [&](std::string_view ending) {
    return std::ranges::any_of(on.checkpoint.tensors, [&](const Tensor& tensor) {
      return tensor.name.ends_with(ending);
    });
  };
  const bool is_compressed = has(".input_global_scale");
  const std::string_view to = has("input_scale") ? "nvfp4 --amax-from IN"
                              : is_compressed    ? "nvfp4 --preset default-input-scale1"
                                                 : "nvfp4-w4a16";
  constexpr std::string_view kKeepInputs =
      "; or --step nvfp4-layout:to=modelopt first, and then what is advised for what it makes: "
      "inputs keep their scales";
  return fmt::format("ckpt convert IN OUT --to {} --step dequantize{}{}", to, globs_of_codes(on),
                     is_compressed ? kKeepInputs : "");
}

// vLLM and SGLang use the gate's scale for both parts of an expert, and the largest for others.
void check_unequal(const CheckContext& context) {
  const ValueFacts& values = context.on.values;
  const bool is_far = !values.far_scales.empty() && context.is_server() &&
                      scales_not_checked(context.on, context.profile).empty();
  const auto& found = is_far ? values.far_scales : values.unequal_scales;
  if (found.empty()) return;
  const bool has_experts = is_of_experts(found.front());
  context.report(
      found.front(),
      fmt::format("{} groups that are run as one have unlike scales; the server takes {} "
                  "for all",
                  found.size(), has_experts ? "the first" : "the largest"),
      is_far ? std::nullopt : std::optional(Severity::kWarning), {},
      advised(quantized_alike(context.on), true));
}

void check_inputs(const CheckContext& context) {
  if (!context.on.values.are_inputs_constant) return;
  context.report("*.input_scale", "nearly all equal: probably not calibrated on text");
}

constexpr Check kValueChecks[] = {
    {"W07", "all values are finite", "S: vllm* sglang tensorrt-llm llama-server transformers-5",
     "NaN logits", "download it again, or convert it again from the source", check_finite_values,
     "", true},
    {"Q24", "scales are above zero", "S: vllm* sglang tensorrt-llm llama-server", "NaN or noise",
     "{again}", check_scale_values},
    {"Q21", "no quantized row is all zeros", "W: vllm* sglang tensorrt-llm llama-server",
     "incoherent text", "{again}; or leave this module in BF16", check_zero_rows, "", true},
    {"Q12", "parts that are run as one share their scales", "S: vllm* sglang, W: tensorrt-llm",
     "w1_weight_scale_2 must match w3_weight_scale_2; global scale for input or weight are "
     "different",
     "", check_unequal},
    {"Q13", "input scales differ as layers do", "W: vllm* sglang tensorrt-llm", "poor answers",
     "ckpt convert BASE OUT --to nvfp4 --amax-from FILE.json; FILE.json holds maxima of real text "
     "(docs/collect_amax.py)",
     check_inputs, "", true},
};

}  // namespace

Result<ValueFacts> scales_at_hand(const Subject& on) {
  std::vector<std::pair<std::string, const Slice*>> found;
  const auto is_local = [](const Slice* slice) {
    const bool has_source = slice != nullptr && slice->source != nullptr;
    return has_source && slice->source->file_state() != nullptr && !is_url(slice->source->name());
  };
  const auto is_at_hand = [&](const Module* part) {
    return is_local(whole_scale_of(*part->weight));
  };
  const auto add = [&](std::string name, const Slice* slice) {
    if (is_local(slice)) found.emplace_back(std::move(name), slice);
  };
  for (const auto& [name, module] : on.modules) {
    for (const std::string_view end : kInputScales) {
      const std::string input = fmt::format("{}{}", name, end);
      if (const Tensor* tensor = on.tensor(input)) add(input, last_number(*tensor));
    }
    if (module.weight != nullptr) add(name, whole_scale_of(*module.weight));
  }
  ValueFacts out;
  const size_t step = std::max<size_t>((found.size() + kMaxScalesAtHand - 1) / kMaxScalesAtHand, 1);
  for (size_t i = 0; i < found.size(); i += step) {
    const auto& [name, slice] = found[i];
    CKPT_ASSIGN(const float scale, number_in(*slice));
    if (is_bad_scale(scale)) out.bad_scales.push_back(name);
    const std::vector<const Module*> parts = parts_run_with(on, name);
    if (parts.size() > 1 && std::ranges::all_of(parts, is_at_hand)) {
      CKPT_TRY(compare_parts(parts, out));
    }
  }
  return out;
}

Result<ValueFacts> read_value_facts(const Subject& on, const Checkpoint& unpacked,
                                    const DiagnosisOptions& options) {
  ValueFacts out;
  ReadProgress reading{options};
  for (const Tensor& tensor : unpacked.tensors) {
    if (can_read(tensor)) reading.total_bytes += size_bytes(tensor);
  }
  std::set<std::string_view> packed;
  for (const auto& [codes, form] : on.packed.by_codes) packed.insert(form.weight);
  for (const Tensor& tensor : unpacked.tensors) {
    if (!can_read(tensor)) continue;
    auto scanned = scan_tensor(tensor, reading);
    if (!scanned && scanned.error().code == ErrorCode::kInterrupted)
      return Failure(scanned.error());
    CKPT_ASSIGN(const Scan scan, in(fmt::format("tensor '{}'", tensor.name), std::move(scanned)));
    if (scan.has_nonfinite) out.nonfinite.push_back(tensor.name);
    if (scan.zero_rows != 0 && (tensor.has_scales() || packed.contains(tensor.name))) {
      out.zero_rows.push_back({tensor.name, scan.zero_rows});
    }
  }
  CKPT_TRY(read_scales(on, out));
  return out;
}

std::string scales_not_checked(const Subject& on, const Profile& profile) {
  const auto& found = on.values.far_scales;
  const bool is_left = profile.does("leave_scales_of_experts_to_kernels") && !found.empty() &&
                       is_of_experts(found.front());
  return is_left ? "which scale the kernel of the experts takes for gate and up" : "";
}

std::span<const Check> value_checks() { return kValueChecks; }

}  // namespace ckpt

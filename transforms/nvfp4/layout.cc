// The nvfp4-layout step: moves NVFP4 checkpoints between ModelOpt's and compressed-tensors' names,
// scales and configuration. Codes and block scales keep their bits.
#include <algorithm>
#include <cmath>
#include <set>

#include "core/model/tensor_names.h"
#include "core/model/transform.h"
#include "transforms/nvfp4/layout_config.h"
#include "transforms/packed/packed_weights.h"

namespace ckpt {
namespace {

enum class LayoutName : uint8_t { kModelopt, kCompressedTensors };
constexpr Choice kLayoutNames[] = {{"modelopt", LayoutName::kModelopt},
                                   {"compressed-tensors", LayoutName::kCompressedTensors}};
constexpr OptionRule kLayoutOptions[] = {
    option::choice("to", kLayoutNames, "whose names, scales and configuration").required(),
};
constexpr std::string_view kLayoutInputScale = ".input_scale";
constexpr size_t kTensorScalePart = 2;
constexpr size_t kNotedTensors = 256;

// One column of the table in layout_config.h.
struct Side {
  std::string_view name;
  Dialect dialect;
  std::string_view input_scale;
  bool scales_are_vectors;
};
constexpr Side kModelopt{"modelopt", Dialect::kModelopt, ".input_scale", false};
constexpr Side kCompressed{"compressed-tensors", Dialect::kCompressedTensors, ".input_global_scale",
                           true};

bool is_coded_as(const Tensor& tensor, Scheme scheme, Dialect dialect) {
  return tensor.codec->scheme == scheme && tensor.codec->dialect == dialect;
}

// Converts between "A.k_proj.k_scale" and "A.k_scale".
std::string cache_scale_name(std::string name, const Side& to) {
  for (const std::string_view which : {"k", "v"}) {
    const std::string ending = fmt::format(".{}_scale", which);
    const std::string projection = fmt::format(".{}_proj", which);
    if (!name.ends_with(ending)) continue;
    std::string stem = name.substr(0, name.size() - ending.size());
    const bool has_projection = stem.ends_with(projection);
    if (to.scales_are_vectors && has_projection) stem.resize(stem.size() - projection.size());
    if (!to.scales_are_vectors && !has_projection) stem += projection;
    return stem + ending;
  }
  return name;
}

bool is_cache_scale(const Tensor& tensor) {
  const bool named = tensor.name.ends_with(".k_scale") || tensor.name.ends_with(".v_scale");
  return named && tensor.values() == 1;
}

class LayoutConverter {
 public:
  LayoutConverter(const Side& from, const Side& to, const Checkpoint& checkpoint,
                  const Context& context)
      : from_(from), to_(to), context_(context) {
    for (const Tensor& tensor : checkpoint.tensors) {
      if (is_movable_fp8(tensor)) fp8_.insert(module_of(tensor.name));
    }
  }

  Result<Tensor> moved(const Tensor& tensor) {
    if (is_coded_as(tensor, Scheme::kNvfp4, from_.dialect)) return weight(tensor);
    if (is_movable_fp8(tensor)) {
      Tensor out = tensor;
      out.codec = &scheme_codec(context_.codecs, Scheme::kFp8Tensor, Dialect::kVector);
      std::get<Stored>(out.origin).part_shapes.clear();
      return out;
    }
    if (tensor.has_scales() || tensor.name.ends_with(".pre_quant_scale")) {
      return unsupported("tensor '{}' ({}): only plain NVFP4 can change its layout", tensor.name,
                         tensor.codec->name);
    }
    if (tensor.name.ends_with(kLayoutInputScale) && fp8_.contains(module_of(tensor.name))) {
      return reshape(tensor, number_shape());
    }
    if (tensor.name.ends_with(from_.input_scale)) {
      CKPT_ASSIGN(const float value, reciprocal(tensor, tensor.name));
      const std::string module = module_of(tensor.name);
      Tensor out = number(module + std::string(to_.input_scale), value);
      out.home = tensor.home;
      return out;
    }
    if (!is_cache_scale(tensor)) return tensor;
    CKPT_ASSIGN(Tensor out, reshape(tensor, number_shape()));
    out.name = cache_scale_name(tensor.name, to_);
    return out;
  }

  void note_changes() const {
    if (changes_.empty()) return;
    const auto largest = std::ranges::max_element(changes_, [](const auto& a, const auto& b) {
      return std::abs(a.second) < std::abs(b.second);
    });
    context_.note(
        "{} of {} tensor scales have no exact reciprocal; the largest change is a factor of "
        "1{:+.2e} ('{}')",
        changes_.size(), scales_, largest->second, largest->first);
    for (size_t i = 0; i < std::min(changes_.size(), kNotedTensors); ++i) {
      context_.note("tensor '{}': what its scale multiplies changes by a factor of 1{:+.2e}",
                    changes_[i].first, changes_[i].second);
    }
    if (changes_.size() > kNotedTensors) {
      context_.note("... and {} more", changes_.size() - kNotedTensors);
    }
  }

 private:
  // Scales multiply in both layouts; only their shape differs.
  bool is_movable_fp8(const Tensor& tensor) const {
    return to_.scales_are_vectors && tensor.is_stored() &&
           is_coded_as(tensor, Scheme::kFp8Tensor, Dialect::kModelopt);
  }

  Result<Tensor> weight(const Tensor& tensor) {
    if (!tensor.is_stored()) {
      return unsupported("tensor '{}' is computed; only stored NVFP4 can move", tensor.name);
    }
    const Tensor scale = part_as_tensor(tensor, kTensorScalePart, context_.codecs);
    CKPT_ASSIGN(const float value, reciprocal(scale, tensor.name));
    Tensor out = tensor;
    out.codec = &scheme_codec(context_.codecs, Scheme::kNvfp4, to_.dialect);
    const Tensor made = number(out.name, value);
    Stored& stored = std::get<Stored>(out.origin);
    stored.parts[kTensorScalePart] = made.stored().parts[0];
    stored.part_shapes.clear();  // belong to the other layout
    return out;
  }

  // Returns the reciprocal as a float; records the error of values that are scaled by it.
  Result<float> reciprocal(const Tensor& scale, const std::string& belongs_to) {
    CKPT_ASSIGN(const std::vector<float> found, read_values(scale, 1));
    const float value = found.empty() ? 0 : found[0];
    const float out = 1.0f / value;
    if (!std::isnormal(value) || !std::isnormal(out) || value < 0) {
      return corrupt("tensor '{}' is {}; expected a number above zero whose reciprocal is one",
                     scale.name, value);
    }
    // The product of two floats is exact in a double.
    const double product = static_cast<double>(value) * static_cast<double>(out);
    ++scales_;
    if (product != 1) changes_.emplace_back(belongs_to, 1 / product - 1);
    return out;
  }

  Tensor number(std::string name, float value) const {
    return make_f32_tensor(std::move(name), number_shape(), {value}, context_.codecs);
  }

  std::vector<uint64_t> number_shape() const {
    return to_.scales_are_vectors ? std::vector<uint64_t>{1} : std::vector<uint64_t>{};
  }

  const Side& from_;
  const Side& to_;
  const Context& context_;
  std::set<std::string> fp8_;
  uint64_t scales_ = 0;
  std::vector<std::pair<std::string, double>> changes_;  // tensor, relative change of its values
};

bool is_embedding(std::string_view module) {
  const std::string_view last = last_word(module);
  return last.find("embed") != std::string_view::npos || last == "wte" || last == "wpe";
}

// Fails if only some layers have an input scale, because servers cannot load such a model.
Result<Nvfp4Modules> find_modules(const Checkpoint& checkpoint, const Side& side) {
  Nvfp4Modules out;
  std::set<std::string> linear, others, scaled, fp8_scaled;
  for (const Tensor& tensor : checkpoint.tensors) {
    if (is_cache_scale(tensor)) out.has_fp8_cache = true;
    if (tensor.name.ends_with(side.input_scale)) scaled.insert(module_of(tensor.name));
    if (tensor.name.ends_with(kLayoutInputScale)) fp8_scaled.insert(module_of(tensor.name));
    if (!tensor.name.ends_with(kWeight) || tensor.shape.size() < 2) continue;
    const std::string module = module_of(tensor.name);
    if (is_coded_as(tensor, Scheme::kNvfp4, side.dialect)) {
      out.quantized.push_back(module);
      continue;
    }
    if (is_coded_as(tensor, Scheme::kFp8Tensor, Dialect::kVector)) {
      out.fp8.push_back(module);
      continue;
    }
    others.insert(module);
    if (tensor.shape.size() == 2 && !is_embedding(module)) linear.insert(module);
  }
  if (!checkpoint.has_head()) {
    for (auto* const modules : {&linear, &others}) modules->insert("lm_head");
  }
  out.linear.assign(linear.begin(), linear.end());
  out.others.assign(others.begin(), others.end());
  out.has_input_scales = !scaled.empty();
  for (const std::string& module : out.quantized) {
    if (!out.has_input_scales || scaled.count(module) != 0) continue;
    return corrupt("'{}{}' is missing; other layers have one", module, side.input_scale);
  }
  const auto is_scaled = [&](const std::string& module) { return fp8_scaled.contains(module); };
  out.has_fp8_input_scales = std::ranges::any_of(out.fp8, is_scaled);
  if (!out.has_fp8_input_scales || std::ranges::all_of(out.fp8, is_scaled)) return out;
  return corrupt("some FP8 layers have an input_scale and others none");
}

bool holds(const Checkpoint& checkpoint, const Side& side) {
  return std::ranges::any_of(checkpoint.tensors, [&](const Tensor& tensor) {
    return is_coded_as(tensor, Scheme::kNvfp4, side.dialect);
  });
}

Result<Checkpoint> change_layout(Checkpoint checkpoint, const OptionValues& options,
                                 const Context& context) {
  const bool to_modelopt = options.choice<LayoutName>("to") == LayoutName::kModelopt;
  const Side& to = to_modelopt ? kModelopt : kCompressed;
  const Side& from = to_modelopt ? kCompressed : kModelopt;
  CKPT_TRY(expect_safetensors(checkpoint, "nvfp4-layout"));
  if (!holds(checkpoint, from)) {
    if (!holds(checkpoint, to)) {
      return misuse("nvfp4-layout: no tensor is NVFP4 as {} stores it", from.name);
    }
    context.note("nvfp4-layout: all weights are as {} stores them", to.name);
    return checkpoint;
  }
  CKPT_TRY(check_weights_are_read(checkpoint));
  CKPT_ASSIGN(const bool says_fp8_cache, check_configuration(checkpoint));
  LayoutConverter mover(from, to, checkpoint, context);
  for (Tensor& tensor : checkpoint.tensors) CKPT_SET(tensor, mover.moved(tensor));
  mover.note_changes();
  CKPT_ASSIGN(Nvfp4Modules modules, find_modules(checkpoint, to));
  modules.has_fp8_cache |= says_fp8_cache;
  CKPT_TRY(&to == &kModelopt ? write_modelopt_layout(checkpoint, modules)
                             : write_compressed_layout(checkpoint, modules));
  // The recipe of compressed-tensors describes only its own files.
  checkpoint.remove_document("recipe.yaml");
  return checkpoint;
}

}  // namespace

Result<Nvfp4Modules> find_modelopt_modules(const Checkpoint& checkpoint) {
  return find_modules(checkpoint, kModelopt);
}

extern constinit const Transform kNvfp4Layout{
    "nvfp4-layout", "NVFP4 weights between ModelOpt's and compressed-tensors' layout; bits stay",
    kLayoutOptions, change_layout};

}  // namespace ckpt

#include "plan/size_target/folder_target.h"

#include <algorithm>
#include <map>

#include "core/model/tensor_names.h"
#include "formats/formats.h"
#include "plan/conversion/option_table.h"
#include "plan/conversion/sizes.h"
#include "plan/size_target/choice.h"
#include "plan/size_target/measured_file.h"
#include "plan/size_target/sensitivity.h"
#include "plan/size_target/sensitivity_file.h"
#include "quantizers/quantizers.h"
#include "transforms/transforms.h"

namespace ckpt {
namespace {

constexpr uint64_t kScaleBytes = 4;
constexpr int kMaxHeaderRounds = 8;  // types change the size of headers and documents
enum FolderType : uint32_t { kAsNvfp4, kAsFp8, kAsFloats };
constexpr std::string_view kTypeNames[] = {"nvfp4", "fp8", "bf16"};

// A layer that could become NVFP4, with its size in each type.
struct FreeLayer {
  Tensor weight;
  std::string module;
  uint64_t nvfp4_bytes = 0, fp8_bytes = 0, float_bytes = 0;
};
// Layers that must share one type.
struct LayerGroup {
  std::vector<FreeLayer> layers;
  std::vector<std::string> globs;  // one glob for all experts of a layer
};
struct FreeFolder {
  std::vector<LayerGroup> groups;
  bool has_input_scales = false;  // false: inputs cannot be quantized
  bool may_be_fp8 = false;        // even if NVFP4 layers have unquantized inputs
  uint64_t file_bytes = 0;        // size with all layers as NVFP4
  uint64_t plain_bytes = 0;       // the same, or as ModelOpt counts for a target in bits
  uint64_t weights = 0;           // number of weights in all linear layers
};

// Whether ModelOpt counts the layer: its weight is a factor of a product, in any type.
bool is_counted(const Tensor& tensor) {
  const bool is_stack = tensor.shape.size() == 3 && is_of_experts(tensor.name);
  if (tensor.shape.size() < 2 || (!tensor.name.ends_with(kWeight) && !is_stack)) return false;
  const std::string module = module_of(tensor.name);
  const std::string_view word = last_word(module);
  return !word.ends_with("norm") && word.find("embed") == word.npos && word != "wte";
}

uint64_t counted_bytes(const Tensor& tensor) {
  const uint64_t weights = tensor.values();
  if (tensor.codec->scheme == Scheme::kNvfp4) return weights / 16 * 9;
  return is_fp8(tensor.codec->scheme) ? weights : 2 * weights;
}

struct CountedModel {
  uint64_t bytes = 0, weights = 0;
};
CountedModel count_layers(const Checkpoint& checkpoint) {
  CountedModel out;
  const bool has_head = checkpoint.has_head();
  for (const Tensor& tensor : checkpoint.tensors) {
    // Embeddings that are tied to the head count as a layer too.
    const bool is_head = !has_head && is_of_embeddings(tensor.name);
    if (!is_counted(tensor) && !is_head) continue;
    out.bytes += counted_bytes(tensor);
    out.weights += tensor.values();
  }
  return out;
}

bool becomes_nvfp4(const Tensor& tensor) {
  return tensor.codec->scheme == Scheme::kNvfp4 && tensor.codec->dialect == Dialect::kModelopt &&
         !tensor.is_stored() && tensor.recoded().repack == nullptr;
}

FreeLayer make_layer(const Tensor& tensor, const SizeTarget& target, bool has_input_scale) {
  FreeLayer out{tensor, module_of(tensor.name)};
  const uint64_t weights = tensor.values();
  if (target.is_of_bits()) {
    out.nvfp4_bytes = weights / 16 * 9;
    out.fp8_bytes = weights;
    out.float_bytes = 2 * weights;
    return out;
  }
  const Codec& source = *tensor.recoded().from->codec;
  const bool is_f32 = plain_dtype(source) == Dtype::kF32;
  out.nvfp4_bytes = size_bytes(tensor) + (has_input_scale ? kScaleBytes : 0);
  out.fp8_bytes = weights + 2 * kScaleBytes;
  out.float_bytes = weights * (is_f32 ? 4 : 2);
  return out;
}

Result<FreeFolder> find_free_layers(const Conversion& plain, const ConversionInput& input,
                                    const SizeTarget& target) {
  CKPT_ASSIGN(const PlannedConversion planned, plan_conversion(plain, input));
  const Output& output = planned.plan.outputs[0];
  const Checkpoint& made = output.checkpoint;
  FreeFolder out;
  std::vector<const Tensor*> tensors;
  std::vector<std::string> modules;
  for (const Tensor& tensor : made.tensors) {
    if (tensor.name.ends_with(".input_scale")) out.has_input_scales = true;
    if (!becomes_nvfp4(tensor)) continue;
    tensors.push_back(&tensor);
    modules.push_back(module_of(tensor.name));
  }
  if (tensors.empty()) {
    return misuse_hint("--to TYPE, or fewer options that say types",
                       "{}: no layer is left whose type can be chosen", target.text);
  }
  CKPT_ASSIGN(const std::vector<std::string> keys, joined_layers(made, modules));
  std::map<std::string, size_t> place;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const auto [at, is_new] = place.emplace(keys[i], out.groups.size());
    if (is_new) out.groups.emplace_back();
    LayerGroup& group = out.groups[at->second];
    group.layers.push_back(make_layer(*tensors[i], target, out.has_input_scales));
    const auto expert = expert_name(modules[i]);
    const std::string glob = expert ? literal_glob(expert->front) + "*" : literal_glob(modules[i]);
    if (group.globs.empty() || group.globs.back() != glob) group.globs.push_back(glob);
  }
  // For NVFP4 of weights alone, no scale shows whether maxima of the inputs are known.
  const bool has_maxima = plain.to == "nvfp4-w4a16" && plain.flags.has("amax-from");
  out.may_be_fp8 = out.has_input_scales || has_maxima;
  const CountedModel counted = count_layers(made);
  out.weights = counted.weights;
  out.file_bytes = output.layout.size_bytes();
  out.plain_bytes = target.is_of_bits() ? counted.bytes : out.file_bytes;
  return out;
}

// Measures the errors of NVFP4 and FP8 for each layer, in the order of the groups.
Result<std::vector<std::vector<double>>> measure_layers(const FreeFolder& folder,
                                                        const Conversion& conversion,
                                                        Observer& observer, unsigned threads) {
  const Codec& nvfp4 = scheme_codec(all_codecs(), Scheme::kNvfp4, Dialect::kModelopt);
  const Codec& fp8 = scheme_codec(all_codecs(), Scheme::kFp8Tensor, Dialect::kModelopt);
  std::vector<TypesToMeasure> asked;
  for (const LayerGroup& group : folder.groups) {
    for (const FreeLayer& layer : group.layers) {
      TypesToMeasure& one = asked.emplace_back();
      const Recoded& from = layer.weight.recoded();
      one.values = layer.weight;
      one.values.codec = &plain_codec(all_codecs(), Dtype::kF32);
      one.values.origin = Recoded{from.from, from.ops, {}, nullptr};
      one.weights = from.weights;
      one.search = from.options.search;
      one.codecs = {&nvfp4, &fp8};
    }
  }
  return measure_types_once(conversion, asked, observer, threads);
}

// Lists layers in the order of the groups. An expert gets its share of its stack's sensitivity.
std::vector<RatedTensor> rated_layers(const FreeFolder& folder) {
  std::vector<RatedTensor> out;
  for (const LayerGroup& group : folder.groups) {
    std::map<std::string, uint64_t> stacks;
    for (const FreeLayer& layer : group.layers) {
      stacks[std::string(last_word(layer.module))] += layer.weight.values();
    }
    for (const FreeLayer& layer : group.layers) {
      RatedTensor& made = out.emplace_back();
      made.names = {layer.weight.name, layer.module};
      for (std::string& name : gguf_names_of_layer(layer.module)) {
        const bool is_stack = name.find("_exps.") != name.npos;
        (is_stack ? made.stack_name : made.names.emplace_back()) = std::move(name);
      }
      made.share = static_cast<double>(layer.weight.values()) /
                   static_cast<double>(stacks[std::string(last_word(layer.module))]);
      made.factor = sensitivity_of_layer(layer.module);
    }
  }
  return out;
}

// The sensitivity of each layer, in the order of the groups.
std::vector<double> layer_factors(const SensitivityFile& file, std::vector<RatedTensor> layers,
                                  const std::vector<std::vector<double>>& errors) {
  for (size_t i = 0; i < layers.size(); ++i) {
    for (const uint32_t type : {kAsNvfp4, kAsFp8}) {
      layers[i].errors[std::string(kTypeNames[type])] = errors[i][type];
    }
  }
  rate_tensors(file, layers);
  std::vector<double> out;
  for (const RatedTensor& layer : layers) out.push_back(layer.factor);
  return out;
}

// The choices for each group; its error is the mean over its layers, weighted by sensitivity.
std::vector<FreeTensor> group_offers(const FreeFolder& folder, const std::vector<double>& factors,
                                     const std::vector<std::vector<double>>& errors) {
  uint64_t all_weights = 0;
  std::vector<FreeTensor> out;
  auto error = errors.begin();
  auto factor_of_layer = factors.begin();
  for (const LayerGroup& group : folder.groups) {
    FreeTensor& made = out.emplace_back();
    made.name = group.layers[0].module;
    TypeOffer offers[3];
    made.sensitivity = 0;
    for (const FreeLayer& layer : group.layers) {
      const double factor = *factor_of_layer++;
      made.weights += layer.weight.values();
      made.sensitivity += factor;
      offers[kAsNvfp4].size_bytes += layer.nvfp4_bytes;
      offers[kAsFp8].size_bytes += layer.fp8_bytes;
      offers[kAsFloats].size_bytes += layer.float_bytes;
      offers[kAsNvfp4].error += factor * (*error)[0];
      offers[kAsFp8].error += factor * (*error)[1];
      ++error;
    }
    for (TypeOffer& offer : offers) offer.error /= made.sensitivity;
    made.offers = {offers[kAsNvfp4], offers[kAsFp8], offers[kAsFloats]};
    if (!folder.may_be_fp8) made.offers.erase(made.offers.begin() + kAsFp8);
    all_weights += made.weights;
  }
  for (FreeTensor& tensor : out) tensor.least_bits = least_bits(tensor, all_weights, false, false);
  return out;
}

Status check_within(const FreeFolder& folder, const SizeTarget& target, uint64_t most,
                    uint64_t limit, uint64_t least) {
  const bool is_large = limit >= most;
  if (limit >= least && !is_large) return {};
  const uint64_t fixed = folder.plain_bytes - least;
  const auto said = [&](uint64_t bytes) {
    return target.words_for(bytes, folder.weights, "effective bits");
  };
  return misuse_hint(
      is_large ? "a target in between, or no target and no --to" : "a target in between",
      "{}: {}; all layers as NVFP4 take {}, all as they are {}", target.text,
      is_large ? "nothing would be left to quantize" : "too small for this model",
      said(folder.plain_bytes), said(fixed + most));
}

std::string_view name_of_type(uint32_t type, const FreeLayer& layer) {
  if (type != kAsFloats) return kTypeNames[type];
  const Codec& source = *layer.weight.recoded().from->codec;
  return is_plain_float(source) ? source.name : kTypeNames[type];
}

void add_layers(const FreeFolder& folder, const std::vector<uint32_t>& types,
                const std::vector<std::vector<double>>& errors, ChosenTypes& out) {
  out.tensors.clear();
  auto error = errors.begin();
  for (size_t i = 0; i < folder.groups.size(); ++i) {
    for (const FreeLayer& layer : folder.groups[i].layers) {
      const uint64_t sizes[] = {layer.nvfp4_bytes, layer.fp8_bytes, layer.float_bytes};
      out.tensors.push_back({layer.weight.name, std::string(last_word(layer.module)),
                             std::string(name_of_type(types[i], layer)), layer.weight.values(),
                             sizes[types[i]], types[i] == kAsFloats ? 0 : (*error)[types[i]]});
      ++error;
    }
  }
}

Options globs_of(const FreeFolder& folder, const std::vector<uint32_t>& types) {
  Options out;
  for (size_t i = 0; i < folder.groups.size(); ++i) {
    if (types[i] == kAsNvfp4) continue;
    for (const std::string& glob : folder.groups[i].globs) {
      out.add(types[i] == kAsFp8 ? "fp8" : "keep", glob);
    }
  }
  return out;
}

Conversion with_globs(Conversion conversion, const Options& globs) {
  for (const auto& [name, glob] : globs.pairs()) conversion.flags.add(name, glob);
  return conversion;
}

// Rejects a GGUF as source: it must first be converted to a folder of floats by a separate run.
Status check_source(const Conversion& conversion, const SizeTarget& target) {
  if (!conversion.steps.empty() || !conversion.recipe_steps.empty()) return {};
  CKPT_ASSIGN(const Format* format, recognize(conversion.in));
  if (format->name != "gguf") return {};
  return misuse_hint("this without the target, and then that folder with it",
                     "{}: {} is a GGUF; types are chosen for the layers of a folder", target.text,
                     conversion.in.string());
}

// Rejects a ModelOpt recipe as preset, because it sets the type of every layer itself.
Status check_preset(const Conversion& conversion, const SizeTarget& target) {
  const auto preset = conversion.flags.get("preset");
  const auto words = find_convert_option("preset")->rule().words();
  if (!preset || std::ranges::count(words, *preset) > 0) return {};
  return misuse_hint("--preset default-input-scale1, or one of the two",
                     "--preset {} says the types of layers, and {} would choose them", *preset,
                     target.text);
}

}  // namespace

double effective_bits(const Checkpoint& checkpoint) {
  const CountedModel counted = count_layers(checkpoint);
  return bits_per_weight(counted.bytes, counted.weights);
}

Result<std::pair<Conversion, ChosenTypes>> with_chosen_layers(const Conversion& asked,
                                                              const SizeTarget& target,
                                                              Observer& observer,
                                                              unsigned threads) {
  Conversion conversion = asked;
  conversion.target_size.clear();
  conversion.target_bits.clear();
  if (conversion.to.empty()) conversion.to = "nvfp4";
  CKPT_TRY(check_source(conversion, target));
  CKPT_TRY(check_preset(conversion, target));
  Conversion quiet = conversion;
  quiet.given.clear();
  quiet.profiles.clear();  // their steps run last; layers are chosen before that
  CKPT_ASSIGN(const ConversionInput input, read_input(quiet));
  CKPT_ASSIGN(const FreeFolder folder, find_free_layers(quiet, input, target));
  const std::vector<RatedTensor> layers = rated_layers(folder);
  CKPT_ASSIGN(const SensitivityFile file,
              fitting_sensitivities(conversion.sensitivity, layers, observer));
  CKPT_ASSIGN(const auto errors, measure_layers(folder, conversion, observer, threads));
  const std::vector<FreeTensor> groups =
      group_offers(folder, layer_factors(file, layers, errors), errors);
  uint64_t least = 0, most = 0;
  double plain_cost = 0;
  for (const FreeTensor& group : groups) {
    least += group.offers[kAsNvfp4].size_bytes;
    most += group.offers.back().size_bytes;
    plain_cost += group.sensitivity * group.offers[kAsNvfp4].error;
  }
  uint64_t limit = target.room(folder.weights, folder.plain_bytes - least);
  CKPT_TRY(check_within(folder, target, most, limit, least));
  ChosenTypes out;
  out.mixture = conversion.to;
  out.mixture_bytes = folder.file_bytes;
  for (int round = 0; round < kMaxHeaderRounds; ++round) {
    auto choice = choose_types(groups, limit);
    if (!choice) break;
    for (uint32_t& type : choice->offers) {
      if (type != kAsNvfp4 && !folder.may_be_fp8) type = kAsFloats;
    }
    out.globs = globs_of(folder, choice->offers);
    Conversion made = with_globs(quiet, out.globs);
    made.profiles = conversion.profiles;
    CKPT_ASSIGN(const PlannedConversion planned, plan_conversion(made, input));
    out.out_bytes = planned.plan.outputs[0].layout.size_bytes();
    if (!target.is_of_bits() && out.out_bytes > target.size_bytes) {
      limit -= std::min(limit, out.out_bytes - target.size_bytes);
      continue;
    }
    out.effective_bits = effective_bits(planned.plan.outputs[0].checkpoint);
    out.keeps_floors = choice->keeps_floors;
    if (plain_cost > 0) out.against = choice->cost / plain_cost;
    add_layers(folder, choice->offers, errors, out);
    return std::pair(with_globs(std::move(conversion), out.globs), std::move(out));
  }
  return misuse_hint("a larger target", "{}: the headers and documents of {} do not fit",
                     target.text, conversion.out.string());
}

}  // namespace ckpt

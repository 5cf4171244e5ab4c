// Determines the quantization of a checkpoint from its tensors, and compares its documents.
//
//   P.weight      parts (codec)    companions              algorithm, as ModelOpt calls it
//   nvfp4_*       codes + scales   input scale             NVFP4
//                                  pre_quant_scale         NVFP4_AWQ
//                                  none                    W4A16_NVFP4
//   fp8_tensor*   codes + scale    any                     FP8
//   fp8_channel*, fp8_block*                               FP8_PER_CHANNEL_PER_TOKEN, FP8_PB_WO
//
// Variants such as Four over six are not visible, because codes and scales look like NVFP4.
// Embeddings, norms and convolutions are never quantized, so lists need not name them.
// Sources: NVIDIA Model-Optimizer modelopt/torch/export/quant_utils.py; vLLM
// vllm/model_executor/layers/quantization/modelopt.py; compressed-tensors
// src/compressed_tensors/quantization/quant_config.py.
#include "transforms/packed/quant_summary.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/base/name_list.h"
#include "core/base/words.h"
#include "core/model/tensor_names.h"
#include "transforms/facts/quant_config.h"
#include "transforms/facts/quant_statement.h"
#include "transforms/packed/packed.h"
#include "transforms/packed/packed_weights.h"

namespace ckpt {
namespace {

// The algorithm of a layer's tensors: its name in configurations, and the text for users.
struct Algorithm {
  std::string name, detail;
};

// The codes of MXFP4 are named after a parameter, all others after a module.
std::string packed_module(const std::string& codes) {
  constexpr std::string_view kBlocks = "_blocks";
  return codes.ends_with(kBlocks) ? codes.substr(0, codes.size() - kBlocks.size())
                                  : module_of(codes);
}

class Summarizer {
 public:
  explicit Summarizer(const Checkpoint& checkpoint) : checkpoint_(checkpoint) {
    for (const Tensor& tensor : checkpoint.tensors) names_.insert(tensor.name);
  }

  Result<QuantSummary> run() {
    auto packed = describe_packed_weights(checkpoint_);
    if (packed) {
      packed_ = std::move(*packed);
    } else {
      out_.disagreements.push_back(packed.error().text());
    }
    group_tensors();
    CKPT_TRY(read_statements());
    compare_layers();
    summarize_kv_cache();
    return std::move(out_);
  }

 private:
  bool has(const std::string& name) const { return names_.contains(name); }
  uint64_t count_names(std::initializer_list<std::string_view> endings) const {
    return static_cast<uint64_t>(std::ranges::count_if(names_, [&](const std::string& name) {
      return ends_with_any(name, {endings.begin(), endings.end()});
    }));
  }

  const char* nvfp4_algorithm(const std::string& module) const {
    if (has(module + ".pre_quant_scale")) return "NVFP4_AWQ";
    const bool has_input = has(module + ".input_scale") || has(module + ".input_global_scale");
    return has_input ? "NVFP4" : "W4A16_NVFP4";
  }

  Algorithm algorithm_of(const Tensor& tensor) const {
    switch (tensor.codec->scheme) {
      case Scheme::kNvfp4: return {nvfp4_algorithm(listed_name(tensor.name)), " (group 16)"};
      case Scheme::kFp8Tensor: return {"FP8", ""};
      case Scheme::kFp8Channel: return {"FP8_PER_CHANNEL_PER_TOKEN", ""};
      case Scheme::kFp8Block: return {"FP8_PB_WO", " (blocks of 128 x 128)"};
      case Scheme::kMxfp8: return {"MXFP8", " (group 32)"};
      case Scheme::kMxfp4: return {"MXFP4", " (group 32)"};
      case Scheme::kPackedInt4:
      case Scheme::kPlain: break;
    }
    return {upper_case(tensor.codec->name), ""};
  }

  void group_tensors() {
    std::vector<std::string> order;
    std::map<std::string, std::vector<std::string>> layers;
    std::map<std::string, uint64_t> vectors;
    for (const Tensor& tensor : checkpoint_.tensors) {
      const auto packed = packed_.find(tensor.name);
      const bool is_packed = packed != packed_.end() && !packed->second.empty();
      if (!is_packed && (packed != packed_.end() || ends_with_any(tensor.name, kCompanions))) {
        out_.algorithms.emplace_back();
        continue;
      }
      const Algorithm algorithm = is_packed ? Algorithm{packed->second, ""} : algorithm_of(tensor);
      const std::string text = algorithm.name + algorithm.detail;
      out_.algorithms.push_back(text);
      out_.is_quantized =
          out_.is_quantized || is_packed || tensor.has_scales() || tensor.codec->block_values > 1;
      if (!layers.contains(text)) order.push_back(text);
      if (tensor.shape.size() < 2) {
        layers[text];
        ++vectors[text];
        continue;
      }
      layers[text].push_back(is_packed ? packed_module(tensor.name) : listed_name(tensor.name));
      if (is_packed) continue;
      found_.emplace_back(&tensor, algorithm.name);
    }
    for (const std::string& text : order) {
      out_.groups.push_back(
          {text, layers[text].size(), vectors[text], summarize_names(layers[text])});
    }
  }

  // ---- declarations ----------------------------------------------------------------------------
  Result<std::optional<QuantConfig>> read_alone(std::string_view path) const {
    Checkpoint alone;
    if (const Document* document = checkpoint_.find_document(path)) {
      alone.documents.push_back(*document);
    }
    return read_quant_config(alone);
  }

  Status read_statements() {
    CKPT_ASSIGN(const auto own, read_alone(kQuantConfigName));
    CKPT_ASSIGN(const auto embedded, read_alone("config.json"));
    if (own || embedded) {
      config_ = embedded ? embedded : own;
      out_.stated = config_->algo.name;
      out_.producer = config_->producer;
      if (!config_->producer_version.empty()) out_.producer += " " + config_->producer_version;
      out_.kv_cache = config_->kv_cache_algo.value_or("");
      if (own && embedded) compare_statements(*own, *embedded);
    }
    CKPT_ASSIGN(auto config, read_config(checkpoint_));
    const auto places = config ? quant_places(*config) : std::vector<QuantPlace>();
    if (!places.empty() && !embedded) read_other(places[0].declared());
    if (own && places.empty()) {
      out_.disagreements.push_back(
          fmt::format("{} alone says {}; config.json has no quantization_config", kQuantConfigName,
                      own->algo.name));
    }
    const auto maxima = count_names({"weight_quantizer._amax"});
    if (out_.stated.empty() && maxima > 0) {
      out_.stated = fmt::format("none yet, maxima of {} weights from training", maxima);
    }
    if (out_.stated.empty() && checkpoint_.first_with_scales() != nullptr) {
      out_.disagreements.push_back("no document says that weights are quantized");
    }
    return {};
  }

  // Reads compressed-tensors, DeepSeek's fp8, and any other quantization_config.
  void read_other(const JsonText& declared) {
    const std::string method = declared.find_text("quant_method").value_or("");
    const auto format = declared.find_text("format");
    const bool is_mlx = method.empty() && std::ranges::any_of(packed_, [](const auto& packed) {
      return packed.second.starts_with("MLX");
    });
    out_.stated =
        (is_mlx           ? std::string("MLX")
         : method.empty() ? std::string("a quantization_config without quant_method")
                          : method) +
        (format ? " " + *format : "");
    out_.producer = method;
    if (const auto version = declared.find_text("version")) out_.producer += " " + *version;
    if (const JsonText* scheme = declared.find("kv_cache_scheme"); scheme && scheme->is_object()) {
      const auto bits = scheme->find_whole("num_bits");
      const bool is_float = scheme->find_text("type") == "float";
      out_.kv_cache = bits == 8 && is_float ? "FP8" : fmt::format("{} bits", bits.value_or(0));
    }
    const JsonText* ignored = declared.find("ignore");
    if (method != "compressed-tensors" || ignored == nullptr || !ignored->is_array()) return;
    for (const JsonText& item : ignored->items()) {
      if (auto text = item.as_text()) ignored_.push_back(std::move(*text));
    }
  }

  void compare_statements(const QuantConfig& own, const QuantConfig& embedded) {
    const auto add = [&](std::string_view what, const std::string& a, const std::string& b) {
      out_.disagreements.push_back(
          fmt::format("{}: {} says {}, config.json says {}", what, kQuantConfigName, a, b));
    };
    if (own.algo.name != embedded.algo.name) add("algorithm", own.algo.name, embedded.algo.name);
    const std::string kv[] = {own.kv_cache_algo.value_or("none"),
                              embedded.kv_cache_algo.value_or("none")};
    if (kv[0] != kv[1]) add("KV cache", kv[0], kv[1]);
    const auto excluded = [](const QuantConfig& config) {
      auto names = config.exclude_modules.value_or(std::vector<std::string>());
      return std::set<std::string>(names.begin(), names.end());
    };
    if (excluded(own) != excluded(embedded)) {
      add("layers left out", fmt::format("{}", excluded(own).size()),
          fmt::format("{}", excluded(embedded).size()));
    }
    const std::map<std::string, QuantAlgo> of_own(own.layers.begin(), own.layers.end());
    const std::map<std::string, QuantAlgo> of_embedded(embedded.layers.begin(),
                                                       embedded.layers.end());
    if (of_own != of_embedded) {
      add("quantized layers", fmt::format("{}", of_own.size()),
          fmt::format("{}", of_embedded.size()));
    }
  }

  // ---- both ------------------------------------------------------------------------------------
  // "" for a layer that is not quantized.
  std::string stated_for(const std::string& module, const NameList& excluded) const {
    if (config_->algo.name == kMixedPrecision) {
      const auto at = stated_layers_.find(module);
      return at == stated_layers_.end() ? "" : at->second;
    }
    return excluded.holds_parent_of(module) || excluded.matches(module) ? "" : config_->algo.name;
  }

  static bool may_be_quantized(const Tensor& tensor) {
    return tensor.shape.size() == 2 && tensor.name.ends_with(kWeight) &&
           tensor.name.find("embed") == std::string::npos &&
           tensor.name.find("conv") == std::string::npos;
  }

  void compare_layers() {
    std::map<std::pair<std::string, std::string>, std::vector<std::string>> differing;
    if (config_) {
      for (const auto& [name, algo] : config_->layers) stated_layers_[name] = algo.name;
    }
    const NameList excluded(config_ && config_->exclude_modules ? *config_->exclude_modules
                                                                : std::vector<std::string>());
    const NameList ignored(ignored_);
    for (const auto& [tensor, name] : found_) {
      const std::string module = listed_name(tensor->name);
      const bool has_codes = tensor->has_scales();
      if (config_) {
        const std::string stated = stated_for(module, excluded);
        // AWQ folds some layers' scales into the preceding layer: these layers have none.
        const bool is_folded = stated == "NVFP4_AWQ" && name == "NVFP4";
        const bool differs = has_codes ? stated != name && !is_folded : !stated.empty();
        if (differs && (has_codes || may_be_quantized(*tensor))) {
          differing[{stated, name}].push_back(module);
        }
      } else if (has_codes && ignored.holds(module)) {
        differing[{"", name}].push_back(module);
      }
    }
    for (const auto& [pair, modules] : differing) {
      out_.disagreements.push_back(
          fmt::format("the configuration {}, the tensors are {}: {} layers: {}",
                      pair.first.empty() ? std::string("leaves them out") : "says " + pair.first,
                      pair.second, modules.size(), fmt::join(summarize_names(modules), ", ")));
    }
  }

  void summarize_kv_cache() {
    const uint64_t scales = count_names({".k_scale", ".v_scale"});
    if (!out_.kv_cache.empty()) {
      out_.kv_cache +=
          scales == 0 ? ", without scales: servers take 1" : fmt::format(", {} scales", scales);
    } else if (scales > 0) {
      out_.disagreements.push_back(
          fmt::format("{} scales of a KV cache, of which no document speaks", scales));
    }
  }

  const Checkpoint& checkpoint_;
  std::set<std::string> names_;
  std::map<std::string, std::string> packed_;  // algorithm, by name of the codes
  std::vector<std::pair<const Tensor*, std::string>> found_;  // tensor, algorithm
  std::optional<QuantConfig> config_;
  std::map<std::string, std::string> stated_layers_;
  std::vector<std::string> ignored_;
  QuantSummary out_;
};

}  // namespace

Result<QuantSummary> summarize_quantization(const Checkpoint& checkpoint) {
  return Summarizer(checkpoint).run();
}

}  // namespace ckpt

#include "transforms/facts/quant_config.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "core/base/words.h"
#include "core/model/json_documents.h"
#include "transforms/facts/quant_statement.h"

namespace ckpt {
namespace {

constexpr std::string_view kModelConfigName = "config.json";

JsonText producer_of(const QuantConfig& config) {
  return JsonText::object({{"name", JsonText::text(config.producer)},
                           {"version", JsonText::text(config.producer_version)}});
}

void add_algo(JsonText& out, const QuantAlgo& algo) {
  if (algo.group_size) out.set("group_size", JsonText::number(*algo.group_size));
  if (!algo.has_pre_quant_scale) return;
  out.set("has_zero_point", JsonText::boolean(false));
  out.set("pre_quant_scale", JsonText::boolean(true));
}

JsonText layers_of(const QuantConfig& config) {
  JsonText out = JsonText::object();
  for (const auto& [name, algo] : config.layers) {
    JsonText layer = JsonText::object({{"quant_algo", JsonText::text(algo.name)}});
    add_algo(layer, algo);
    out.set(name, std::move(layer));
  }
  return out;
}

JsonText numbers(uint64_t bits, std::optional<uint64_t> group_size) {
  JsonText out = JsonText::object({{"dynamic", JsonText::boolean(false)},
                                   {"num_bits", JsonText::number(bits)},
                                   {"type", JsonText::text("float")}});
  if (group_size) out.set("group_size", JsonText::number(*group_size));
  return out;
}

JsonText group_of(JsonText inputs, JsonText weights) {
  return JsonText::object(
      {{"input_activations", std::move(inputs)}, {"weights", std::move(weights)}});
}

// A group of compressed-tensors, without its targets; ModelOpt describes only these algorithms.
std::optional<JsonText> group_of(const QuantAlgo& algo) {
  const uint64_t group = algo.group_size.value_or(16);
  if (algo.name == "FP8") return group_of(numbers(8, {}), numbers(8, {}));
  if (algo.name == "NVFP4") return group_of(numbers(4, group), numbers(4, group));
  if (algo.name != "W4A16_NVFP4") return std::nullopt;
  return JsonText::object({{"weights", numbers(4, group)}});
}

// A group of a mixed file: here ModelOpt declares 8-bit activations for AWQ, and knows more names.
JsonText mixed_group_of(const QuantAlgo& algo) {
  if (auto known = group_of(algo)) return std::move(*known);
  const auto group = [&](uint64_t otherwise) { return algo.group_size.value_or(otherwise); };
  if (algo.name == "NVFP4_AWQ" || algo.name == "W4A8_AWQ") {
    return group_of(numbers(8, group(128)), numbers(4, group(128)));
  }
  if (algo.name == "MXFP8") return group_of(numbers(8, group(32)), numbers(8, group(32)));
  if (algo.name == "W4A8_NVFP4_FP8" || algo.name == "W4A8_MXFP4_FP8") {
    return group_of(numbers(8, {}), numbers(4, group(16)));
  }
  return JsonText::object({{"quant_algo", JsonText::text(algo.name)}});
}

// Makes one group per algorithm, in the order in which algorithms first occur.
JsonText mixed_groups(const QuantConfig& config) {
  std::vector<std::pair<QuantAlgo, std::vector<std::string>>> groups;
  std::map<std::tuple<std::string, std::optional<uint64_t>, bool>, size_t> known;
  for (const auto& [module, algo] : config.layers) {
    const auto [at, is_new] =
        known.try_emplace({algo.name, algo.group_size, algo.has_pre_quant_scale}, groups.size());
    if (is_new) groups.push_back({algo, {}});
    groups[at->second].second.push_back(module);
  }
  std::vector<JsonText::Member> out;
  for (size_t i = 0; i < groups.size(); ++i) {
    std::ranges::sort(groups[i].second);
    JsonText group = mixed_group_of(groups[i].first);
    group.set("targets", JsonText::texts(groups[i].second));
    out.emplace_back(fmt::format("group_{}", i), std::move(group));
  }
  return JsonText::object(std::move(out));
}

Failure wrong_kind(std::string_view key, std::string_view expected) {
  return corrupt("'{}' is of another kind; expected {}", key, expected);
}

Result<QuantAlgo> read_algo(const JsonText& json) {
  QuantAlgo out;
  const auto name = json.find_text("quant_algo");
  if (!name) return wrong_kind("quant_algo", "a text");
  out.name = upper_case(*name);
  out.group_size = json.find_whole("group_size");
  const JsonText* scaled = json.find("pre_quant_scale");
  out.has_pre_quant_scale = scaled != nullptr && scaled->token() == "true";
  return out;
}

Result<std::vector<std::string>> read_texts(const JsonText& json, std::string_view key) {
  std::vector<std::string> out;
  if (json.is_null()) return out;
  if (json.kind() != JsonText::Kind::kArray) return wrong_kind(key, "a list of names");
  for (const JsonText& item : json.items()) {
    auto text = item.as_text();
    if (!text) return wrong_kind(key, "a list of names");
    out.push_back(std::move(*text));
  }
  return out;
}

void read_producer(const JsonText& json, QuantConfig& out) {
  const JsonText* producer = json.find("producer");
  if (producer == nullptr) return;
  out.producer = producer->find_text("name").value_or(out.producer);
  out.producer_version = producer->find_text("version").value_or("");
}

Status read_shared(const JsonText& json, std::string_view exclude_key, QuantConfig& out) {
  read_producer(json, out);
  if (const JsonText* excluded = json.find(exclude_key)) {
    CKPT_ASSIGN(out.exclude_modules, read_texts(*excluded, exclude_key));
  }
  const JsonText* layers = json.find("quantized_layers");
  if (layers == nullptr || layers->is_null()) return {};
  if (!layers->is_object()) return wrong_kind("quantized_layers", "an object");
  for (const auto& [name, layer] : layers->members()) {
    CKPT_ASSIGN(QuantAlgo algo, in(name, read_algo(layer)));
    out.layers.emplace_back(name, std::move(algo));
  }
  return {};
}

Result<QuantConfig> read_own(const JsonText& json) {
  QuantConfig out;
  const JsonText* quantization = json.find("quantization");
  if (quantization == nullptr || !quantization->is_object()) {
    return wrong_kind("quantization", "an object");
  }
  CKPT_ASSIGN(out.algo, read_algo(*quantization));
  CKPT_TRY(read_shared(*quantization, "exclude_modules", out));
  read_producer(json, out);
  out.kv_cache_algo = quantization->find_text("kv_cache_quant_algo");
  return out;
}

// config.json stores the group size in its groups.
std::optional<uint64_t> group_size_of(const JsonText& json) {
  const JsonText* groups = json.find("config_groups");
  if (groups == nullptr || groups->members().empty()) return std::nullopt;
  const JsonText* weights = groups->members().front().second.find("weights");
  return weights == nullptr ? std::nullopt : weights->find_whole("group_size");
}

Result<std::optional<QuantConfig>> read_embedded(const JsonText& json) {
  if (!json.is_object() || !json.find_text("quant_algo")) return std::optional<QuantConfig>();
  QuantConfig out;
  CKPT_ASSIGN(out.algo, read_algo(json));
  CKPT_TRY(read_shared(json, "ignore", out));
  if (!out.algo.group_size && out.layers.empty()) out.algo.group_size = group_size_of(json);
  if (out.algo.name == kMixedPrecision) out.exclude_modules.reset();
  if (const JsonText* scheme = json.find("kv_cache_scheme"); scheme != nullptr) {
    out.kv_cache_algo = scheme->is_object() ? std::optional<std::string>("FP8") : scheme->as_text();
  }
  return std::optional(std::move(out));
}

}  // namespace

std::string render_quant_config(const QuantConfig& config) {
  JsonText quantization = JsonText::object(
      {{"quant_algo", JsonText::text(config.algo.name)},
       {"kv_cache_quant_algo",
        config.kv_cache_algo ? JsonText::text(*config.kv_cache_algo) : JsonText::null()}});
  if (config.algo.name == kMixedPrecision) quantization.set("quantized_layers", layers_of(config));
  add_algo(quantization, config.algo);
  if (config.exclude_modules) {
    quantization.set("exclude_modules", JsonText::texts(*config.exclude_modules));
  }
  return JsonText::object(
             {{"producer", producer_of(config)}, {"quantization", std::move(quantization)}})
      .dump(4);
}

JsonText make_quantization_config(const QuantConfig& config) {
  JsonText out = JsonText::object();
  if (config.algo.name == kMixedPrecision) {
    out.set("config_groups", mixed_groups(config));
    out.set("quantized_layers", layers_of(config));
  } else if (auto group = group_of(config.algo)) {
    group->set("targets", JsonText::texts({"Linear"}));
    out.set("config_groups", JsonText::object({{"group_0", std::move(*group)}}));
  }
  out.set("ignore", JsonText::texts(config.exclude_modules.value_or(std::vector<std::string>())));
  out.set("quant_algo", JsonText::text(config.algo.name));
  if (config.kv_cache_algo) {
    const bool is_fp8 = *config.kv_cache_algo == "FP8";
    out.set("kv_cache_scheme",
            is_fp8 ? numbers(8, std::nullopt) : JsonText::text(*config.kv_cache_algo));
  }
  out.set("producer", producer_of(config));
  out.set("quant_method", JsonText::text("modelopt"));
  return out;
}

Result<std::optional<QuantConfig>> read_quant_config(const Checkpoint& checkpoint) {
  if (const Document* document = checkpoint.find_document(kQuantConfigName)) {
    CKPT_ASSIGN(const auto json, document->tree());
    CKPT_ASSIGN(QuantConfig config, in(kQuantConfigName, read_own(*json)));
    return std::optional(std::move(config));
  }
  CKPT_ASSIGN(std::optional<JsonText> config, read_config(checkpoint));
  const auto places = config ? quant_places(*config) : std::vector<QuantPlace>();
  if (places.empty()) return std::optional<QuantConfig>();
  return in(fmt::format("{}: {}", kModelConfigName, places[0].key),
            read_embedded(places[0].declared()));
}

Status write_quant_config(Checkpoint& checkpoint, const QuantConfig& config) {
  CKPT_ASSIGN(std::optional<JsonText> model, read_config(checkpoint));
  if (model) {
    set_quant_statement(*model, make_quantization_config(config));
    checkpoint.set_document(std::string(kModelConfigName), model->dump(4));
  }
  checkpoint.set_document(std::string(kQuantConfigName), render_quant_config(config));
  return {};
}

Result<bool> remove_quant_config(Checkpoint& checkpoint) {
  CKPT_ASSIGN(std::optional<JsonText> model, read_config(checkpoint));
  const bool found = model && set_quant_statement(*model, std::nullopt);
  if (found) checkpoint.set_document(std::string(kModelConfigName), model->dump(2) + "\n");
  const size_t removed = std::erase_if(checkpoint.documents, [](const Document& document) {
    return document.path == kQuantConfigName || document.path == kGptqConfigName;
  });
  return found || removed != 0;
}

Status remove_expert_type(Checkpoint& checkpoint) {
  CKPT_ASSIGN(std::optional<JsonText> config, read_config(checkpoint));
  if (!config || !config->remove("expert_dtype")) return {};
  checkpoint.set_document(std::string(kModelConfigName), config->dump(2) + "\n");
  return {};
}

}  // namespace ckpt

#include "transforms/lora/adapter.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <tuple>

#include "core/base/nearest.h"
#include "core/base/printable.h"
#include "core/base/words.h"
#include "core/chunks/evaluate.h"
#include "core/computed/strided_source.h"
#include "core/model/codec.h"
#include "core/model/tensor_names.h"

namespace ckpt {
namespace {

constexpr uint64_t kMaxAdapterConfigBytes = 16 << 20;
constexpr const char* kAdapterDocument = "adapter_config.json";
constexpr const char* kAdapterFiles[] = {"adapter_model.safetensors", "adapters.safetensors",
                                         "adapter_model.bin"};

Result<Checkpoint> open_weights(const std::filesystem::path& folder, const Context& context,
                                std::string& path) {
  for (const char* name : kAdapterFiles) {
    path = (folder / name).string();
    auto opened = context.open(path);
    if (opened || opened.error().code != ErrorCode::kUsage) return opened;
  }
  std::error_code error;
  if (!std::filesystem::exists(folder, error)) {
    return not_found(
        "{}: no such folder; expected one with adapter_config.json and "
        "adapter_model.safetensors",
        folder.string());
  }
  if (!std::filesystem::is_directory(folder, error)) {
    const std::string parent = folder.parent_path().string();
    return misuse_hint(shell_word("lora:from=" + (parent.empty() ? "." : parent)),
                       "{}: a file; expected the folder of the adapter", folder.string());
  }
  return misuse(
      "{}: not an adapter (found no adapter_model.safetensors, expected it and "
      "adapter_config.json)",
      folder.string());
}

// A sum of squares is finite where every value is.
Status check_adapter_tensor(const Tensor& tensor) {
  const std::string place = fmt::format("tensor '{}'", tensor.name);
  if (!is_plain_float(*tensor.codec)) {
    return unsupported_hint("saving the adapter again in F32",
                            "{}: stored as {}; expected f32, f16 or bf16", place,
                            tensor.codec->name);
  }
  if (tensor.values() == 0) {
    return corrupt_hint("saving the adapter again with its parameters gathered (ZeRO-3)",
                        "{}: shape [{}] has no values", place, fmt::join(tensor.shape, ", "));
  }
  CKPT_ASSIGN(const ValueError sums, measure_error(tensor, tensor, {}, UINT64_MAX));
  if (std::isfinite(sums.signal)) return {};
  return corrupt("{}: has NaN or Inf", place);
}

// PEFT may save a trained weight twice: under modules_to_save, and under the module's plain name
// (save_embedding_layers). Returns the tensor under modules_to_save. Fails: kCorrupt: the values
// differ, or not exactly one of the two tensors is under modules_to_save.
Result<const Tensor*> trained_one(const Tensor& earlier, const Tensor& other) {
  const auto is_trained = [](const Tensor& tensor) {
    return tensor.name.find(".modules_to_save.") != std::string::npos;
  };
  if (is_trained(earlier) == is_trained(other)) {
    return corrupt("tensors '{}' and '{}' are the same part of one module", earlier.name,
                   other.name);
  }
  bool is_equal = earlier.shape == other.shape;
  if (is_equal) {
    CKPT_ASSIGN(const ValueError sums, measure_error(earlier, other, {}, UINT64_MAX));
    is_equal = sums.noise == 0;
  }
  if (is_equal) return is_trained(earlier) ? &earlier : &other;
  return corrupt("tensors '{}' and '{}' are the same part of one module, with different values",
                 earlier.name, other.name);
}

// Parameters of any name are those of modules_to_save.
ParseKey keys_of_trainers(const AdapterConfig& config) {
  return [&config](const std::string& name) -> Result<AdapterKey> {
    auto key = parse_adapter_key(name, config.method == nullptr ? "" : config.method->factors);
    const auto has_key = [&](const std::string& saved) { return is_within(key->module, saved); };
    const bool is_of_lora = key && (key->part <= AdapterPart::kMagnitude);
    const bool is_known =
        key && (config.method == nullptr || !is_of_lora) &&
        (key->part != AdapterPart::kNewTensor || std::ranges::any_of(config.saved, has_key));
    if (is_known) return std::move(*key);
    return unsupported("tensor '{}': not a name that {} adapters use", name,
                       config.method == nullptr ? "LoRA" : config.method->name);
  };
}

// AdaLoRA can prune every rank of a module, and saves its factors as matrices without values. A
// parameter that ZeRO-3 left empty has one dimension instead.
bool is_pruned(const AdapterConfig& config, const AdapterKey& key, const Tensor& tensor) {
  return key.part == AdapterPart::kFactor && tensor.values() == 0 && tensor.shape.size() > 1 &&
         config.options.contains("init_r");
}

constexpr std::string_view kSharedModule = "base_model";  // of VeRA's vera_A and vera_B

bool may_be_gguf(const std::filesystem::path& place) {
  std::error_code error;
  return std::filesystem::is_regular_file(place, error) ||
         (has_ending(place.native(), ".gguf") && !std::filesystem::is_directory(place, error));
}

// "a.b.c", "b.c" and "c", by which target_modules may name a module.
void add_ends(const std::string& module, std::set<std::string>& out) {
  out.insert(module);
  for (size_t dot = module.find('.'); dot != module.npos; dot = module.find('.', dot + 1)) {
    out.insert(module.substr(dot + 1));
  }
}

}  // namespace

bool is_within(std::string_view module, std::string_view words) {
  return fmt::format(".{}.", module).find(fmt::format(".{}.", words)) != std::string::npos;
}

void note_unknown(const Adapter& adapter, const Context& context) {
  if (adapter.config.unknown.empty()) return;
  const auto file = std::filesystem::path(adapter.path).parent_path() / kAdapterDocument;
  context.note("lora: {}: not known and not used: {}", file.string(),
               fmt::join(adapter.config.unknown, ", "));
}

void note_targets(const Adapter& adapter, const Checkpoint& model, const Context& context) {
  const std::vector<std::string>& targets = adapter.config.targets;
  std::set<std::string> used, there;
  for (const AdapterModule& module : adapter.modules) add_ends(module.name, used);
  if (!targets.empty()) {
    for (const Tensor& tensor : model.tensors) add_ends(module_of(tensor.name), there);
  }
  std::vector<std::string> unused, unlisted;
  for (const std::string& target : targets) {
    if (there.contains(target) && !used.contains(target)) unused.push_back(target);
  }
  const std::set<std::string> listed(targets.begin(), targets.end());
  const std::optional<Regex>& names = adapter.config.target_names;
  const bool may_be_parameter = (targets.empty() && !names) || !adapter.config.parameters.empty();
  for (const AdapterModule& module : adapter.modules) {
    std::set<std::string> ends;
    add_ends(module.name, ends);
    const bool is_listed = names ? names->is_found_in(module.name)
                                 : std::ranges::any_of(ends, [&](const std::string& end) {
                                     return listed.contains(end);
                                   });
    // PEFT adapts the head with the embeddings that it is tied to.
    const bool is_tied_head = adapter.config.keeps_tie && is_of_head(module.name);
    if (is_listed || may_be_parameter || is_tied_head || module.first_factor() == nullptr) continue;
    unlisted.push_back(module.name);
  }
  if (!unused.empty()) {
    context.note("lora: the adapter has no tensors for {}, which target_modules lists",
                 first_names(unused));
  }
  if (!unlisted.empty()) {
    context.note("lora: target_modules does not list {}; PEFT leaves them out, ckpt merges them",
                 first_names(unlisted));
  }
}

Status check_trained_parts(const Adapter& adapter, const Checkpoint& model) {
  for (const auto& [name, rows] : adapter.config.token_rows) {
    const auto has_rows = [&](const AdapterModule& module) {
      return module.owns_rows(name) && module.find(AdapterPart::kTokens) != nullptr;
    };
    if (rows.empty() || std::ranges::any_of(adapter.modules, has_rows)) continue;
    return corrupt("trainable_token_indices lists rows of '{}'; no tensor has them",
                   name.empty() ? "embeddings" : name);
  }
  for (const std::string& name : adapter.config.saved) {
    const bool is_tied_head = adapter.config.keeps_tie && is_of_head(name);
    const auto is_of_model = [&](const Tensor& tensor) {
      return tensor.name.ends_with(kWeight) && is_within(module_of(tensor.name), name);
    };
    const auto is_saved = [&](const AdapterModule& module) {
      const auto has = [&](AdapterPart part) { return module.find(part) != nullptr; };
      return is_within(module.name, name) &&
             (has(AdapterPart::kNewWeight) || has(AdapterPart::kNewBias) ||
              has(AdapterPart::kNewTensor));
    };
    // PEFT lists modules of any classifier, which most models lack.
    if (is_tied_head || std::ranges::none_of(model.tensors, is_of_model) ||
        std::ranges::any_of(adapter.modules, is_saved)) {
      continue;
    }
    return corrupt("modules_to_save lists '{}'; no tensor replaces it", name);
  }
  return {};
}

Failure other_shape(const Tensor& ours, const Tensor& theirs) {
  return corrupt("tensor '{}': shape [{}]; the model's '{}' has [{}]", ours.name,
                 fmt::join(ours.shape, ", "), theirs.name, fmt::join(theirs.shape, ", "));
}

Result<Tensor> transposed_factor(const Tensor& tensor) {
  const uint64_t rows = tensor.rows(), columns = tensor.row_values();
  CKPT_ASSIGN(Tensor out, take_grid(tensor, {0, {1, columns, rows}, {0, 1, columns}}));
  return reshape(std::move(out), {columns, rows});
}

Status group_by_module(Adapter& adapter, const ParseKey& parse) {
  std::map<std::string, AdapterModule> modules;
  std::string named, name_of_first;  // the adapter's name, and the first tensor that has one
  for (const Tensor& tensor : adapter.tensors) {
    CKPT_ASSIGN(const AdapterKey key, parse(tensor.name));
    if (is_pruned(adapter.config, key, tensor)) {
      if (key.factor == "lora_E") adapter.pruned.add(key.module);
      continue;
    }
    CKPT_TRY(check_adapter_tensor(tensor));
    if (named.empty()) std::tie(named, name_of_first) = std::tie(key.adapter, tensor.name);
    if (!key.adapter.empty() && key.adapter != named) {
      return unsupported("tensors '{}' and '{}' are of two adapters", name_of_first, tensor.name);
    }
    AdapterModule& module = key.module == kSharedModule ? adapter.shared : modules[key.module];
    module.name = key.module;
    if (key.part == AdapterPart::kFactor) {
      module.parts.emplace(key.part, &tensor);
      const auto [at, is_new] = module.factors.emplace(key.factor, &tensor);
      if (!is_new) CKPT_SET(at->second, trained_one(*at->second, tensor));
      continue;
    }
    const auto [at, is_new] = module.parts.emplace(key.part, &tensor);
    if (!is_new) CKPT_SET(at->second, trained_one(*at->second, tensor));
  }
  for (auto& [name, module] : modules) adapter.modules.push_back(std::move(module));
  return {};
}

Result<Adapter> read_adapter(const std::string& place, const Context& context) {
  if (may_be_gguf(place)) {
    auto file = context.open(place);
    if (file && file->format == "gguf") return read_gguf_adapter(std::move(*file), place, context);
    if (has_ending(place, ".gguf")) {
      return file ? misuse("{}: expected a GGUF", place) : Failure(std::move(file.error()));
    }
  }
  Adapter out;
  CKPT_ASSIGN(Checkpoint weights, open_weights(place, context, out.path));
  const std::string config = (std::filesystem::path(place) / kAdapterDocument).string();
  CKPT_ASSIGN(const std::string text, context.file_text(config, kMaxAdapterConfigBytes));
  CKPT_ASSIGN(out.config, read_adapter_config(config, text));
  out.tensors = std::move(weights.tensors);
  CKPT_TRY(in(out.path, group_by_module(out, keys_of_trainers(out.config))));
  return out;
}

Result<Adapter> adapter_of(const Checkpoint& checkpoint) {
  Adapter out;
  const Document* config = checkpoint.find_document(kAdapterDocument);
  if (config == nullptr) {
    return misuse("not an adapter: it has no {}", kAdapterDocument);
  }
  CKPT_ASSIGN(out.config, read_adapter_config(config->path, config->text()));
  out.tensors = checkpoint.tensors;
  CKPT_TRY(group_by_module(out, keys_of_trainers(out.config)));
  return out;
}

}  // namespace ckpt

// adapter_config.json: rank and scale of each module, and what else changes the result.
//
//   s = lora_alpha / r, or lora_alpha / sqrt(r) with use_rslora      in double, then rounded
//   rank_pattern, alpha_pattern: the first key that fits the module, in the order of the file; the
//   parameter, where target_parameters names it
//   MLX: lora_parameters.scale is s itself; until the middle of 2024 mlx-lm multiplied it by
//   alpha / rank, and wrote the alpha that it no longer used until April 2025
//   mlx-vlm, without lora_parameters: alpha is s itself (mlx_vlm/trainer/lora.py)
#include <algorithm>
#include <cmath>

#include "core/base/find.h"
#include "core/base/numbers.h"
#include "core/base/words.h"
#include "core/json/json_edit.h"
#include "core/model/tensor_names.h"
#include "transforms/lora/adapter.h"

namespace ckpt {
namespace {

// Keys that are read here, and those that only matter while training, or nowhere: PEFT sets
// fan_in_fan_out by the class of each module.
constexpr std::string_view kReadKeys =
    " alpha_pattern base_model_name_or_path ensure_weight_tying init_lora_weights "
    "layers_to_transform lora_B_layout"
    " lora_alpha lora_bias peft_type peft_version r rank_pattern target_parameters"
    " trainable_token_indices use_dora use_rslora fine_tune_type lora_parameters bias"
    " modules_to_save target_modules exclude_modules task_type ";
constexpr std::string_view kMlxKeys = " alpha dropout keys rank scale ";
constexpr std::string_view kTrainingKeys =
    " auto_mapping corda_config eva_config fan_in_fan_out inference_mode layers_pattern"
    " loftq_config lora_dropout lora_ga_config megatron_config megatron_core"
    " qalora_group_size revision runtime_config"
    " adapter_path batch_size config data grad_accumulation_steps grad_checkpoint iters"
    " learning_rate lora_layers lr_schedule mask_prompt max_seq_length model num_layers optimizer"
    " optimizer_config project_name report_to resume_adapter_file save_every seed"
    " steps_per_eval steps_per_report test test_batches train val_batches wandb ";
// Keys that, when set, make the adapter more than a product to add.
constexpr std::string_view kRefusedKeys[] = {
    "use_qalora",   "use_bdlora",  "layer_replication", "alora_invocation_tokens",
    "arrow_config", "kasa_config", "monteclora_config", "velora_config"};
// Ways of starting that change the base too, unless the adapter was converted when it was saved.
constexpr std::string_view kPlainStarts = " gaussian eva orthogonal true false ";

constexpr std::string_view kAllLinear = "all-linear";  // of target_modules

Result<Regex> anchored(std::string_view front, std::string_view key) {
  auto regex = Regex::parse(key);  // by itself, so that "a)|(b" is none
  return regex ? Regex::parse(fmt::format("^{}(?:{})$", front, key)) : regex;
}
Result<Regex> whole_name_regex(std::string_view key) { return anchored("", key); }

bool is_given(const JsonText& value) {
  if (value.is_array()) return !value.items().empty();
  if (value.is_object()) return !value.members().empty();
  const std::string& token = value.token();
  return token != "null" && token != "false" && token != "0" && token != "\"\"";
}

std::optional<double> number_in(const JsonText& json) {
  if (json.kind() != JsonText::Kind::kToken) return std::nullopt;
  const auto found = number(json.value());
  return found && std::isfinite(*found) ? found : std::nullopt;
}

class AdapterConfigReader {
 public:
  explicit AdapterConfigReader(JsonText root) : root_(std::move(root)) {}

  Result<AdapterConfig> run() {
    CKPT_TRY(check_kind());
    CKPT_TRY(read_numbers());
    if (out_.method == nullptr || out_.method->has_alpha) {
      CKPT_TRY(read_patterns("rank_pattern", out_.ranks));
      CKPT_TRY(read_patterns("alpha_pattern", out_.alphas));
    }
    CKPT_TRY(read_layers());
    CKPT_TRY(read_tokens());
    CKPT_TRY(read_texts("target_parameters", out_.parameters));
    CKPT_TRY(read_texts("modules_to_save", out_.saved));
    const JsonText* targets = known("target_modules");
    if (targets != nullptr && targets->is_array()) {
      CKPT_TRY(read_texts("target_modules", out_.targets));
    }
    const auto target = targets == nullptr ? std::nullopt : targets->as_text();
    if (target && !target->empty() && *target != kAllLinear) {
      if (auto names = whole_name_regex(*target)) out_.target_names = std::move(*names);
    }
    CKPT_TRY(read_names("exclude_modules", out_.excluded, out_.excluded_names));
    CKPT_TRY(read_names("feedforward_modules", out_.feedforward, out_.feedforward_names));
    CKPT_TRY(read_version());
    out_.base = root_.find_text("base_model_name_or_path")
                    .value_or(root_.find_text("model").value_or(std::string()));
    out_.task = root_.find_text("task_type").value_or(std::string());
    CKPT_TRY(read_layout());
    for (const auto& [key, value] : root_.members()) {
      // Keys of kRefusedKeys have their default here; any other value was refused before.
      if (!is_given(value) || has_word(kReadKeys, key) || has_word(kTrainingKeys, key)) continue;
      if (is_of_mlx_vlm() && has_word(kMlxKeys, key)) continue;
      if (out_.method != nullptr && has_word(out_.method->keys, key)) continue;
      out_.unknown.push_back(key);
    }
    return std::move(out_);
  }

 private:
  const JsonText* known(std::string_view key) const {
    const JsonText* found = root_.find(key);
    return found == nullptr || found->is_null() ? nullptr : found;
  }

  Failure wrong(std::string_view key, std::string_view expected) const {
    return corrupt("{} is {}; expected {}", key, root_.find(key)->dump(0), expected);
  }

  Status check_kind() {
    if (!root_.is_object()) return corrupt("expected a JSON object");
    if (const JsonText* type = known("peft_type"); type != nullptr && type->as_text() != "LORA") {
      CKPT_ASSIGN(out_.method, find_method(type->as_text().value_or(type->dump(0))));
    }
    for (const std::string_view key : kRefusedKeys) {
      const JsonText* value = known(key);
      if (value == nullptr || !is_given(*value)) continue;
      return unsupported_hint(kMergeElsewhere, "{} is {}; ckpt merges plain LoRA", key,
                              value->dump(0));
    }
    const JsonText* start = known("init_lora_weights");
    if (start == nullptr) return {};
    const std::string way = start->as_text().value_or(start->dump(0));
    if (has_word(kPlainStarts, way)) return {};
    return unsupported_hint(
        "saving it with path_initial_model_for_weight_conversion, as PEFT documents",
        "init_lora_weights is '{}', which changes the base as well", way);
  }

  Status read_flag(std::string_view key, bool& out) const {
    const JsonText* value = known(key);
    if (value == nullptr) return {};
    const auto found = value->as_boolean();
    if (!found) return wrong(key, "true or false");
    out = *found;
    return {};
  }

  Result<double> read_number(std::string_view key) const {
    const JsonText* value = known(key);
    if (value == nullptr) return corrupt("no {}", key);
    const auto found = number_in(*value);
    if (!found) return wrong(key, "a number");
    return *found;
  }

  Result<double> read_rank(std::string_view key) const {
    CKPT_ASSIGN(const double found, read_number(key));
    if (found < 1 || found != std::floor(found)) return wrong(key, "a whole number from 1 on");
    return found;
  }

  Status read_numbers() {
    CKPT_TRY(read_flag("use_rslora", out_.has_rank_scale));
    CKPT_TRY(read_flag("use_dora", out_.has_magnitudes));
    CKPT_TRY(read_flag("ensure_weight_tying", out_.keeps_tie));
    CKPT_TRY(read_flag("lora_bias", out_.has_biases));
    if (root_.find_text("fine_tune_type") == "full") {  // of MLX: tensors that replace the model's
      out_.own_scale = 1;
      return {};
    }
    if (const JsonText* mlx = known("lora_parameters")) {
      return mlx->is_object() ? read_mlx(*mlx) : wrong("lora_parameters", "an object");
    }
    if (out_.method != nullptr) return read_options();
    if (is_of_mlx_vlm()) {
      CKPT_ASSIGN(out_.rank, read_rank("rank"));
      CKPT_ASSIGN(out_.own_scale, read_number("alpha"));
      return {};
    }
    CKPT_ASSIGN(out_.rank, read_rank("r"));
    CKPT_ASSIGN(out_.alpha, read_number("lora_alpha"));
    return {};
  }

  // Whether the configuration is the three numbers that mlx-vlm wrote.
  bool is_of_mlx_vlm() const {
    return known("r") == nullptr && known("peft_type") == nullptr && known("rank") != nullptr &&
           known("alpha") != nullptr;
  }

  // Reads the options of a method other than LoRA from adapter_config.json as numbers; a flag is 0
  // or 1.
  Status read_options() {
    for (const auto& [key, value] : root_.members()) {
      if (!has_word(out_.method->keys, key)) continue;
      if (const auto flag = value.as_boolean()) {
        out_.options[key] = *flag ? 1 : 0;
      } else if (const auto given = number_in(value)) {
        out_.options[key] = *given;
      } else if (is_given(value)) {
        out_.options[key] = 1;
      }
    }
    out_.start = root_.find_text("init_weights").value_or(std::string());
    if (out_.method->has_alpha) {
      CKPT_ASSIGN(out_.rank, read_rank("r"));
      CKPT_ASSIGN(out_.alpha, read_number("alpha"));
      return {};
    }
    out_.own_scale = 1;
    if (has_word(out_.method->keys, "init_r")) CKPT_TRY(read_rank("init_r"));
    return {};
  }

  Status read_mlx(const JsonText& mlx) {
    for (const char* key : {"r", "lora_alpha"}) {
      if (known(key) == nullptr) continue;
      return corrupt("both {} and lora_parameters, of PEFT and of MLX", key);
    }
    const std::string kind = root_.find_text("fine_tune_type").value_or("lora");
    if (kind != "lora" && kind != "dora") {
      return unsupported("fine_tune_type is '{}'; expected lora, dora or full", kind);
    }
    if (known("fine_tune_type") != nullptr) out_.has_magnitudes = kind == "dora";
    const AdapterConfigReader inner(mlx);
    CKPT_ASSIGN(out_.rank, in("lora_parameters", inner.read_rank("rank")));
    CKPT_ASSIGN(out_.own_scale, in("lora_parameters", inner.read_number("scale")));
    for (const auto& [key, value] : mlx.members()) {
      if (!is_given(value) || has_word(kMlxKeys, key)) continue;
      out_.unknown.push_back("lora_parameters." + key);
    }
    return inner.known("alpha") == nullptr ? Status() : check_mlx_alpha(inner);
  }

  // Configurations of the versions that do not use alpha have fine_tune_type and num_layers.
  Status check_mlx_alpha(const AdapterConfigReader& inner) const {
    CKPT_ASSIGN(const double alpha, in("lora_parameters", inner.read_number("alpha")));
    const bool is_unused = known("fine_tune_type") != nullptr || known("num_layers") != nullptr;
    if (is_unused || alpha == out_.rank) return {};
    return unsupported_hint(
        fmt::format("removing alpha from adapter_config.json, or also setting scale to {:g}",
                    *out_.own_scale * alpha / out_.rank),
        "lora_parameters has alpha {:g} and scale {:g}; mlx-lm first multiplied scale by alpha / "
        "rank, and later ignored alpha",
        alpha, *out_.own_scale);
  }

  Status read_patterns(std::string_view key, AdapterConfig::Patterns& out) const {
    const JsonText* value = known(key);
    if (value == nullptr) return {};
    if (!value->is_object()) return wrong(key, "an object");
    for (const auto& [pattern, each] : value->members()) {
      const auto found = number_in(each);
      if (!found) return wrong(key, "numbers");
      CKPT_ASSIGN(Regex parsed, in(key, module_regex(pattern)));
      out.emplace_back(std::move(parsed), *found);
    }
    return {};
  }

  Status read_layout() {
    const JsonText* value = known("lora_B_layout");
    if (value == nullptr) return {};
    out_.b_layout = value->as_text().value_or("");
    if (has_word(" grouped_by_expert rank_major ", out_.b_layout)) return {};
    return wrong("lora_B_layout", "grouped_by_expert or rank_major");
  }

  Status read_layers() {
    const JsonText* value = known("layers_to_transform");
    if (value == nullptr) return {};
    if (const auto one = value->as_whole()) {
      out_.layers = {*one};
      return {};
    }
    return read_wholes(*value, "layers_to_transform", out_.layers);
  }

  Status read_wholes(const JsonText& list, std::string_view key, std::vector<uint64_t>& out) const {
    if (!list.is_array()) return wrong(key, "a list of whole numbers");
    for (const JsonText& item : list.items()) {
      const auto number = item.as_whole();
      if (!number) return wrong(key, "a list of whole numbers");
      out.push_back(*number);
    }
    return {};
  }

  std::vector<uint64_t>& new_token_rows(const std::string& module) {
    return out_.token_rows.emplace_back(module, std::vector<uint64_t>()).second;
  }

  Status read_tokens() {
    constexpr std::string_view kKey = "trainable_token_indices";
    const JsonText* value = known(kKey);
    if (value == nullptr) return {};
    if (!value->is_object()) return read_wholes(*value, kKey, new_token_rows(""));
    for (const auto& [module, rows] : value->members()) {
      CKPT_TRY(read_wholes(rows, kKey, new_token_rows(module)));
    }
    return {};
  }

  Status read_texts(std::string_view key, std::vector<std::string>& out) const {
    const JsonText* value = known(key);
    if (value == nullptr) return {};
    if (!value->is_array()) return wrong(key, "a list of texts");
    for (const JsonText& item : value->items()) {
      const auto text = item.as_text();
      if (!text) return wrong(key, "a list of texts");
      out.push_back(*text);
    }
    return {};
  }

  // A text is an expression for entire names.
  Status read_names(std::string_view key, std::vector<std::string>& list,
                    std::optional<Regex>& names) const {
    const JsonText* value = known(key);
    if (value == nullptr || !is_given(*value)) return {};
    const auto text = value->as_text();
    if (!text) return read_texts(key, list);
    auto regex = whole_name_regex(*text);
    if (!regex) {
      return unsupported("{}: '{}': not a regular expression that is read here", key, *text);
    }
    names = std::move(*regex);
    return {};
  }

  // "0.19.1", "0.18.2.dev0@abc"
  Status read_version() {
    const JsonText* value = known("peft_version");
    if (value == nullptr) return {};
    const std::string text = value->as_text().value_or(std::string());
    AdapterConfig::Version version = {};
    std::string_view rest = text;
    for (uint64_t& number : version) {
      const auto found = take_leading<uint64_t>(rest);
      if (!found) return wrong("peft_version", "three numbers");
      number = *found;
      rest = rest.substr(std::min<size_t>(rest.size(), 1));
    }
    out_.peft_version = version;
    return {};
  }

  JsonText root_;
  AdapterConfig out_;
};

double first_match(const AdapterConfig& config, const AdapterConfig::Patterns& patterns,
                   std::string_view module, double otherwise) {
  std::string name(module);
  if (config.has_parameter(module)) name += kWeight;
  for (const auto& [pattern, value] : patterns) {
    if (pattern.is_found_in(name)) return value;
  }
  return otherwise;
}

}  // namespace

Result<Regex> module_regex(std::string_view key) {
  auto regex = anchored("(?:.*\\.)?", key);
  if (!regex) return unsupported("'{}': not a regular expression that is read here", key);
  return regex;
}

bool AdapterConfig::is_parameter(std::string_view name) const {
  return std::ranges::any_of(parameters, [&](const std::string& each) {
    return name == each || name.ends_with("." + each);
  });
}

bool AdapterConfig::has_parameter(std::string_view module) const {
  return is_parameter(fmt::format("{}{}", module, kWeight));
}

double AdapterConfig::rank_of(std::string_view module) const {
  const double* own = find_mapped(own_ranks, module);
  return own != nullptr ? *own : first_match(*this, ranks, module, rank);
}

double AdapterConfig::alpha_of(std::string_view module) const {
  return first_match(*this, alphas, module, alpha);
}

float AdapterConfig::scale_of(std::string_view module, double factor) const {
  if (own_scale) return static_cast<float>(*own_scale * factor);
  const double divisor = has_rank_scale ? std::sqrt(rank_of(module)) : rank_of(module);
  return static_cast<float>(alpha_of(module) / divisor * factor);
}

Result<AdapterConfig> read_adapter_config(const std::string& path, const std::string& text) {
  CKPT_ASSIGN(JsonText root, in(path, JsonText::parse(text)));
  CKPT_TRY(in(path, check_numbers(root)));
  return in(path, AdapterConfigReader(std::move(root)).run());
}

}  // namespace ckpt

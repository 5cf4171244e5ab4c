// Which entries of a trainer's checkpoint are weights, and what they are called in the model.
//
//   model.model.layers.0._fsdp_wrapped_module._orig_mod.mlp.up_proj.weight
//   ─┬──         ────────┬─────────────────────
//    a level            wrappers                gives  model.layers.0.mlp.up_proj.weight
//
// Two mistakes to avoid: "model." is not always a level that the trainer added, because names in
// Hugging Face models begin with it as well. And a wrapper's name is a whole component between two
// dots: peft's "original_module" contains "module", and is another name.
#include <algorithm>
#include <map>

#include "core/base/find.h"
#include "core/base/words.h"
#include "core/json/json_read.h"
#include "core/model/tensor_names.h"
#include "formats/trainer.h"
#include "models/models.h"

namespace ckpt {
namespace {

enum class NamePart : uint8_t {
  kOuter,    // a dict around everything
  kLevel,    // a dict around the weights
  kWrapper,  // a component, wherever it is
  kMaster,   // F32 masters, by the name of their weight, are in it
  kOther,    // the first component of names of everything but weights
};
struct NameRow {
  std::string_view text;  // ends in '*': only the start
  NamePart part;
};
// Sources: torch/distributed/checkpoint/state_dict.py, torch/distributed/fsdp, torch/_dynamo,
// accelerate/utils/fsdp_utils.py, torchtitan/components/checkpoint.py,
// megatron/core/optimizer/optimizer.py.
constexpr NameRow kNameTable[] = {
    {"app", NamePart::kOuter},
    {"model", NamePart::kLevel},
    {"state_dict", NamePart::kLevel},
    {"_checkpoint_wrapped_module", NamePart::kWrapper},
    {"_fsdp_wrapped_module", NamePart::kWrapper},
    {"_orig_mod", NamePart::kWrapper},
    {"module", NamePart::kWrapper},
    {"optimizer.fp32_master.", NamePart::kMaster},
    {"optimizer.state.fp32_param.", NamePart::kMaster},
    {"dataloader*", NamePart::kOther},
    {"lr_scheduler*", NamePart::kOther},
    {"optim", NamePart::kOther},
    {"optimizer*", NamePart::kOther},
    {"rng_state*", NamePart::kOther},
    {"scheduler*", NamePart::kOther},
    {"train_state*", NamePart::kOther},
};

bool is_name_part(std::string_view text, NamePart part) {
  return std::ranges::any_of(kNameTable, [&](const NameRow& row) {
    const std::string_view start = row.text.substr(0, row.text.size() - 1);
    return row.part == part &&
           (row.text.ends_with('*') ? text.starts_with(start) : text == row.text);
  });
}

// Counts the levels from `first` on that are such dicts.
size_t levels_of(const TrainerPath& path, NamePart part, size_t first = 0) {
  while (first + 1 < path.size() && is_name_part(path[first], part)) ++first;
  return first;
}

// Counts the dicts around the name of the weight.
size_t levels_of(const TrainerPath& path) {
  return levels_of(path, NamePart::kLevel, levels_of(path, NamePart::kOuter));
}

std::string joined_from(const TrainerPath& path, size_t first) {
  return fmt::format("{}", fmt::join(path.begin() + static_cast<std::ptrdiff_t>(first),
                                     path.end(), "."));
}

// If the nested dicts are not known, a key that begins with "model." may have that level.
TrainerPath with_level(const TrainerPath& path) {
  constexpr std::string_view kModel = "model.";
  const std::string key = joined_from(path, 0);
  if (path.size() > 1 || !key.starts_with(kModel)) return path;
  return {"model", key.substr(kModel.size())};
}

// Trainers have names like "output.weight", too.
bool is_of_hf(std::string_view name) {
  return name.starts_with("model.") || (is_of_head(name) && !name.starts_with("output."));
}

std::string without_wrappers(std::string_view name) {
  std::vector<std::string> parts;
  while (!name.empty()) {
    const std::string_view part = take_word(name, '.');
    if (!is_name_part(part, NamePart::kWrapper)) parts.emplace_back(part);
  }
  return joined_from(parts, 0);
}

// Levels from nested dicts are removed if they hold everything, or if names of Hugging Face remain.
// Levels that only keys suggest have to fulfill both conditions.
bool has_levels(const std::vector<TrainerPath>& paths, bool is_suggested) {
  const auto own_name = [](const TrainerPath& path) {
    return without_wrappers(joined_from(path, levels_of(path)));
  };
  const auto is_in_level = [](const TrainerPath& path) { return levels_of(path) != 0; };
  const bool are_all = std::ranges::all_of(paths, is_in_level);
  const bool is_hf = std::ranges::any_of(paths, [&](const TrainerPath& path) {
    return is_in_level(path) && is_of_hf(own_name(path));
  });
  return is_suggested ? are_all && is_hf : are_all || is_hf;
}

}  // namespace

bool is_beside_weights(const TrainerPath& path) {
  std::string_view rest = path[levels_of(path, NamePart::kOuter)];
  return is_name_part(take_word(rest, '.'), NamePart::kOther);
}

std::optional<TrainerPath> weight_of_master(const TrainerPath& path) {
  const std::string key = joined_from(path, levels_of(path, NamePart::kOuter));
  for (const NameRow& row : kNameTable) {
    const bool is_master = row.part == NamePart::kMaster && key.starts_with(row.text);
    if (is_master) return TrainerPath{key.substr(row.text.size())};
  }
  return std::nullopt;
}

Result<std::vector<std::string>> names_of_weights(const std::vector<TrainerPath>& paths) {
  const bool is_nested =
      std::ranges::any_of(paths, [](const TrainerPath& path) { return path.size() > 1; });
  std::vector<TrainerPath> split = paths;
  if (!is_nested) std::ranges::transform(paths, split.begin(), with_level);
  const bool drops_levels = has_levels(split, !is_nested);
  std::vector<std::string> names;
  std::map<std::string, std::string> keys;  // by name
  for (const TrainerPath& path : split) {
    const std::string key = joined_from(path, 0);
    names.push_back(without_wrappers(joined_from(path, drops_levels ? levels_of(path) : 0)));
    const auto [known, is_new] = keys.emplace(names.back(), key);
    if (!is_new) {
      return corrupt("'{}' and '{}' are both '{}' without wrappers", known->second, key,
                     names.back());
    }
  }
  return names;
}

// ---- experts ------------------------------------------------------------------------------------
// Classes of transformers 5 have them in stacks in memory, and many have them one by one in files:
//
//   experts.gate_up_proj [E, 2I, H]   becomes   experts.0.gate_proj.weight, ..0.up_proj.weight, ...
//   experts.down_proj    [E, H, I]    becomes   experts.0.down_proj.weight, ...
//
// Source: transformers 5 conversion_mapping.py, which save_pretrained applies in reverse.
namespace {

// Whether the model's class is known here, and its files hold single experts.
bool has_single_experts(const JsonValue& config) {
  const JsonValue* inner = known(config, "text_config");
  const std::string_view type = text_in(inner == nullptr ? config : *inner, "model_type");
  return table_of_model_type(type) != nullptr && !has_quirk(type, "stacked_experts");
}

Status add_experts(const Tensor& stack, std::vector<Tensor>& out) {
  const size_t dot = stack.name.rfind('.');
  const auto parts = parts_of_stack(std::string_view(stack.name).substr(dot + 1));
  const uint64_t rows = stack.shape[1] / parts.size();
  for (uint64_t expert = 0; expert < stack.shape[0]; ++expert) {
    for (size_t part = 0; part < parts.size(); ++part) {
      const uint64_t first = expert * stack.shape[1] + part * rows;
      CKPT_ASSIGN(out.emplace_back(), take_rows(stack, first, rows));
      out.back().name =
          fmt::format("{}.{}.{}.weight", stack.name.substr(0, dot), expert, parts[part]);
    }
  }
  return {};
}

}  // namespace

Result<std::vector<Tensor>> with_single_experts(std::vector<Tensor> tensors,
                                                const std::vector<Document>& documents) {
  const auto is_stack = [](const Tensor& tensor) {
    const std::string_view name = tensor.name;
    const auto parts = parts_of_stack(name.substr(name.rfind('.') + 1));
    return tensor.shape.size() == 3 && !parts.empty() && tensor.shape[1] % parts.size() == 0;
  };
  const Document* document = find_by(documents, &Document::path, "config.json");
  if (document == nullptr || std::ranges::none_of(tensors, is_stack)) return tensors;
  CKPT_ASSIGN(const auto config, document->values());
  if (!has_single_experts(*config)) return tensors;
  std::vector<Tensor> out;
  for (Tensor& tensor : tensors) {
    if (is_stack(tensor)) {
      CKPT_TRY(add_experts(tensor, out));
    } else {
      out.push_back(std::move(tensor));
    }
  }
  return out;
}

}  // namespace ckpt

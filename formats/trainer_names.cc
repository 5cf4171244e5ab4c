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
#include <cctype>
#include <map>

#include "core/base/find.h"
#include "core/base/lines.h"
#include "core/base/words.h"
#include "core/json/json_read.h"
#include "core/model/tensor_names.h"
#include "formats/trainer.h"

namespace ckpt {

extern const std::string_view kSavedNames;  // data/saved_names.txt

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

// ---- names in files -----------------------------------------------------------------------------
// Trainers save tensors under the names that the model has in memory. In transformers 5 these
// differ from the names in files, and experts are stacked; save_pretrained converts both:
//
//   model.layers.0.mlp.experts.gate_up_proj [E, 2I, H]
//     becomes   model.layers.0.block_sparse_moe.experts.0.w1.weight [I, H], ..0.w3.weight, ...
//
// A name that is already that of a file fits no row of the table, and stays.
namespace {

bool is_letter_or_digit(char character) {
  return std::isalnum(static_cast<unsigned char>(character)) != 0;
}

// Replaces the first place where `from` fits; nullopt: there is none.
std::optional<std::string> replaced(std::string_view name, std::string_view from,
                                    std::string_view to) {
  const bool is_start = from.starts_with('^');
  from.remove_prefix(is_start ? 1 : 0);
  for (size_t at = 0; (at = name.find(from, at)) != name.npos; ++at) {
    const std::string_view rest = name.substr(at + from.size());
    const bool ends = rest.empty() || !is_letter_or_digit(from.back()) ||
                      (!is_letter_or_digit(rest.front()) && rest.front() != '_');
    if (ends && (at == 0 || !is_start)) {
      return fmt::format("{}{}{}", name.substr(0, at), to, rest);
    }
  }
  return std::nullopt;
}

void add_rows(std::string_view model_type, std::vector<SavedNames::Row>& out) {
  bool is_of_type = false;
  for (const auto& row : table_rows(kSavedNames, 3)) {
    if (!row[0].empty()) is_of_type = has_word(row[0], model_type);
    if (is_of_type) out.push_back({row[1], split_words(row[2])});
  }
}

}  // namespace

Result<SavedNames> SavedNames::of(const std::vector<Document>& documents) {
  SavedNames out;
  const Document* document = find_by(documents, &Document::path, "config.json");
  if (document == nullptr) return out;
  CKPT_ASSIGN(const auto config, document->values());
  const JsonValue* text = known(*config, "text_config");
  if (text != nullptr) add_rows(text_in(*text, "model_type"), out.rows_);
  add_rows(text_in(*config, "model_type"), out.rows_);
  return out;
}

Status SavedNames::add(Tensor tensor, std::vector<Tensor>& out) const {
  const size_t first = out.size();
  for (const Row& row : rows_) {
    if (!row.is_of_experts() || tensor.shape.size() != 3 || out.size() != first) continue;
    if (replaced(tensor.name, row.in_memory, "")) CKPT_TRY(add_experts(tensor, row, out));
  }
  if (out.size() == first) out.push_back(std::move(tensor));
  for (size_t i = first; i < out.size(); ++i) {
    for (const Row& row : rows_) {
      if (row.is_of_experts()) continue;
      auto name = replaced(out[i].name, row.in_memory, row.in_files[0]);
      if (name) out[i].name = std::move(*name);
    }
  }
  return {};
}

// Requires: the name fits `row`, and the tensor is a stack of matrices.
Status SavedNames::add_experts(const Tensor& stack, const Row& row, std::vector<Tensor>& out) {
  const uint64_t rows = stack.shape[1] / row.in_files.size();
  if (rows * row.in_files.size() != stack.shape[1]) {
    return corrupt("tensor '{}' has shape [{}]; expected rows of {} matrices", stack.name,
                   fmt::join(stack.shape, ", "), row.in_files.size());
  }
  for (uint64_t expert = 0; expert < stack.shape[0]; ++expert) {
    for (size_t part = 0; part < row.in_files.size(); ++part) {
      const std::string_view pattern = row.in_files[part];
      const size_t star = pattern.find('*');
      CKPT_ASSIGN(out.emplace_back(),
                  take_rows(stack, expert * stack.shape[1] + part * rows, rows));
      out.back().name = *replaced(
          stack.name, row.in_memory,
          fmt::format("{}{}{}", pattern.substr(0, star), expert, pattern.substr(star + 1)));
    }
  }
  return {};
}

Result<std::vector<Tensor>> as_saved(std::vector<Tensor> tensors,
                                     const std::vector<Document>& documents) {
  CKPT_ASSIGN(const SavedNames names, SavedNames::of(documents));
  std::vector<Tensor> out;
  for (Tensor& tensor : tensors) CKPT_TRY(names.add(std::move(tensor), out));
  return out;
}

}  // namespace ckpt

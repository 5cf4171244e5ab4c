// Finds tensors of a family's table that a folder lacks, and layers beyond those of config.json.
#include <algorithm>
#include <set>

#include "core/base/numbers.h"
#include "core/model/tensor_names.h"
#include "transforms/packed/quant_summary.h"
#include "transforms/to_gguf/one_form.h"
#include "transforms/to_gguf/tensors.h"

namespace ckpt {
namespace {

bool is_head(std::string_view name) {
  return is_of_head(name) && name.ends_with(".weight");
}

// Whether the head must differ from the embeddings. A wrapper may tie them although its text part
// does not; the converter treats null as tied.
bool has_own_head(const Model& model) {
  const JsonValue* declared = member(model.config, "tie_word_embeddings");
  const bool is_null = declared != nullptr && declared->is_null();
  return model.family->head.is_in_gguf && !is_null &&
         !is_truthy(known(model.root, "tie_word_embeddings"));
}

// Whether it is a bias of DeepSeek's router, but the model's method has none, as if it were zero.
bool has_other_router(std::string_view name, const Model& model) {
  const std::string* method = text_of(model.config, "topk_method");
  return name.ends_with(".e_score_correction_bias") && method != nullptr && *method != "noaux_tc";
}

bool may_be_missing(const Parameter& parameter, const Model& model) {
  if (!parameter.is_required || parameter.is_of_field || parameter.part == ModelPart::kVision) {
    return true;
  }
  return is_head(parameter.name) ? !has_own_head(model) : has_other_router(parameter.name, model);
}

// Whether a tensor of another name is the same (Change::kFirst).
bool has_other_name(std::string_view name, const std::set<std::string>& held,
                    const Family& family) {
  const std::optional<Match> match = find_name_rule(family, name);
  if (!match || match->rule->change != Change::kFirst) return false;
  return std::ranges::any_of(held, [&](const std::string& other) {
    const std::optional<Match> found = find_name_rule(family, other);
    return found && found->rule->to == match->rule->to;
  });
}

// The layer in "model.layers.7.mlp.up_proj.weight", after any root.
std::optional<uint64_t> layer_of(std::string_view name, std::string_view layers) {
  const size_t at = name.find(layers);
  if (at == name.npos || (at != 0 && name[at - 1] != '.')) return std::nullopt;
  return number_after(name.substr(at), layers);
}

Failure too_many_layers(std::string_view field, uint64_t count, const Tensor& tensor) {
  return corrupt_hint(
      fmt::format("{} of the source model, or --step drop:tensors=GLOB for such layers", field),
      "config.json: {} is {}, but the weights have '{}'", field, count, tensor.name);
}

Status check_decoder(const std::vector<NamedTensor>& tensors, const Model& model) {
  const FamilyDecoder& decoder = model.family->decoder;
  if (decoder.layers.empty()) return {};
  CKPT_ASSIGN(const uint64_t count, model.count(decoder.count));
  if (count > model.layers) {
    return unsupported(
        "config.json: {} is {}, and the encoder has {}; llama.cpp loads no decoder with more",
        decoder.count, count, model.layers);
  }
  for (const NamedTensor& named : tensors) {
    const auto layer = layer_of(named.name, decoder.layers);
    if (layer && *layer >= count) return too_many_layers(decoder.count, count, named.tensor);
  }
  return {};
}

}  // namespace

std::string table_name(const NamedTensor& named, const Family& family) {
  // Layers for multi-token prediction keep their name, because the table lists them separately.
  if (named.tensor.name.starts_with("mtp.")) return named.tensor.name;
  const size_t draft = family.drafts.layers.empty() ? std::string::npos
                                                    : named.tensor.name.find(family.drafts.layers);
  if (draft != std::string::npos) return named.tensor.name.substr(draft);
  const bool is_bare = family.root == Family().root && !named.name.starts_with("model.") &&
                       !is_of_head(named.name);
  return is_bare ? "model." + named.name : named.name;
}

Result<std::vector<Parameter>> table_parameters(const std::vector<NamedTensor>& tensors,
                                                const Model& model) {
  ModelForm form;
  form.has_head = !model.architecture.ends_with("Model");
  form.is_classifier = model.architecture.ends_with("ForSequenceClassification");
  form.has_mtp = model.mtp_layers != 0;
  for (const NamedTensor& named : tensors) {
    form.held += held_by(named.tensor);
    form.note_experts(table_name(named, *model.family));
  }
  return expected_parameters({*model.family, *model.family, model.config}, form);
}

Result<std::vector<Parameter>> missing_parameters(const std::vector<NamedTensor>& tensors,
                                                  const Model& model) {
  std::vector<Parameter> out;
  if (model.family->is_partial) return out;
  Model asked = model;
  // The converter does not read the field, and llama.cpp does not divide by it.
  const JsonValue* step = member(asked.config, "decoder_sparse_step");
  if (step != nullptr && step->is_null()) asked.config.erase("decoder_sparse_step");
  CKPT_ASSIGN(const auto expected, table_parameters(tensors, asked));
  std::set<std::string> held;
  for (const NamedTensor& named : tensors) {
    held.insert(named.name);
    held.insert(table_name(named, *model.family));
  }
  const auto is_there = [&](const Parameter& parameter) {
    return held.contains(parameter.name) || held.contains(parameter.name + ".weight") ||
           has_other_name(parameter.name, held, *model.family);
  };
  const auto is_mtp = [](const Parameter& each) { return each.part == ModelPart::kMtp; };
  // llama.cpp loads a model without draft layers, but not one with only some of their tensors.
  const bool has_mtp = std::ranges::any_of(
      expected, [&](const Parameter& each) { return is_mtp(each) && is_there(each); });
  for (const Parameter& parameter : expected) {
    if (is_there(parameter) || may_be_missing(parameter, model)) continue;
    if (!is_mtp(parameter) || has_mtp) out.push_back(parameter);
  }
  return out;
}

Result<std::vector<std::string>> missing_names(const Checkpoint& checkpoint, Codecs codecs) {
  std::vector<std::string> out;
  auto whole = with_whole_weights(checkpoint, codecs);
  auto model = whole ? read_model(*whole) : Failure(whole.error());
  if (!model) return out;
  const auto tensors = select_tensors(*whole, true, *model, codecs);
  if (!tensors) return out;
  CKPT_ASSIGN(const auto missing, missing_parameters(*tensors, *model));
  for (const Parameter& parameter : missing) out.push_back(parameter.name);
  return out;
}

Status check_missing(const std::vector<NamedTensor>& tensors, const Model& model) {
  CKPT_ASSIGN(const std::vector<Parameter> missing, missing_parameters(tensors, model));
  if (missing.empty()) return {};
  const Parameter* first = &missing.front();
  const std::string more =
      missing.size() == 1 ? "" : fmt::format(" (and {} more)", missing.size() - 1);
  if (is_head(first->name)) {
    return corrupt_hint(
        "--step config:set=tie_word_embeddings=true, if the embeddings are the head",
        "tensor '{}'{} is missing; config.json does not tie the head to the embeddings",
        first->name, more);
  }
  return corrupt_hint(
      "a complete copy of the model; --step to-gguf:missing=leave converts the rest",
      "tensor '{}'{} is missing, which models of this family have", first->name, more);
}

Status check_layers(const std::vector<NamedTensor>& tensors, const Model& model) {
  std::set<uint64_t> drafts;
  for (const NamedTensor& named : tensors) {
    const auto layer =
        is_of_draft(named.name) ? layer_of(named.name, model.family->layers) : std::nullopt;
    if (layer) drafts.insert(*layer);
  }
  for (const NamedTensor& named : tensors) {
    const auto layer = layer_of(named.name, model.family->layers);
    const bool is_draft = layer && (drafts.contains(*layer) ||
                                    named.tensor.name.find("mtp.") != named.tensor.name.npos);
    if (!layer || *layer < model.layers || is_draft) continue;
    return too_many_layers("num_hidden_layers", model.layers, named.tensor);
  }
  return check_decoder(tensors, model);
}

}  // namespace ckpt

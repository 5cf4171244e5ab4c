// Compares tensors with the shapes that follow from config.json (models/models.h): the file's keys
// come from the latter, and programs do not load tensors that contradict the keys.
//
// Rows of the embedding beyond vocab_size cause only a note (to_gguf.cc), because files are padded
// this way; axes of length 1 do not count, because the converter drops them.
#include <unordered_map>

#include "transforms/to_gguf/model.h"
#include "transforms/to_gguf/mxfp4.h"
#include "transforms/to_gguf/names.h"
#include "transforms/to_gguf/select.h"
#include "transforms/to_gguf/tensors.h"

namespace ckpt {
namespace {

constexpr const char* kOwnConfig = "config.json of the model that these weights are of";

bool has_rows_of_tokens(std::string_view name, const Family& family) {
  const std::optional<Match> match = find_name_rule(family, name);
  return match && (match->rule->to == "token_embd" || match->rule->to == "output");
}

// The shape as in the table: rows of MXFP4 experts are outputs, those of the BF16 form inputs.
std::vector<uint64_t> table_shape(const Tensor& tensor) {
  std::vector<uint64_t> out = tensor.shape;
  if (is_mxfp4(tensor) && out.size() == 3) std::swap(out[1], out[2]);
  return out;
}

bool are_same(std::vector<uint64_t> a, std::vector<uint64_t> b, bool has_rows_of_tokens) {
  std::erase(a, 1);
  std::erase(b, 1);
  if (has_rows_of_tokens && a.size() == 2 && b.size() == 2) return a[1] == b[1];
  return a == b;
}

// The first field of `when` that is null in config.json; empty if there is none. The field for
// kinds of layers is layer_types.
std::string_view null_in(std::string_view when, const Model& model) {
  for (std::string_view word : split_words(when)) {
    const bool is_kind = word.ends_with("attention") || word == "mamba" || word == "conv";
    if (is_kind) word = "layer_types";
    const JsonValue* value = member(model.config, word);
    if (value != nullptr && value->is_null()) return word;
  }
  return {};
}

// A null field that the model's class needs to have a parameter of this name. The class treats null
// as false and then ignores the tensor, while llama.cpp computes with it.
std::string_view null_without(std::string_view name, const Model& model) {
  const std::string_view stem = model.family->layers;
  const size_t layers = name.find(stem);
  std::vector<std::string> numbers;
  for (const auto& list : model.family->parameters) {
    for (const ParameterRule& rule : list) {
      const bool is_in_layer = rule.name.starts_with('.');
      if (is_in_layer
              ? layers == name.npos || !matches_pattern(fmt::format("{}{{}}{}", stem, rule.name),
                                                        name.substr(layers), numbers)
              : rule.name != name) {
        continue;
      }
      const std::string_view field = null_in(rule.when, model);
      if (!field.empty()) return field;
    }
  }
  return {};
}

}  // namespace

bool has_shape(const NamedTensor& named, const std::vector<uint64_t>& shape,
               const Family& family) {
  return are_same(table_shape(named.tensor), shape,
                  has_rows_of_tokens(table_name(named, family), family));
}

Status check_shapes(const std::vector<NamedTensor>& tensors, const Model& model) {
  CKPT_ASSIGN(const auto expected, table_parameters(tensors, model));
  std::unordered_map<std::string_view, const std::vector<uint64_t>*> shapes;
  for (const Parameter& parameter : expected) shapes.emplace(parameter.name, &parameter.shape);
  size_t count = 0;
  const NamedTensor* first = nullptr;
  const std::vector<uint64_t>* wanted = nullptr;
  for (const NamedTensor& named : tensors) {
    const std::string name = table_name(named, *model.family);
    const auto found = shapes.find(name);
    if (found == shapes.end()) {
      const std::string_view field = null_without(name, model);
      if (field.empty()) continue;
      return corrupt_hint(kOwnConfig, "config.json: {} is null, but the weights have '{}'", field,
                          named.tensor.name);
    }
    if (has_shape(named, *found->second, *model.family)) continue;
    if (count++ != 0) continue;
    first = &named;
    wanted = found->second;
  }
  if (count == 0) return {};
  return corrupt_hint(
      kOwnConfig, "'{}' is [{}]; config.json says [{}]{}", first->tensor.name,
      fmt::join(first->tensor.shape, ", "), fmt::join(*wanted, ", "),
      count == 1 ? std::string() : fmt::format(", and {} more tensors contradict it", count - 1));
}

}  // namespace ckpt

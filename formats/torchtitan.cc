// Names of torchtitan's models and those of Hugging Face. Models of both have the same rows, except
// q and k of Llama, where torchtitan keeps the two values that RoPE turns together next to each
// other:
//
//   of a head  0a 0b 1a 1b ...   becomes   0a 1a ... 0b 1b ...
//
// Mistake to avoid: with the rows of q and k left in place the model loads, and writes nonsense.
// Source: torchtitan/models/{llama3,qwen3}/state_dict_adapter.py.
#include <algorithm>

#include "core/base/find.h"
#include "core/base/lines.h"
#include "core/json/json_read.h"
#include "formats/trainer.h"
#include "models/models.h"

namespace ckpt {

extern const std::string_view kTitanNames;  // data/torchtitan.txt

namespace {

enum : size_t { kTitan, kHuggingFace, kHeads, kTitanColumns };
using TitanRow = std::vector<std::string_view>;

const std::vector<TitanRow>& titan_rows() {
  static const std::vector<TitanRow> kRows = [] {
    std::vector<TitanRow> out;
    for (const auto& row : table_rows(kTitanNames, kTitanColumns)) {
      out.emplace_back(row.begin(), row.end());
    }
    return out;
  }();
  return kRows;
}

// A number in `name`, "3" of "layers.3.ffn_norm.weight", becomes {}.
std::string take_number(std::string& name) {
  const size_t first = name.find_first_of("0123456789"), dot = name.rfind('.', first);
  const size_t end = name.find('.', first);
  if (first == name.npos || dot + 1 != first || end == name.npos) return {};
  std::string out = name.substr(first, end - first);
  name.replace(first, end - first, "{}");
  return out;
}

class TitanNaming {
 public:
  TitanNaming(const JsonValue& config, bool has_pairs) : config_(config), has_pairs_(has_pairs) {}

  Status take(Tensor tensor) {
    std::string pattern = tensor.name;
    const std::string layer = take_number(pattern);
    const auto row = std::ranges::find(titan_rows(), std::string_view(pattern),
                                       [](const TitanRow& each) { return each[kTitan]; });
    if (row == titan_rows().end()) {
      return unsupported_hint("saving the model's own files with torchtitan",
                              "'{}': not a name of torchtitan that is known here", tensor.name);
    }
    const std::string_view name = (*row)[kHuggingFace];
    if (name.empty()) return {};
    const bool is_paired = has_pairs_ && !(*row)[kHeads].empty();
    if (is_paired) CKPT_SET(tensor, unpaired(std::move(tensor), (*row)[kHeads]));
    if (name.find("{}") != name.rfind("{}")) return keep_experts(tensor, name, layer);
    keep(std::move(tensor), fmt::format(fmt::runtime(name), layer));
    return {};
  }

  std::vector<Tensor> tensors() && { return std::move(out_); }

 private:
  void keep(Tensor tensor, std::string name) {
    tensor.name = std::move(name);
    out_.push_back(std::move(tensor));
  }

  // A stack [experts, rows, columns] becomes a tensor of each expert.
  Status keep_experts(const Tensor& stack, std::string_view name, const std::string& layer) {
    if (stack.shape.size() != 3) return corrupt("'{}': not a stack of matrices", stack.name);
    for (uint64_t expert = 0; expert < stack.shape[0]; ++expert) {
      CKPT_ASSIGN(Tensor one, take_rows(stack, expert * stack.shape[1], stack.shape[1]));
      keep(std::move(one), fmt::format(fmt::runtime(name), layer, expert));
    }
    return {};
  }

  Result<Tensor> unpaired(Tensor tensor, std::string_view counted) const {
    const auto heads = whole(known(config_, counted));
    const uint64_t rows = tensor.rows();
    if (!heads || *heads == 0 || rows % (2 * *heads) != 0) {
      return corrupt("'{}' has {} rows; expected those of {} in config.json", tensor.name, rows,
                     counted);
    }
    const uint64_t size = rows / *heads;
    std::vector<RowRun> runs;
    for (uint64_t first = 0; first < rows; first += size) {
      for (uint64_t i = 0; i < size; ++i) {
        runs.push_back({first + 2 * i % size + (2 * i < size ? 0 : 1), 1});
      }
    }
    return reorder_rows(tensor, runs);
  }

  const JsonValue& config_;
  bool has_pairs_;
  std::vector<Tensor> out_;
};

}  // namespace

bool has_titan_names(const std::vector<Tensor>& tensors) {
  return find_by(tensors, &Tensor::name, titan_rows().front()[kTitan]) != nullptr;
}

Result<std::vector<Tensor>> from_titan(std::vector<Tensor> tensors,
                                       const std::vector<Document>& documents) {
  const Document* document = find_by(documents, &Document::path, "config.json");
  if (document == nullptr) {
    return unsupported_hint("--base MODEL, the model that was trained",
                            "names of torchtitan without config.json, which tells the class of the "
                            "model and its heads");
  }
  CKPT_ASSIGN(const auto config, document->values());
  const std::string_view type = text_in(*config, "model_type");
  const bool has_pairs = has_trait(type, ModelTrait::kTorchtitanPairs);
  if (!has_pairs && !has_trait(type, ModelTrait::kTorchtitan)) {
    return unsupported_hint("saving the model's own files with torchtitan",
                            "names of torchtitan for a model of type '{}', which is not known here",
                            type);
  }
  TitanNaming naming(*config, has_pairs);
  for (Tensor& tensor : tensors) CKPT_TRY(naming.take(std::move(tensor)));
  return std::move(naming).tensors();
}

}  // namespace ckpt

// The weights of a model that adapters are merged into: found by the names that adapters use, and
// changed in place.
//
//   stored floats                  the sum, rounded to their type
//   decoded on the way from GGUF   the sum in float
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/counted.h"
#include "core/computed/low_rank_source.h"
#include "core/computed/row_change.h"
#include "core/model/transform.h"
#include "models/models.h"
#include "transforms/lora/adapter.h"

namespace ckpt {

class ModelWeights {
 public:
  // `skips_zeros`: a product of zeros leaves a weight as it is, which would be encoded again for
  // nothing; PEFT makes zeros positive.
  ModelWeights(Checkpoint& checkpoint, const Context& context, bool skips_zeros = false);

  // Finds a tensor of a module by the names from model_names() and file_names(), each also with and
  // without the first word of the model's names ("bert."). nullptr: none.
  Tensor* find(const std::string& module, std::string_view ending);
  Tensor* find_exactly(const std::string& name);
  void add(Tensor tensor);
  // Makes find() return the weight of `module` for `other` too.
  void name_again(const std::string& module, const std::string& other);
  // Replaces the values and the shape of `target`, and keeps its type.
  Status replace(Tensor& target, const Tensor& values);
  // Whether the weight of a module is [in, out], as in transformers' Conv1D. PEFT asks the
  // class too: it corrects the adapter's fan_in_fan_out.
  bool is_conv1d(std::string_view module) const;

  // The module that all changes are for from here on, by one of its tensors.
  void begin_module(const std::string& tensor) { changer_ = tensor; }
  // Reserves rows [first, end) of `weight` for that module. Fails: kCorrupt: another module, whose
  // name means the same weight, has changed one of them.
  Status claim(const Tensor& weight, uint64_t first = 0, uint64_t end = UINT64_MAX);

  // Adds a product; a convolution is a matrix with a row for each output. Fails: as claim and
  // with_low_rank.
  Status merge(Tensor& weight, LowRankUpdate update);
  // Adds it to rows [first, first + those of update.left) alone.
  Status merge_rows(Tensor& weight, uint64_t first, LowRankUpdate update);
  // Changes the rows of a weight of any axes, the first of which are rows. Fails: as claim and
  // with_row_change.
  Status change(Tensor& weight, RowChange change);
  uint64_t added() const { return added_; }
  uint64_t empty() const { return empty_; }  // of those, products of zeros that were left out

 private:
  struct Claim {
    uint64_t first, end;
    std::string changer;
  };

  Status merge_claimed(Tensor& weight, LowRankUpdate update);
  Status check_floats(const Tensor& weight) const;
  Status merge_decoded(Tensor& weight, LowRankUpdate update);

  Checkpoint& checkpoint_;
  const Context& context_;
  bool skips_zeros_;
  bool has_conv1d_;
  std::vector<ClassName> class_names_;
  std::set<std::string> first_words_;  // "bert." of "bert.encoder.layer.0.output.dense.weight"
  std::map<std::string, size_t, std::less<>> index_;
  std::string changer_;
  std::map<std::string, std::vector<Claim>> claims_;  // by name of the weight
  uint64_t added_ = 0, empty_ = 0;
};

// Adds the adapter's rows for new tokens to embeddings and head, sets vocab_size, and takes the
// adapter's tokenizer (vocabulary.cc). Fails: kCorrupt: neither adapter nor model has a row.
Status grow_vocabulary(const Adapter& adapter, Checkpoint& model, ModelWeights& weights,
                       const Context& context);

// Puts the rows of `values` into `weight`, at the rows that adapter_config.json lists for the
// module under trainable_token_indices (vocabulary.cc). Fails: kCorrupt: the list has other rows;
// kUnsupported: not stored floats.
Status replace_token_rows(const Adapter& adapter, const AdapterModule& module, const Tensor& values,
                          Tensor& weight);

// The error for an adapter that changes no tensor of the model: all its modules belong to towers,
// which `left_out` counts, or it has no modules.
Failure no_effect(const NameCount& left_out);

// Whether `module` is the new head of a classifier (classifier.cc).
bool is_of_classifier(const Adapter& adapter, const AdapterModule& module);
// If the adapter has such a head, changes the class in config.json and drops the head of the model.
// Fails: kUnsupported: config.json does not name the class of a language model.
Status use_classifier(const Adapter& adapter, Checkpoint& model, const Context& context);

}  // namespace ckpt

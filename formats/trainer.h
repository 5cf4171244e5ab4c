// Checkpoints as trainers write them, with parts of tensors in the file of each rank; private to
// formats/.
//
//   RUN/checkpoint-1/pytorch_model_fsdp_0/.metadata, __0_0.distcp   the weights: one layout
//                    optimizer_0/, rng_state_0.pth                  not read
//                    config.json, tokenizer.json                    documents
//
// A layout makes whole tensors out of slices of files. Names become those of the model by one table
// (trainer_names.cc). docs/TRAINERS.md lists the layouts.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/format.h"

namespace ckpt {

// The path of an entry in the nested dicts that a trainer saved: {"model", "lm_head.weight"}. If
// the dicts are not known, the path is only the key.
using TrainerPath = std::vector<std::string>;

// Whether an entry is not a weight: {"optimizer", "state.x.exp_avg"}.
bool is_beside_weights(const TrainerPath& path);

// The path of the weight that an entry is the F32 master of: {"optimizer", "fp32_master", "a.b"}
// is that of {"a.b"}. nullopt: it is not a master.
std::optional<TrainerPath> weight_of_master(const TrainerPath& path);

// Returns the name of each weight in the model, without the levels that hold the model and without
// the components that wrappers add. Requires: is_beside_weights() is false for all. Fails:
// kCorrupt: two weights get the same name.
Result<std::vector<std::string>> names_of_weights(const std::vector<TrainerPath>& paths);

// Whether these are names of torchtitan's models, and the same tensors as the model of Hugging Face
// has them (torchtitan.cc). Fails: kUnsupported: no config.json among `documents`, a class whose
// names are not known here; kCorrupt: rows that do not fit it.
bool has_titan_names(const std::vector<Tensor>& tensors);
Result<std::vector<Tensor>> from_titan(std::vector<Tensor> tensors,
                                       const std::vector<Document>& documents);

// Turns the names that a model has in memory, which trainers save, into those that save_pretrained
// writes (trainer_names.cc, data/saved_names.txt). Names of a class without rows stay as they are.
class SavedNames {
 public:
  struct Row {
    std::string_view in_memory;
    std::vector<std::string_view> in_files;
    bool is_of_experts() const { return in_files[0].find('*') != std::string_view::npos; }
  };
  // Fails: config.json is not an object.
  static Result<SavedNames> of(const std::vector<Document>& documents);
  // Adds the tensor under the name that files have; a stack of experts becomes a tensor for each.
  // Fails: kCorrupt: the rows of a stack cannot be divided among its matrices.
  Status add(Tensor tensor, std::vector<Tensor>& out) const;

 private:
  static Status add_experts(const Tensor& stack, const Row& row, std::vector<Tensor>& out);
  std::vector<Row> rows_;
};
Result<std::vector<Tensor>> as_saved(std::vector<Tensor> tensors,
                                     const std::vector<Document>& documents);

struct TrainerWeights {
  std::vector<Tensor> tensors;        // with the names of the model
  std::vector<std::string> not_read;  // what else is there: "optimizer (75 entries)"
  std::string values = {};            // which of several values the weights have: "F32 masters"
  uint64_t ranks = 0;                 // that wrote the files; 0: unknown
  std::optional<uint64_t> step = {};  // of the training, if the files tell
  std::string config = {};            // config.json, if the layout has its facts
  std::string without_config = {};    // which of them it lacks
};

struct TrainerFolder {
  std::filesystem::path path;
  std::vector<std::string> names;         // what is in it
  const std::vector<Document>& documents;  // of the model, or of its base
  Codecs codecs;
  WeightValues weights;  // never kMaster if the layout has no masters
  WeightChecks* checks;  // as ReadOptions
};

struct TrainerLayout {
  std::string_view name;  // "a distributed checkpoint of PyTorch (DCP)"
  bool (*recognizes)(const std::vector<std::string>& names);  // by the names in its folder
  Result<TrainerWeights> (*read)(const TrainerFolder& from);
  bool has_masters = false;  // the reader can take the masters
};

// The values that `--weights` chooses from, in messages.
inline constexpr std::string_view kF32Masters = "F32 masters";
inline constexpr std::string_view kModelWeights = "the model's weights";

// The names that match `glob`.
std::vector<std::string> names_like(const std::vector<std::string>& names, std::string_view glob);
// The number after the first `mark`: 4 in "model_world_size_4_rank_1.pt" after "world_size_".
std::optional<uint64_t> number_after_mark(std::string_view name, std::string_view mark);
// How many different numbers follow `mark` in these names; names without one count as one more.
uint64_t count_numbers_after(const std::vector<std::string>& names, std::string_view mark);

// The folder of the weights in a trainer's checkpoint, and their layout.
struct FoundLayout {
  const TrainerLayout* layout;
  std::filesystem::path folder;  // the one that was asked about, or one in it
};
// Looks for weights in one of these layouts in a folder with files of these names; nullopt: there
// are none. Fails: kUnsupported: there are several models; kIo.
Result<std::optional<FoundLayout>> find_trainer_layout(const std::filesystem::path& folder,
                                                       const std::vector<std::string>& names);

// The error for weights without masters in `what`, if they were asked for.
Failure no_masters(std::string_view what);

// Reads the weights in `found`, and the documents there. If that folder has no config.json, its
// huggingface/ or a folder around it supplies the documents. Fails: as the layout and
// read_documents() do; kUnsupported: masters are asked for, and the layout has none.
Result<Checkpoint> read_trainer(const FoundLayout& found, Codecs codecs,
                                const ReadOptions& options);

}  // namespace ckpt

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

// Returns the name of each weight in the model, without the levels that hold the model and without
// the components that wrappers add. Requires: is_beside_weights() is false for all. Fails:
// kCorrupt: two weights get the same name.
Result<std::vector<std::string>> names_of_weights(const std::vector<TrainerPath>& paths);

struct TrainerWeights {
  std::vector<Tensor> tensors;        // with the names of the model
  std::vector<std::string> not_read;  // what else is there: "optimizer (75 entries)"
};

struct TrainerFolder {
  std::filesystem::path path;
  std::vector<std::string> names;         // what is in it
  const std::vector<Document>& documents;  // of the model
  Codecs codecs;
};

struct TrainerLayout {
  std::string_view name;  // "a distributed checkpoint of PyTorch (DCP)"
  bool (*recognizes)(const std::vector<std::string>& names);  // by the names in its folder
  Result<TrainerWeights> (*read)(const TrainerFolder& from);
};

// The names that match `glob`.
std::vector<std::string> names_like(const std::vector<std::string>& names, std::string_view glob);

// The folder of the weights in a trainer's checkpoint, and their layout.
struct FoundLayout {
  const TrainerLayout* layout;
  std::filesystem::path folder;  // the one that was asked about, or one in it
};
// Looks for weights in one of these layouts in a folder with files of these names; nullopt: there
// are none. Fails: kUnsupported: there are several models; kIo.
Result<std::optional<FoundLayout>> find_trainer_layout(const std::filesystem::path& folder,
                                                       const std::vector<std::string>& names);

// Reads the weights and documents of `folder`. If it has no config.json, its huggingface/ or its
// parent folder supplies the documents. Fails: as the layout and read_documents() do.
Result<Checkpoint> read_trainer(const std::filesystem::path& folder, const FoundLayout& found,
                                Codecs codecs, const ReadOptions& options);

}  // namespace ckpt

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

// Where an entry is in the nested dicts that a trainer saved: {"model", "lm_head.weight"}. The key
// alone if that is not known.
using TrainerPath = std::vector<std::string>;

// Whether an entry is something else than a weight: {"optimizer", "state.x.exp_avg"}.
bool is_beside_weights(const TrainerPath& path);

// The name of each weight in the model: without levels that hold the model, and without components
// that wrappers add. Requires: none is_beside_weights. Fails: kCorrupt if two are one.
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

// Those that match `glob`.
std::vector<std::string> names_like(const std::vector<std::string>& names, std::string_view glob);

// Where the weights of a trainer's checkpoint are.
struct FoundLayout {
  const TrainerLayout* layout;
  std::filesystem::path folder;  // the one that was asked about, or one in it
};
// Nothing if the folder, which has these names in it, has no weights in one of these layouts.
// Fails: kUnsupported: several models; kIo.
Result<std::optional<FoundLayout>> find_trainer_layout(const std::filesystem::path& folder,
                                                       const std::vector<std::string>& names);

// The weights and documents of `folder`; documents of huggingface/ in it, or of the folder around
// it, if they have config.json and it has none. Fails: as the layout and read_documents() do.
Result<Checkpoint> read_trainer(const std::filesystem::path& folder, const FoundLayout& found,
                                Codecs codecs, const ReadOptions& options);

}  // namespace ckpt

// Keys and values of `ckpt set` as steps: metadata of a file, JSON documents of a folder.
//
//   FILE.gguf         general.name=Mine
//   FOLDER            rope_theta=1e6                            in config.json
//                     generation_config.json:temperature=0.6    in another document
//                     model.safetensors:format=pt               metadata of weights
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "plan/conversion/steps.h"

namespace ckpt {

struct KeyEdit {
  bool sets = false;
  std::string key, value;  // the value of one that sets
};

// A key of a folder: the file that holds it, and its place there.
struct DocumentKey {
  std::string file, key;
};
DocumentKey document_key(const std::string& typed);

// Fails: kUsage: a key twice; a value of another kind than the replaced one; a key that was
// probably mistyped, with the right key; as reading the folder's documents.
Result<std::vector<Step>> steps_of_edits(const std::filesystem::path& path,
                                         const std::vector<KeyEdit>& edits,
                                         const ReadOptions& reading);

}  // namespace ckpt

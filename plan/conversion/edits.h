// Turns keys and values of `ckpt set` into steps: metadata of a file, JSON documents of a folder.
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
  std::string key, value;  // `value` is used if the edit sets the key
};

// A key in a folder: the file that contains it, and its path in that file.
struct DocumentKey {
  std::string file, key;
};
DocumentKey document_key(const std::string& typed);

// Fails: kUsage: a key given twice; a value of another kind than the replaced one; a key that was
// probably mistyped (names the right key); as reading the folder's documents.
Result<std::vector<Step>> steps_of_edits(const std::filesystem::path& path,
                                         const std::vector<KeyEdit>& edits,
                                         const ReadOptions& reading);

}  // namespace ckpt

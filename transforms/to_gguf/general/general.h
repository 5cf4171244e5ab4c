// The general.* keys: what a model is called, who made it, from what, under which license.
//
// Order and sources: llama.cpp gguf-py/gguf/metadata.py. For each field the model card wins over
// config.json's _name_or_path, and that over the folder's name; but generation_config.json, which
// is asked last, wins for the sampling keys.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/model/checkpoint.h"
#include "core/model/transform.h"

namespace ckpt {

// Appends general.sampling.* to general.languages. `tensors` are the ones that will be written.
// Fails: kCorrupt for documents that are no JSON. A model card whose front matter cannot be read is
// left out with a note.
Status add_general_keys(const Checkpoint& checkpoint, const std::vector<Tensor>& tensors,
                        const std::optional<std::string>& model_name, const Context& context,
                        Metadata& metadata);

// What a model card or GGUF's keys say of a model; empty where they say nothing, or cannot be read.
struct CardFacts {
  std::string license;                   // "apache-2.0"
  std::vector<std::string> base_models;  // "Qwen/Qwen3-8B", or an address
};
CardFacts card_facts(const Checkpoint& checkpoint);

}  // namespace ckpt

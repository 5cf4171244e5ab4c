// The general.* keys: what a model is called, who made it, from what, under which license.
//
// Order and sources: llama.cpp gguf-py/gguf/metadata.py. For each field the model card wins over
// config.json's _name_or_path, and that over the folder's name; but generation_config.json, which
// is asked last, wins for the sampling keys.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/checkpoint.h"
#include "core/model/transform.h"

namespace ckpt {

// Appends general.sampling.* to general.languages. `tensors` are the ones that will be written.
// Fails: kCorrupt for documents that are not JSON. A model card with unreadable front matter is
// left out with a note.
Status add_general_keys(const Checkpoint& checkpoint, const std::vector<Tensor>& tensors,
                        const std::optional<std::string>& model_name, const Context& context,
                        Metadata& metadata);

// How generation_config.json and general.sampling.KEY say how to sample.
struct SamplingKey {
  const char *key, *field;
  const char* other;  // the field that transformers has; "" where it is `field`
  MetaType type;
};
std::span<const SamplingKey> sampling_keys();
// Appends them. Fails: kCorrupt: a value of another type.
Status add_sampling_keys(const Checkpoint& checkpoint, Metadata& metadata);

// The facts of a model card or of GGUF keys; empty where they are absent, or cannot be read.
struct CardFacts {
  std::string license;                   // "apache-2.0"
  std::vector<std::string> base_models;  // "Qwen/Qwen3-8B", or an address
};
CardFacts card_facts(const Checkpoint& checkpoint);

// The parts of a model's name: "Qwen3-30B-A3B-Instruct-2507" has a base name, sizes, a
// fine-tune and a version.
//
// Source: llama.cpp gguf-py/gguf/metadata.py (id_to_title, get_model_id_components) and utility.py
// (size_label). Whether a size is believed depends on how many parameters the model really has; a
// size far off is treated as a context length.

struct NameComponents {
  std::optional<std::string> full_name, organization, basename, finetune, version, size_label;
};

// `total_values`: parameters of the model; 0 = not known.
NameComponents name_components(std::string_view model_id, uint64_t total_values);

// "my-model v1.2 9b" -> "My Model v1.2 9b": words in lower case get capitals, versions do not.
std::string title_of(std::string_view id);

// Parameters, as the writer counts them.
struct ParameterCount {
  uint64_t total = 0;
  uint64_t shared = 0;   // not in experts
  uint64_t expert = 0;   // one expert of each stack
  uint64_t experts = 0;  // how many; 0: none
};

ParameterCount count_parameters(const std::vector<Tensor>& tensors);

// "9.4B", "752M", "128x24B".
std::string size_label(const ParameterCount& count);

}  // namespace ckpt

// The general.* keys: a model's name, authors, base models and license.
//
// Order and sources: llama.cpp gguf-py/gguf/metadata.py. The model card overrides _name_or_path of
// config.json, which overrides the folder's name. For the sampling keys, generation_config.json
// overrides all of them.
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

// Appends general.sampling.* to general.languages. `tensors` are those to be written. Fails:
// kCorrupt if a document is not JSON. A model card with unreadable front matter is ignored, with a
// note.
Status add_general_keys(const Checkpoint& checkpoint, const std::vector<Tensor>& tensors,
                        const std::optional<std::string>& model_name, const Context& context,
                        Metadata& metadata);

// A sampling setting: its field in generation_config.json, and the key general.sampling.KEY.
struct SamplingKey {
  const char *key, *field;
  const char* other;  // the field in transformers; "" if it is `field`
  MetaType type;
};
std::span<const SamplingKey> sampling_keys();
// Appends the sampling keys. Fails: kCorrupt: a value of another type.
Status add_sampling_keys(const Checkpoint& checkpoint, Metadata& metadata);

// Facts from a model card or GGUF keys; empty if they are absent or unreadable.
struct CardFacts {
  std::string license;                   // "apache-2.0"
  std::vector<std::string> base_models;  // "Qwen/Qwen3-8B", or an address
};
CardFacts card_facts(const Checkpoint& checkpoint);

// The parts of a model's name: "Qwen3-30B-A3B-Instruct-2507" has a base name, sizes, a
// fine-tune and a version.
//
// Source: llama.cpp gguf-py/gguf/metadata.py (id_to_title, get_model_id_components) and utility.py
// (size_label). A size counts only if it is close to the actual number of parameters; otherwise it
// is taken as a context length.

struct NameComponents {
  std::optional<std::string> full_name, organization, basename, finetune, version, size_label;
};

// `total_values`: parameters of the model; 0 = unknown.
NameComponents name_components(std::string_view model_id, uint64_t total_values);

// "my-model v1.2 9b" -> "My Model v1.2 9b": words in lower case are capitalized, versions are not.
std::string title_of(std::string_view id);

// Parameters, as llama.cpp's converter counts them.
struct ParameterCount {
  uint64_t total = 0;
  uint64_t shared = 0;   // outside experts
  uint64_t expert = 0;   // one expert in each stack
  uint64_t experts = 0;  // number of experts; 0: none
};

ParameterCount count_parameters(const std::vector<Tensor>& tensors);

// "9.4B", "752M", "128x24B".
std::string size_label(const ParameterCount& count);

}  // namespace ckpt

// The list of transforms: the only header of this folder that others include.
#pragma once

#include "core/model/packed_forms.h"
#include "core/model/transform.h"

namespace ckpt {

Transforms all_transforms();
const Transform* find_transform(std::string_view name);

// Names of the architectures that to-gguf knows, as in config.json, for `ckpt list families`.
struct FamilyInfo {
  std::string_view name;           // "qwen35"
  std::string_view architectures;  // "Qwen3_5ForCausalLM ...", separated by spaces
  bool has_projector = false;      // to-mmproj makes one for some of them
  bool has_wrapper = false;        // vl-wrap and vl-unwrap know a vision class around it
  bool comes_back = false;         // from-gguf makes a folder of some of them, or their text part
  bool has_export = false;         // --to nvfp4 takes all of its linear layers, else all but
                                   // stacks of experts
  bool has_fp8_export = false;     // so does --to fp8
};
std::vector<FamilyInfo> all_families();

// What --to takes: mixtures, which choose a type for each tensor.
struct TypeInfo {
  std::string_view name;  // "q4_k_m"
  std::string_view base;  // "q4_k": the type of most tensors
};
std::vector<TypeInfo> all_types();

// What quantization a checkpoint holds, by its tensors, and what its documents say of it.
struct QuantSummary {
  struct Group {
    std::string algorithm;           // "NVFP4 (group 16)"
    uint64_t layers;                 // weights of two axes or more
    uint64_t vectors;                // norms, biases
    std::vector<std::string> names;  // of the layers: "model.layers.{0..7}.mlp.{gate,up}_proj"
  };
  std::vector<Group> groups;               // in the order of their first tensors
  std::vector<std::string> algorithms;     // by tensor; "" for scales that belong to another
  bool is_quantized = false;               // something is
  std::string stated;                      // "NVFP4"; "" when no document says anything
  std::string producer;                    // "modelopt 0.47.0"
  std::string kv_cache;                    // "FP8, 8 scales"
  std::vector<std::string> disagreements;  // between documents, and between them and the tensors
};
// Fails: kCorrupt: documents that are no JSON.
Result<QuantSummary> summarize_quantization(const Checkpoint& checkpoint);

// For each of `modules`, linear layers of `checkpoint`: a text that is the same for those that
// servers run as one, and so in one type: q, k and v; gate and up; all experts of a layer. Fails:
// kCorrupt: config.json is no JSON object.
Result<std::vector<std::string>> joined_layers(const Checkpoint& checkpoint,
                                               const std::vector<std::string>& modules);

// What a model card or GGUF's keys say of a model; empty where they say nothing, or cannot be read.
struct CardFacts {
  std::string license;                   // "apache-2.0"
  std::vector<std::string> base_models;  // "Qwen/Qwen3-8B", or an address
};
CardFacts card_facts(const Checkpoint& checkpoint);

// The files that a recipe of ModelOpt and its imports are read from, its own first; empty for one
// that ships. Fails: as the export step does.
Result<std::vector<std::filesystem::path>> quant_recipe_files(const std::string& name,
                                                              const Context& context);

// Puts the tokenizer's files among `documents`, those of the folder `where`, into `checkpoint`.
// Fails: kUsage when there are none.
Status take_tokenizer_files(const std::vector<Document>& documents, std::string_view where,
                            Checkpoint& checkpoint);

// Whether weights are stored as codes in another program's layout, which dequantize and to-gguf
// read: GPTQ, AWQ and the like.
bool holds_packed_weights(const Checkpoint& checkpoint);

// What such weights decode to. Reads headers, and of tensors the few numbers that are shapes.
PackedForms packed_forms(const Checkpoint& checkpoint);

// Whether tensors of the two that mean the same have the same names and shapes: not so between a
// folder and GGUF, a text model and a wrapped one, experts one by one and in stacks.
bool are_in_one_form(const Checkpoint& a, const Checkpoint& b);
// Gives both the tensors that GGUF has for them, values unrounded; tensors of a vision tower are
// left out, with a note. Fails: as read_model and make_gguf_tensors (transforms/to_gguf/).
Status to_one_form(Checkpoint& a, Checkpoint& b, const Context& context);

}  // namespace ckpt

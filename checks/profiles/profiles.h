// The models and formats that each program accepts, read from data/profiles/. Private to checks/.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/findings.h"

namespace ckpt {

enum class Program : uint8_t { kVllm, kSglang, kTensorrt, kLlamaCpp, kOllama, kTransformers };

// Differences between releases of one program. A line `does NAME` in a profile's file states one,
// with its source; no other code compares releases.
inline constexpr std::string_view kTraits[] = {
    "apply_pre_quant_scales",
    "ask_lists_for_joined_names",
    "ask_lists_for_w1_w2_w3",
    "choose_tokenizer_by_model_type",
    "fill_all_scales_of_joined_matrices",
    "join_indexer_in_floats",
    "join_layers_of_mixed_lists",
    "keep_modules_without_group_in_floats",
    "keep_bytes_under_llama_tokenizer",
    "leave_scales_of_experts_to_kernels",
    "look_up_cache_scales",
    "need_every_indexed_file",
    "pass_over_quantizers_of_qwen3_5",
    "read_class_of_text_part",
    "read_gguf",
    "read_mixed_precision",
    "refuse_extra_weights",
    "run_bare_models_by_fallback",
    "run_quantized_embeddings",  // NVFP4 in MIXED_PRECISION
    "run_quantized_heads",
    "take_experts_in_smaller_blocks",
    "treat_experts_as_their_neighbors"};

void unknown_trait();  // not constexpr: a misspelled trait does not compile
struct Trait {
  std::string_view name;
  consteval Trait(const char* text) : name(text) {  // NOLINT: implicit
    if (std::ranges::find(kTraits, name) == std::end(kTraits)) unknown_trait();
  }
};

// A section of a profile's file.
struct WordList {
  std::set<std::string_view> words, without;
  std::vector<std::string_view> also;  // profiles whose section is included
};

struct Profile {
  std::string_view file;  // "vllm-0.32", the release
  std::string_view name;  // "vllm" for the newest release of its kind; else like `file`
  std::string_view kind, help, version, released;  // `released` is the day
  Program program = Program::kTransformers;
  // Names by which checks rate the profile; its own name if the file has no others.
  std::vector<std::string_view> rated;
  std::set<std::string_view> traits = {};
  std::map<std::string_view, WordList> lists = {};
  std::string_view like;    // the profile that provides what this file does not state
  std::string_view reader;  // the profile of the transformers release it uses
  std::string_view read;    // day of reading, if nobody looks for newer releases

  std::string_view title() const;    // "vLLM 0.32"
  std::string_view release() const;  // "0.32"

  bool does(Trait trait) const { return traits.contains(trait.name); }
  // Whether the program reads a folder with such an index.
  bool takes(const FileMisfit& misfit) const;
  bool serves() const { return program != Program::kTransformers; }
  // Whether the program runs GGUF files with llama.cpp's own server.
  bool runs_llama_server() const {
    return program == Program::kLlamaCpp || program == Program::kOllama;
  }
  // The release of transformers whose classes the program uses.
  const Profile& transformers() const;
  bool has_transformers_4() const { return reader.starts_with("transformers-4."); }
  // Whether the program reads tokenizer files with transformers 5.
  bool has_tokenizers_of_5() const {
    const bool is_reader = program == Program::kVllm || program == Program::kSglang ||
                           program == Program::kTransformers;
    return is_reader && !has_transformers_4();
  }
};

// All profiles, in the order of lists.
std::span<const Profile> profiles();
std::string_view name_of(Program program);

// Finds a profile by its name or that of its file; null if unknown.
const Profile* find_profile(std::string_view name);

// The profiles that answer for a name: its own profile; both neighbors of a release between two
// profiles; or the newest one for a release newer than all.
struct ProfileMatch {
  std::string name;
  const Profile* profile = nullptr;  // null: unknown name
  const Profile* older = nullptr;    // the older neighbor, if there are two
  bool is_newer = false;
};
ProfileMatch match_profile(std::string_view name);
// Returns "needs vLLM 0.33 or later" if a later release's profile `has` the word that this one
// lacks, or that no release has it.
std::string release_with(const Profile& profile, bool (*has)(const Profile&, std::string_view),
                         std::string_view word);

// Whether section `list` of the profile's file contains `word`. `if_absent` is the result if the
// section is missing: the program ignores these words, or they are unknown here.
bool has_listed(const Profile& profile, std::string_view list, std::string_view word,
                bool if_absent);

// All words of section `list`; empty if the section does not exist.
std::vector<std::string_view> listed_words(const Profile& profile, std::string_view list);

// The rest of each word "TYPE:REST" of section `list`.
std::vector<std::string_view> listed_for(const Profile& profile, std::string_view list,
                                         std::string_view type);

// The name, without `start`, of the first section that contains `word`; empty if none does.
std::string_view section_with(const Profile& profile, std::string_view start,
                              std::string_view word);

// `model_type` is from config.json. llama.cpp and TensorRT-LLM use the class instead: always true.
inline bool knows_model_type(const Profile& profile, std::string_view model_type) {
  return has_listed(profile, "model types", model_type, true);
}
// Whether the program has the class in architectures[0] of config.json. An adapted class counts:
// vLLM makes XForSequenceClassification from XForCausalLM. Always true for transformers, because
// its profile does not list classes.
bool knows_model_class(const Profile& profile, std::string_view name);
// Whether a class that a server lacks may run with the code of transformers. A class that both lack
// stops the run, whatever model_type is.
bool has_fallback_class(const Profile& profile, std::string_view name);
// Whether the program reads ModelOpt checkpoints with this quant_algo.
inline bool takes_algo(const Profile& profile, std::string_view algo) {
  return has_listed(profile, "modelopt algorithms", algo, false);
}
// Whether such a model runs with the code of transformers.
bool runs_by_fallback(const Profile& profile, std::string_view name);
// Whether transformers knows the tokenizer_class. 4.57 looks up the name with "Fast" appended, then
// the name. 5.x reads any tokenizer.json with its own class, whatever the name is.
bool knows_tokenizer_class(const Profile& profile, std::string_view name);

}  // namespace ckpt

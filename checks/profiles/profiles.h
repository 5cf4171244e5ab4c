// The models and formats that each program accepts, for the checks, read from data/profiles/;
// private to checks/.
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

// Where releases of one program differ. A line `does NAME` in the file of a profile states it, with
// its source; no other code asks which release a profile is.
inline constexpr std::string_view kTraits[] = {
    "apply_pre_quant_scales",
    "ask_lists_for_joined_names",
    "ask_lists_for_w1_w2_w3",
    "choose_tokenizer_by_model_type",
    "join_indexer_in_floats",
    "join_layers_of_mixed_lists",
    "keep_modules_without_group_in_floats",
    "keep_bytes_under_llama_tokenizer",
    "leave_scales_of_experts_to_kernels",
    "look_up_cache_scales",
    "need_every_indexed_file",
    "pass_over_quantizers_of_qwen3_5",
    "read_gguf",
    "read_mixed_precision",
    "refuse_extra_weights",
    "rename_starts_of_names",
    "run_convolutions_in_floats",
    "run_quantized_embeddings",  // NVFP4 of MIXED_PRECISION
    "run_quantized_heads",
    "state_joins",
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
  std::vector<std::string_view> also;  // profiles whose section counts too
};

struct Profile {
  std::string_view file;  // "vllm-0.32", which names the release
  std::string_view name;  // "vllm" for the newest release of its kind; else the same
  std::string_view kind, help, version, released;  // released: the day
  Program program = Program::kTransformers;
  // Names by which checks rate it: its own, if the file has no others.
  std::vector<std::string_view> rated;
  std::set<std::string_view> traits = {};
  std::map<std::string_view, WordList> lists = {};
  std::string_view like;    // the profile that has what this file does not state
  std::string_view reader;  // the profile of the transformers that it comes with
  std::string_view read;    // the day, where nobody looks for newer releases

  std::string_view title() const;    // "vLLM 0.32"
  std::string_view release() const;  // "0.32"

  bool does(Trait trait) const { return traits.contains(trait.name); }
  // Whether it reads a folder with such an index.
  bool takes(const IndexMisfit& misfit) const;
  bool serves() const { return program != Program::kTransformers; }
  // Runs GGUF files by llama.cpp's own server.
  bool runs_llama_server() const {
    return program == Program::kLlamaCpp || program == Program::kOllama;
  }
  // The release of transformers whose classes it makes.
  const Profile& transformers() const;
  bool has_transformers_4() const { return reader.starts_with("transformers-4."); }
  // Reads the tokenizer's files of a folder with transformers 5.
  bool has_tokenizers_of_5() const {
    const bool is_reader = program == Program::kVllm || program == Program::kSglang ||
                           program == Program::kTransformers;
    return is_reader && !has_transformers_4();
  }
};

// In the order in which lists show them.
std::span<const Profile> profiles();
std::string_view name_of(Program program);

// By its name, or that of its file; null: not known.
const Profile* find_profile(std::string_view name);

// A name stands for a profile; for a release between two, which both answer; or for one that is
// newer than all, for which the newest answers.
struct ProfileMatch {
  std::string name;
  const Profile* profile = nullptr;  // null: not known
  const Profile* older = nullptr;    // next to it, if `profile` is the newer of two
  bool is_newer = false;
};
ProfileMatch match_profile(std::string_view name);
// "needs vLLM 0.33 or later", where the profile of a later release `has` what this one has not; or
// that none has.
std::string release_with(const Profile& profile, bool (*has)(const Profile&, std::string_view),
                         std::string_view word);

// Whether section `list` of the profile's file has `word`. `if_absent`: where it has no such
// section, because the program does not go by these words or they are not known here.
bool has_listed(const Profile& profile, std::string_view list, std::string_view word,
                bool if_absent);

// All words of section `list`; empty if the section does not exist.
std::vector<std::string_view> listed_words(const Profile& profile, std::string_view list);

// The rest after `start` of the name of the first section that has `word`; empty if none has it.
std::string_view section_with(const Profile& profile, std::string_view start,
                              std::string_view word);

// model_type: config.json's. llama.cpp and TensorRT-LLM go by the class; true there.
inline bool knows_model_type(const Profile& profile, std::string_view model_type) {
  return has_listed(profile, "model types", model_type, true);
}
// Whether the program has the class that config.json names in architectures[0]. An adapter counts:
// vLLM makes XForSequenceClassification from XForCausalLM. Always true for transformers, because
// its profile does not list classes.
bool knows_model_class(const Profile& profile, std::string_view name);
// A class of transformers that a server has not, and may run by transformers' code. A class of
// neither program ends the run, whatever model_type says.
inline bool has_fallback_class(const Profile& profile, std::string_view name) {
  return has_listed(profile, "fallback classes", name, false);
}
// Whether the program reads ModelOpt checkpoints with this quant_algo.
inline bool takes_algo(const Profile& profile, std::string_view algo) {
  return has_listed(profile, "modelopt algorithms", algo, false);
}
// Such a model runs by transformers' code.
bool runs_by_fallback(const Profile& profile, std::string_view name);
// tokenizer_class, as 4.57 looks it up: the name with "Fast" behind it, then the name. 5.x reads
// any tokenizer.json with its own class, whatever name is given.
bool knows_tokenizer_class(const Profile& profile, std::string_view name);

}  // namespace ckpt

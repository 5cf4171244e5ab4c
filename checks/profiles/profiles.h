// The models and formats that each program accepts, for the checks, read from data/profiles/;
// private to checks/.
#pragma once

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
// Releases that the checks tell apart.
enum class Rules : uint8_t { kVllm16, kVllm17, kVllm32, kSglang, kTransformers4, kTransformers5 };

// A section of a profile's file.
struct WordList {
  std::set<std::string_view> words, without;
  std::vector<std::string_view> also;  // profiles whose section counts too
};

struct Profile {
  std::string_view name, help;
  Program program = Program::kTransformers;
  Rules rules = Rules::kTransformers5;
  // Names by which checks rate it: its own, if the file has no others.
  std::vector<std::string_view> rated;
  std::string algos;  // quant_algo values of ModelOpt that it takes, between spaces
  std::map<std::string_view, WordList> lists = {};
  uint32_t order = 0;  // in lists of profiles

  // Of GGUF, what these make of an architecture and of types is known; the rest is not.
  bool reads_gguf() const { return program != Program::kTensorrt && rules != Rules::kVllm32; }
  // Whether it reads a folder with such an index.
  bool takes(const IndexMisfit& misfit) const;
  bool serves() const { return program != Program::kTransformers; }
  // Runs GGUF files by llama.cpp's own server.
  bool runs_llama_server() const {
    return program == Program::kLlamaCpp || program == Program::kOllama;
  }
  bool reads_old_tokenizers_alone() const {
    return rules == Rules::kVllm16 || rules == Rules::kVllm17 || rules == Rules::kTransformers4;
  }
  // Reads the tokenizer's files of a folder with transformers 5.
  bool has_tokenizers_of_5() const {
    const bool is_reader = program == Program::kVllm || program == Program::kSglang ||
                           program == Program::kTransformers;
    return is_reader && !reads_old_tokenizers_alone();
  }
};

// In the order in which lists show them.
std::span<const Profile> profiles();
const Profile* find_profile(std::string_view name);

// Whether section `list` of the profile's file has `word`. `if_absent`: where it has no such
// section, because the program does not go by these words or they are not known here.
bool has_listed(const Profile& profile, std::string_view list, std::string_view word,
                bool if_absent);

// All words of section `list`; none if there is no such section.
std::vector<std::string_view> listed_words(const Profile& profile, std::string_view list);

// The rest after `start` of the name of the first section that has `word`; empty if none has it.
std::string_view section_with(const Profile& profile, std::string_view start,
                              std::string_view word);

// model_type: config.json's. llama.cpp and TensorRT-LLM go by the class; true there.
inline bool knows_model_type(const Profile& profile, std::string_view model_type) {
  return has_listed(profile, "model types", model_type, true);
}
// architectures[0], also where an adapter makes it of a class with another ending: a model that
// gives embeddings or scores of one that generates. True where the list is not known here
// (transformers).
bool knows_model_class(const Profile& profile, std::string_view name);
// A class of transformers that a server has not, and may run by transformers' code. A class of
// neither program ends the run, whatever model_type says.
inline bool has_fallback_class(const Profile& profile, std::string_view name) {
  return has_listed(profile, "fallback classes", name, false);
}
// Such a model runs by transformers' code.
bool runs_by_fallback(const Profile& profile, std::string_view name);
// tokenizer_class, as 4.57 looks it up: the name with "Fast" behind it, then the name. 5.x reads
// any tokenizer.json with its own class, whatever name is given.
bool knows_tokenizer_class(const Profile& profile, std::string_view name);

}  // namespace ckpt

// What each program knows and takes: the facts that the checks ask for; private to checks/.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace ckpt {

enum class Program : uint8_t { kVllm, kSglang, kTensorrt, kLlamaCpp, kTransformers };
// Whose names of model types, tokenizer classes and model classes a program goes by.
enum class Names : uint8_t { kVllm16, kVllm17, kVllm32, kSglang, kTransformers4, kTransformers5 };

struct Profile {
  std::string_view name, help;
  Program program;
  Names names;
  // quant_algo values of ModelOpt that it takes, between spaces.
  std::string_view algos;

  // Of GGUF, what these make of an architecture and of types is known; the rest is not.
  bool reads_gguf() const { return program != Program::kTensorrt && names != Names::kVllm32; }
  // Of an index, takes the names of the files alone. Source: vLLM 0.17.1
  // vllm/model_executor/model_loader/weight_utils.py (filter_duplicate_safetensors_files).
  bool takes_files_alone() const { return program == Program::kVllm; }
  bool serves() const { return program != Program::kTransformers; }
  bool reads_old_tokenizers_alone() const {
    return names == Names::kVllm16 || names == Names::kVllm17 || names == Names::kTransformers4;
  }
};

inline constexpr size_t kProfileCount = 8;
std::span<const Profile, kProfileCount> profiles();
const Profile* find_profile(std::string_view name);

// model_type: config.json's. llama.cpp and TensorRT-LLM go by the class; true there.
bool knows_model_type(const Profile& profile, std::string_view model_type);
// architectures[0]. True where the list is not known here (transformers).
bool knows_model_class(const Profile& profile, std::string_view name);
// A class of transformers that vLLM or SGLang has not, and may run by transformers' code.
bool has_fallback_class(const Profile& profile, std::string_view name);
// Such a model runs by transformers' code.
bool runs_by_fallback(const Profile& profile, std::string_view name);
// tokenizer_class, as 4.57 looks it up: the name with "Fast" behind it, then the name.
bool knows_tokenizer_class(const Profile& profile, std::string_view name);

}  // namespace ckpt

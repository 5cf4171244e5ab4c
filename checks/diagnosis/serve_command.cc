// Makes the command line that serves a folder, with the options that its files require.
//
// Sources: vLLM docs/cli/serve; SGLang docs/advanced_features/server_arguments; llama.cpp
// tools/server/README.md; TensorRT-LLM docs/source/commands/trtllm-serve; Ollama
// docs/modelfile.mdx.
#include <cctype>

#include "checks/subject/subject.h"

namespace ckpt {
namespace {

bool has_reasoning(const Subject& on) {
  const Document* file = on.checkpoint.find_document("chat_template.jinja");
  return file != nullptr && file->text().find("<think>") != std::string::npos;
}

std::string_view option_of_code(const Subject& on, const Profile& profile) {
  const bool is_needed = needs_own_code(on, profile, "config.json") ||
                         needs_own_code(on, profile, "tokenizer_config.json") ||
                         has_tokens_by_own_code(on, profile);
  return is_needed ? " --trust-remote-code" : "";
}

std::string vllm_command(const Subject& on, const Profile& profile, const std::string& path) {
  std::string out = fmt::format("vllm serve {}{}", path, option_of_code(on, profile));
  if (known(on.config, "vision_config") != nullptr && !on.has_vision_tensors()) {
    out += " --language-model-only";
  }
  if (has_reasoning(on)) out += " --reasoning-parser qwen3";
  const std::string_view parser = tool_parser(on);
  if (!parser.empty())
    out += fmt::format(" --enable-auto-tool-choice --tool-call-parser {}", parser);
  return out;
}

std::string sglang_command(const Subject& on, const Profile& profile, const std::string& path) {
  std::string out = fmt::format("python -m sglang.launch_server --model-path {}{}", path,
                                option_of_code(on, profile));
  const Quantization* declared = on.quantization();
  if (declared != nullptr && declared->algo == "NVFP4") out += " --quantization modelopt_fp4";
  if (declared != nullptr && declared->algo == "FP8") out += " --quantization modelopt_fp8";
  if (has_reasoning(on)) out += " --reasoning-parser qwen3";
  const std::string_view parser = tool_parser(on);
  if (parser.empty()) return out;
  return out +
         (parser == "hermes" ? " --tool-call-parser qwen" : " --tool-call-parser qwen3_coder");
}

// The option without which llama.cpp's server answers with texts alone.
std::string_view option_of_answer(const Checkpoint& checkpoint) {
  switch (gguf_answer(checkpoint.metadata)) {
    case GgufAnswer::kTexts: return "";
    case GgufAnswer::kEmbeddings: return " --embeddings";
    case GgufAnswer::kScores: return " --reranking";
  }
  return "";
}

// The commands for Ollama, with one name for the model and its Modelfile.
std::string ollama_command(const Checkpoint& checkpoint, const std::string& path,
                           const std::string& projector) {
  std::string name = checkpoint.name;
  for (char& c : name) {
    const bool is_word = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (!is_word && c != '-' && c != '.' && c != '_') c = '-';
  }
  const bool is_chatting = gguf_answer(checkpoint.metadata) == GgufAnswer::kTexts;
  return fmt::format(
      "printf 'FROM %s\\n' {}{}{} > {}.Modelfile && ollama create {} -f {}.Modelfile{}",
      checkpoint.is_projector() ? "MODEL.gguf " : "", path,
      projector.empty() ? projector : " " + projector, name, name, name,
      is_chatting ? " && ollama run " + name : "");
}

}  // namespace

GgufAnswer gguf_answer(const Metadata& metadata) {
  constexpr uint64_t kNone = 0, kRank = 4;  // llama_pooling_type
  const std::string name(metadata.architecture());
  const uint64_t pooling = metadata.find_unsigned(name + ".pooling_type").value_or(kNone);
  if (pooling == kRank) return GgufAnswer::kScores;
  const MetaValue* const causal = metadata.find(name + ".attention.causal");
  const bool is_encoder = causal != nullptr && *causal == MetaValue::boolean(false);
  return is_encoder || pooling != kNone ? GgufAnswer::kEmbeddings : GgufAnswer::kTexts;
}

std::string serve_command(std::string_view name, const Checkpoint& checkpoint,
                          const std::string& path, const std::string& projector) {
  const Profile* profile = match_profile(name).profile;
  if (profile == nullptr) return {};
  // llama.cpp's server serves GGUF files and nothing else.
  if (profile->runs_llama_server() != (checkpoint.format == "gguf")) return {};
  const Subject on(checkpoint);
  switch (profile->program) {
    case Program::kVllm: return vllm_command(on, *profile, path);
    case Program::kSglang: return sglang_command(on, *profile, path);
    case Program::kTensorrt: return fmt::format("trtllm-serve {}", path);
    case Program::kLlamaCpp:
      return fmt::format("llama-server -m {}{}{}{}",
                         checkpoint.is_projector() ? "MODEL.gguf --mmproj " : "", path,
                         projector.empty() ? projector : " --mmproj " + projector,
                         option_of_answer(checkpoint));
    case Program::kOllama:
      return is_split(checkpoint) ? std::string() : ollama_command(checkpoint, path, projector);
    case Program::kTransformers: return {};
  }
  return {};
}

}  // namespace ckpt

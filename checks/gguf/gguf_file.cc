// Checks a GGUF file against what llama.cpp v0.5.0 requires before the first token. Programs that
// run its server ("llama-server" in ratings) require the same.
//
// G08 covers the other programs: vLLM vllm/model_executor/model_loader/gguf_loader.py and
// layers/quantization/gguf.py of 0.17.1 (since 0.24 in the package vllm-gguf-plugin);
// SGLang python/sglang/srt/layers/quantization/gguf.py; transformers
// src/transformers/integrations/ggml.py of 4.57.6 and 5.19.0. TensorRT-LLM's loaders
// (tensorrt_llm/_torch/models/checkpoints) only read Hugging Face and Mistral folders.
// Sources: llama.cpp src/llama-arch.cpp (LLM_ARCH_NAMES), src/llama-vocab.cpp (models and
// pre-tokenizers, arrays of tokens), src/llama-model.cpp (required keys; the generic pass over
// ".scale" tensors, which multiply any weight that they belong to). NVFP4 weights without a
// ".scale" are sound, as llama-quantize writes them; a file in which only some have one has lost
// the others.
#include <algorithm>
#include <ranges>

#include "checks/gguf/gguf_rules.h"
#include "checks/subject/subject.h"
#include "core/base/words.h"
#include "core/model/tensor_names.h"

namespace ckpt {
namespace {

constexpr std::string_view kTokenizerModels =
    " no_vocab none llama bert gpt2 hybriddna whitespace t5 rwkv plamo2 gemma4 test ";
// Tokenizer models that split text by merges.
constexpr std::string_view kMergingModels = " gpt2 hybriddna whitespace gemma4 ";
// Tokenizer models with special rules, which no architecture with a table uses.
constexpr std::string_view kOtherTokenizers = " rwkv plamo2 test ";
constexpr uint64_t kMaxBlocks = 512;

bool is_known(const CheckContext& context, std::string_view list, std::string_view word) {
  return has_listed(context.profile, list, word, false);
}

const Metadata& keys(const CheckContext& context) { return context.on.checkpoint.metadata; }

std::string architecture(const CheckContext& context) {
  return std::string(keys(context).architecture());
}

// Whether the file is a language model: llama.cpp reads a projector ("clip") with other code, as
// Ollama does with a file that includes one.
bool is_asked(const CheckContext& context) {
  return context.on.is_gguf && architecture(context) != "clip" &&
         patched_by(context.on, context.profile) == nullptr;
}

// The number of elements of an array; nullopt if the key is absent or not an array.
std::optional<uint64_t> array_count(const CheckContext& context, std::string_view key) {
  const MetaArray* array = keys(context).find_array(key);
  return array == nullptr ? std::nullopt : std::optional(array->count());
}

bool knows_architecture(const Profile& profile, std::string_view name) {
  return has_listed(profile, "gguf architectures", name, false);
}

void check_gguf_architecture(const CheckContext& context) {
  if (!context.on.is_gguf || patched_by(context.on, context.profile) != nullptr) return;
  const std::string name = architecture(context);
  if (name.empty()) {
    context.report("general.architecture", "missing");
  } else if (!knows_architecture(context.profile, name)) {
    CheckFinding found{"general.architecture", fmt::format("'{}'", name)};
    const bool is_later =  // ckpt has it from a release that no profile describes
        std::ranges::any_of(families(), [&](const Family* each) { return each->name == name; });
    if (is_later) found.fix = advised(release_with(context.profile, knows_architecture, name));
    context.out.push_back(std::move(found));
  }
}

// Checks the keys that llama.cpp's tools/mtmd/clip.cpp requires of each tower in a projector.
void check_projector_keys(const CheckContext& context) {
  bool has_tower = false;
  const Metadata& found = keys(context);
  for (const std::string_view tower : {"vision", "audio"}) {
    const MetaValue* has = found.find(fmt::format("clip.has_{}_encoder", tower));
    if (has == nullptr || *has != MetaValue::boolean(true)) continue;
    has_tower = true;
    for (const std::string_view key : {"projection_dim", "embedding_length", "feed_forward_length",
                                       "block_count", "attention.head_count"}) {
      const std::string full = fmt::format("clip.{}.{}", tower, key);
      if (!found.find_unsigned(full)) context.report(full, "missing");
    }
    const std::string type = fmt::format("clip.{}.projector_type", tower);
    const bool has_type =
        found.find_text(type) != nullptr || found.find_text("clip.projector_type") != nullptr;
    if (!has_type) context.report(type, "missing");
  }
  if (!has_tower) context.report("clip.has_vision_encoder", "missing");
}

// ggml uses tensors of a mapped file in place. It aborts if the first one is not at a multiple of
// 32 bytes (ggml-backend.cpp ggml_backend_cpu_buffer_from_ptr).
void check_alignment(const CheckContext& context) {
  constexpr uint64_t kMappedAlignment = 32;
  const auto alignment = keys(context).find_unsigned("general.alignment");
  const std::vector<Tensor>& tensors = context.on.checkpoint.tensors;
  if (!alignment || *alignment >= kMappedAlignment || tensors.empty()) return;
  if (!tensors[0].is_stored() || tensors[0].stored().parts[0].empty()) return;
  const uint64_t offset = tensors[0].stored().parts[0][0].offset_bytes;
  if (offset % kMappedAlignment == 0) return;
  context.tell("general.alignment",
               "{}, and the first tensor is at byte {}; expected a multiple of {}", *alignment,
               offset, kMappedAlignment);
}

void check_keys(const CheckContext& context) {
  if (context.on.is_gguf && context.on.checkpoint.is_projector()) check_projector_keys(context);
  if (!is_asked(context) || !is_known(context, "gguf architectures", architecture(context))) return;
  check_alignment(context);
  for (const std::string_view key : {"embedding_length", "block_count"}) {
    const std::string full = fmt::format("{}.{}", architecture(context), key);
    const auto value = keys(context).find_unsigned(full);
    if (value && (*value == 0 || (key == "block_count" && *value > kMaxBlocks))) {
      context.tell(full, "{}", *value);
    }
  }
  return check_gguf_keys(context, architecture(context));
}

void check_tokenizer(const CheckContext& context) {
  if (!is_asked(context)) return;
  const std::string* model = keys(context).find_text("tokenizer.ggml.model");
  if (model == nullptr || !has_word(kTokenizerModels, *model)) {
    return context.report("tokenizer.ggml.model",
                          model == nullptr ? "missing" : fmt::format("'{}'", *model));
  }
  if (has_word(kGgufNoTokenizer, *model)) return;
  const auto tokens = array_count(context, "tokenizer.ggml.tokens");
  if (!tokens) return context.report("tokenizer.ggml.tokens", "missing");
  const std::string* pre = keys(context).find_text("tokenizer.ggml.pre");
  check_gguf_tokens(context);
  const bool needs_merges =
      has_word(kMergingModels, *model) && (pre == nullptr || *pre != "kimi-k2");
  if (needs_merges && !array_count(context, "tokenizer.ggml.merges")) {
    context.report("tokenizer.ggml.merges", "missing");
  }
  for (const std::string_view key : {"tokenizer.ggml.scores", "tokenizer.ggml.token_type"}) {
    const auto count = array_count(context, key);
    if (count && *count < *tokens) {
      context.tell(std::string(key), "{} for {} tokens", *count, *tokens);
    }
  }
  const Tensor* embedding = context.on.checkpoint.find_embeddings();
  if (embedding != nullptr && embedding->shape.size() == 2 && embedding->shape[0] != *tokens) {
    context.tell("tokenizer.ggml.tokens", "{} tokens; {} has {} rows", *tokens,
                 embedding->name, embedding->shape[0]);
  }
}

void check_pre_tokenizer(const CheckContext& context) {
  if (!is_asked(context)) return;
  const std::string* model = keys(context).find_text("tokenizer.ggml.model");
  if (model == nullptr || *model != "gpt2") return;  // others split text without one
  const std::string* pre = keys(context).find_text("tokenizer.ggml.pre");
  if (pre == nullptr || pre->empty()) {
    context.report("tokenizer.ggml.pre", "missing", Severity::kUnsound,
                   "missing pre-tokenizer type, using: 'default': text is cut otherwise than "
                   "in training");
  } else if (!is_known(context, "gguf pre-tokenizers", *pre)) {
    context.tell("tokenizer.ggml.pre", "'{}'", *pre);
  }
}

void check_vocabulary(const CheckContext& context) {
  if (is_asked(context)) check_gguf_vocabulary(context);
}

void check_special_tokens(const CheckContext& context) {
  if (!is_asked(context)) return;
  const auto tokens = array_count(context, "tokenizer.ggml.tokens");
  if (!tokens) return;
  for (const std::string_view name : {"bos", "eos", "unknown", "padding", "eot", "eom"}) {
    const std::string key = fmt::format("tokenizer.ggml.{}_token_id", name);
    const auto id = keys(context).find_unsigned(key);
    if (id && *id >= *tokens) context.tell(key, "{} of {} tokens", *id, *tokens);
  }
}

void check_blocks(const CheckContext& context) {
  if (!is_asked(context)) return;
  const auto count = keys(context).find_unsigned(architecture(context) + ".block_count");
  const GgufArchitecture* rules = find_gguf_architecture(architecture(context));
  if (rules != nullptr) {
    std::vector<CheckFinding> faults;  // without its keys, shapes are unknown
    check_keys({context.on, context.profile, context.served, faults, context.failed});
    if (faults.empty()) context.failed = check_gguf_tensors(context, *rules);
    return;
  }
  const bool is_listed = is_known(context, "gguf architectures", architecture(context));
  if (!count || *count > kMaxBlocks || !is_listed) return;
  std::vector<bool> has(*count);
  std::string beyond;
  for (const Tensor& tensor : context.on.checkpoint.tensors) {
    const int64_t block = block_of(tensor.name);
    if (block < 0) continue;
    const auto at = static_cast<uint64_t>(block);
    if (at < *count) has[at] = true;
    if (at >= *count && beyond.empty()) beyond = tensor.name;
  }
  // Passes vocabulary files, and encoders that count their blocks under another name.
  if (std::ranges::find(has, true) == has.end()) return;
  const auto missing = std::ranges::find(has, false);
  if (missing != has.end()) {
    context.tell(fmt::format("blk.{}", missing - has.begin()), "no tensor; block_count is {}",
                 *count);
  }
  if (!beyond.empty()) context.tell(beyond, "block_count is {}", *count);
}

bool is_nvfp4(const Tensor& tensor) {
  return tensor.codec->scheme == Scheme::kNvfp4 || plain_dtype(*tensor.codec) == Dtype::kNvfp4;
}

// Whether a row of the architecture's table is this tensor: Gemma 4's router has tensors called
// ".scale" that are not scales of NVFP4.
bool has_row(const GgufArchitecture* rules, std::string_view name) {
  const std::string_view tail = name.substr(std::min(name.size(), name.find('.', 4)));
  if (rules == nullptr) return false;
  return std::ranges::any_of(rules->rows | std::views::join, [&](const GgufRow& row) {
    return row.name.starts_with("blk.{}") && row.name.substr(6) == tail;
  });
}

void check_scales(const CheckContext& context) {
  if (!is_asked(context)) return;
  constexpr std::string_view kScale = ".scale";
  const GgufArchitecture* const rules = find_gguf_architecture(architecture(context));
  Mismatch bare;
  size_t scaled = 0;
  for (const Tensor& tensor : context.on.checkpoint.tensors) {
    if (!is_nvfp4(tensor)) continue;
    const bool has_own = tensor.has_scales();
    const std::string stem = listed_name(tensor.name);
    if (has_own || context.on.tensor(stem + std::string(kScale)) != nullptr) {
      ++scaled;
    } else {
      bare.add(tensor.name);
    }
  }
  if (scaled > 0 && bare.count > 0) {
    context.report(".scale", bare.text(fmt::format("without one; {} weights have theirs", scaled)));
  }
  for (const Tensor& tensor : context.on.checkpoint.tensors) {
    if (!tensor.name.ends_with(kScale) || has_row(rules, tensor.name)) continue;
    const std::string stem = tensor.name.substr(0, tensor.name.size() - kScale.size());
    const Tensor* weight = context.on.tensor(stem + std::string(kWeight));
    if (weight == nullptr) continue;
    const uint64_t wanted = weight->shape.size() == 3 ? weight->shape[0] : 1;
    uint64_t found = 1;
    for (const uint64_t size : tensor.shape) found *= size;
    if (found != wanted) {
      context.report(tensor.name, fmt::format("{} values; expected {}", found, wanted),
                     Severity::kUnloaded, "wrong shape");
    } else if (!is_nvfp4(*weight)) {
      context.tell(tensor.name, "next to a weight in {}", weight->codec->name);
    }
  }
}

// Finds parts that the program cannot read, regardless of names and shapes.
void check_unread_parts(const CheckContext& context) {
  const Profile& profile = context.profile;
  const std::string name = architecture(context);
  if (!has_listed(profile, "gguf architectures", name, true)) {
    return context.report(
        "general.architecture",
        fmt::format("'{}', which {} does not read from GGUF", name, profile.help), {},
        fmt::format("GGUF model with architecture {} is not supported yet", name));
  }
  for (const Tensor& tensor : context.on.checkpoint.tensors) {
    const std::string_view type = tensor.codec->name;
    if (has_listed(profile, "gguf types", type, true)) continue;
    return context.report(tensor.name,
                          fmt::format("in {}, for which {} has no kernel", type, profile.help), {},
                          "Unsupported GGUF quantization type");
  }
}

void check_other_programs(const CheckContext& context) {
  if (!context.on.is_gguf) return;
  if (context.does("read_gguf")) return check_unread_parts(context);
  std::optional<Fix> fix;
  if (context.is(Program::kVllm)) {
    fix = advised(
        "serve it with llama.cpp, or convert the model's folder for this program; vLLM's own GGUF "
        "loader is the package vllm-gguf-plugin since 0.24, of which nothing is checked here");
  }
  context.report("GGUF", "a format that this program does not read", {}, {}, std::move(fix));
}

constexpr Check kGgufChecks[] = {
    {"G01", "llama.cpp knows the architecture of a GGUF", "U: llama-server",
     "unknown model architecture", "ckpt convert FOLDER OUT; or a newer llama.cpp",
     check_gguf_architecture},
    {"G02", "a GGUF has its keys, of their types", "U: llama-server", "key not found in model",
     "ckpt convert FOLDER OUT", check_keys},
    {"G03", "a GGUF holds its tokenizer", "U: llama-server", "cannot find tokenizer in model file",
     "ckpt convert FOLDER OUT", check_tokenizer},
    {"G04", "the pre-tokenizer of a GGUF is known", "U: llama-server", "unknown pre-tokenizer type",
     "ckpt convert FOLDER OUT; or with --tokenizer-pre NAME, when it is known by another name",
     check_pre_tokenizer},
    {"G05", "special tokens of a GGUF are tokens", "W: llama-server", "special token ignored",
     "ckpt convert FOLDER OUT", check_special_tokens},
    {"G06", "tensors of a GGUF are those of its architecture", "U: llama-server", "missing tensor",
     "ckpt convert FOLDER OUT", check_blocks},
    {"G07", "scales of a GGUF belong to NVFP4 weights, all or none", "S: llama-server",
     "wrong answers: weights are off by a factor", "ckpt convert FOLDER OUT", check_scales},
    {"G12", "the tokens of a GGUF are of the kind that it names", "S: llama-server",
     "other token ids than in training",
     "ckpt convert FOLDER OUT; or --step tokenizer:from=DIR, with the source's tokenizer",
     check_vocabulary},
    {"G08", "the program reads GGUF files of this kind",
     "U: vllm* sglang tensorrt-llm transformers*", "",
     "serve it with llama.cpp, or convert the model's folder for this program",
     check_other_programs},
};

}  // namespace

std::string gguf_not_checked(const Subject& on, const Profile& profile) {
  const std::string* name = on.checkpoint.metadata.find_text("general.architecture");
  if (name == nullptr) return {};
  if (const Tensor* tensor = patched_by(on, profile); tensor != nullptr) {
    return fmt::format("everything: '{}' in a language model is read by changes to llama.cpp that "
                       "are not known here",
                       tensor->name);
  }
  if (find_gguf_architecture(*name) == nullptr) {
    return fmt::format("the weights: no list of the tensors and keys of the architecture '{}'",
                       *name);
  }
  const std::string* model = on.checkpoint.metadata.find_text("tokenizer.ggml.model");
  if (model == nullptr || !has_word(kOtherTokenizers, *model)) return {};
  return fmt::format("the tokenizer: what the model '{}' asks of its tokens is not known", *model);
}

std::span<const Check> gguf_checks() { return kGgufChecks; }

}  // namespace ckpt

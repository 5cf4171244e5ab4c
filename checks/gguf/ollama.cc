// Checks for Ollama beyond those of llama.cpp's server, which it runs since 0.30: how `ollama
// create` handles a file or folder.
//
// Sources: ollama/ollama v0.32.15 server/create.go (rewriting, splits, tensors that are kept),
// convert/reader_safetensors.go (types), server/images.go (chat templates).
#include <algorithm>

#include "checks/subject/subject.h"
#include "core/base/words.h"
#include "core/model/tensor_names.h"

namespace ckpt {
namespace {

// Whether the tensor is of a tower, projector or draft model, which elsewhere has a separate file.
bool is_embedded(const Tensor& tensor) {
  return std::ranges::any_of(
      std::initializer_list<std::string_view>{"a.", "mm.", "mtp.", "s.", "v."},
      [&](std::string_view front) { return tensor.name.starts_with(front); });
}

bool is_converted(const Tensor& tensor, const CheckContext& context) {
  switch (tensor.codec->scheme) {
    case Scheme::kPlain: break;
    case Scheme::kFp8Block: return true;
    case Scheme::kMxfp4: return has_listed(context.profile, "mxfp4", context.on.model_type, false);
    default: return false;
  }
  const auto type = plain_dtype(*tensor.codec);
  return type == Dtype::kF32 || type == Dtype::kF16 || type == Dtype::kBF16 || type == Dtype::kU8;
}

void check_converted_types(const CheckContext& context) {
  if (context.on.is_gguf) return;
  Mismatch found;
  std::string_view type;
  bool is_fp8 = false;
  for (const Tensor& tensor : context.on.checkpoint.tensors) {
    if (is_converted(tensor, context)) continue;
    if (found.count == 0) type = tensor.codec->name;
    found.add(tensor.name);
    is_fp8 |= std::ranges::any_of(tensor.codec->parts,
                                  [](const auto& part) { return part.dtype == Dtype::kF8E4M3; });
  }
  if (found.count == 0) return;
  context.report(
      found.first,
      found.text_at_first(fmt::format("in {}, which `ollama create` does not convert", type)), {},
      is_fp8 ? "missing fp8 block size metadata for tensor" : "unknown data type",
      gguf_instead(context.on));
}

// Skipped if one of Ollama's programs replaces the template, or the model does not chat.
void check_ollama_template(const CheckContext& context) {
  const Metadata& metadata = context.on.checkpoint.metadata;
  const std::string_view architecture = metadata.architecture();
  const bool chats = context.on.is_gguf && architecture != "clip" &&
                     gguf_answer(metadata) == GgufAnswer::kTexts;
  if (!chats || !ollama_family(architecture).renderer.empty()) return;
  const std::string* text = metadata.find_text("tokenizer.chat_template");
  if (text == nullptr || text->empty()) {
    return context.report("tokenizer.chat_template", "missing", Severity::kWarning,
                          "prompts are sent as they are typed",
                          advised("TEMPLATE in the Modelfile, in Go's syntax"));
  }
  context.report("tokenizer.chat_template", "in Jinja, which Ollama before 0.30 does not read");
}

// Whether the file has the form that llama-quantize writes, so that Ollama copies it unchanged.
bool is_as_quantized(const Checkpoint& checkpoint) {
  const std::vector<MetaEntry>& keys = checkpoint.metadata.entries;
  const size_t count = keys.size();
  const bool has_end = count >= 2 && keys[count - 1].key == "general.file_type" &&
                       keys[count - 2].key == "general.quantization_version";
  const auto after = [](const Tensor& a, const Tensor& b) {
    return quantized_order(b.name, a.name);
  };
  const std::vector<Tensor>& tensors = checkpoint.tensors;
  return has_end && std::ranges::none_of(tensors, &Tensor::has_scales) &&
         std::ranges::adjacent_find(tensors, after) == tensors.end();
}

void check_same_bytes(const CheckContext& context) {
  const Checkpoint& checkpoint = context.on.checkpoint;
  const bool is_copied = context.on.is_gguf && checkpoint.metadata.architecture() != "clip" &&
                         !is_split(checkpoint) &&
                         std::ranges::none_of(checkpoint.tensors, is_embedded);
  if (!is_copied || is_as_quantized(checkpoint)) return;
  context.report("the file",
                 "its tensors or keys are not in the order of llama-quantize, which "
                 "`ollama create` writes");
}

void check_split(const CheckContext& context) {
  if (!context.on.is_gguf || !is_split(context.on.checkpoint)) return;
  context.report("the file",
                 "split; a Modelfile must name the folder, or each file in a FROM line");
}

constexpr Check kOllamaChecks[] = {
    {"Q36", "the program converts weights of these types", "U: ollama", "", "",
     check_converted_types},
    {"G09", "the chat template of a GGUF is used", "I: ollama",
     "before 0.30 prompts are sent without the chat format",
     "REQUIRES 0.30.0 in the Modelfile; for older releases TEMPLATE too, in Go's syntax",
     check_ollama_template},
    {"G10", "`ollama create` keeps the bytes of a GGUF", "I: ollama",
     "the model in Ollama has another SHA-256 than the file",
     "of the folder that holds it: ckpt publish DIR --to ollama:NAME", check_same_bytes},
    {"G11", "a GGUF is one file", "W: ollama", "split GGUF has 1 shards, expected more",
     "ckpt convert IN OUT", check_split},
};

}  // namespace

bool is_split(const Checkpoint& checkpoint) {
  return std::ranges::any_of(checkpoint.tensors, [&](const Tensor& tensor) {
    return tensor.home != checkpoint.tensors.front().home;
  });
}

const Tensor* patched_by(const Subject& on, const Profile& profile) {
  if (profile.program != Program::kOllama || on.checkpoint.metadata.architecture() == "clip")
    return nullptr;
  const auto found = std::ranges::find_if(on.checkpoint.tensors, is_embedded);
  return found == on.checkpoint.tensors.end() ? nullptr : &*found;
}

std::span<const Check> ollama_checks() { return kOllamaChecks; }

}  // namespace ckpt

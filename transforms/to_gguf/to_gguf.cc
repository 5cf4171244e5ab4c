// to-gguf: a Hugging Face checkpoint becomes the GGUF checkpoint that llama.cpp's
// convert_hf_to_gguf.py writes for it.
//
// Outtype=auto takes F32 checkpoints as F32, where that converter rounds them to F16; everything
// else is the same byte for byte (docs/formats/hf_to_gguf.md).
#include "transforms/to_gguf/to_gguf.h"

#include <algorithm>

#include "transforms/modelopt_export/qat_quantizers.h"
#include "transforms/steps.h"
#include "transforms/to_gguf/general/general.h"
#include "transforms/to_gguf/tokenizer/tokenizer.h"

namespace ckpt {
namespace {

constexpr OptionRule kToGgufOptions[] = {
    {"outtype", "auto|f32|f16|bf16|q8_0",
     "type of the matrices; auto: that of the source (norms and small tensors are F32)"},
    {"mtp", "yes|no", "keep the layers for multi-token prediction (default yes)"},
    {"tokenizer-pre", "NAME", "name of the pre-tokenizer, when it is not recognized"},
    {"model-name", "NAME", "general.name (default: from the model card or the folder's name)"},
};

struct OutTypeRow {
  std::string_view name;
  OutType type;
  uint64_t file_type;
};
constexpr OutTypeRow kOutTypes[] = {{"f32", OutType::kF32, 0},
                                    {"f16", OutType::kF16, 1},
                                    {"bf16", OutType::kBF16, 32},
                                    {"q8_0", OutType::kQ8_0, 7}};

const OutTypeRow& row_of(OutType type) {
  for (const OutTypeRow& row : kOutTypes) {
    if (row.type == type) return row;
  }
  CKPT_CHECK(false);
}

Result<OutType> choose_out_type(const Options& options, const std::vector<NamedTensor>& tensors) {
  const std::string wanted = options.get("outtype").value_or("auto");
  if (wanted == "auto") return guess_out_type(tensors);
  for (const OutTypeRow& row : kOutTypes) {
    if (row.name == wanted) return row.type;
  }
  return fail(ErrorCode::kUsage, "to-gguf: outtype '{}'; expected auto, f32, f16, bf16 or q8_0",
              wanted);
}

Result<bool> keeps_mtp(const Options& options) {
  const std::string wanted = options.get("mtp").value_or("yes");
  if (wanted == "yes" || wanted == "no") return wanted == "yes";
  return fail(ErrorCode::kUsage, "to-gguf: mtp '{}'; expected yes or no", wanted);
}

// Tokens beyond the rows of the embedding could never be looked up.
Status check_vocabulary(const Metadata& metadata, const std::vector<Tensor>& tensors,
                        uint64_t multiple, const Context& context) {
  const MetaValue* tokens = metadata.find("tokenizer.ggml.tokens");
  if (tokens == nullptr) return {};
  const uint64_t count = std::get<MetaArray>(tokens->value).count();
  for (const Tensor& tensor : tensors) {
    if (tensor.name != "token_embd.weight" || tensor.rows() == count) continue;
    if (count < tensor.rows()) {
      context.note(
          fmt::format("vocab_size is {}, but the embedding has {} rows; llama.cpp will not "
                      "load such a file",
                      count, tensor.rows()));
      continue;
    }
    if (count - tensor.rows() < multiple) continue;  // filled up, as the converter does
    return fail_with_hint(ErrorCode::kCorrupt,
                          "a tokenizer that belongs to these weights, with --tokenizer DIR",
                          "the vocabulary has {} tokens; the embedding '{}' has {} rows", count,
                          tensor.source_name, tensor.rows());
  }
  return {};
}

Result<Metadata> make_metadata(const Checkpoint& input, const Model& model,
                               const std::vector<Tensor>& tensors, const Options& options,
                               const Context& context) {
  Metadata out;
  out.append("general.architecture", MetaValue::text(std::string(model.family->name)));
  CKPT_TRY(add_early_keys(input, model, out));
  out.append("general.type", MetaValue::text("model"));
  CKPT_TRY(add_general_keys(input, tensors, options.get("model-name"), context, out));
  CKPT_TRY(add_model_keys(input, model, out));
  out.append("general.quantization_version", MetaValue::u32(2));
  TokenizerOptions tokenizer;
  tokenizer.vocab_size = model.field("vocab_size") == nullptr ? std::optional<uint64_t>()
                                                              : whole(*model.field("vocab_size"));
  tokenizer.pre_name = options.get("tokenizer-pre");
  const uint64_t multiple = model.family->vocabulary_multiple;
  if (tokenizer.vocab_size && *tokenizer.vocab_size <= UINT32_MAX) {
    *tokenizer.vocab_size = (*tokenizer.vocab_size + multiple - 1) / multiple * multiple;
  }
  tokenizer.rules = model.family->tokenizer;
  CKPT_TRY(add_tokenizer_keys(input, tokenizer, context, out));
  return out;
}

void note_towers(const std::vector<std::string>& towers, const Context& context) {
  if (towers.empty()) return;
  const bool all_see = std::all_of(towers.begin(), towers.end(), [](const std::string& name) {
    return name.find("visual.") != name.npos || name.find("vision") != name.npos;
  });
  context.note(fmt::format(
      "{} tensors of {} are left out (the first: '{}'); llama.cpp reads them from a second file, "
      "which its convert_hf_to_gguf.py --mmproj writes",
      towers.size(), all_see ? "the vision tower" : "vision and other towers", towers[0]));
}

Result<Checkpoint> to_gguf(Checkpoint input, const Options& options, const Context& context) {
  if (input.format == "gguf") {
    return fail(ErrorCode::kUsage, "to-gguf: the checkpoint is GGUF already");
  }
  CKPT_ASSIGN(const bool keep_mtp, keeps_mtp(options));
  CKPT_TRY(drop_quantizers(input, GlobList(std::vector<std::string>()), context));
  CKPT_ASSIGN(Model model, read_model(input));
  input.tensors = join_mxfp4(std::move(input.tensors), context.codecs);
  CKPT_ASSIGN(input.tensors, join_packed_int4(std::move(input.tensors), context.codecs));
  CKPT_ASSIGN(std::vector<NamedTensor> selected,
              select_tensors(input, keep_mtp, model, context.codecs));
  note_towers(model.towers, context);
  if (model.left_out != 0) {
    context.note(
        fmt::format("{} tensors of layers for multi-token prediction are left out: "
                    "llama.cpp has no use for them in this family",
                    model.left_out));
  }
  CKPT_TRY(check_shapes(selected, model));
  CKPT_ASSIGN(model.out_type, choose_out_type(options, selected));
  Checkpoint out;
  out.format = "gguf";
  out.name = input.name;
  CKPT_ASSIGN(out.tensors, make_gguf_tensors(std::move(selected), model, context.codecs));
  CKPT_ASSIGN(out.metadata, make_metadata(input, model, out.tensors, options, context));
  CKPT_TRY(check_vocabulary(out.metadata, out.tensors, model.family->vocabulary_multiple, context));
  return out;
}

}  // namespace

uint64_t file_type(const Model& model) {
  constexpr uint64_t kNvfp4 = 39;
  constexpr uint64_t kMxfp4Moe = 38;
  const bool is_plain = model.out_type != OutType::kQ8_0;
  if (is_plain && model.is_nvfp4) return kNvfp4;
  if (is_plain && model.is_mxfp4) return kMxfp4Moe;
  return row_of(model.out_type).file_type;
}
std::string_view codec_name(OutType type) { return row_of(type).name; }

const Transform kToGguf = {
    .name = "to-gguf",
    .help = "Hugging Face checkpoint to GGUF, as llama.cpp's converter writes it",
    .options = kToGgufOptions,
    .apply = to_gguf,
};

}  // namespace ckpt

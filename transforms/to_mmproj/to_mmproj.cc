// to-mmproj: turns the towers of a Hugging Face checkpoint into the projector that llama.cpp's
// convert_hf_to_gguf.py --mmproj writes for it, the second file of a vision or audio model.
//
//   config.json, preprocessor_config.json ─▶ ProjectorModel ─┬─▶ tensors    tensors.h
//                                                            ├─▶ general.*  to_gguf/general
//                                                            └─▶ clip.*     keys.h
//
// For F32 checkpoints, outtype=auto keeps F32 where that converter rounds to F16; colors of the
// preprocessor are F32 even where it writes integers; all else is equal byte for byte. Unlike the
// converter, this compares layers and sizes with the configuration.
#include "core/model/transform.h"
#include "transforms/facts/like.h"
#include "transforms/facts/qat_quantizers.h"
#include "transforms/to_gguf/general/general.h"
#include "transforms/to_gguf/model.h"
#include "transforms/to_mmproj/families/families.h"
#include "transforms/to_mmproj/projector.h"

namespace ckpt {
namespace {

constexpr OptionRule kToMmprojOptions[] = {
    option::choice("mmproj-type", kOutTypeNames,
                   "type of the projector's matrices; auto: that of the source (norms, position "
                   "and patch embeddings are F32)")
        .by_default("auto"),
    kLikeRule,
    option::text("model-name", "NAME",
                 "general.name, instead of that of the model card or the folder"),
};

Result<Checkpoint> to_mmproj(Checkpoint input, const OptionValues& options,
                             const Context& context) {
  if (input.format == "gguf") {
    return misuse_hint("the Hugging Face folder that the GGUF was made from",
                       "to-mmproj: the checkpoint is GGUF already; it holds no towers");
  }
  CKPT_TRY(drop_quantizers(input, GlobList(std::vector<std::string>()), context));
  const auto like = options.find("like");
  if (like) CKPT_TRY(make_like(input, *like));
  CKPT_ASSIGN(ProjectorModel model, read_projector_model(input));
  if (like) {
    context.note("--like {}: llama.cpp computes the towers as {}", *like, model.family->name);
  }
  const int wanted = options.choice<int>("mmproj-type");
  Checkpoint out;
  out.format = "gguf";
  out.name = input.name;
  CKPT_ASSIGN(
      out.tensors,
      make_projector_tensors(
          input, wanted == kSourceType ? std::nullopt : std::optional(static_cast<OutType>(wanted)),
          model, context.codecs));
  out.metadata.append("general.architecture", MetaValue::text("clip"));
  out.metadata.append("general.type", MetaValue::text("mmproj"));
  CKPT_TRY(add_general_keys(input, out.tensors, options.find("model-name"), context, out.metadata));
  CKPT_TRY(add_projector_keys(model, out.metadata));
  out.metadata.append("general.quantization_version", MetaValue::u32(2));
  return out;
}

}  // namespace

extern const Transform kToMmproj = {
    .name = "to-mmproj",
    .help =
        "the towers of a Hugging Face checkpoint to a projector (mmproj), as llama.cpp's "
        "converter writes it",
    .options = kToMmprojOptions,
    .run = to_mmproj,
};

}  // namespace ckpt

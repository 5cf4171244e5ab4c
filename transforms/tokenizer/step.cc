// The step's options, and which of the three jobs they ask for.
#include "transforms/steps.h"
#include "transforms/tokenizer/parts.h"

namespace ckpt {
namespace {

constexpr OptionRule kTokenizerOptions[] = {
    {"for", "transformers-4.57", "make what transformers 5 wrote readable for 4.57 too"},
    {"from", "DIR", "take the tokenizer of DIR, where it is proven to be the same"},
    {"accept", "ids|rules|special", "take one of DIR although it differs in this", true},
    {"chat-template", "own|donor", "which chat template stays where DIR has another; own"},
    {"class", "NAME", "with for: the class to name; chosen by the model's family when absent"},
    {"slow", "yes|no", "with for: write vocab.json and merges.txt too; no"},
    {"pre", "NAME", "for GGUF: llama.cpp's name of DIR's pre-tokenizer; found when absent"},
};

Result<Checkpoint> apply_tokenizer(Checkpoint checkpoint, const Options& options,
                                   const Context& context) {
  const bool fixes = options.get("for").has_value();
  const bool takes = options.get("from").has_value();
  if (!fixes && !takes) {
    return fail_with_hint(ErrorCode::kUsage, "--step tokenizer:for=transformers-4.57",
                          "neither for nor from; expected one of them");
  }
  if (checkpoint.format == "gguf") {
    if (fixes) {
      return fail_with_hint(ErrorCode::kUsage, "--step tokenizer:from=DIR",
                            "for={} on GGUF, which has no files for transformers",
                            *options.get("for"));
    }
    CKPT_TRY(take_tokenizer_into_gguf(checkpoint, options, context));
    return checkpoint;
  }
  if (takes) CKPT_TRY(take_tokenizer_from(checkpoint, options, context));
  if (fixes) CKPT_TRY(fix_tokenizer(checkpoint, options, context));
  return checkpoint;
}

}  // namespace

constinit const Transform kTokenizer = {
    "tokenizer", "mend the tokenizer's files for older readers, or take them from another folder",
    kTokenizerOptions, apply_tokenizer, Touches::kDocuments};

}  // namespace ckpt

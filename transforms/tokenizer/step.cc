// The options of the step, and the choice between its three jobs.
#include "core/model/transform.h"
#include "transforms/to_gguf/tokenizer/pre.h"
#include "transforms/tokenizer/compare.h"
#include "transforms/tokenizer/jobs.h"

namespace ckpt {
namespace {

constexpr Choice kReaders[] = {{"transformers-4.57", 0}};
constexpr Choice kTemplates[] = {{"own", false}, {"donor", true}};
constexpr OptionRule kTokenizerOptions[] = {
    option::choice("for", kReaders, "make what transformers 5 wrote readable for 4.57 too"),
    option::path("from", "DIR", "take the tokenizer of DIR, where it is proven to be the same"),
    option::choice("accept", kTokenizerAreas, "accept a tokenizer that differs in this area")
        .repeated()
        .only_with("from"),
    option::choice("chat-template", kTemplates, "which chat template stays where DIR has another")
        .by_default("own")
        .only_with("from"),
    option::text("class", "NAME",
                 "with for: the class to name; chosen by the model's family when absent")
        .only_with("for"),
    option::yes_no("slow", "with for: write vocab.json and merges.txt too").only_with("for"),
    option::choice("pre", {},
                   "for GGUF: llama.cpp's name of DIR's pre-tokenizer; found when absent")
        .called("NAME")
        .or_word(kPreTokenizerNames, pre_tokenizer_names)
        .only_with("from"),
};

Result<Checkpoint> apply_tokenizer(Checkpoint checkpoint, const OptionValues& options,
                                   const Context& context) {
  const bool fixes = options.has("for");
  const bool takes = options.has("from");
  if (!fixes && !takes) {
    return misuse_hint("--step tokenizer:for=transformers-4.57",
                       "neither for nor from; expected one of them");
  }
  if (checkpoint.format == "gguf") {
    if (fixes) {
      return misuse_hint("--step tokenizer:from=DIR",
                         "for={} on GGUF, which has no files for transformers",
                         options.text("for"));
    }
    CKPT_TRY(take_tokenizer_into_gguf(checkpoint, options, context));
    return checkpoint;
  }
  if (options.has("pre")) {
    return misuse_hint("the same step without it", "pre has no effect: IN is not a GGUF");
  }
  if (takes) CKPT_TRY(take_tokenizer_from(checkpoint, options, context));
  if (fixes) CKPT_TRY(fix_tokenizer(checkpoint, options, context));
  return checkpoint;
}

}  // namespace

extern constinit const Transform kTokenizer = {
    "tokenizer", "fix tokenizer files for older readers, or take them from another folder",
    kTokenizerOptions, apply_tokenizer, ChangeScope::kDocuments};

}  // namespace ckpt

// The jobs of the step, each in a source file of its name.
#pragma once

#include <string>
#include <string_view>

#include "core/model/transform.h"
#include "transforms/tokenizer/file.h"
#include "transforms/tokenizer/model.h"

namespace ckpt {

// Makes a tokenizer of transformers 5 readable for 4.57 too. These three functions fail: kUsage,
// kCorrupt, kUnsupported.
Status fix_tokenizer(Checkpoint& checkpoint, const OptionValues& options, const Context& context);
// Takes the tokenizer of another folder if it is proven to be the same.
Status take_tokenizer_from(Checkpoint& checkpoint, const OptionValues& options,
                           const Context& context);
// Takes the tokenizer of a folder into a GGUF.
Status take_tokenizer_into_gguf(Checkpoint& checkpoint, const OptionValues& options,
                                const Context& context);

// Reads the small files of a folder with a tokenizer. Fails: as context.documents.
Result<Checkpoint> read_tokenizer_donor(const std::string& folder, const Context& context);
// The keys tokenizer.* from a conversion of `donor` for the model in `gguf`; `pre` names the
// pre-tokenizer, which is detected if absent. Fails: as add_tokenizer_keys.
Result<Metadata> tokenizer_keys_for(const Checkpoint& gguf, const Checkpoint& donor,
                                    std::optional<std::string> pre, const Context& context);

// Whether transformers 4.57 has a class of that name, or of that name and "Fast".
bool is_class_of_4_57(std::string_view name);

// The class that a multimodal model type's processor in 4.57 requires; "" if it accepts any.
std::string_view class_of_processor(std::string_view model_type);

// Whether transformers 5, for this class and model type, splits text by the class's rules instead
// of those in tokenizer.json. Known for Qwen's classes; false for others.
bool transformers_5_cuts_otherwise(std::string_view name, std::string_view model_type,
                                   const TokenizerFile& file);

// The class with whose rules transformers 5 splits text, without "TokenizerFast" or "Tokenizer"; ""
// if it uses those of tokenizer.json: if `takes_file_rules`, for classes without rules, and for
// those whose rules the file has.
std::string class_with_own_rules(std::string_view name, bool takes_file_rules,
                                 const TokenizerFile& file);

struct ClassChoice {
  std::string name;
  bool needs_file_rules = false;  // kFileRules must be set, or transformers 5 splits differently
};

// The class to name for 4.57 so that ids follow tokenizer.json.
ClassChoice choose_class(const TokenizerModel& model, const TokenizerFile& file);

// This key of tokenizer_config.json makes transformers 5 use the rules of tokenizer.json although
// the class has its own. It does not cause code to be loaded, and 4.57 ignores it.
inline constexpr std::string_view kFileRules = "trust_remote_code";

}  // namespace ckpt

// The jobs of the step, each in a source file of its name.
#pragma once

#include <string>
#include <string_view>

#include "core/model/transform.h"
#include "transforms/tokenizer/file.h"
#include "transforms/tokenizer/model.h"

namespace ckpt {

// A tokenizer that transformers 5 wrote, readable for 4.57 too. These three fail: kUsage, kCorrupt,
// kUnsupported.
Status fix_tokenizer(Checkpoint& checkpoint, const OptionValues& options, const Context& context);
// The tokenizer of another folder, where it is proven to be the same.
Status take_tokenizer_from(Checkpoint& checkpoint, const OptionValues& options,
                           const Context& context);
// The tokenizer of a folder, into a GGUF.
Status take_tokenizer_into_gguf(Checkpoint& checkpoint, const OptionValues& options,
                                const Context& context);

// The small files of a folder with a tokenizer. Fails: as context.documents.
Result<Checkpoint> read_tokenizer_donor(const std::string& folder, const Context& context);
// The keys tokenizer.* of a conversion of `donor` for the model in `gguf`; `pre` names the
// pre-tokenizer, found when absent. Fails: as add_tokenizer_keys.
Result<Metadata> tokenizer_keys_for(const Checkpoint& gguf, const Checkpoint& donor,
                                    std::optional<std::string> pre, const Context& context);

// Whether transformers 4.57 has a class of that name, or one with "Fast" behind it.
bool is_class_of_4_57(std::string_view name);

// The class that the processor of a multimodal model type takes in 4.57; "" when it takes any.
std::string_view class_of_processor(std::string_view model_type);

// Whether transformers 5, given that class and model type, cuts text by rules of its own and not by
// those in tokenizer.json. Known for Qwen's classes; false for the others. Fails: kCorrupt.
Result<bool> transformers_5_cuts_otherwise(std::string_view name, std::string_view model_type,
                                           const TokenizerFile& file);

// The class by whose own rules transformers 5 cuts text, without "TokenizerFast" or "Tokenizer"; ""
// where it takes those of tokenizer.json: `takes_file_rules`, classes without rules, and those
// whose rules the file has. Fails: kCorrupt.
Result<std::string> class_with_own_rules(std::string_view name, bool takes_file_rules,
                                         const TokenizerFile& file);

struct ClassChoice {
  std::string name;
  bool needs_file_rules = false;  // kFileRules must be set, or transformers 5 cuts otherwise
};

// The class to name for 4.57, such that ids stay what tokenizer.json says. Fails: kCorrupt.
Result<ClassChoice> choose_class(const TokenizerModel& model, const TokenizerFile& file);

// The key of tokenizer_config.json that makes transformers 5 take the rules of tokenizer.json under
// a class that has rules of its own; code is not loaded because of it, and 4.57 ignores it.
inline constexpr std::string_view kFileRules = "trust_remote_code";

}  // namespace ckpt

// Compares two tokenizers and finds their first differences.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/model/transform.h"
#include "transforms/tokenizer/config_facts.h"

namespace ckpt {

inline constexpr Choice kTokenizerAreas[] = {{"ids", TokenizerArea::kIds},
                                             {"rules", TokenizerArea::kRules},
                                             {"special", TokenizerArea::kSpecial}};

struct TokenizerDifference {
  TokenizerArea area;
  std::string text;  // "token 17: 'ab' here, 'ba' there"
};

// The first difference in each area, in the order of areas.
using TokenizerDifferences = std::vector<TokenizerDifference>;

Result<TokenizerDifferences> compare_tokenizers(const Checkpoint& ours, const Checkpoint& theirs);

// Describes the first index at which two lists differ; nullopt if they are equal.
std::optional<std::string> first_token_difference(const std::vector<std::string>& ours,
                                                  const std::vector<std::string>& theirs,
                                                  std::string_view what);

// Fails: kUnsupported for the first difference that accept=AREA does not permit; notes the others.
Status settle(const TokenizerDifferences& differences, const OptionValues& options,
              const Context& context);

}  // namespace ckpt

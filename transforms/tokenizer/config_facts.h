// Facts in files next to tokenizer.json that affect ids, and the tokens that begin, end or pad.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "transforms/tokenizer/file.h"

namespace ckpt {

// kIds: an id means another token. kRules: a text is split or framed differently. kSpecial: another
// token begins, ends or pads.
enum class TokenizerArea : uint8_t { kIds, kRules, kSpecial };

struct TokenizerFact {
  TokenizerArea area;
  std::string name;                  // "add_bos_token"
  std::optional<std::string> value;  // nullopt: as in tokenizer.json or tokenizer_config.json
};

// Returns the same names in the same order for each folder. `file` is the folder's tokenizer.json.
// Fails: kCorrupt.
Result<std::vector<TokenizerFact>> tokenizer_facts(const Checkpoint& folder,
                                                   const TokenizerFile& file);

}  // namespace ckpt

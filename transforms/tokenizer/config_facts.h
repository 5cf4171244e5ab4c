// Facts of the files next to tokenizer.json that decide ids, and the tokens that begin, end or pad.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "transforms/tokenizer/file.h"

namespace ckpt {

// ids: a number stands for another token. rules: text is cut or framed otherwise. special: another
// token begins, ends or pads.
enum class TokenizerArea : uint8_t { kIds, kRules, kSpecial };

struct TokenizerFact {
  TokenizerArea area;
  std::string name;                  // "add_bos_token"
  std::optional<std::string> value;  // nullopt: as tokenizer.json or tokenizer_config.json has it
};

// The same names in the same order for each folder. `file` is the folder's tokenizer.json. Fails:
// kCorrupt.
Result<std::vector<TokenizerFact>> tokenizer_facts(const Checkpoint& folder,
                                                   const TokenizerFile& file);

}  // namespace ckpt

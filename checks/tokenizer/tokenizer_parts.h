// The parts of tokenizer.json: their types, and the fields that the library "tokenizers" demands.
#pragma once

#include <string_view>
#include <vector>

#include "checks/subject/subject.h"

namespace ckpt {

// Of all parts but the lists in "model".
void find_part_faults(const JsonValue& tokenizer, std::vector<TokenizerFault>& out);

}  // namespace ckpt

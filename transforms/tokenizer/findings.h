// Texts that llama.cpp splits differently from a checkpoint's tokenizer.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/model/findings.h"

namespace ckpt {

// Of a folder, as ckpt converts it: rules of tokenizer.json that llama.cpp does not have, and
// tokens of tokenizer.model that differ from tokenizer.json's. Of a GGUF: scores that tell no
// order, and with `base`, the folder of its source, each key of the tokenizer that a conversion of
// `base` writes differently. Files of a folder that cannot be read have no findings.
// Appended to `out`; filled in: severity, place, found, symptom and fix. Fails if `base` was not
// compared; `out` then has the other findings.
Status find_tokenizer_findings(const Checkpoint& checkpoint, const std::string& base,
                               const Context& context, std::vector<Finding>& out);

// How the value of `entry` differs from that of its key in `ours`: "7 here, 6 there"; nullopt where
// it does not, or where scores tell one order.
std::optional<std::string> key_difference(const Metadata& ours, const MetaEntry& entry);

}  // namespace ckpt

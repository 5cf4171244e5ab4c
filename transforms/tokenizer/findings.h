// Finds texts that llama.cpp splits differently from a checkpoint's tokenizer.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/model/findings.h"

namespace ckpt {

// Findings for a folder, as ckpt converts it: rules of tokenizer.json that llama.cpp lacks, and
// tokens of tokenizer.model that differ from tokenizer.json's. For a GGUF: scores without an order,
// and each key of the tokenizer that a conversion of `base`, the folder of its source, writes
// differently. Unreadable files have no findings. Appends to `out`, with severity, place, found,
// symptom and fix. Fails if `base` was not compared; `out` then has the other findings.
Status find_tokenizer_findings(const Checkpoint& checkpoint, const std::string& base,
                               const Context& context, std::vector<Finding>& out);

// Describes how the value of `entry` differs from that in `ours`: "7 here, 6 there"; nullopt if it
// does not, or if scores give the same order.
std::optional<std::string> key_difference(const Metadata& ours, const MetaEntry& entry);

}  // namespace ckpt

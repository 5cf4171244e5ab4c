// Declarations of a checkpoint's documents about its quantization, whoever wrote them.
//
// Looked for in this order: config.json's quantization_config, its compression_config, the same of
// text_config; quantize_config.json, which AutoGPTQ wrote before there was the first.
#pragma once

#include <string>

#include "core/json/json_edit.h"
#include "core/model/checkpoint.h"

namespace ckpt {

inline constexpr std::string_view kGptqConfigName = "quantize_config.json";

struct QuantStatement {
  bool found = false;
  std::string method;                  // quant_method as it is spelled; "" when absent
  JsonText said = JsonText::object();  // the object; empty for hf_quant_config.json alone
  std::string place = "config.json";   // the document, for messages
};

// Fails: kCorrupt: documents that are not JSON.
Result<QuantStatement> read_quant_statement(const Checkpoint& checkpoint);

}  // namespace ckpt

// Declarations of a checkpoint's documents about its quantization, whoever wrote them.
//
// Looked for in this order: config.json's quantization_config, its compression_config, the same of
// text_config; quantize_config.json, which AutoGPTQ wrote before there was the first.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json/json_edit.h"
#include "core/model/checkpoint.h"

namespace ckpt {

inline constexpr std::string_view kGptqConfigName = "quantize_config.json";
inline constexpr std::string_view kStatementKeys[] = {"quantization_config", "compression_config"};

struct QuantStatement {
  bool found = false;
  std::string method;                      // quant_method as it is spelled; "" when absent
  JsonText declared = JsonText::object();  // the object; empty for hf_quant_config.json alone
  std::string place = "config.json";       // the document, for messages
};

// Fails: kCorrupt: documents that are not JSON.
Result<QuantStatement> read_quant_statement(const Checkpoint& checkpoint);

// A place of config.json that holds a statement, whatever its kind.
struct QuantPlace {
  JsonText* scope;       // config.json, or its text_config
  std::string_view key;  // "quantization_config", "compression_config"
  JsonText& declared() const { return *scope->find(key); }
};
// In the order in which they are read.
std::vector<QuantPlace> quant_places(JsonText& config);
// Removes the statements of all places. A new one is at the top, where every reader looks. Returns
// whether there was one.
bool set_quant_statement(JsonText& config, std::optional<JsonText> declared);

// Calls `edit` for each statement of all documents, with its quant_method; for that of
// hf_quant_config.json with the name of the document. Fails: kCorrupt: documents that are not JSON.
using EditStatement = std::function<void(JsonText& declared, std::string_view method)>;
Status edit_quant_statements(Checkpoint& checkpoint, const EditStatement& edit);

}  // namespace ckpt

// Declarations of quantization in a checkpoint's documents, by any program.
//
// Order of the search: quantization_config and compression_config of config.json, then of its
// text_config, then quantize_config.json, a document of older AutoGPTQ.
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
  std::string method;                      // quant_method as spelled; "" if absent
  JsonText declared = JsonText::object();  // the object; empty for hf_quant_config.json
  std::string place = "config.json";       // the document, for messages
};

// Fails: kCorrupt: a document is not JSON.
Result<QuantStatement> read_quant_statement(const Checkpoint& checkpoint);

// A place in config.json with a declaration of any type.
struct QuantPlace {
  JsonText* scope;       // config.json, or its text_config
  std::string_view key;  // "quantization_config", "compression_config"
  JsonText& declared() const { return *scope->find(key); }
};
// Returns the places in reading order.
std::vector<QuantPlace> quant_places(JsonText& config);
// Removes the declarations at all places. A new one is put at the top level, where every reader
// looks. Returns whether there was one.
bool set_quant_statement(JsonText& config, std::optional<JsonText> declared);

// Calls `edit` for each declaration in all documents, with its quant_method or, for that of
// hf_quant_config.json, the document's name. Fails: kCorrupt: a document is not JSON.
using EditStatement = std::function<void(JsonText& declared, std::string_view method)>;
Status edit_quant_statements(Checkpoint& checkpoint, const EditStatement& edit);

}  // namespace ckpt

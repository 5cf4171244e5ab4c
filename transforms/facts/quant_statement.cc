#include "transforms/facts/quant_statement.h"

#include "core/model/json_documents.h"
#include "transforms/facts/quant_config.h"

namespace ckpt {

Result<QuantStatement> read_quant_statement(const Checkpoint& checkpoint) {
  CKPT_ASSIGN(const std::optional<JsonText> config, read_config(checkpoint));
  const JsonText* text = config ? config->find("text_config") : nullptr;
  for (const JsonText* scope : {config ? &*config : nullptr, text}) {
    if (scope == nullptr || !scope->is_object()) continue;
    for (const char* key : {"quantization_config", "compression_config"}) {
      const JsonText* said = scope->find(key);
      if (said == nullptr || !said->is_object()) continue;
      // Old documents of bitsandbytes do not say whose they are.
      const bool is_bits =
          said->find("load_in_4bit") != nullptr && said->find("quant_method") == nullptr;
      const std::string method = is_bits ? "bitsandbytes" : "";
      return QuantStatement{true, said->find_text("quant_method").value_or(method), *said};
    }
  }
  if (checkpoint.find_document(kQuantConfigName) != nullptr) {
    return QuantStatement{true, "modelopt", JsonText::object(), std::string(kQuantConfigName)};
  }
  CKPT_ASSIGN(const auto old, read_json(checkpoint, kGptqConfigName));
  if (!old || !old->root.is_object() || !old->root.find_whole("bits")) return QuantStatement{};
  return QuantStatement{true, "gptq", old->root, std::string(kGptqConfigName)};
}

}  // namespace ckpt

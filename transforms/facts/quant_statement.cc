#include "transforms/facts/quant_statement.h"

#include <ranges>

#include "core/model/json_documents.h"
#include "core/model/quant_lists.h"

namespace ckpt {
namespace {

// Old documents of bitsandbytes do not name their method.
std::string method_of(const JsonText& declared) {
  const bool is_bits =
      declared.find("load_in_4bit") != nullptr && declared.find("quant_method") == nullptr;
  return declared.find_text("quant_method").value_or(is_bits ? "bitsandbytes" : "");
}

// AutoRound uses the layouts of other methods.
std::string layout_of(const JsonText& declared) {
  const std::string method = method_of(declared);
  if (method != "auto-round" && method != "intel/auto-round") return method;
  const std::string packing = declared.find_text("packing_format").value_or("auto_round:auto_gptq");
  for (const std::string_view layout : {"gptq", "awq"}) {
    if (packing.ends_with(layout)) return std::string(layout);
  }
  return method;
}

}  // namespace

std::vector<QuantPlace> quant_places(JsonText& config) {
  std::vector<QuantPlace> out;
  for (JsonText* scope : {&config, config.find("text_config")}) {
    for (const std::string_view key : kStatementKeys) {
      if (scope != nullptr && scope->find(key) != nullptr) out.push_back({scope, key});
    }
  }
  return out;
}

bool set_quant_statement(JsonText& config, std::optional<JsonText> declared) {
  const std::vector<QuantPlace> places = quant_places(config);
  // Starts from the last place, because removing a member of config.json moves its text_config.
  for (const QuantPlace& place : std::views::reverse(places)) {
    const bool is_replaced = declared && place.scope == &config && place.key == kStatementKeys[0];
    if (!is_replaced) place.scope->remove(place.key);
  }
  if (declared) config.set(kStatementKeys[0], std::move(*declared));
  return !places.empty();
}

Result<QuantStatement> read_quant_statement(const Checkpoint& checkpoint) {
  CKPT_ASSIGN(std::optional<JsonText> config, read_config(checkpoint));
  for (const QuantPlace& place : config ? quant_places(*config) : std::vector<QuantPlace>()) {
    const JsonText& declared = place.declared();
    if (declared.is_object()) return QuantStatement{true, layout_of(declared), declared};
  }
  if (checkpoint.find_document(kQuantConfigName) != nullptr) {
    return QuantStatement{true, "modelopt", JsonText::object(), std::string(kQuantConfigName)};
  }
  CKPT_ASSIGN(const auto old, read_json(checkpoint, kGptqConfigName));
  if (!old || !old->root.is_object() || !old->root.find_whole("bits")) return QuantStatement{};
  const std::string method = old->root.find_text("quant_method").value_or("gptq");
  return QuantStatement{true, method, old->root, std::string(kGptqConfigName)};
}

Status edit_quant_statements(Checkpoint& checkpoint, const EditStatement& edit) {
  for (const std::string_view path :
       {kQuantConfigName, kGptqConfigName, std::string_view("config.json")}) {
    CKPT_ASSIGN(std::optional<JsonDocument> document, read_json(checkpoint, path));
    if (!document) continue;
    JsonText* section = document->root.find("quantization");
    if (path == kGptqConfigName) {
      edit(document->root, document->root.find_text("quant_method").value_or("gptq"));
    } else if (path == kQuantConfigName) {
      if (section != nullptr && section->is_object()) edit(*section, path);
    } else {
      for (const QuantPlace& place : quant_places(document->root)) {
        if (place.declared().is_object()) edit(place.declared(), method_of(place.declared()));
      }
    }
    write_json(checkpoint, path, *document);
  }
  return {};
}

}  // namespace ckpt

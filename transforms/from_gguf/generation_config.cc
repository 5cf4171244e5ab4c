// generation_config.json from the keys of a GGUF: tokens that end a text, and sampling numbers.
#include <algorithm>

#include "transforms/from_gguf/config_fields.h"
#include "transforms/from_gguf/folder.h"
#include "transforms/to_gguf/general/general.h"

namespace ckpt {
namespace {

std::optional<uint64_t> id_at_key(const Metadata& metadata, std::string_view kind) {
  return metadata.find_unsigned(fmt::format("tokenizer.ggml.{}_token_id", kind));
}

// llama.cpp also stops at the end of a turn or a message; transformers at each token of a list.
void add_stop_ids(const Metadata& metadata, JsonValue& out) {
  JsonValue ids = JsonValue::array();
  for (const char* kind : {"eos", "eot", "eom"}) {
    const auto id = id_at_key(metadata, kind);
    if (id && std::ranges::find(ids, JsonValue(*id)) == ids.end()) ids.push_back(*id);
  }
  if (!ids.empty()) out["eos_token_id"] = ids.size() == 1 ? ids[0] : ids;
}

void add_suppressed(const Metadata& metadata, JsonValue& out) {
  const MetaArray* list = metadata.find_array("tokenizer.ggml.suppress_tokens");
  if (list == nullptr || list->numbers.empty()) return;
  JsonValue ids = JsonValue::array();
  for (uint64_t i = 0; i < list->count(); ++i) {
    const double id = number_at(*list, i);
    if (id >= 0 && id <= UINT32_MAX) ids.push_back(static_cast<uint64_t>(id));
  }
  out["suppress_tokens"] = std::move(ids);
}

}  // namespace

void add_token_ids(const Metadata& metadata, JsonValue& out) {
  constexpr std::pair<const char*, const char*> kIds[] = {
      {"bos", "bos_token_id"}, {"eos", "eos_token_id"}, {"padding", "pad_token_id"}};
  for (const auto& [kind, field] : kIds) {
    if (const auto id = id_at_key(metadata, kind)) out[field] = *id;
  }
}

JsonValue returned_generation_config(const Checkpoint& file) {
  JsonValue out = JsonValue::object();
  add_token_ids(file.metadata, out);
  add_stop_ids(file.metadata, out);
  add_suppressed(file.metadata, out);
  for (const SamplingKey& row : sampling_keys()) {
    const MetaValue* value = file.metadata.find(std::string("general.sampling.") + row.key);
    if (value == nullptr) continue;
    const char* field = *row.other == 0 ? row.field : row.other;
    const auto* text = std::get_if<std::string>(&value->value);
    out[field] = text == nullptr ? json_of(*value) : JsonValue(*text);
    out["do_sample"] = true;
  }
  return out;
}

}  // namespace ckpt

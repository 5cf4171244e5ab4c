#include "transforms/from_gguf/config_fields.h"
#include "transforms/from_gguf/folder.h"

namespace ckpt {

void add_token_ids(const Checkpoint& file, JsonValue& out) {
  constexpr std::pair<const char*, const char*> kIds[] = {
      {"bos", "bos_token_id"}, {"eos", "eos_token_id"}, {"padding", "pad_token_id"}};
  for (const auto& [kind, field] : kIds) {
    const auto id = file.metadata.find_unsigned(fmt::format("tokenizer.ggml.{}_token_id", kind));
    if (id) out[field] = *id;
  }
}

JsonValue returned_generation_config(const Checkpoint& file) {
  JsonValue out = JsonValue::object();
  add_token_ids(file, out);
  constexpr std::pair<const char*, const char*> kSampling[] = {
      {"top_k", "top_k"},
      {"top_p", "top_p"},
      {"min_p", "min_p"},
      {"temp", "temperature"},
      {"penalty_repeat", "repetition_penalty"},
  };
  for (const auto& [name, field] : kSampling) {
    const MetaValue* value = file.metadata.find(std::string("general.sampling.") + name);
    if (value == nullptr) continue;
    out[field] = json_of(*value);
    out["do_sample"] = true;
  }
  return out;
}

}  // namespace ckpt

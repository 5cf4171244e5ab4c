// The model's requirements for its tokenizer: from config.json, generation_config.json and the
// embedding.
#include "transforms/tokenizer/model.h"

#include <algorithm>

#include "core/base/words.h"
#include "core/model/json_documents.h"
#include "core/model/token_lists.h"
#include "models/models.h"
#include "transforms/to_gguf/tokenizer/special.h"

namespace ckpt {
namespace {

constexpr std::string_view kModelKinds[] = {"bos", "eos", "pad", "image", "video"};

// A number or a list of numbers.
void add_ids(const JsonValue* found, std::vector<uint64_t>& ids) {
  if (found == nullptr) return;
  const JsonValue list = found->is_array() ? *found : JsonValue::array({*found});
  for (const JsonValue& entry : list) {
    const std::optional<uint64_t> id = whole(entry);
    if (id && std::ranges::find(ids, *id) == ids.end()) ids.push_back(*id);
  }
}

void read_config(const JsonValue& config, TokenizerModel& out) {
  if (const std::string* type = text_of(config, "model_type")) out.model_type = *type;
  out.text_model_type = out.model_type;
  out.generates |= std::ranges::any_of(list_in(config, "architectures"), [](const JsonValue& name) {
    const auto* text = name.get_ptr<const std::string*>();
    return text != nullptr &&
           (text->ends_with("ForCausalLM") || text->ends_with("ForConditionalGeneration"));
  });
  const JsonValue* inner = find_text_config(config);
  if (const std::string* type = text_of(inner, "model_type")) out.text_model_type = *type;
  if (const JsonValue* size = known(inner, "vocab_size")) out.vocab_size = whole(*size);
  if (!out.vocab_size) out.vocab_size = whole(known(config, "vocab_size"));
}

std::vector<uint64_t> ids_of(std::string_view kind, const JsonValue& config,
                             const JsonValue& generation) {
  std::vector<uint64_t> ids;
  const std::string key = fmt::format("{}_token_id", kind);
  add_ids(known(config, key), ids);
  add_ids(known(find_text_config(config), key), ids);
  add_ids(known(generation, key), ids);
  return ids;
}

}  // namespace

Result<TokenizerModel> read_tokenizer_model(const Checkpoint& checkpoint) {
  TokenizerModel out;
  CKPT_ASSIGN(const auto config, read_object(checkpoint, "config.json"));
  CKPT_ASSIGN(const auto generation, read_object(checkpoint, "generation_config.json"));
  const JsonValue none = JsonValue::object();
  if (config) read_config(*config, out);
  for (const std::string_view kind : kModelKinds) {
    std::vector<uint64_t> ids =
        ids_of(kind, config ? *config : none, generation ? *generation : none);
    if (!ids.empty()) out.special_ids.emplace_back(kind, std::move(ids));
  }
  const Tensor* embeddings = checkpoint.find_embeddings();
  if (embeddings != nullptr && embeddings->shape.size() == 2) {
    out.embedding_rows = embeddings->shape[0];
  }
  return out;
}

std::optional<std::string> special_text(const JsonValue& config, std::string_view kind) {
  const JsonValue* found = known(config, fmt::format("{}_token", kind));
  const std::string* text = found == nullptr ? nullptr : text_of_token(*found);
  return text == nullptr ? std::nullopt : std::optional(*text);
}

std::optional<std::pair<bool, bool>> text_frame(const TokenizerFile& file,
                                                const std::optional<std::string>& bos,
                                                const std::optional<std::string>& eos) {
  std::optional<std::pair<bool, bool>> out = {{false, false}};
  for (const JsonValue& step : post_processors(*file.values)) {
    const std::string_view type = text_in(step, "type");
    if (type == "ByteLevel") continue;
    const JsonValue* single = known(step, "single");
    if (type != "TemplateProcessing" || single == nullptr || !single->is_array()) return {};
    bool is_behind = false;
    for (const JsonValue& item : *single) {
      const std::string* text = text_of(known(item, "SpecialToken"), "id");
      if (text == nullptr) {
        is_behind = true;
        continue;
      }
      bool& flag = is_behind ? out->second : out->first;
      if (flag || (is_behind ? eos : bos) != *text) return {};
      flag = true;
    }
  }
  return out;
}

}  // namespace ckpt

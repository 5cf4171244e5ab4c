#include "transforms/facts/serving_config.h"

#include <algorithm>
#include <set>

#include "core/model/json_documents.h"
#include "core/model/transform.h"
#include "models/models.h"
#include "transforms/facts/quant_config.h"
#include "transforms/facts/torch_dtype.h"

namespace ckpt {
namespace {

constexpr std::string_view kConfig = "config.json";
constexpr std::string_view kGeneration = "generation_config.json";

void add_interval(JsonText& text) {
  if (!has_trait(text.find_text("model_type").value_or(""), ModelTrait::kFullAttentionInterval))
    return;
  const JsonText* types = text.find("layer_types");
  if (types == nullptr || text.find("full_attention_interval") != nullptr) return;
  const auto interval = interval_of(*types);
  if (interval) text.set_sorted("full_attention_interval", JsonText::number(*interval));
}

// The first of these types that a plain weight has; empty if there is none.
std::string_view dtype_of(const Checkpoint& checkpoint) {
  std::set<std::string_view> found;
  for (const Tensor& tensor : checkpoint.tensors) found.insert(torch_name(*tensor.codec));
  for (const std::string_view name : {"bfloat16", "float16", "float32"}) {
    if (found.contains(name)) return name;
  }
  return {};
}

void add_dtype(JsonText& config, const Checkpoint& checkpoint) {
  if (says_dtype(config) || says_dtype(text_level(config))) return;
  const std::string_view dtype = dtype_of(checkpoint);
  if (!dtype.empty()) config.set_sorted("dtype", JsonText::text(dtype));
}

void fix_rope(JsonText& level) {
  for (const std::string_view key : {"rope_parameters", "rope_scaling"}) {
    if (JsonText* rope = level.find_object(key)) settle_rope_type(*rope);
  }
}

// transformers 4.57 reads only rope_theta next to the dictionary. Some classes lack the latter.
void add_theta(JsonText& level) {
  const JsonText* rope = level.find_object("rope_scaling");
  if (rope == nullptr) rope = level.find("rope_parameters");
  const JsonText* theta = rope == nullptr ? nullptr : rope->find("rope_theta");
  const std::string type = level.find_text("model_type").value_or("");
  const bool is_inside = has_trait(type, ModelTrait::kThetaInside);
  if (theta == nullptr || level.find("rope_theta") != nullptr || is_inside) return;
  if (theta->token() == "10000.0" || theta->token() == "10000") return;  // every class's default
  JsonText value = *theta;
  level.set_sorted("rope_theta", std::move(value));
}

void write_older_layer_types(JsonText& level) {
  const std::string type = level.find_text("model_type").value_or("");
  for (const std::string_view key : {"layer_types", "mtp_layer_types"}) {
    JsonText* list = level.find(key);
    if (list == nullptr || !list->is_array()) continue;
    for (JsonText& item : list->items()) {
      const std::string word = item.as_text().value_or("");
      const std::string_view older = older_layer_type(word, type);
      if (older != word) item = JsonText::text(older);
    }
  }
}

void fix_tied(JsonText& config, const Checkpoint& checkpoint, const Context& context) {
  const bool has_own_head = checkpoint.has_head();
  JsonText* inner = text_level(config).find("tie_word_embeddings");
  JsonText* outer = config.find("tie_word_embeddings");
  const bool differ = inner != nullptr && outer != nullptr && !(*inner == *outer);
  const JsonText* declared = inner != nullptr ? inner : outer;
  const bool is_untied =
      declared == nullptr ? ties_head_by_class(config) == false : declared->as_boolean() == false;
  const bool lacks_head = is_untied && !has_own_head;
  if (checkpoint.tensors.empty() || !(differ || lacks_head)) return;
  if (declared == nullptr) {
    text_level(config).set_sorted("tie_word_embeddings", JsonText::boolean(true));
  }
  for (JsonText* place : {inner, outer}) {
    if (place != nullptr) *place = JsonText::boolean(!has_own_head);
  }
  context.note("tie_word_embeddings is {} now: there is {} lm_head.weight", !has_own_head,
               has_own_head ? "an" : "no");
}

Status fix_config(Checkpoint& checkpoint, const Context& context) {
  CKPT_ASSIGN(auto document, read_json(checkpoint, kConfig));
  if (!document) return {};
  JsonText& config = document->root;
  add_interval(text_level(config));
  add_dtype(config, checkpoint);
  fix_rope(text_level(config));
  add_older_fields(text_level(config));
  write_older_layer_types(text_level(config));
  fix_vision(config);
  add_theta(text_level(config));
  fix_tied(config, checkpoint, context);
  write_json(checkpoint, kConfig, *document);
  return {};
}

// The id of the eos_token in the tokenizer's files.
Result<std::optional<uint64_t>> chat_end(const Checkpoint& checkpoint) {
  CKPT_ASSIGN(const auto config, read_object(checkpoint, "tokenizer_config.json"));
  CKPT_ASSIGN(const auto tokenizer, read_object(checkpoint, "tokenizer.json"));
  return config && tokenizer ? added_token_id(*config, *tokenizer, "eos_token") : std::nullopt;
}

void add_end(JsonText& generation, uint64_t id) {
  JsonText* ends = generation.find("eos_token_id");
  if (ends == nullptr || ends->is_null()) return;
  if (ends->is_array()) {
    const bool has = std::ranges::any_of(
        ends->items(), [&](const JsonText& item) { return item.as_whole() == id; });
    if (!has) ends->items().insert(ends->items().begin(), JsonText::number(id));
    return;
  }
  if (ends->as_whole() == id) return;
  JsonText both = JsonText::array();
  both.items() = {JsonText::number(id), *ends};
  *ends = std::move(both);
}

void fix_sampling(JsonText& generation) {
  const JsonText* sampled = generation.find("do_sample");
  if (sampled != nullptr && sampled->as_boolean() == true) return;
  for (const std::string_view key : {"top_k", "top_p", "temperature"}) {
    const JsonText* value = generation.find(key);
    const bool is_neutral = value == nullptr || value->is_null() ||
                            (key != "top_k" && (value->token() == "1.0" || value->token() == "1"));
    if (is_neutral) continue;
    generation.set_sorted("do_sample", JsonText::boolean(true));
    return;
  }
}

Status fix_generation(Checkpoint& checkpoint) {
  CKPT_ASSIGN(auto document, read_json(checkpoint, kGeneration));
  if (!document) return {};
  CKPT_ASSIGN(const auto end, chat_end(checkpoint));
  if (end) add_end(document->root, *end);
  fix_sampling(document->root);
  write_json(checkpoint, kGeneration, *document);
  return {};
}

}  // namespace

JsonText& text_level(JsonText& config) {
  JsonText* inner = config.find_object("text_config");
  return inner != nullptr ? *inner : config;
}

void settle_rope_type(JsonText& rope) {
  const auto old_name = rope.find_text("type"), new_name = rope.find_text("rope_type");
  if (old_name && new_name && *old_name != *new_name) rope.remove("type");
}

std::optional<uint64_t> interval_of(const JsonText& types) {
  const std::vector<JsonText>& items = types.items();
  const auto is_full = [](const JsonText& item) { return item.as_text() == "full_attention"; };
  const auto first = std::ranges::find_if(items, is_full);
  if (first == items.end()) return std::nullopt;
  const auto interval = static_cast<size_t>(first - items.begin()) + 1;
  for (size_t i = 0; i < items.size(); ++i) {
    if (is_full(items[i]) != ((i + 1) % interval == 0)) return std::nullopt;
  }
  return interval;
}

std::optional<bool> ties_head_by_class(const JsonText& config) {
  const JsonText* classes = config.find("architectures");
  if (classes == nullptr || classes->items().empty()) return std::nullopt;
  const auto name = classes->items().front().as_text();
  const Family* table = name ? table_of_architecture(*name) : nullptr;
  if (table == nullptr || name->ends_with("Model")) return std::nullopt;
  return ties_head_by_default(*table);
}

Result<Checkpoint> serving_config(Checkpoint checkpoint, const OptionValues& options,
                                  const Context& context) {
  if (checkpoint.format == "gguf") {
    return misuse("a GGUF has no config.json; this step is for folders");
  }
  CKPT_TRY(fix_config(checkpoint, context));
  CKPT_TRY(fix_quantization_lists(checkpoint, context));
  CKPT_TRY(list_unquantized(checkpoint, options.all("exclude")));
  CKPT_TRY(fix_generation(checkpoint));
  return checkpoint;
}

constexpr OptionRule kServingOptions[] = {
    option::text("exclude", "NAME", "an entry that the lists of unquantized modules get too")
        .repeated(),
};

extern constinit const Transform kServingConfig{
    "serving-config",
    "says what servers look for: full_attention_interval, dtype, lists that fit the tensors",
    kServingOptions,
    serving_config,
    ChangeScope::kNames};

}  // namespace ckpt

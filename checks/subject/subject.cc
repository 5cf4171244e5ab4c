#include "checks/subject/subject.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "core/base/words.h"
#include "core/model/json_documents.h"
#include "core/model/quant_lists.h"
#include "core/model/tensor_names.h"
#include "core/model/token_lists.h"
#include "core/model/usual_type.h"
#include "models/models.h"

namespace ckpt {
namespace {

std::string text_or_empty(const JsonValue& json, std::string_view key) {
  const std::string* text = text_of(json, key);
  return text == nullptr ? std::string() : *text;
}

Form form_of(const Codec& codec) {
  if (codec.scheme == Scheme::kNvfp4 && codec.dialect == Dialect::kModelopt) return Form::kNvfp4;
  if (codec.scheme == Scheme::kNvfp4 && codec.dialect == Dialect::kCompressedTensors) {
    return Form::kPackedNvfp4;
  }
  if (is_fp8(codec.scheme)) return Form::kFp8;
  const bool is_float = is_plain_float(codec) || plain_dtype(codec) == Dtype::kF64;
  return is_float ? Form::kPlain : Form::kOther;
}

// The first group's, where the groups say it.
std::optional<uint64_t> group_size_of(const JsonValue& json) {
  if (const JsonValue* size = known(json, "group_size")) return whole(*size);
  const JsonValue& groups = object_in(json, "config_groups");
  if (groups.empty()) return std::nullopt;
  return whole(known(known(*groups.begin(), "weights"), "group_size"));
}

bool is_fp8_scheme(const JsonValue* scheme) {
  if (scheme == nullptr) return false;
  if (const auto* text = scheme->get_ptr<const std::string*>()) return upper_case(*text) == "FP8";
  return whole(known(*scheme, "num_bits")) == 8u && text_or_empty(*scheme, "type") == "float";
}

// Reads the list into `out`. The entries of an object are its keys.
void read_excluded(const JsonValue& declared, Quantization& out) {
  const std::string_view method = out.is_nested ? kQuantConfigName : std::string_view(out.method);
  for (const ModuleList& list : unquantized_lists(method)) {
    out.exclude_key = list.key;
    out.exclude = texts_in(declared, list.key);
    for (const auto& item : object_in(declared, list.key).items())
      out.exclude.push_back(item.key());
    if (!out.exclude.empty()) return;
  }
}

Quantization read_quantization(std::string place, const JsonValue& json) {
  Quantization out;
  out.place = std::move(place);
  out.json = &json;
  out.method = lower_case(text_or_empty(json, "quant_method"));
  const JsonValue* inner = known(json, "quantization");
  out.is_nested = inner != nullptr && inner->is_object();
  const JsonValue& declared = out.is_nested ? *inner : json;
  out.algo = upper_case(text_or_empty(declared, "quant_algo"));
  out.group_size = group_size_of(declared);
  read_excluded(declared, out);
  out.has_kv_scheme =
      is_fp8_scheme(known(declared, out.is_nested ? "kv_cache_quant_algo" : "kv_cache_scheme"));
  for (const auto& [name, layer] : object_in(declared, "quantized_layers").items()) {
    out.layers[name] = upper_case(text_or_empty(layer, "quant_algo"));
  }
  return out;
}

// The code unit of an escape \uXXXX at `at`; 0 where there is none.
unsigned unit_at(std::string_view text, size_t at) {
  unsigned out = 0;
  const char* begin = text.data() + std::min(at + 2, text.size());
  if (text.substr(std::min(at, text.size()), 2) != "\\u" || text.size() < at + 6) return 0;
  const auto parsed = std::from_chars(begin, begin + 4, out, 16);
  return parsed.ec == std::errc() && parsed.ptr == begin + 4 ? out : 0;
}

// Python keeps half a surrogate pair as it is; no UTF-8 holds one, so U+FFFD stands for it.
std::string without_halves(std::string_view text) {
  std::string out(text);
  for (size_t at = 0; at < out.size(); ++at) {
    if (out[at] != '\\') continue;
    const unsigned unit = unit_at(out, at);
    const unsigned next = unit_at(out, at + 6);
    const bool is_high = unit >= 0xD800 && unit < 0xDC00, is_low = unit >= 0xDC00 && unit < 0xE000;
    if (is_high && next >= 0xDC00 && next < 0xE000) {
      at += 11;
    } else if (is_high || is_low) {
      out.replace(at + 2, 4, "FFFD");
      at += 5;
    } else {
      ++at;  // an escaped character is not an escape
    }
  }
  return out;
}

// The fault of a document, without its name, which the finding's place has.
std::string fault_of(const Error& error, std::string_view path) {
  const std::string prefix = fmt::format("{}: ", path);
  return error.what.starts_with(prefix) ? error.what.substr(prefix.size()) : error.what;
}

}  // namespace

std::string_view form_name(Form form) {
  constexpr std::string_view kNames[] = {"floats", "NVFP4", "FP8", "compressed-tensors NVFP4",
                                         "other codes"};  // in the order of Form
  return kNames[static_cast<size_t>(form)];
}

bool Module::is_linear() const {
  if (weight == nullptr || weight->shape.size() < 2) return false;
  const std::string_view word = last_word(name);
  const bool is_stack = !parts_of_stack(word).empty() ||
                        role_of_inputs(word) == ProjectionRole::kMlp ||
                        has_word(" input_linear output_linear ", word);
  if (weight->shape.size() > 2 && !is_stack) return false;  // a convolution
  if (word.ends_with("norm")) return false;  // Command R's has a row for each head
  return !has_word(
      " embed_tokens wte wpe word_embeddings embedding pos_embed position_embedding"
      " embeddings embed conv1d ",
      word);
}

Fix gguf_instead(const Subject& on) {
  const bool is_float = std::ranges::all_of(on.checkpoint.tensors, &Tensor::is_plain_float);
  return advised(
      fmt::format("ckpt convert IN OUT.gguf{}", is_float ? " --to " CKPT_USUAL_TYPE : ""));
}

// A text, or a list of templates of which transformers takes the one named "default".
const std::string* listed_template(const Subject& on) {
  for (const JsonValue& each : list_in(on.tokenizer_config, "chat_template")) {
    if (text_in(each, "name") == "default") return text_of(each, "template");
  }
  return text_of(on.tokenizer_config, "chat_template");
}

const std::string* chat_template(const Subject& on) {
  const Document* file = on.checkpoint.find_document("chat_template.jinja");
  return file != nullptr ? &file->text() : listed_template(on);
}

std::string_view tool_parser(const Subject& on) {
  const std::string* text = chat_template(on);
  if (text == nullptr || text->find("<tool_call>") == text->npos) return {};
  return text->find("<function=") != text->npos ? "qwen3_coder" : "hermes";  // XML or JSON
}

void Mismatch::add(const std::string& name) {
  if (count++ == 0) first = name;
}

std::string Mismatch::text_at_first(std::string_view what) const {
  return count == 1 ? std::string(what)
                    : fmt::format("{}; so {} {} more", what, count == 2 ? "is" : "are", count - 1);
}

std::string Mismatch::text(std::string_view what) const {
  return count == 1 ? fmt::format("'{}' {}", first, what)
                    : fmt::format("{} modules, the first '{}', {}", count, first, what);
}

Subject::Subject(const Checkpoint& from, PackedForms forms)
    : checkpoint(from),
      packed(std::move(forms)),
      config(object_of("config.json")),
      tokenizer_config(object_of("tokenizer_config.json")),
      tokenizer(object_of("tokenizer.json")),
      generation_config(object_of("generation_config.json")),
      preprocessor(object_of("preprocessor_config.json")) {
  is_gguf = checkpoint.format == "gguf";
  by_name_.reserve(checkpoint.tensors.size());
  for (const Tensor& tensor : checkpoint.tensors) by_name_.emplace(tensor.name, &tensor);
  model_type = text_or_empty(config, "model_type");
  const auto classes = texts_in(config, "architectures");
  if (!classes.empty()) model_class = classes.front();
  is_wrapper = has_text_config() || has_trait(model_type, ModelTrait::kFlatWrapper);
  text_type = text_or_empty(text_config(), "model_type");
  read_token_lists();
  read_quantizations();
  collect_modules();
  mlx = find_mlx_tensors(checkpoint);
  parameters = compare_parameters(*this);
}

const JsonValue& Subject::object_of(std::string_view path) {
  static const JsonValue kNone;
  if (checkpoint.format == "gguf") return kNone;
  const auto read = read_object(checkpoint, path);
  if (read) return *read ? **read : kNone;  // the checkpoint keeps it
  const Document* found = checkpoint.find_document(path);
  const std::string name(path);
  const std::string text = found == nullptr ? "" : without_halves(found->text());
  const Document document(name, text, Document::Keys::kLastCounts);
  const auto taken = document.values();
  if (!taken || !(*taken)->is_object()) {
    broken[name] = fault_of(read.error(), path);
    return kNone;
  }
  if (const auto once = Document(name, text).values(); !once) {
    set_twice[name] = fault_of(once.error(), path);
  }
  return **repaired.emplace(name, document).first->second.values();
}

void Subject::read_token_lists() {
  const Document* document = find_mapped(repaired, std::string(kTokenizerJson));
  if (document == nullptr) document = checkpoint.find_document(kTokenizerJson);
  auto read = document == nullptr || tokenizer.is_null()
                  ? Result<std::shared_ptr<const TokenLists>>(nullptr)
                  : document->token_lists();
  token_lists = read && *read ? *read : std::make_shared<const TokenLists>();
}

void Subject::read_quantizations() {
  const auto add = [&](std::string place, const JsonValue* json) {
    if (json != nullptr && json->is_object()) {
      quantizations.push_back(read_quantization(std::move(place), *json));
    }
  };
  add("config.json: quantization_config", known(config, "quantization_config"));
  add("config.json: compression_config", known(config, "compression_config"));
  if (has_text_config()) {
    add("config.json: text_config.quantization_config",
        known(text_config(), "quantization_config"));
  }
  add("hf_quant_config.json", &object_of("hf_quant_config.json"));
}

void Subject::collect_modules() {
  for (const Tensor& tensor : checkpoint.tensors) {
    const std::string& name = tensor.name;
    has_vision_ |= is_of_tower(name);
    const size_t dot = name.rfind('.');
    const std::string_view word = last_word(name);
    const bool is_stack = !parts_of_stack(word).empty();
    if (is_stack || word == "weight") {
      Module& module = modules[is_stack ? name : name.substr(0, dot)];
      module.weight = &tensor;
      module.form = form_of(*tensor.codec);
      // Codes whose scales an earlier step recomputes are separate in a plan; written, the reader
      // puts them together.
      const Tensor* scale =
          plain_dtype(*tensor.codec) == Dtype::kU8 ? this->tensor(name + "_scale") : nullptr;
      if (scale != nullptr && !scale->is_stored()) module.form = Form::kNvfp4;
    } else if (word == "input_scale" && dot != name.npos) {
      modules[name.substr(0, dot)].has_input_scale = true;
    } else if (word == "pre_quant_scale" && dot != name.npos) {
      modules[name.substr(0, dot)].has_pre_quant_scale = true;
    } else {
      stray.push_back(&tensor);
    }
  }
  for (const auto& [codes, form] : packed.by_codes) {
    const std::string name = listed_name(form.weight);
    const Module* found = find_mapped(modules, name);
    if (found != nullptr && found->weight != nullptr) continue;
    packed_modules[name].weight = tensor(codes);
    packed_modules[name].form = Form::kOther;
  }
  for (auto* all : {&modules, &packed_modules}) {
    for (auto& [name, module] : *all) module.name = name;
  }
  is_quantized_ = std::ranges::any_of(modules, [](const auto& entry) {
    const Module& module = entry.second;
    return module.weight != nullptr && module.form != Form::kPlain && module.form != Form::kOther;
  });
}

const JsonValue& Subject::text_config() const {
  const JsonValue* inner = find_text_config(config);
  return inner != nullptr ? *inner : config;
}

const Tensor* Subject::tensor(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

const std::vector<TokenizerFault>& Subject::tokenizer_faults() const {
  if (!tokenizer_faults_) tokenizer_faults_ = find_tokenizer_faults(tokenizer, *token_lists);
  return *tokenizer_faults_;
}

bool Subject::has_document(std::string_view path) const {
  return checkpoint.find_document(path) != nullptr;
}

std::vector<std::string> Subject::layer_types() const {
  return texts_in(text_config(), "layer_types");
}

std::string_view ruling_type(const CheckContext& context) {
  const std::string_view type = context.on.text_type;
  const Family* table = context.on.parameters.table;
  const bool goes_by_class = context.is(Program::kVllm) && !context.on.has_text_config();
  if (!goes_by_class || table == nullptr) return type;
  return has_word(table->model_types, type) ? type : table->text_type();
}

const Family* family_of_type(std::string_view model_type) {
  for (const Family* family : families()) {
    const bool has = has_word(family->model_types, model_type);
    if (has || has_word(family->traits.bare_types, model_type)) return family;
  }
  return nullptr;
}

bool rotates_nothing(const Subject& on) {
  const JsonValue* position = on.text_field("position_embedding_type");
  return has_trait(on.text_type, ModelTrait::kMayRotateNothing) &&
         (position == nullptr || *position != "rope");
}

std::vector<std::string> texts_in(const JsonValue& json, std::string_view key) {
  std::vector<std::string> out;
  for (const JsonValue& item : list_in(json, key)) {
    if (const auto* text = item.get_ptr<const std::string*>()) out.push_back(*text);
  }
  return out;
}

bool is_list_of_texts(const JsonValue& json) {
  return json.is_array() && std::ranges::all_of(json, &JsonValue::is_string);
}

bool is_token_id(const JsonValue& json) {
  return json.is_number_unsigned() && json.get<uint64_t>() <= UINT32_MAX;
}

std::string shape_text(const std::vector<uint64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

}  // namespace ckpt

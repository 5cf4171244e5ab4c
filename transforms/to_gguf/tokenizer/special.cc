// Special tokens and flags (llama.cpp gguf-py/gguf/vocab.py SpecialVocab).
//
// The post-processor may rename tokens before they are looked up: if a template ends with another
// token than EOS, this token becomes EOS and the old one EOT.
#include "transforms/to_gguf/tokenizer/special.h"

#include <algorithm>

#include "core/base/find.h"
#include "core/base/words.h"
#include "core/model/json_documents.h"
#include "transforms/to_gguf/tokenizer/added.h"

namespace ckpt {
namespace {

struct KindRow {
  std::string_view kind, id_key;
};
constexpr KindRow kIdKinds[] = {
    {"bos", "bos_token_id"},       {"eos", "eos_token_id"},     {"unk", "unknown_token_id"},
    {"sep", "seperator_token_id"}, {"pad", "padding_token_id"}, {"mask", "mask_token_id"},
    {"eot", "eot_token_id"},       {"eom", "eom_token_id"},
};

// The token in one item of a template; null for a sequence.
JsonValue special_of(const JsonValue& item) {
  const JsonValue* id = known(known(item, "SpecialToken"), "id");
  return is_truthy(id) ? *id : JsonValue();
}

bool is_sequence(const JsonValue& item, std::string_view id) {
  return text_in(known(item, "Sequence"), "id") == id;
}

// Finds the first added token with this text.
JsonValue find_added(const JsonValue& tokenizer, const std::string& text) {
  for (const JsonValue& entry : list_in(tokenizer, "added_tokens")) {
    const std::string* content = text_of(entry, "content");
    const JsonValue* id = member(entry, "id");
    if (content != nullptr && *content == text) return id == nullptr ? JsonValue() : *id;
  }
  return {};
}

class Specials {
 public:
  Specials(const JsonValue& tokenizer, JsonValue config, const SpecialsWanted& wanted)
      : tokenizer_(tokenizer),
        config_(std::move(config)),
        has_config_(!config_.empty()),
        vocab_size_(wanted.vocab_size),
        is_after_v050_(wanted.is_after_v050),
        kinds_(wanted.kinds) {
    if (!is_truthy(&tokenizer_)) return;
    bos_ = value("bos_token");
    cls_ = value("cls_token");
    eos_ = value("eos_token");
    sep_ = value("sep_token");
    if (!is_truthy(&bos_) && is_truthy(&cls_)) rename("bos_token", bos_, cls_);
    if (!is_truthy(&eos_) && is_truthy(&sep_)) rename("eos_token", eos_, sep_);
  }

  void read_post_processor() {
    for (const JsonValue& step : post_processors(tokenizer_)) {
      const std::string_view type = text_in(step, "type");
      if (type == "RobertaProcessing") roberta(step);
      if (type == "ByteLevel" && is_after_v050_) {
        for (const char* kind : {"bos", "eos"}) set_first_flag(kind, false);
      }
      if (type != "TemplateProcessing") continue;
      single(list_in(step, "single"));
      pair(list_in(step, "pair"));
    }
  }

  Status read_names() {
    if (!has_config_) return {};
    for (const std::string& kind : kinds_) {
      const JsonValue* flag = member(config_, fmt::format("add_{}_token", kind));
      if (flag != nullptr && flag->is_boolean()) {
        is_after_v050_ ? set_first_flag(kind, *flag == true) : set_flag(kind, *flag == true);
      }
      const JsonValue* entry = member(config_, fmt::format("{}_token", kind));
      if (entry == nullptr) continue;
      const std::string* text = text_of_token(*entry);
      if (text != nullptr) CKPT_TRY(set_id(kind, find_added(tokenizer_, *text)));
    }
    return {};
  }

  Status read_numbers(const JsonValue& model_config) {
    const JsonValue* inner = known(model_config, "text_config");
    for (const std::string& kind : kinds_) {
      const std::string field = fmt::format("{}_token_id", kind);
      const JsonValue* id = known(model_config, field);
      if (id == nullptr) id = known(inner, field);
      if (id != nullptr) CKPT_TRY(set_id(kind, *id));
    }
    return {};
  }

  void leave_out(std::string_view kind) { std::erase(kinds_, kind); }

  Status set_id(const std::string& kind, const JsonValue& id) {
    if (!id.is_number_integer()) return {};
    if (!id.is_number_unsigned() || id.get<uint64_t>() > UINT32_MAX) {
      return corrupt("special token {} has id {}", kind, id.dump());
    }
    if (id.get<uint64_t>() >= vocab_size_) return {};
    const bool is_set = find_by(ids_, &KindId::first, kind) != nullptr;
    if (!is_set) ids_.emplace_back(kind, id.get<uint64_t>());
    return {};
  }

  // Sets "bos=[GO] eot=<end>" in this order, unless names or ids are already set.
  Status set_named(std::string_view list) {
    for (const std::string_view word : split_words(list)) {
      const size_t sign = word.find('=');
      const std::string text(word.substr(sign + 1));
      const JsonValue id = find_added(tokenizer_, text);
      if (!id.is_number_integer()) {
        return corrupt("tokenizer.json: no added token '{}', which this family's {} token is", text,
                       word.substr(0, sign));
      }
      CKPT_TRY(set_id(std::string(word.substr(0, sign)), id));
    }
    return {};
  }

  void write(Metadata& metadata) const {
    for (const auto& [kind, id] : ids_) {
      const KindRow* row = find_by(kIdKinds, &KindRow::kind, kind);
      if (row == nullptr) continue;
      metadata.set(fmt::format("tokenizer.ggml.{}", row->id_key), MetaValue::u32(id));
    }
    for (const auto& [kind, on] : flags_) {
      if (kind != "bos" && kind != "eos" && kind != "sep") continue;
      metadata.set(fmt::format("tokenizer.ggml.add_{}_token", kind), MetaValue::boolean(on));
    }
  }

 private:
  using KindId = std::pair<std::string, uint64_t>;
  using KindFlag = std::pair<std::string, bool>;

  JsonValue value(const char* key) const {
    const JsonValue* found = member(config_, key);
    return found == nullptr ? JsonValue() : *found;
  }
  void rename(const char* key, JsonValue& token, JsonValue to) {
    token = std::move(to);
    if (has_config_) config_[key] = token;
  }
  bool is_kind(std::string_view kind) const {
    return std::ranges::find(kinds_, kind) != kinds_.end();
  }

  void set_flag(const std::string& kind, bool on) {
    if (KindFlag* found = find_by(flags_, &KindFlag::first, kind)) {
      found->second = on;
    } else {
      flags_.emplace_back(kind, on);
    }
  }

  void set_first_flag(const std::string& kind, bool on) {
    if (find_by(flags_, &KindFlag::first, kind) == nullptr) set_flag(kind, on);
  }

  void roberta(const JsonValue& processor) {
    for (const char* kind : {"bos", "eos", "sep"}) set_flag(kind, true);
    const auto first_of = [&](const char* key, const JsonValue& otherwise) {
      const JsonValue& list = list_in(processor, key);
      return list.empty() ? otherwise : list.front();
    };
    if (!is_truthy(&cls_) && has_config_) rename("cls_token", cls_, first_of("cls", bos_));
    if (!is_truthy(&sep_) && has_config_) rename("sep_token", sep_, first_of("sep", eos_));
  }

  void single(const JsonValue& items) {
    first_ = JsonValue();
    last_ = JsonValue();
    if (items.size() < 2) return;
    first_ = special_of(items.front());
    if (!first_.is_null()) first_of_single(first_);
    last_ = special_of(items.back());
    if (!last_.is_null()) last_of_single(last_);
  }

  void first_of_single(const JsonValue& first) {
    if (!has_config_) {
      bos_ = first;
    } else if (first != bos_ && first != cls_) {
      if (!is_truthy(&bos_)) rename("bos_token", bos_, first);
      if (!is_truthy(&cls_)) rename("cls_token", cls_, first);
    }
    set_flag("bos", first == bos_ || first == cls_);
  }

  void last_of_single(const JsonValue& last) {
    if (!has_config_) {
      eos_ = last;
    } else if (last != eos_) {
      for (const char* kind : {"eot", "eom"}) {
        if (is_kind(kind)) continue;
        kinds_.emplace_back(kind);
        config_[fmt::format("{}_token", kind)] = eos_;
        break;
      }
      rename("eos_token", eos_, last);
    }
    set_flag("eos", last == eos_);
  }

  // [CLS] A [SEP] [SEP] B: sets whether there is a separator between two texts.
  void pair(const JsonValue& items) {
    if (items.empty()) return;
    size_t begin = 0;
    size_t end = items.size();
    if (!first_.is_null() && special_of(items.front()) == first_) ++begin;
    if (!last_.is_null() && special_of(items.back()) == last_) --end;
    if (begin + 2 >= end) return;  // nothing between both texts
    if (!is_sequence(items[begin], "A") || !is_sequence(items[end - 1], "B")) return;
    const auto separates = [&](const JsonValue& token) {
      return !token.is_null() && (token == sep_ || token == eos_);
    };
    bool adds = separates(special_of(items[begin + 1])) && last_.is_null();
    if (end - begin == 4 && separates(special_of(items[begin + 2]))) adds = true;
    set_flag("sep", adds);
    if (adds && !is_truthy(&sep_) && has_config_) config_["sep_token"] = eos_;
  }

  const JsonValue& tokenizer_;
  JsonValue config_;
  bool has_config_;
  uint64_t vocab_size_;
  bool is_after_v050_;
  std::vector<std::string> kinds_;
  JsonValue bos_, cls_, eos_, sep_;  // text, object or null
  JsonValue first_, last_;           // of the template for one text
  std::vector<KindId> ids_;
  std::vector<KindFlag> flags_;
};

struct NormalizerFlags {
  std::optional<bool> lowercase, strip_accents;
};

void read_normalizer(const JsonValue& normalizer, NormalizerFlags& flags) {
  const std::string_view type = text_in(normalizer, "type");
  if (type == "Lowercase") flags.lowercase = true;
  if (type == "StripAccents") flags.strip_accents = true;
  if (type == "BertNormalizer") {
    const JsonValue* lower = known(normalizer, "lowercase");
    const JsonValue* strip = known(normalizer, "strip_accents");
    if (lower != nullptr) flags.lowercase = is_truthy(lower);
    if (strip != nullptr) flags.strip_accents = is_truthy(strip);
  }
  if (type != "Sequence") return;
  for (const JsonValue& step : list_in(normalizer, "normalizers")) read_normalizer(step, flags);
}

// Whether config.json declares no token for padding.
bool pads_nothing(const JsonValue& config) {
  const JsonValue* id = known(config, "pad_token_id");
  if (id == nullptr) id = known(known(config, "text_config"), "pad_token_id");
  return id != nullptr && id->is_number_integer() && *id < 0;
}

}  // namespace

JsonValue post_processors(const JsonValue& tokenizer) {
  const JsonValue* processor = known(tokenizer, "post_processor");
  if (processor == nullptr) return JsonValue::array();
  const JsonValue* list = known(*processor, "processors");
  return list == nullptr ? JsonValue::array({*processor}) : *list;
}

Status add_special_ids(const Checkpoint& checkpoint, const JsonValue& tokenizer, JsonValue config,
                       const SpecialsWanted& wanted, Metadata& metadata) {
  Specials specials(tokenizer, std::move(config), wanted);
  CKPT_ASSIGN(const auto model_config, read_object(checkpoint, "config.json"));
  if (model_config && pads_nothing(*model_config)) specials.leave_out("pad");
  specials.read_post_processor();
  CKPT_TRY(specials.read_names());
  if (model_config) CKPT_TRY(specials.read_numbers(*model_config));
  for (const auto& [kind, id] : wanted.otherwise) CKPT_TRY(specials.set_id(kind, id));
  CKPT_TRY(specials.set_named(wanted.named));
  specials.write(metadata);
  return {};
}

void add_normalizer_keys(const JsonValue& tokenizer, Metadata& metadata) {
  NormalizerFlags flags;
  if (const JsonValue* normalizer = known(tokenizer, "normalizer"))
    read_normalizer(*normalizer, flags);
  for (const auto& [key, flag] :
       {std::pair("lowercase", flags.lowercase), std::pair("strip_accents", flags.strip_accents)}) {
    if (!flag) continue;
    metadata.append(fmt::format("tokenizer.ggml.normalizer.{}", key), MetaValue::boolean(*flag));
  }
}

}  // namespace ckpt

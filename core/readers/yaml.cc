#include "core/readers/yaml.h"

#include <yaml.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <utility>

#include "core/base/find.h"
#include "core/base/lines.h"
#include "core/base/words.h"
#include "core/json/json_edit.h"

namespace ckpt {
namespace {

constexpr uint32_t kMaxYamlDepth = 32;
constexpr size_t kMaxYamlValues = 4'000'000;  // as written
// The limit for copies through anchors and aliases: a few lines can request billions of values or a
// long text as often. The size of a value and its text is counted before it is made.
constexpr size_t kMaxYamlCopiedBytes = size_t{8} << 20;
constexpr size_t kYamlValueBytes = 128;

class YamlEvent {
 public:
  YamlEvent() = default;
  ~YamlEvent() { yaml_event_delete(&event_); }
  YamlEvent(const YamlEvent&) = delete;
  YamlEvent& operator=(const YamlEvent&) = delete;

  yaml_event_t* get() { return &event_; }
  yaml_event_type_t type() const { return event_.type; }
  size_t line() const { return event_.start_mark.line + 1; }
  std::string_view scalar() const {
    const auto& scalar = event_.data.scalar;
    return {reinterpret_cast<const char*>(scalar.value), scalar.length};
  }
  bool has_tag() const {
    return (type() == YAML_SCALAR_EVENT && event_.data.scalar.tag != nullptr) ||
           (type() == YAML_SEQUENCE_START_EVENT && event_.data.sequence_start.tag != nullptr) ||
           (type() == YAML_MAPPING_START_EVENT && event_.data.mapping_start.tag != nullptr);
  }
  bool is_plain() const { return event_.data.scalar.style == YAML_PLAIN_SCALAR_STYLE; }
  // The name in "&NAME" before a value or in "*NAME"; empty if there is none.
  std::string name() const {
    const yaml_char_t* text =
        type() == YAML_ALIAS_EVENT            ? event_.data.alias.anchor
        : type() == YAML_SCALAR_EVENT         ? event_.data.scalar.anchor
        : type() == YAML_SEQUENCE_START_EVENT ? event_.data.sequence_start.anchor
        : type() == YAML_MAPPING_START_EVENT  ? event_.data.mapping_start.anchor
                                              : nullptr;
    return text == nullptr ? "" : reinterpret_cast<const char*>(text);
  }

 private:
  yaml_event_t event_{};
};

constexpr std::string_view kDecimals = "0123456789";

std::string_view take_digits(std::string_view& text) {
  const std::string_view out = text.substr(0, text.find_first_not_of(kDecimals));
  text.remove_prefix(out.size());
  return out;
}

// Returns a decimal number in the spelling of JSON; nullopt if it is not one.
std::optional<std::string> decimal_of(std::string_view text) {
  std::string out = text.starts_with('-') ? "-" : "";
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  const std::string_view whole = take_digits(text);
  const bool has_point = text.starts_with('.');
  if (has_point) text.remove_prefix(1);
  const std::string_view part = has_point ? take_digits(text) : text.substr(0, 0);
  if (whole.empty() && part.empty()) return std::nullopt;
  out += whole.empty() ? "0" : whole;
  if (has_point) out += fmt::format(".{}", part.empty() ? "0" : part);
  const std::string_view power = text;
  if (power.starts_with('e') || power.starts_with('E')) {
    text.remove_prefix(1);
    if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
    if (take_digits(text).empty()) return std::nullopt;
    out += power;
  }
  return text.empty() ? std::optional(out) : std::nullopt;
}

// Converts 0x10 and 0o17 to decimal; numbers above 64 bits stay unchanged.
std::optional<std::string> decimal_of_base(std::string_view text) {
  const int base = text.starts_with("0x") ? 16 : text.starts_with("0o") ? 8 : 0;
  if (base == 0) return std::nullopt;
  const std::string_view digits = text.substr(2);
  const std::string_view known =
      std::string_view("0123456789abcdefABCDEF").substr(0, base == 16 ? 22 : 8);
  if (digits.empty() || digits.find_first_not_of(known) != digits.npos) return std::nullopt;
  uint64_t value = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  return read.ec == std::errc() ? fmt::format("{}", value) : std::string(text);
}

// The JSON token of a plain scalar under the core schema of YAML 1.2; nullopt for text. Numbers
// that JSON cannot spell are returned unchanged.
std::optional<std::string> core_token(std::string_view text) {
  using Token = std::pair<std::string_view, std::string_view>;
  constexpr Token kTokens[] = {
      {"", "null"},           {"~", "null"},         {"null", "null"},
      {"Null", "null"},       {"NULL", "null"},      {"true", "true"},
      {"True", "true"},       {"TRUE", "true"},      {"false", "false"},
      {"False", "false"},     {"FALSE", "false"},    {".inf", "Infinity"},
      {".Inf", "Infinity"},   {".INF", "Infinity"},  {"+.inf", "Infinity"},
      {"+.Inf", "Infinity"},  {"+.INF", "Infinity"}, {"-.inf", "-Infinity"},
      {"-.Inf", "-Infinity"}, {"-.INF", "-Infinity"}, {".nan", "NaN"},
      {".NaN", "NaN"},        {".NAN", "NaN"}};
  const auto found = std::ranges::find(kTokens, text, &Token::first);
  if (found != std::end(kTokens)) return std::string(found->second);
  if (auto number = decimal_of(text)) return number;
  return decimal_of_base(text);
}

// Whether plain YAML reads, or may read, the text as a number or a truth value.
bool is_no_plain_text(std::string_view text) {
  if (core_token(text) || has_word(" yes no on off ", lower_case(text))) return true;
  const size_t digit = text.find_first_not_of("+-.");
  return digit != text.npos && text[digit] >= '0' && text[digit] <= '9';
}

// Builds values for programs: sorted, with all scalars as texts.
struct ValueTree {
  using Value = JsonValue;
  static Result<Value> scalar(const YamlEvent& event) {
    const bool is_null = event.is_plain() && core_token(event.scalar()) == "null";
    return is_null ? Value() : Value(std::string(event.scalar()));
  }
  static Value list() { return JsonValue::array(); }
  static Value map() { return JsonValue::object(); }
  static void add(Value& list, Value item) { list.push_back(std::move(item)); }
  static void set(Value& map, const std::string& key, Value value) { map[key] = std::move(value); }
};

// Builds values as written, in order.
struct TextTree {
  using Value = JsonText;
  static Result<Value> scalar(const YamlEvent& event) {
    const std::string_view text = event.scalar();
    const auto token = event.is_plain() ? core_token(text) : std::nullopt;
    if (!token) return JsonText::text(text);
    if (auto made = JsonText::parse(*token)) return std::move(*made);
    return unsupported(
        "line {}: {}: readers of YAML differ; expected quotes, or a decimal number that does not "
        "start with 0",
        event.line(), text);
  }
  static Value list() { return JsonText::array(); }
  static Value map() { return JsonText::object(); }
  static void add(Value& list, Value item) { list.items().push_back(std::move(item)); }
  static void set(Value& map, const std::string& key, Value value) {
    map.members().emplace_back(key, std::move(value));
  }
};

template <class Tree>
class YamlReader {
  using Value = typename Tree::Value;

 public:
  explicit YamlReader(std::string_view text, bool is_strict = false) : is_strict_(is_strict) {
    if (yaml_parser_initialize(&parser_) == 0) return;
    is_ready_ = true;
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()),
                                 text.size());
  }
  ~YamlReader() {
    if (is_ready_) yaml_parser_delete(&parser_);
  }
  YamlReader(const YamlReader&) = delete;
  YamlReader& operator=(const YamlReader&) = delete;

  // The first document of the text; null if there is none.
  Result<Value> document() {
    CKPT_ASSIGN(auto out, next_document());
    return out ? std::move(*out) : Value();
  }

  // Does the same, but rejects a second document.
  Result<Value> only_document() {
    CKPT_ASSIGN(Value out, document());
    YamlEvent event;
    CKPT_TRY(next(event));
    if (event.type() == YAML_DOCUMENT_START_EVENT) {
      return wrong(event, "a second document, which is not read");
    }
    return out;
  }

  Result<std::vector<Value>> documents() {
    std::vector<Value> out;
    for (;;) {
      CKPT_ASSIGN(auto one, next_document());
      if (!one) return out;
      out.push_back(std::move(*one));
      anchors_.clear();  // anchors are local to a document
    }
  }

 private:
  // Returns nullopt after the last document.
  Result<std::optional<Value>> next_document() {
    for (;;) {
      YamlEvent event;
      CKPT_TRY(next(event));
      if (event.type() == YAML_STREAM_END_EVENT) return std::optional<Value>();
      if (event.type() == YAML_STREAM_START_EVENT || event.type() == YAML_DOCUMENT_START_EVENT) {
        continue;
      }
      CKPT_ASSIGN(Value out, value(event, 0));
      YamlEvent behind;
      CKPT_TRY(next(behind));
      return std::optional(std::move(out));
    }
  }

  Status next(YamlEvent& event) {
    if (!is_ready_) return fail(ErrorCode::kIo, "no memory for YAML");
    if (yaml_parser_parse(&parser_, event.get()) != 0) return {};
    const size_t line = parser_.problem_mark.line + 1;
    return unsupported("line {}: {}", line,
                       parser_.problem == nullptr ? "no YAML" : parser_.problem);
  }

  // The value that begins with `event`.
  Result<Value> value(const YamlEvent& event, uint32_t depth) {
    if (depth > kMaxYamlDepth) return wrong(event, "nested too deeply");
    if (++values_ > kMaxYamlValues) return wrong(event, "too many values");
    CKPT_TRY(check_strict(event));
    const std::string name = event.name();
    if (event.type() == YAML_ALIAS_EVENT) return repeated(event, name);
    const size_t before = bytes_;
    bytes_ += kYamlValueBytes;
    if (event.type() == YAML_SCALAR_EVENT) bytes_ += event.scalar().size();
    Result<Value> out = event.type() == YAML_SCALAR_EVENT           ? Tree::scalar(event)
                        : event.type() == YAML_SEQUENCE_START_EVENT ? list(depth)
                                                                    : map(depth);
    if (!out || name.empty()) return out;
    CKPT_TRY(count_copy(event, bytes_ - before));
    anchors_.insert_or_assign(name, std::pair(*out, bytes_ - before));
    return out;
  }

  Result<Value> list(uint32_t depth) {
    Value out = Tree::list();
    for (;;) {
      YamlEvent event;
      CKPT_TRY(next(event));
      if (event.type() == YAML_SEQUENCE_END_EVENT) return out;
      CKPT_ASSIGN(Value item, value(event, depth + 1));
      Tree::add(out, std::move(item));
    }
  }

  Result<Value> map(uint32_t depth) {
    Value out = Tree::map();
    std::set<std::string> keys;
    for (;;) {
      YamlEvent event;
      CKPT_TRY(next(event));
      if (event.type() == YAML_MAPPING_END_EVENT) return out;
      if (event.type() != YAML_SCALAR_EVENT) return wrong(event, "a key that is not a text");
      const std::string key(event.scalar());
      bytes_ += key.size();
      CKPT_TRY(check_strict(event));
      if (is_strict_ && !keys.insert(key).second) {
        return wrong(event, "a key that is there already");
      }
      if (is_strict_ && key == "<<") return wrong(event, "a merge (<<), which is not read");
      YamlEvent behind;
      CKPT_TRY(next(behind));
      CKPT_ASSIGN(Value held, value(behind, depth + 1));
      Tree::set(out, key, std::move(held));
    }
  }

  Result<Value> repeated(const YamlEvent& event, const std::string& name) {
    const auto* found = find_mapped(anchors_, name);
    if (found == nullptr) return wrong(event, "an alias of nothing before it");
    CKPT_TRY(count_copy(event, found->second));
    bytes_ += found->second;
    return found->first;
  }

  Status count_copy(const YamlEvent& event, size_t bytes) {
    copied_bytes_ += bytes;
    if (copied_bytes_ <= kMaxYamlCopiedBytes) return {};
    return unsupported("line {}: anchors and aliases repeat more than {} bytes", event.line(),
                       kMaxYamlCopiedBytes);
  }

  Status check_strict(const YamlEvent& event) const {
    if (!is_strict_) return {};
    if (event.has_tag()) return wrong(event, "a tag, which is not read");
    const bool is_text_alone = std::is_same_v<Tree, ValueTree>;  // otherwise quotes tell
    if (is_text_alone && event.type() == YAML_SCALAR_EVENT && !event.is_plain() &&
        is_no_plain_text(event.scalar())) {
      return wrong(event, "a number or a truth value in quotes; expected it without them");
    }
    return {};
  }

  static Failure wrong(const YamlEvent& event, const char* what) {
    return unsupported("line {}: {}", event.line(), what);
  }

  yaml_parser_t parser_{};
  bool is_ready_ = false;
  bool is_strict_;
  size_t values_ = 0, bytes_ = 0, copied_bytes_ = 0;
  std::map<std::string, std::pair<Value, size_t>> anchors_;  // with the size of each
};

}  // namespace

std::optional<std::string> front_matter(std::string_view card) {
  std::string out;
  bool first = true;
  while (!card.empty()) {
    std::string_view line = take_line(card);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (first && line != "---") return std::nullopt;
    if (!first && line == "---") break;
    if (!first) {
      // YAML forbids tabs, but cards contain them.
      for (const char c : line) out += c == '\t' ? std::string("  ") : std::string(1, c);
      out += '\n';
    }
    first = false;
  }
  if (first) return std::nullopt;
  return out;
}

Result<JsonValue> parse_yaml(std::string_view text) {
  return YamlReader<ValueTree>(text).document();
}

Result<std::vector<JsonValue>> parse_strict_yaml(std::string_view text) {
  return YamlReader<ValueTree>(text, true).documents();
}

Result<std::string> yaml_as_json(std::string_view text) {
  CKPT_ASSIGN(const JsonText root, YamlReader<TextTree>(text, true).only_document());
  return root.dump(0);
}

}  // namespace ckpt

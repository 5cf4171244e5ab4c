#include "models/shape.h"

#include <algorithm>
#include <charconv>

#include "core/arithmetic.h"

namespace ckpt {
namespace {

constexpr int kMaxDepth = 4;  // of defaults that are made of other fields

// Takes the part before `mark` off `text`, and the mark.
std::string_view take(std::string_view& text, char mark) {
  const size_t end = std::min(text.find(mark), text.size());
  const std::string_view out = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return out;
}

Failure too_large(std::string_view text) {
  return fail(ErrorCode::kUnsupported, "config.json: {} is beyond 64 bits", text);
}

}  // namespace

std::string_view Fields::default_of(std::string_view field) const {
  for (const FieldValue& entry : defaults_) {
    if (entry.field == field) return entry.value;
  }
  return {};
}

Result<uint64_t> Fields::count(std::string_view field, int depth) const {
  if (const JsonValue* said = known(config_, field)) {
    const auto value = whole(*said);
    if (value && *value <= UINT32_MAX) return *value;
    return fail(ErrorCode::kCorrupt, "config.json: {} is {}; expected a whole number", field,
                said->dump(-1, ' ', true, JsonValue::error_handler_t::replace));
  }
  const std::string_view value = default_of(field);
  if (value.empty() || depth > kMaxDepth) {
    return fail(ErrorCode::kCorrupt, "config.json: no {}", field);
  }
  return sum(value, depth + 1);
}

Result<uint64_t> Fields::count_or_zero(std::string_view field) const {
  if (known(config_, field) == nullptr && default_of(field).empty()) return 0;
  return count(field);
}

bool Fields::is_true(std::string_view field) const {
  if (const JsonValue* said = known(config_, field)) return is_truthy(said);
  const std::string_view value = default_of(field);
  return !value.empty() && value != "0";
}

Result<uint64_t> Fields::factor(std::string_view text, int depth) const {
  const std::string_view over = take(text, '/');
  uint64_t value = 0;
  if (over[0] >= '0' && over[0] <= '9') {
    std::from_chars(over.data(), over.data() + over.size(), value);
  } else {
    CKPT_ASSIGN(value, count(over, depth));
  }
  if (text.empty()) return value;
  CKPT_ASSIGN(const uint64_t under, count(text, depth));
  if (under == 0) return fail(ErrorCode::kCorrupt, "config.json: {} is 0", text);
  return value / under;
}

Result<uint64_t> Fields::product(std::string_view text, int depth) const {
  uint64_t out = 1;
  for (std::string_view rest = text; !rest.empty();) {
    CKPT_ASSIGN(const uint64_t value, factor(take(rest, '*'), depth));
    const auto next = multiply(out, value);
    if (!next) return too_large(text);
    out = *next;
  }
  return out;
}

Result<uint64_t> Fields::sum(std::string_view text, int depth) const {
  uint64_t out = 0;
  for (std::string_view rest = text; !rest.empty();) {
    CKPT_ASSIGN(const uint64_t value, product(take(rest, '+'), depth));
    const auto next = add(out, value);
    if (!next) return too_large(text);
    out = *next;
  }
  return out;
}

Result<std::vector<uint64_t>> Fields::shape(std::string_view text) const {
  std::vector<uint64_t> out;
  while (!text.empty()) {
    CKPT_ASSIGN(const uint64_t size, sum(take(text, ' '), 0));
    out.push_back(size);
  }
  return out;
}

}  // namespace ckpt

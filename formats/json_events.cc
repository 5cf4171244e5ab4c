#include "formats/json_events.h"

#include "core/base/numbers.h"
#include "core/base/utf8.h"
#include "core/json/json_string.h"

namespace ckpt {

bool JsonEvents::refuse(std::string reason) {
  reason_ = std::move(reason);
  return false;
}

std::string JsonEvents::described(std::string_view spelling) {
  if (spelling[0] == '"') return fmt::format("the text '{}'", shorten(json_unquoted(spelling)));
  const bool is_number = spelling[0] == '-' || (spelling[0] >= '0' && spelling[0] <= '9');
  return is_number ? fmt::format("the number {}", shorten(spelling)) : std::string(spelling);
}

std::optional<uint64_t> JsonEvents::whole_number(std::string_view spelling) {
  return number_from<uint64_t>(spelling);
}

Status JsonEvents::run(std::string_view text, std::optional<uint64_t> start_byte) {
  const auto fault = read_json_events(text, this);
  if (!reason_.empty()) return corrupt("{}", reason_);
  if (!fault) return {};
  return start_byte ? not_json_at_byte(*fault, text, *start_byte) : not_json(*fault, text);
}

}  // namespace ckpt

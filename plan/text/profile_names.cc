// Matches names of profiles in the spellings that people type. Ignores case and punctuation, except
// for the dots of a version.
#include <algorithm>
#include <cctype>

#include "checks/checks.h"
#include "core/base/nearest.h"
#include "plan/text/type_names.h"

namespace ckpt {
namespace {

// Keeps letters and digits, and dots between digits of a version.
std::string profile_letters(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool in_version =
        text[i] == '.' && i > 0 && std::isdigit(static_cast<unsigned char>(text[i - 1])) != 0;
    if (std::isalnum(byte) != 0 || in_version) out += static_cast<char>(std::tolower(byte));
  }
  return out;
}

Result<std::string> profile_named(std::string_view text) {
  const std::vector<std::string> names = names_in(all_profiles());
  const std::string letters = profile_letters(text);
  for (const std::string& name : names) {
    if (letters == profile_letters(name)) return name;
  }
  const size_t digit = std::min(letters.find_first_of("0123456789"), letters.size());
  for (const ProfileInfo& profile : all_profiles()) {
    if (profile_letters(profile.program) != letters.substr(0, digit)) continue;
    std::string name = release_named(fmt::format("{}-{}", profile.program, letters.substr(digit)));
    if (!name.empty()) return name;
  }
  return misuse_hint(near_hint(text, names, "--for ", "ckpt list profiles"),
                     "profile '{}' is not known", text);
}

}  // namespace

std::vector<std::string> words_between_commas(std::string_view text) {
  std::vector<std::string> out;
  for (size_t start = 0; start <= text.size();) {
    const size_t end = std::min(text.find(',', start), text.size());
    out.emplace_back(text.substr(start, end - start));
    start = end + 1;
  }
  return out;
}

Result<std::vector<std::string>> profiles_named(const std::vector<std::string>& texts) {
  std::vector<std::string> out;
  for (const std::string& text : texts) {
    if (is_same_word(text, "all")) return names_in(all_profiles());
    for (const std::string& word : words_between_commas(text)) {
      CKPT_ASSIGN(std::string name, profile_named(word));
      if (std::ranges::find(out, name) == out.end()) out.push_back(std::move(name));
    }
  }
  return out;
}

}  // namespace ckpt

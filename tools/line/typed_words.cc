#include "tools/line/typed_words.h"

#include <algorithm>

#include "core/base/printable.h"

namespace ckpt {
namespace {

class TypedWords {
 public:
  TypedWords(std::string_view command, std::span<const std::string> words,
             const CommandOptions& options)
      : command_(command), words_(words), options_(options) {
    for (const Option& option : options.declared()) {
      if (stands_alone(option)) alone_.push_back(option.names);
    }
  }

  Status check() {
    bool only_alone = false;  // typed after "--"
    for (; at_ < words_.size(); ++at_) {
      const std::string& word = words_[at_];
      if (!only_alone && word == "--") {
        only_alone = true;
      } else if (!only_alone && word.starts_with("--")) {
        CKPT_TRY(check_long(word));
      } else if (!only_alone && word.size() > 1 && word[0] == '-') {
        CKPT_TRY(check_short(word));
      } else if (word.empty()) {
        const size_t last = alone_.empty() ? 0 : alone_.size() - 1;
        return is_empty(alone_.empty() ? "a word" : alone_[std::min(count_alone_, last)]);
      } else {
        ++count_alone_;
      }
    }
    return {};
  }

 private:
  // Includes the options that every command has in addition to its own.
  bool is_own_option(std::string_view word) const {
    if (word.size() < 2 || word[0] != '-') return false;
    const std::string_view name =
        word[1] == '-' ? word.substr(0, word.find('=')) : word.substr(0, 2);
    return name == "--help" || name == "-h" || options_.find_declared(name) != nullptr;
  }

  Status check_long(std::string_view word) {
    const size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    const Option* option = options_.find_declared(name);
    if (option == nullptr) return {};  // the parser reports it
    if (equals + 1 == word.size() && !takes_value(*option)) {
      return misuse_hint(help(), "{} takes no value", name);
    }
    if (equals != word.npos) return check_value(*option, name, "=", word.substr(equals + 1));
    return check_next(name, *option);
  }

  // Checks "-q", "-oOUT" and combined short options such as "-qj4".
  Status check_short(std::string_view word) {
    for (size_t letter = 1; letter < word.size(); ++letter) {
      const std::string name = fmt::format("-{}", word[letter]);
      const Option* option = options_.find_declared(name);
      if (option == nullptr) return {};
      if (!takes_value(*option)) continue;
      const std::string_view rest = word.substr(letter + 1);
      if (rest.empty()) return check_next(name, *option);
      return check_value(*option, name, "", rest == "=" ? std::string_view() : rest);
    }
    return {};
  }

  // Checks the next word as the value; the parser would accept anything there.
  Status check_next(std::string_view name, const Option& option) {
    if (!takes_value(option) || at_ + 1 == words_.size()) return {};
    // An empty word is checked as the value; any other word is checked in its turn.
    if (option.is_value_optional) return words_[at_ + 1].empty() ? is_empty(name) : Status();
    return check_value(option, name, " ", words_[++at_]);
  }

  Status check_value(const Option& option, std::string_view name, std::string_view between,
                     std::string_view value) const {
    if (value.empty()) return is_empty(name);
    const bool is_mistyped = between == " " && value.starts_with("--");
    if (value != "--" && !is_mistyped && !is_own_option(value)) return {};
    const bool is_file = std::holds_alternative<std::filesystem::path*>(option.target);
    const std::string meant = value == "--" || !is_file
                                  ? help()
                                  : fmt::format("{}{}{} for a file of that name", name, between,
                                                shell_word(fmt::format("./{}", value)));
    return misuse_hint(meant, "{}: its value is missing, {} follows", name, value);
  }

  Failure is_empty(std::string_view name) const {
    return misuse_hint(help(), "{}: an empty value", name);
  }
  std::string help() const { return fmt::format("ckpt help {}", command_); }

  std::string_view command_;
  std::span<const std::string> words_;
  const CommandOptions& options_;
  std::vector<std::string> alone_;
  size_t at_ = 0, count_alone_ = 0;
};

}  // namespace

Status check_typed_words(std::string_view command, std::span<const std::string> words,
                         const CommandOptions& options) {
  return TypedWords(command, words, options).check();
}

}  // namespace ckpt

// The options of commands, declared as data. The parser (command_line.h), --help and completion use
// the declarations.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace ckpt {

// Where a value is stored. A vector gets one value each time the option is typed; a function is
// called with each value; a flag is a bool or a function without arguments; a monostate is only
// recorded in CommandOptions::typed.
using OptionTarget = std::variant<std::monostate, std::string*, std::filesystem::path*,
                                  std::vector<std::string>*, unsigned*, uint64_t*, bool*,
                                  std::function<void(const std::string&)>, std::function<void()>>;

// Where a path may be. URLs can be read. A path that is written, or that holds a private key or a
// password, must be local; a URL is rejected before any server is contacted.
enum class OptionPlace : uint8_t { kAnywhere, kWritten, kSecret };

struct Option {
  std::string names{};  // "--to,--outtype"; "IN" for a positional
  OptionTarget target{};
  std::string help{};
  // The placeholder in --help, such as "N" or "GLOB"; empty: chosen by the value's type.
  std::string value_name{};
  // The only accepted values, if any.
  std::vector<std::string> choices{};
  bool is_checked_later = false;                // the command validates: it accepts more
  std::optional<std::pair<int, int>> bounds{};  // limits of a number, both inclusive
  std::string excludes{};                       // the name of an option that excludes this one
  std::vector<std::string> needs{};             // without one of these it has no effect
  bool is_required = false;
  bool is_value_optional = false;
  bool may_repeat = false;         // if the target is not a vector
  std::string_view group{};        // heading in --help; empty: "Options"
  std::string_view environment{};  // provides the value if it is not typed
  OptionPlace place = OptionPlace::kAnywhere;
  std::vector<std::string> unless{};  // with one of these this path is not written
};

inline bool stands_alone(const Option& option) { return !option.names.starts_with('-'); }

// "--to" and "--outtype", with their dashes; empty for a positional.
inline std::vector<std::string> names_of(const Option& option) {
  std::vector<std::string> out;
  for (size_t at = 0; !stands_alone(option) && at < option.names.size();) {
    const size_t end = std::min(option.names.find(',', at), option.names.size());
    out.push_back(option.names.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

inline bool takes_number(const Option& option) {
  return std::holds_alternative<unsigned*>(option.target) ||
         std::holds_alternative<uint64_t*>(option.target);
}
inline bool takes_list(const Option& option) {
  return std::holds_alternative<std::vector<std::string>*>(option.target);
}
inline bool takes_value(const Option& option) {
  return !std::holds_alternative<bool*>(option.target) &&
         !std::holds_alternative<std::function<void()>>(option.target);
}

// An option as typed: its first long name without dashes, or the name of a positional.
struct TypedOption {
  std::string name, value;
  bool takes_value = false;
};

class CommandOptions {
 public:
  // `names` is "--out,-o FILE": the names and the placeholder. `rest` has the other fields.
  Option& add(std::string names, OptionTarget target, std::string help, Option rest = {}) {
    const size_t space = std::min(names.find(' '), names.size());
    if (space < names.size()) rest.value_name = names.substr(space + 1);
    rest.names = names.substr(0, space);
    rest.target = std::move(target);
    rest.help = std::move(help);
    return declared_.emplace_back(std::move(rest));
  }

  const std::deque<Option>& declared() const { return declared_; }
  // Finds an option by one of its names ("--to"); null if none has it.
  const Option* find_declared(std::string_view name) const {
    const auto found = std::ranges::find_if(declared_, [&](const Option& option) {
      return std::ranges::count(names_of(option), name) > 0;
    });
    return found == declared_.end() ? nullptr : &*found;
  }
  // The options in the order in which they were typed; available when the command runs.
  const std::vector<TypedOption>& typed() const { return typed_; }
  bool has(std::string_view name) const { return find(name) != nullptr; }
  std::string value(std::string_view name) const {  // "" if not typed
    const TypedOption* found = find(name);
    return found == nullptr ? std::string() : found->value;
  }
  void set_typed(std::vector<TypedOption> typed) { typed_ = std::move(typed); }

 private:
  const TypedOption* find(std::string_view name) const {
    const auto found = std::ranges::find(typed_, name, &TypedOption::name);
    return found == typed_.end() ? nullptr : &*found;
  }

  std::deque<Option> declared_;  // a deque keeps references valid
  std::vector<TypedOption> typed_;
};

}  // namespace ckpt

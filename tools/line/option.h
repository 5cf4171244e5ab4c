// The options of commands, declared as data: command_line.h parses by it, and
// --help and completion say it.
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

// Where a value goes. A vector takes one value each time the option is typed; a function is called
// with each value; a flag is a bool, or a function called without one; a monostate is kept in
// CommandOptions::typed alone.
using OptionTarget = std::variant<std::monostate, std::string*, std::filesystem::path*,
                                  std::vector<std::string>*, unsigned*, uint64_t*, bool*,
                                  std::function<void(const std::string&)>, std::function<void()>>;

// Where a path may be. URLs are read; a path that is written, or that holds a private key or a
// password, is refused where it is one, before a server is asked.
enum class OptionPlace : uint8_t { kAnywhere, kWritten, kSecret };

struct Option {
  std::string names{};  // "--to,--outtype"; "IN" for what stands alone
  OptionTarget target{};
  std::string help{};
  // "N", "GLOB": how --help calls the value; empty: by its kind
  std::string value_name{};
  // The only values, when there are some.
  std::vector<std::string> choices{};
  bool is_checked_later = false;                // by the command: it takes more than the choices
  std::optional<std::pair<int, int>> bounds{};  // of a number, both included
  std::string excludes{};                       // the name of an option that excludes this one
  std::vector<std::string> needs{};             // names; without one of them it has no effect
  bool is_required = false;
  bool is_value_optional = false;
  bool may_repeat = false;         // for a target that is not a vector
  std::string_view group{};        // the heading of --help that it stands under; empty: "Options"
  std::string_view environment{};  // a variable that holds its value where it is not typed
  OptionPlace place = OptionPlace::kAnywhere;
  std::vector<std::string> unless{};  // names; with one of them this path is not written
};

inline bool stands_alone(const Option& option) { return !option.names.starts_with('-'); }

// "--to" and "--outtype", with their dashes; none of what stands alone.
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

// An option as it was typed, by its first long name, without dashes; what stands alone by its own.
struct TypedOption {
  std::string name, value;
  bool takes_value = false;
};

class CommandOptions {
 public:
  // "--out,-o FILE": names, and how help calls the value. `rest`: the other fields.
  Option& add(std::string names, OptionTarget target, std::string help, Option rest = {}) {
    const size_t space = std::min(names.find(' '), names.size());
    if (space < names.size()) rest.value_name = names.substr(space + 1);
    rest.names = names.substr(0, space);
    rest.target = std::move(target);
    rest.help = std::move(help);
    return declared_.emplace_back(std::move(rest));
  }

  const std::deque<Option>& declared() const { return declared_; }
  // By one of its names, "--to"; null: none has it.
  const Option* find_declared(std::string_view name) const {
    const auto found = std::ranges::find_if(declared_, [&](const Option& option) {
      return std::ranges::count(names_of(option), name) > 0;
    });
    return found == declared_.end() ? nullptr : &*found;
  }
  // In the order they were typed; known when the command runs.
  const std::vector<TypedOption>& typed() const { return typed_; }
  bool has(std::string_view name) const { return find(name) != nullptr; }
  std::string value(std::string_view name) const {  // "": not typed
    const TypedOption* found = find(name);
    return found == nullptr ? std::string() : found->value;
  }
  void set_typed(std::vector<TypedOption> typed) { typed_ = std::move(typed); }

 private:
  const TypedOption* find(std::string_view name) const {
    const auto found = std::ranges::find(typed_, name, &TypedOption::name);
    return found == typed_.end() ? nullptr : &*found;
  }

  std::deque<Option> declared_;  // references to what was added stay good
  std::vector<TypedOption> typed_;
};

}  // namespace ckpt

// What commands take on their command lines, declared as data: command_line.h parses by it, and
// --help and completion say it.
#pragma once

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

struct Option {
  std::string names;  // "--to,--outtype"; "IN" for what stands alone
  OptionTarget target;
  std::string help;
  // "N", "GLOB": how --help calls the value; empty: by its kind
  std::string value_name{};
  // The only values, when there are some.
  std::vector<std::string> choices{};
  bool is_checked_later = false;                // by the command: it takes more than the choices
  std::optional<std::pair<int, int>> bounds{};  // of a number, both included
  std::string excludes{};  // the name of an option that must not stand beside this one
  bool is_required = false;
  bool is_value_optional = false;
  bool may_repeat = false;  // for a target that is not a vector
};

inline bool takes_value(const Option& option) {
  return !std::holds_alternative<bool*>(option.target) &&
         !std::holds_alternative<std::function<void()>>(option.target);
}

// An option as it was typed, by its first long name, without dashes. Empty name: what stands alone.
struct TypedOption {
  std::string name, value;
  bool takes_value = false;
};

class CommandOptions {
 public:
  Option& add(std::string names, OptionTarget target, std::string help) {
    return declared_.emplace_back(Option{std::move(names), std::move(target), std::move(help)});
  }

  const std::deque<Option>& declared() const { return declared_; }
  // In the order they were typed; known when the command runs.
  const std::vector<TypedOption>& typed() const { return typed_; }
  void set_typed(std::vector<TypedOption> typed) { typed_ = std::move(typed); }

 private:
  std::deque<Option> declared_;  // references to what was added stay good
  std::vector<TypedOption> typed_;
};

}  // namespace ckpt

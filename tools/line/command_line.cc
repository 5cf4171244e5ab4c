// Parses the command line. Only this file includes CLI11, which is slow to compile.
#include "tools/line/command_line.h"

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <limits>
#include <map>

#include "core/base/nearest.h"
#include "core/base/numbers.h"
#include "core/base/printable.h"
#include "plan/conversion/sizes.h"
#include "plan/conversion/version.h"
#include "plan/text/type_names.h"
#include "tools/line/habits.h"
#include "tools/line/help.h"
#include "tools/line/suggested.h"
#include "tools/line/typed_words.h"

namespace ckpt {
namespace {

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;  // Clang 16 needs it

// The option takes one value each time; the next word is a positional or another option.
void take_one_at_a_time(CLI::Option* option) {
  option->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
}

// The names for CLI11 2.5, which accepts no '=' in the name of a positional such as KEY=VALUE.
std::string parsed_names(const Option& option) {
  std::string names = option.names;
  if (stands_alone(option)) std::ranges::replace(names, '=', '-');
  return names;
}

// Parses decimal numbers. CLI11 itself would read "010" as 8 and "0x10" as 16.
template <class Number>
CLI::Option* add_number(CLI::App& app, const Option& option, Number* number) {
  const auto set = [number](const std::string& text) {
    if (const auto value = number_from<Number>(text)) *number = *value;  // else out of bounds
  };
  return app.add_option_function<std::string>(option.names, set, option.help);
}

CLI::Option* add_target(CLI::App& app, const Option& option) {
  const std::string names = parsed_names(option), &help = option.help;
  return std::visit(Overloaded{[&](std::monostate) { return app.add_option(names, help); },
                               [&](bool* flag) { return app.add_flag(names, *flag, help); },
                               [&](const std::function<void()>& call) {
                                 return app.add_flag_callback(names, call, help);
                               },
                               [&](const std::function<void(const std::string&)>& call) {
                                 return app.add_option_function<std::string>(names, call, help);
                               },
                               [&](unsigned* number) { return add_number(app, option, number); },
                               [&](uint64_t* number) { return add_number(app, option, number); },
                               [&](auto* value) { return app.add_option(names, *value, help); }},
                    option.target);
}

CLI::Validator in_bounds(std::pair<int, int> bounds) {
  const auto [low, high] = bounds;
  const auto check = [low, high](const std::string& text) {
    const auto value = number_from<int>(text);
    if (value && *value >= low && *value <= high) return std::string();
    const bool is_larger =
        !value && !text.empty() && text.find_first_not_of("0123456789") == text.npos;
    return high == std::numeric_limits<int>::max() && !is_larger
               ? fmt::format("{}; expected {} or more", text, low)
               : fmt::format("{}; expected {} to {}", text, low, high);
  };
  return {check, ""};
}

void add_option(CLI::App& app, const Option& option) {
  CLI::Option* added = add_target(app, option);
  if (takes_list(option) && stands_alone(option)) {
    added->expected(1, CLI::detail::expected_max_vector_size);
  } else if (takes_list(option) || option.may_repeat) {
    take_one_at_a_time(added);
  }
  if (option.is_value_optional) added->expected(0, 1);
  if (option.is_required) added->required();
  if (option.bounds) added->type_name("N")->check(in_bounds(*option.bounds));
  if (!option.value_name.empty()) added->type_name(option.value_name);
  if (!option.excludes.empty()) added->excludes(app.get_option(option.excludes));
}

std::string first_name(const CLI::Option& option) {
  return option.get_lnames().empty() ? option.get_single_name() : option.get_lnames()[0];
}

std::vector<TypedOption> typed_options(const CLI::App& app) {
  std::vector<TypedOption> out;
  std::map<const CLI::Option*, size_t> taken;
  for (const CLI::Option* option : app.parse_order()) {
    const size_t number = taken[option]++;
    const bool has_value = option->get_items_expected_max() > 0;
    const auto& values = option->results();
    if (!has_value && number < values.size() && values[number] == "false") continue;  // --pure=no
    out.push_back({first_name(*option), has_value && number < values.size() ? values[number] : "",
                   has_value});
  }
  return out;
}

Status check_verb(const std::vector<std::string>& words) {
  const std::vector<std::string> verbs = names_in(all_commands());
  const bool is_verb = words.empty() || words[0].starts_with("-") ||
                       std::ranges::find(verbs, words[0]) != verbs.end();
  if (is_verb) return {};
  return unknown_verb(words, verbs);
}

// The command line quoted for a shell, with the first `wrong` replaced by `right`.
std::string corrected(const std::vector<std::string>& words, const std::string& wrong,
                      const std::string& right) {
  const auto place = std::ranges::find(words, wrong);
  std::string out;
  for (auto word = words.begin(); word != words.end(); ++word) {
    out += " " + shell_word(word == place ? right : *word);
  }
  return out;
}

// Rejects values that are not among the choices of their option. `is_whole`: `words` is complete.
Status check_choices(const CLI::App& app, const Verb& verb, const std::vector<std::string>& words,
                     bool is_whole) {
  const auto count_alone = std::ranges::count_if(verb.options.declared(), stands_alone);
  for (const Option& option : verb.options.declared()) {
    if (option.choices.empty() || option.is_checked_later) continue;
    const std::string name = option.names.substr(0, option.names.find(','));
    for (const std::string& value : app.get_option(name)->results()) {
      const auto& choices = option.choices;
      if (std::ranges::find(choices, value) != choices.end()) continue;
      const bool is_alone = !name.starts_with("-");
      const std::string near = nearest(value, choices);
      std::error_code ignored;
      const bool is_path = count_alone > 1 && std::filesystem::exists(value, ignored);
      if (is_alone && is_path) {  // the choice was left out, and a path is in its place
        const std::string line = "ckpt" + corrected(words, value, choices[0]);
        return misuse_hint(line + " " + shell_path(value), "{} {}; expected {}", name, value,
                           alternatives(choices));
      }
      const bool is_help = near.empty() || (is_alone && !is_whole);
      const std::string hint = is_help    ? fmt::format("ckpt help {}", verb.command->name)
                               : is_alone ? "ckpt" + corrected(words, value, near)
                                          : fmt::format("{} {}", name, near);
      return misuse_hint(hint, "{} {}; expected {}", name, value, alternatives(choices));
    }
  }
  return {};
}

// Takes option values from environment variables under the same rules. Typed values win.
Status take_environment(const CLI::App& app, const CommandOptions& options) {
  for (const Option& option : options.declared()) {
    const char* text =
        option.environment.empty() ? nullptr : std::getenv(option.environment.data());
    if (text == nullptr) continue;
    const std::string name(option.environment), value = text;
    const std::string hint = fmt::format("unset {}", name);
    if (value.empty()) return misuse_hint(hint, "{}: an empty value", name);
    std::string problem = option.bounds ? in_bounds(*option.bounds)(value) : std::string();
    const bool is_word = option.choices.empty() || std::ranges::count(option.choices, value) > 0;
    if (!is_word) problem = fmt::format("{}; expected {}", value, alternatives(option.choices));
    if (!problem.empty()) return misuse_hint(hint, "{} {}", name, problem);
    const CLI::Option* typed = app.get_option(names_of(option).back());
    auto* const is_text = std::get_if<std::string*>(&option.target);
    auto* const is_number = std::get_if<unsigned*>(&option.target);
    if (is_text != nullptr && option.choices.empty()) CKPT_TRY(in(name, parse_size(value)));
    if (typed->count() > 0) continue;
    if (is_text != nullptr) **is_text = value;
    if (is_number != nullptr) **is_number = number_from<unsigned>(value).value_or(**is_number);
  }
  return {};
}

// Rejects an option without the other option that it needs. Fails: kUsage.
Status check_needs(const CommandOptions& options) {
  const auto is_typed = [&](const std::string& name) { return options.has(name.substr(2)); };
  for (const TypedOption& typed : options.typed()) {
    const std::string name = "--" + typed.name;
    const Option* option = options.find_declared(name);
    if (option == nullptr || option->needs.empty()) continue;
    if (std::ranges::any_of(option->needs, is_typed)) continue;
    return misuse("{} without {}", name, alternatives(option->needs));
  }
  return {};
}

// Whether text looks like "https://host/x"; other schemes count too, as they name no local file.
bool looks_like_url(std::string_view text) {
  const size_t end = text.find("://");
  const auto is_letter = [](unsigned char c) { return std::isalnum(c) != 0; };
  return end != text.npos && end > 1 && std::ranges::all_of(text.substr(0, end), is_letter);
}

// Rejects URLs for paths that are written and for secrets. Fails: kUsage.
Status check_local_paths(const CommandOptions& options) {
  const auto is_typed = [&](const std::string& name) { return options.has(name.substr(2)); };
  for (const TypedOption& typed : options.typed()) {
    for (const Option& option : options.declared()) {
      const bool is_alone = stands_alone(option);
      const bool is_it = is_alone ? parsed_names(option) == typed.name
                                  : std::ranges::count(names_of(option), "--" + typed.name) > 0;
      if (!is_it || option.place == OptionPlace::kAnywhere || !looks_like_url(typed.value))
        continue;
      if (std::ranges::any_of(option.unless, is_typed)) continue;
      if (option.place == OptionPlace::kWritten) {
        return misuse_hint("a path of this machine", "{}: a URL, which is read and never written",
                           typed.value);
      }
      return misuse_hint("a file of this machine",
                         "--{} {}: a URL; keys and passwords are not fetched from servers",
                         typed.name, typed.value);
    }
  }
  return {};
}

// Rewords errors of CLI11 in the style of the other messages.
std::string reworded_error(const CLI::ParseError& error) {
  std::string text = error.what();
  std::ranges::replace(text, '\n', ' ');
  const std::string name = text.substr(0, text.find_first_of(": "));
  const auto code = static_cast<CLI::ExitCodes>(error.get_exit_code());
  if (code == CLI::ExitCodes::RequiredError) return name + " is missing";
  if (code == CLI::ExitCodes::ExcludesError) {
    return fmt::format("{} and {}: expected one of them", name, text.substr(text.rfind(' ') + 1));
  }
  if (code == CLI::ExitCodes::ArgumentMismatch) {
    return text.ends_with("missing") ? name + ": its value is missing"
                                     : name + " is typed more than once";
  }
  constexpr std::string_view kUnread = "Could not convert: ";  // a flag: all numbers have bounds
  if (text.starts_with(kUnread)) {
    text.erase(0, kUnread.size());
    return text.substr(0, text.find(' ')) + " takes no value";
  }
  const bool is_value = code == CLI::ExitCodes::ValidationError;
  if (is_value && text.find("; ") != text.npos) text.erase(name.size(), 1);  // "--top 0; expected"
  return text;
}

Failure no_command(const std::vector<std::string>& words) {
  const std::string place = words.size() < 2 ? "" : words[0] + ": ";
  return misuse_hint("ckpt --help", "{}expected a command{}", place, place.empty() ? "" : " first");
}

// The error for a word that CLI11 did not expect: an unknown option, or one word too many.
Failure unexpected(const std::vector<std::string>& words, const CLI::App& app) {
  if (words[0].starts_with("-")) return no_command(words);
  const CLI::App* verb = app.get_subcommand(words[0]);
  std::vector<std::string> names;
  for (const CLI::Option* option : verb->get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  for (const std::string& word : words) {
    const std::string name = word.substr(0, word.find('='));
    if (word.size() < 2 || word[0] != '-') continue;
    if (std::ranges::find(names, name) == names.end()) {
      return unknown_option(name, words[0], names);
    }
  }
  const std::vector<std::string> rest = verb->remaining();
  const auto type = target_type_named("", rest.empty() ? "" : rest[0]);
  const bool is_type = type && words[0] == "convert";
  return misuse_hint(is_type ? "--to " + *type : "ckpt help " + words[0],
                     "{}: too many arguments for ckpt {}", fmt::join(rest, " "), words[0]);
}

}  // namespace

Result<std::unique_ptr<Verb>> parse_command_line(const std::vector<std::string>& words,
                                                 CommonOptions& common) {
  CKPT_TRY(check_verb(words));
  CLI::App app{"Converts and patches LLM checkpoints: safetensors and GGUF.", "ckpt"};
  app.set_version_flag("--version", version_line);
  app.require_subcommand(1);
  // Only one command declares its options; declaring all would dominate the startup time.
  std::unique_ptr<Verb> verb;
  CLI::App* sub = nullptr;
  for (const Command* command : all_commands()) {
    if (words.empty() || words[0] != command->name) continue;
    verb = std::make_unique<Verb>(Verb{command, {}, {}});
    declare_common(verb->options, common);
    verb->run = command->declare(verb->options);
    CKPT_TRY(check_other_options(words, verb->options));
    // This runs before the parser, which would mistake a wrong word for a value in its message.
    CKPT_TRY(check_typed_words(words[0], std::span(words).subspan(1), verb->options));
    sub = app.add_subcommand(words[0]);
    for (const Option& option : verb->options.declared()) add_option(*sub, option);
  }
  std::vector<std::string> from_back(words.rbegin(), words.rend());  // reversed for CLI11
  try {
    app.parse(from_back);
  } catch (const CLI::CallForVersion& asked) {
    app.exit(asked);
    return nullptr;
  } catch (const CLI::Success&) {
    if (std::ranges::count(words, "--json") > 0) {
      return misuse_hint("ckpt list commands --json", "help is text, not JSON");
    }
    const bool is_whole = std::ranges::count(words, "--help") > 0;
    const std::string text =
        verb ? help_of_command(*verb->command, verb->options, is_whole, help_width())
             : help_of_program(help_width());
    std::fwrite(text.data(), 1, text.size(), stdout);
    return nullptr;
  } catch (const CLI::ExtrasError&) {
    return unexpected(words, app);
  } catch (const CLI::ParseError& error) {
    if (words.empty() || words[0].starts_with("-")) return no_command(words);
    // A message about a wrong choice helps more than one about missing words.
    if (sub != nullptr) CKPT_TRY(check_choices(*sub, *verb, words, false));
    return misuse_hint("ckpt help " + words[0], "{}", reworded_error(error));
  }
  if (!verb) return no_command(words);
  CKPT_TRY(check_choices(*sub, *verb, words, true));
  CKPT_TRY(take_environment(*sub, verb->options));
  verb->options.set_typed(typed_options(*sub));
  CKPT_TRY(check_needs(verb->options));
  CKPT_TRY(check_local_paths(verb->options));
  common.with_typed = [typed = verb.get()](std::string_view advice, bool is_next) {
    return with_typed(advice, typed->command->name, typed->options,
                      is_next ? SuggestionPlace::kNext : SuggestionPlace::kInstead);
  };
  return verb;
}

}  // namespace ckpt

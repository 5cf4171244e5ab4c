#include "tools/line/help.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "checks/checks.h"
#include "core/base/nearest.h"
#include "core/base/printable.h"
#include "core/base/words.h"
#include "core/model/usual_type.h"
#include "plan/text/type_names.h"
#include "quantizers/quantizers.h"
#include "tools/line/topics.h"
#include "tools/line/typed_words.h"
#include "tools/say/severity.h"
#include "tools/say/width.h"
#include "transforms/transforms.h"

namespace ckpt {
namespace {

constexpr size_t kTermWidth = 26;  // width of the column of names
constexpr std::string_view kEveryCommand = "Every command";

std::string term_of(const Option& option) {
  const std::string value = value_word(option);
  if (stands_alone(option)) return option.names;
  std::vector<std::string> names = names_of(option);
  std::ranges::stable_sort(names, {}, [](const std::string& name) { return name.size() > 2; });
  return fmt::format("{}{}{}", fmt::join(names, ", "), value.empty() ? "" : " ", value);
}

// The groups in order of declaration; options that every command has come last.
std::vector<std::string_view> groups_of(const CommandOptions& options) {
  std::vector<std::string_view> out;
  for (const Option& option : options.declared()) {
    const bool is_new = std::ranges::find(out, option.group) == out.end();
    if (is_new && option.group != kEveryCommand) out.push_back(option.group);
  }
  out.push_back(kEveryCommand);
  return out;
}

std::string usage_of(const Command& command, const CommandOptions& options) {
  std::string out = fmt::format("Usage: ckpt {} [OPTION]...", command.name);
  for (const Option& option : options.declared()) {
    if (!stands_alone(option)) continue;
    const std::string name = option.is_required ? option.names : fmt::format("[{}]", option.names);
    out += fmt::format(" {}{}", name, takes_list(option) ? "..." : "");
  }
  return out + "\n";
}

// Shortens the help of an option to its first clause, the values that it accepts, and its default.
std::string short_help(const Option& option) {
  const std::string whole = whole_help(option);
  const size_t end = std::min(whole.find("; "), whole.size());
  std::string out = replace_all(whole.substr(0, end), " (may repeat)", "");
  const auto clause = [&](std::string_view mark, std::string_view ends) {
    const size_t at = whole.find(mark, end);
    const size_t from = std::min(at, whole.size() - mark.size()) + mark.size();
    return at == whole.npos ? "" : whole.substr(from, whole.find_first_of(ends, from) - from);
  };
  const std::string values = clause("; one of ", ";("), otherwise = clause("default: ", ";)");
  if (!values.empty()) out += fmt::format(": {}", values);
  return otherwise.empty() ? out : fmt::format("{} (default: {})", out, otherwise);
}

// Lists the names of options that every command has, in one line.
std::string common_line(const CommandOptions& options, size_t width) {
  std::string out = fmt::format("{}:", kEveryCommand);
  for (const Option& option : options.declared()) {
    if (option.group == kEveryCommand)
      out += " " + std::ranges::min(names_of(option), {}, &std::string::size);
  }
  return "\n" + wrapped(out + " -h", width, 2) + "\n";
}

}  // namespace

size_t help_width() { return std::clamp<size_t>(terminal_columns().value_or(80), 40, 200); }

std::string help_entry(std::string_view term, std::string_view help, size_t width) {
  const size_t column = std::min(kTermWidth, width / 3) + 2;
  std::string out = fmt::format("  {}", term);
  const size_t used = shown_width(out);
  out += used + 2 <= column ? std::string(column - used, ' ') : "\n" + std::string(column, ' ');
  return wrapped(out + std::string(help), width, column) + "\n";
}

std::string value_word(const Option& option) {
  constexpr size_t kLongestChoices = 28;
  if (!takes_value(option)) return "";
  std::string words = fmt::format("{}", fmt::join(option.choices, "|"));
  if (!option.choices.empty() && option.value_name.size() < kLongestChoices &&
      words.size() < kLongestChoices) {
    return option.value_name.empty() ? words : option.value_name;
  }
  if (!option.choices.empty()) {
    if (stands_alone(option)) return option.names;
    std::string name = names_of(option).back();
    return upper_case(name.substr(name.find_last_of('-') + 1));
  }
  if (!option.value_name.empty()) return option.value_name;
  if (takes_number(option)) return "N";
  return std::holds_alternative<std::filesystem::path*>(option.target) ? "PATH" : "VALUE";
}

std::string whole_help(const Option& option) {
  std::string out = option.help;
  const std::string value = value_word(option);
  const bool is_described = value.find('|') != value.npos || out.find(" or ") != out.npos;
  if (!option.choices.empty() && !is_described) {
    out += fmt::format("; one of {}", fmt::join(option.choices, ", "));
  }
  if (!option.excludes.empty()) out += fmt::format("; not with {}", option.excludes);
  if (!option.environment.empty()) out += fmt::format("; environment: {}", option.environment);
  return out;
}

std::string help_of_program(size_t width) {
  std::string out =
      "Converts, patches, checks and publishes LLM checkpoints: safetensors and GGUF.\n\n"
      "Usage: ckpt COMMAND [OPTION]... [PATH]...\n";
  std::string_view group;
  for (const Command* command : all_commands()) {
    const std::string_view own = group_of(*command);
    if (own != group) out += fmt::format("\n{}\n", own);
    group = own;
    std::string_view help = command->help;
    if (help.ends_with('.')) help.remove_suffix(1);
    constexpr size_t kNames = 14;
    out +=
        wrapped(fmt::format("  {:<{}}{}", command->name, kNames - 2, help), width, kNames) + "\n";
  }
  const auto topics = names_in(all_topics());
  return out + "\n" +
         wrapped(fmt::format("ckpt COMMAND -h lists the options of a command, ckpt help COMMAND "
                             "explains them.\nckpt help TOPIC explains {} or options, and a step, "
                             "type, check, profile or family, like graft, " CKPT_USUAL_TYPE
                             ", C02, vllm or llama.",
                             fmt::join(topics, ", ")),
                 width) +
         "\n";
}

std::string help_of_command(const Command& command, const CommandOptions& options, bool whole,
                            size_t width) {
  std::string out = wrapped(command.help, width) + "\n\n";
  if (whole) out += fmt::format("Examples:\n{}\n\n", wrapped(command.examples, width, 6));
  out += usage_of(command, options);
  for (const std::string_view group : groups_of(options)) {
    if (!whole && group == kEveryCommand) continue;
    out += fmt::format("\n{}\n", group.empty() ? "Options" : group);
    for (const Option& option : options.declared()) {
      const std::string help = whole ? whole_help(option) : short_help(option);
      if (option.group == group) out += help_entry(term_of(option), help, width);
    }
  }
  if (whole) return out + help_entry("-h", "print the options, one line each", width);
  return out + common_line(options, width) +
         wrapped(fmt::format("ckpt help {} explains each option and has examples, ckpt help "
                             "options explains those of every command.\n",
                             command.name),
                 width);
}

std::string help_of_common(size_t width) {
  CommonOptions common;
  CommandOptions options;
  declare_common(options, common);
  std::string out = "Options of every command\n\n";
  for (const Option& option : options.declared()) {
    out += help_entry(term_of(option), whole_help(option), width);
  }
  return out;
}

}  // namespace ckpt

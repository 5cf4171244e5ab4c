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
#include "tools/line/typed_words.h"
#include "tools/say/severity.h"
#include "tools/say/width.h"
#include "transforms/transforms.h"

namespace ckpt {
namespace {

constexpr size_t kTermWidth = 26;  // of the column of names
constexpr std::string_view kEveryCommand = "Every command";

// Two columns; a term that is too long has a line of its own. `whole`: the rest is wrapped, else
// it is its first clause, cut to one line.
std::string entry(std::string_view term, std::string_view help, bool whole, size_t width) {
  const size_t column = std::min(kTermWidth, width / 3) + 2;
  std::string out = fmt::format("  {}", term);
  const bool is_beside = out.size() + 2 <= column;
  const std::string indent(column, ' ');
  out += is_beside ? std::string(column - out.size(), ' ') : whole ? "\n" + indent : "  ";
  if (whole) return fmt::format("{}{}\n", out, wrapped(help, width - column, indent));
  help = help.substr(0, std::min(help.find("; "), help.find('\n')));
  return fmt::format("{}\n", cut_to(out + std::string(help), width));
}

std::string term_of(const Option& option) {
  const std::string value = value_word(option);
  if (stands_alone(option)) return option.names;
  std::vector<std::string> names = names_of(option);
  std::ranges::stable_sort(names, {}, [](const std::string& name) { return name.size() > 2; });
  return fmt::format("{}{}{}", fmt::join(names, ", "), value.empty() ? "" : " ", value);
}

// Groups in the order in which their first option was declared; those of every command are last.
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

std::string of_step(const Transform& step, size_t width) {
  std::string out = wrapped(fmt::format("{} ({}): {}", step.name, step.effect(), step.help), width);
  out += fmt::format(
      "\n\nUsage: ckpt convert IN OUT --step {}{}\n       ckpt patch PATH --step {}{}\n", step.name,
      step.options.empty() ? "" : ":KEY=VALUE,...", step.name,
      step.options.empty() ? "" : ":KEY=VALUE,...");
  if (!step.options.empty()) out += "\nKeys\n";
  for (const OptionRule& rule : step.options) {
    out += entry(fmt::format("{}={}", rule.name, rule.value()), rule.whole_help(), true, width);
  }
  return out;
}

std::string of_type(const TargetType& type, size_t width) {
  const bool is_folder = type.kind == "export";
  return wrapped(fmt::format("{} ({}): {}", type.name, type.kind, type.help), width) +
         fmt::format("\n\nUsage: ckpt convert IN {} --to {}\n", is_folder ? "OUT/" : "OUT.gguf",
                     type.name);
}

// Cause, effect, fix and an example, as a rule of a linter is explained.
std::string of_check(const CheckInfo& check, size_t width) {
  std::string out = wrapped(fmt::format("{}: {}", check.id, check.title), width) + "\n";
  const auto add = [&](std::string_view head, std::string_view text) {
    if (!text.empty()) out += fmt::format("\n{}\n  {}\n", head, wrapped(text, width - 2, "  "));
  };
  std::string fix;
  if (!check.step.empty()) {
    const Transform* step = find_transform(check.step.substr(0, check.step.find(':')));
    const bool is_payload = step != nullptr && step->effect() == "payload";
    fix = fmt::format("ckpt {} --step {}{}", is_payload ? "convert PATH OUT" : "patch PATH",
                      shell_word(check.step), check.advice.empty() ? "" : "; or ");
  }
  add("Cause", check.cause);
  add("Effect", check.effect);
  add("Fix", fix + check.advice);
  add("Example of a finding", check.example);
  out += fmt::format("\nUsage: ckpt doctor PATH{} --for PROFILE\n\nProfiles that ask it\n",
                     check.is_deep ? " --deep" : "");
  const auto profiles = all_profiles();
  for (size_t i = 0; i < check.severities.size(); ++i) {
    if (!check.severities[i]) continue;
    out += entry(profiles[i].name, severity_words(*check.severities[i]), true, width);
  }
  return out;
}

}  // namespace

size_t help_width() { return std::clamp<size_t>(terminal_columns().value_or(80), 40, 200); }

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
  const bool is_told = value.find('|') != value.npos || out.find(" or ") != out.npos;
  if (!option.choices.empty() && !is_told) {
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
    const std::string line = fmt::format("  {:<12}{}", command->name, help);
    out += fmt::format("{}\n", line.size() <= width ? line : cut_to(line, width));
  }
  return out + "\n" +
         wrapped(
             "ckpt COMMAND -h lists the options of a command, ckpt help COMMAND explains them. "
             "ckpt help also takes a step, a type, a check or a profile: ckpt help "
             "graft, " CKPT_USUAL_TYPE ", C02, vllm.",
             width) +
         "\n";
}

std::string help_of_command(const Command& command, const CommandOptions& options, bool whole,
                            size_t width) {
  std::string out = wrapped(command.help, width) + "\n\n";
  if (whole) out += fmt::format("Examples:\n{}\n\n", command.examples);
  out += usage_of(command, options);
  for (const std::string_view group : groups_of(options)) {
    out += fmt::format("\n{}\n", group.empty() ? "Options" : group);
    for (const Option& option : options.declared()) {
      if (option.group == group) out += entry(term_of(option), whole_help(option), whole, width);
    }
  }
  out += entry("-h, --help", "print this help, in short or with all explanations", whole, width);
  if (!whole)
    out += fmt::format("\nckpt help {} has examples and explains each option.\n", command.name);
  return out;
}

Result<std::string> help_of_word(std::string_view word, size_t width) {
  std::vector<std::string> known = names_in(all_commands());
  for (const Transform* step : all_transforms()) {
    if (step->name == word) return of_step(*step, width);
    known.emplace_back(step->name);
  }
  const auto type_name = target_type_named("", word);
  for (const TargetType& type : target_types()) {
    if (type_name && type.name == *type_name) return of_type(type, width);
    known.emplace_back(type.name);
  }
  for (const CheckInfo& check : all_checks()) {
    if (check.id == upper_case(std::string(word))) return of_check(check, width);
    known.emplace_back(check.id);
  }
  for (const ProfileInfo& profile : all_profiles()) {
    if (profile.name == word) {
      return wrapped(fmt::format("{}: {}", profile.name, profile.help), width) +
             fmt::format("\n\nUsage: ckpt doctor PATH --for {}\n", word);
    }
    known.emplace_back(profile.name);
  }
  for (const Codec* codec : all_codecs()) {
    const std::string_view name = known.emplace_back(codec->name);
    if (name == word) return wrapped(fmt::format("{}: {}", word, codec->help), width) + "\n";
  }
  return misuse_hint(near_hint(word, known, "ckpt help ", "ckpt list"),
                     "'{}' is not a command, step, type, check or profile", word);
}

}  // namespace ckpt

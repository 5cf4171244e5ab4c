// Adds the typed options to commands that messages suggest (suggested.h).
#include "tools/line/suggested.h"

#include <algorithm>

#include "core/base/printable.h"
#include "core/base/words.h"
#include "tools/line/commands.h"

namespace ckpt {
namespace {

// Options that a suggestion keeps although it runs another command or the same one on other input.
// Rows with commands apply only to a suggestion that replaces the typed command.
struct KeptOptions {
  std::string_view from, to, options;  // "" stands for any command
};
constexpr KeptOptions kKeptOptions[] = {
    {"", "", "for follow-links"},
    {"patch", "convert", "step dry-run allow-nonfinite header-slack follow-links"}};
// Typed options that a suggestion drops because it contains `part`.
struct DroppedOption {
  std::string_view part, option;
};
constexpr DroppedOption kDroppedOptions[] = {{"ckpt convert ", "outfile"},
                                             {" --split-size ", "shard-size"},
                                             {"lora:from=", "base"},  // the base is IN
                                             {" --step mixed-to-nvfp4:", "to"},
                                             {" --step 'mixed-to-nvfp4:", "to"}};

// Returns the length of the command at the start of `advice`. Words for people may follow it.
size_t command_end(std::string_view advice) {
  constexpr std::string_view kWords[] = {", ", "; ", " (", " or ", " and ", " without "};
  bool is_quoted = false;
  for (size_t at = 0; at < advice.size(); ++at) {
    if (advice[at] == '\'' && (is_quoted || advice[at - 1] != '\\')) is_quoted = !is_quoted;
    const std::string_view rest = advice.substr(at);
    if (is_quoted) continue;
    if (std::ranges::any_of(kWords, [&](auto word) { return rest.starts_with(word); })) return at;
  }
  return advice.size();
}

// Whether `text` has `word` between spaces, or as "--option=value".
bool mentions(std::string_view text, std::string_view word) {
  for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    const bool is_start = at == 0 || text[at - 1] == ' ';
    if (is_start && (end == text.size() || text[end] == ' ' || text[end] == '=')) return true;
  }
  return false;
}

bool is_kept_option(std::string_view from, std::string_view to, std::string_view option,
                    SuggestionPlace place) {
  return std::ranges::any_of(kKeptOptions, [&](const KeptOptions& row) {
    const bool fits = row.from.empty() ||
                      (place == SuggestionPlace::kInstead && row.from == from && row.to == to);
    return fits && has_word(row.options, option);
  });
}

bool is_replaced(std::string_view command, std::string_view option) {
  return std::ranges::any_of(kDroppedOptions, [&](const DroppedOption& row) {
    return option == row.option && command.find(row.part) != command.npos;
  });
}

// Whether a suggested command names the input that was typed.
bool is_about_typed(std::string_view command, const CommandOptions& typed) {
  for (const TypedOption& word : typed.typed()) {
    const bool is_alone = typed.find_declared("--" + word.name) == nullptr;
    if (is_alone) return mentions(command, shell_path(word.value));
  }
  return true;
}

bool is_common(const Option& option) { return option.group == "Every command"; }

std::string as_typed(const Option& option, const TypedOption& typed) {
  const std::string value = typed.value.empty() ? std::string() : shell_word(typed.value);
  const std::string_view between = value.empty() ? "" : option.is_value_optional ? "=" : " ";
  return fmt::format(" --{}{}{}", typed.name, between, value);
}

// "convert" of "ckpt convert IN OUT"; empty for another program.
std::string_view verb_of(std::string_view advice) {
  constexpr std::string_view kCkpt = "ckpt ";
  if (!advice.starts_with(kCkpt)) return {};
  const std::string_view rest = advice.substr(kCkpt.size());
  return rest.substr(0, rest.find(' '));
}

}  // namespace

CommandOptions options_of(std::string_view verb) {
  CommandOptions out;
  CommonOptions values;
  for (const Command* command : all_commands()) {
    if (command->name != verb) continue;
    declare_common(out, values);
    command->declare(out);
  }
  return out;
}

std::string with_typed(std::string_view advice, std::string_view verb, const CommandOptions& typed,
                       SuggestionPlace place) {
  std::string before;  // prefix such as "mkdir x && cp m.gguf x && " before ckpt publish
  if (const size_t joint = advice.rfind("&& ckpt "); joint != advice.npos) {
    before = advice.substr(0, joint + 3);
    advice.remove_prefix(before.size());
  }
  const std::string_view suggested = verb_of(advice);
  const CommandOptions own = options_of(suggested);
  const size_t end = command_end(advice);
  const std::string line(advice.substr(0, end));
  const bool finishes = suggested == "patch";  // the advice first finishes an interrupted patch
  const bool is_again = suggested == verb && !finishes && is_about_typed(before + line, typed);
  std::string added;
  for (const TypedOption& each : typed.typed()) {
    const Option* option = own.find_declared("--" + each.name);
    if (option == nullptr || is_replaced(line, each.name)) continue;
    const bool is_kept = !is_again ? is_kept_option(verb, suggested, each.name, place)
                                   : place == SuggestionPlace::kInstead || !is_common(*option);
    if (!is_kept) continue;
    const auto is_there = [&](const std::string& name) { return mentions(advice, name); };
    const bool may_repeat = option->may_repeat || takes_list(*option);
    const bool is_another = may_repeat && each.name != "for" &&
                            advice.find(shell_word(each.value)) == advice.npos;
    if (is_another || std::ranges::none_of(names_of(*option), is_there)) {
      added += as_typed(*option, each);
    }
  }
  return fmt::format("{}{}{}{}", before, line, added, advice.substr(end));
}

std::string with_typed_words(std::string_view advice, std::span<const std::string> words) {
  CommandOptions own = options_of(verb_of(advice));
  std::vector<TypedOption> typed;
  for (size_t i = 0; i < words.size(); ++i) {
    const size_t equals = std::min(words[i].find('='), words[i].size());
    const Option* option = own.find_declared(words[i].substr(0, equals));
    if (option == nullptr) continue;
    const auto names = names_of(*option);
    const auto name = std::ranges::find_if(names, [](auto& n) { return n.starts_with("--"); });
    std::string value = words[i].substr(std::min(equals + 1, words[i].size()));
    if (takes_value(*option) && equals == words[i].size() && i + 1 < words.size()) {
      value = words[++i];
    }
    if (name != names.end()) typed.push_back({name->substr(2), value, takes_value(*option)});
  }
  own.set_typed(std::move(typed));
  return with_typed(advice, verb_of(advice), own, SuggestionPlace::kInstead);
}

}  // namespace ckpt

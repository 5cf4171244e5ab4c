// ckpt completion SHELL: a script that lets a shell complete commands, options and their values.
// The script asks `ckpt complete WORD...`, which answers from what commands and steps declare, so
// a new option or step needs no line here.
#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "checks/checks.h"
#include "core/base/nearest.h"
#include "plan/text/type_names.h"
#include "tools/line/command_line.h"
#include "tools/line/commands.h"
#include "tools/line/topics.h"
#include "tools/line/typed_words.h"
#include "transforms/transforms.h"

namespace ckpt {
namespace {

// A candidate for the word being typed.
struct Candidate {
  std::string word, help;
};

// The values of `--to`, `--step` and `--for`.
std::vector<std::string> listed_values(std::string_view names) {
  if (names.starts_with("--to,") || names == "--to") return names_in(target_types());
  if (names.starts_with("--step")) return names_in(all_transforms());
  if (names.starts_with("--for")) return names_in(all_profiles());
  if (names == "COMMAND") return names_in(all_commands());
  return {};
}

// Completes `--step NAME:key=value,...`: step names, then the step's keys, then the key's values.
std::vector<Candidate> step_values(std::string_view typed) {
  const size_t colon = typed.find(':');
  std::vector<Candidate> out;
  for (const Transform* step : all_transforms()) {
    if (colon == typed.npos) out.push_back({std::string(step->name), std::string(step->help)});
    if (colon == typed.npos || typed.substr(0, colon) != step->name) continue;
    const std::string_view before = typed.substr(0, typed.find_last_of(":,") + 1);
    const bool has_key = typed.find('=', before.size()) != typed.npos;
    for (const OptionRule& rule : step->options) {
      const std::string key = fmt::format("{}{}=", before, rule.name);
      if (!has_key) out.push_back({key, std::string(rule.help)});
      if (!has_key) continue;
      for (const std::string& word : rule.words()) out.push_back({key + word, ""});
    }
  }
  return out;
}

std::vector<Candidate> values_of(const Option& option, std::string_view typed) {
  if (option.names.starts_with("--step")) return step_values(typed);
  std::vector<Candidate> out;
  const auto values = option.choices.empty() ? listed_values(option.names) : option.choices;
  for (const std::string& value : values) out.push_back({value, ""});
  return out;
}

std::vector<Candidate> command_names() {
  std::vector<Candidate> out;
  for (const Command* command : all_commands()) {
    out.push_back({std::string(command->name), std::string(command->help)});
  }
  out.push_back({"help", "Says what a command takes."});
  return out;
}

// Returns candidates for the last word of a command line, of which `last` is typed.
std::vector<Candidate> words_of_command(const Command& command, std::string_view before,
                                        std::string_view last) {
  CommonOptions common;
  CommandOptions options;
  options.add("--help,-h", std::function<void()>(), "Print this help message and exit");
  declare_common(options, common);
  const Run run = command.declare(options);  // keeps the targets of the options alive
  std::vector<Candidate> out;
  const size_t equal = last.starts_with("--") ? last.find('=') : last.npos;
  if (equal != last.npos) {
    const Option* option = options.find_declared(last.substr(0, equal));
    if (option == nullptr) return out;
    out = values_of(*option, last.substr(equal + 1));
    for (Candidate& one : out) one.word.insert(0, last.substr(0, equal + 1));
    return out;
  }
  const Option* option = options.find_declared(before);
  if (option != nullptr && takes_value(*option)) return values_of(*option, last);
  for (const Option& one : options.declared()) {
    if (!last.starts_with('-') && stands_alone(one)) {
      std::ranges::move(values_of(one, {}), std::back_inserter(out));
    }
    for (const std::string& name : names_of(one)) {
      const bool is_asked = last.starts_with('-') && name.starts_with("--");
      if (is_asked) out.push_back({name, one.help.substr(0, one.help.find('\n'))});
    }
  }
  return out;
}

std::vector<Candidate> candidates(std::span<const std::string> words) {
  if (words.empty()) return {};
  const bool asks_help = words[0] == "help" && words.size() == 2;
  if (words.size() == 1 || asks_help) {
    std::vector<Candidate> out = command_names();
    for (const Topic& topic : all_topics()) {
      if (asks_help) out.push_back({std::string(topic.name), std::string(topic.title)});
    }
    return out;
  }
  for (const Command* command : all_commands()) {
    if (command->name != words[0]) continue;
    return words_of_command(*command, words.size() > 2 ? words[words.size() - 2] : "",
                            words.back());
  }
  return {};
}

constexpr std::string_view kBash =
    R"(# Completion of ckpt for bash:  source <(ckpt completion bash)
_ckpt() {
  # bash cuts its own words at : and =, which stand inside of ours, and replaces the last piece
  local line=${COMP_LINE:0:COMP_POINT} breaks=${COMP_WORDBREAKS//[^:=]/} kept words
  read -ra words <<< "$line"
  if [[ $line == *[[:space:]] ]]; then words+=(''); fi
  mapfile -t COMPREPLY < <("${words[0]}" complete "${words[@]:1}" 2>/dev/null)
  COMPREPLY=("${COMPREPLY[@]%%$'\t'*}")
  if [[ ${COMPREPLY[0]} == *= ]]; then compopt -o nospace 2>/dev/null; fi
  if [ -z "$breaks" ]; then return; fi
  kept=${words[-1]%"${words[-1]##*[$breaks]}"}
  COMPREPLY=("${COMPREPLY[@]#"$kept"}")
}
complete -o default -F _ckpt ckpt
)";

constexpr std::string_view kZsh =
    R"(#compdef ckpt
# Completion of ckpt for zsh:  ckpt completion zsh > "${fpath[1]}/_ckpt"
_ckpt() {
  local -a lines found said suffix
  lines=("${(@f)$(${(Q)words[1]} complete "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
  if [[ -z "$lines" ]]; then _files; return; fi
  found=("${(@)lines%%$'\t'*}")
  said=("${(@)lines//$'\t'/  -- }")
  if [[ $found[1] == *= ]]; then suffix=(-S ''); fi
  compadd "${suffix[@]}" -l -d said -a found
}
if [ "$funcstack[1]" = _ckpt ]; then _ckpt "$@"; else compdef _ckpt ckpt; fi
)";

constexpr std::string_view kFish =
    R"(# Completion of ckpt for fish:  ckpt completion fish > ~/.config/fish/completions/ckpt.fish
function __ckpt_complete
  set -l words (commandline -opc) (commandline -ct | string collect --allow-empty)
  $words[1] complete $words[2..] 2>/dev/null
end
# without words of its own a place takes a file, which fish completes
complete -c ckpt -n 'count (__ckpt_complete) >/dev/null' -f -a '(__ckpt_complete)'
)";

Run declare_completion(CommandOptions& options) {
  auto shell = std::make_shared<std::string>();
  options.add("SHELL", shell.get(), "bash, zsh or fish",
              {.choices = {"bash", "zsh", "fish"}, .is_required = true});
  return [shell](const Console& console, const CommonOptions&) -> Result<int> {
    std::string script(*shell == "bash" ? kBash : *shell == "zsh" ? kZsh : kFish);
    console.object("completion", {{"shell", *shell}, {"script", script}});
    script.pop_back();  // answer() adds the newline
    console.answer_lines(script);
    return 0;
  };
}

}  // namespace

std::string completions(std::span<const std::string> words) {
  std::string out;
  for (const Candidate& one : candidates(words)) {
    if (!one.word.starts_with(words.back())) continue;
    out += one.help.empty() ? one.word + "\n" : fmt::format("{}\t{}\n", one.word, one.help);
  }
  return out;
}

extern const Command kCompletionCommand{
    "completion", "Prints a script that completes commands, options and values.",
    "  source <(ckpt completion bash)                                    # in ~/.bashrc\n"
    "  ckpt completion zsh > \"${fpath[1]}/_ckpt\"\n"
    "  mkdir -p ~/.config/fish/completions && ckpt completion fish > "
    "~/.config/fish/completions/ckpt.fish",
    declare_completion};

}  // namespace ckpt

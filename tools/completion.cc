// ckpt completion SHELL: a script that lets a shell complete commands, options and their values.
//
// Written from what the commands declare, and from the lists of types,
// steps and profiles, so a new option or step needs no line here.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "checks/checks.h"
#include "tools/commands.h"
#include "tools/step_words.h"
#include "tools/type_names.h"
#include "transforms/transforms.h"

namespace ckpt {
namespace {

struct Choice {
  std::string long_name, short_name;  // without dashes; both empty: what stands alone
  std::string help;
  bool takes_value = false;
  std::vector<std::string> values;  // empty: a file, or nothing that could be listed
};

struct Verb {
  std::string name, help;
  std::vector<Choice> choices;
};

std::string first_line(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const size_t end = std::min(text.find(at), text.size());
    out.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

// What `--to`, `--step` and `--for` take.
std::vector<std::string> listed_values(std::string_view option) {
  std::vector<std::string> out;
  if (option == "to") {
    for (const TargetType& type : target_types()) out.emplace_back(type.name);
  } else if (option == "step") {
    for (const Transform* step : all_transforms()) out.emplace_back(step->name);
  } else if (option == "for") {
    for (const ProfileInfo& profile : all_profiles()) out.emplace_back(profile.name);
  }
  return out;
}

// An option has a choice for each of its long names.
std::vector<Choice> choices_of(const Option& option) {
  std::vector<std::string> long_names;
  Choice out{"", "", first_line(option.help), takes_value(option), option.choices};
  for (const std::string& name : split(option.names, ',')) {
    if (name.starts_with("--")) {
      long_names.push_back(name.substr(2));
    } else if (name.starts_with("-") && out.short_name.empty()) {
      out.short_name = name.substr(1);
    }
  }
  if (long_names.empty()) long_names.emplace_back();
  if (out.values.empty()) out.values = listed_values(long_names[0]);
  std::vector<Choice> all;
  for (const std::string& name : long_names) {
    out.long_name = name;
    all.push_back(out);
    out.short_name.clear();
  }
  return all;
}

// The commands as they declare themselves. What they would put into place is thrown away.
std::vector<Verb> verbs_of(std::span<const Command* const> commands) {
  std::vector<Verb> out;
  for (const Command* command : commands) {
    CommonOptions common;
    std::string memory;
    CommandOptions options;
    const Run run = command->declare(options);
    Verb verb{std::string(command->name), std::string(command->help), {}};
    verb.choices.push_back({"help", "h", "Print this help message and exit", false, {}});
    CommandOptions shared;
    declare_common(shared, common, memory);
    for (const CommandOptions* declared : {&shared, &options}) {
      for (const Option& option : declared->declared()) {
        for (Choice& choice : choices_of(option)) verb.choices.push_back(std::move(choice));
      }
    }
    out.push_back(std::move(verb));
  }
  return out;
}

std::string names_of(const std::vector<Verb>& verbs) {
  std::string out;
  for (const Verb& verb : verbs) out += verb.name + " ";
  return out + "help";
}

bool stands_alone(const Choice& choice) {
  return choice.long_name.empty() && choice.short_name.empty();
}

// 'text' for any of the three shells.
std::string shell_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

std::string bash_script(const std::vector<Verb>& verbs) {
  std::string values, options;
  for (const Verb& verb : verbs) {
    std::string names;
    for (const Choice& choice : verb.choices) {
      if (!choice.long_name.empty()) names += fmt::format(" --{}", choice.long_name);
      if (choice.values.empty()) continue;  // a file: bash's own
      const std::string place =
          stands_alone(choice) ? "*" : fmt::format("'--{}'", choice.long_name);
      if (choice.long_name == "step") {
        values += fmt::format("    '{} '{}) _ckpt_step \"$cur\" ;;\n", verb.name, place);
        continue;
      }
      values += fmt::format("    '{} '{}) words={} ;;\n", verb.name, place,
                            shell_quoted(fmt::format("{}", fmt::join(choice.values, " "))));
    }
    options += fmt::format("      {}) words={} ;;\n", verb.name, shell_quoted(names.substr(1)));
  }
  return fmt::format(
      "# Completion of ckpt for bash:  source <(ckpt completion bash)\n"
      "{3}"
      "_ckpt() {{\n"
      "  # bash cuts words at : and =, which stand inside of ours\n"
      "  local line=${{COMP_LINE:0:COMP_POINT}} verb=${{COMP_WORDS[1]}} words=''\n"
      "  local cur=${{line##*[[:space:]]}} breaks=${{COMP_WORDBREAKS//[^:=]/}}\n"
      "  local prev=${{line%\"$cur\"}}\n"
      "  prev=${{prev%\"${{prev##*[![:space:]]}}\"}}\n"
      "  prev=${{prev##*[[:space:]]}}\n"
      "  if [[ $cur == --*=* ]]; then prev=${{cur%%=*}} cur=${{cur#*=}}; fi\n"
      "  COMPREPLY=()\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ] || [ \"$verb\" = help ]; then\n"
      "    COMPREPLY=($(compgen -W {0} -- \"$cur\"))\n"
      "    return\n"
      "  fi\n"
      "  if [[ $cur == -* ]]; then\n"
      "    case $verb in\n"
      "{2}"
      "    esac\n"
      "    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
      "    return\n"
      "  fi\n"
      "  case \"$verb $prev\" in\n"
      "{1}"
      "  esac\n"
      "  # without words of its own a place takes a file, which bash completes\n"
      "  if [ -z \"$words\" ]; then return; fi\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
      "  if [[ ${{COMPREPLY[0]}} == *= ]]; then compopt -o nospace 2>/dev/null; fi\n"
      "  if [ -z \"$breaks\" ]; then return; fi\n"
      "  local kept=${{cur%\"${{cur##*[$breaks]}}\"}}  # bash replaces what is behind it\n"
      "  COMPREPLY=(\"${{COMPREPLY[@]#\"$kept\"}}\")\n"
      "}}\n"
      "complete -o default -F _ckpt ckpt\n",
      shell_quoted(names_of(verbs)), values, options, bash_step_function(step_words()));
}

// In the specifications of zsh's _arguments brackets and colons have meanings.
std::string zsh_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_choice(const Choice& choice) {
  std::string action = "_files";
  if (!choice.values.empty()) action = fmt::format("({})", fmt::join(choice.values, " "));
  if (choice.long_name == "step") action = "_ckpt_step";
  if (stands_alone(choice)) return shell_quoted(fmt::format("*: :{}", action));
  const std::string value =
      choice.takes_value ? fmt::format(":{}:{}", choice.long_name, action) : "";
  return shell_quoted(
      fmt::format("*--{}[{}]{}", choice.long_name, zsh_escaped(choice.help), value));
}

std::string zsh_script(const std::vector<Verb>& verbs) {
  std::string out =
      "#compdef ckpt\n"
      "# Completion of ckpt for zsh:  ckpt completion zsh > \"${fpath[1]}/_ckpt\"\n";
  out += zsh_step_function(step_words());
  out +=
      "_ckpt() {\n"
      "  local -a verbs\n"
      "  verbs=(\n";
  for (const Verb& verb : verbs) {
    out += fmt::format("    {}\n", shell_quoted(verb.name + ":" + zsh_escaped(verb.help)));
  }
  out +=
      "  )\n"
      "  if (( CURRENT == 2 )) || [[ $words[2] == help ]]; then\n"
      "    _describe command verbs\n"
      "    return\n"
      "  fi\n"
      "  local verb=$words[2]\n"
      "  shift words\n"
      "  (( CURRENT-- ))\n"
      "  case $verb in\n";
  for (const Verb& verb : verbs) {
    out += fmt::format("    {})\n      _arguments", verb.name);
    bool has_alone = false;
    for (const Choice& choice : verb.choices) {
      if (stands_alone(choice) && has_alone) continue;  // one line says what stands alone
      has_alone = has_alone || stands_alone(choice);
      out += " \\\n        " + zsh_choice(choice);
    }
    out += "\n      ;;\n";
  }
  return out +
         "  esac\n"
         "}\n"
         "if [ \"$funcstack[1]\" = _ckpt ]; then _ckpt \"$@\"; else compdef _ckpt ckpt; fi\n";
}

// In fish a backslash escapes inside single quotes too.
std::string fish_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

std::string fish_script(const std::vector<Verb>& verbs) {
  std::string out =
      "# Completion of ckpt for fish:  ckpt completion fish > "
      "~/.config/fish/completions/ckpt.fish\n";
  out += fish_step_function(step_words());
  for (const Verb& verb : verbs) {
    out += fmt::format("complete -c ckpt -n __fish_use_subcommand -f -a {} -d {}\n", verb.name,
                       fish_quoted(verb.help));
  }
  out += fmt::format("complete -c ckpt -n '__fish_seen_subcommand_from help' -f -a {}\n",
                     fish_quoted(names_of(verbs)));
  for (const Verb& verb : verbs) {
    const std::string condition = fmt::format(
        "complete -c ckpt -n '__fish_seen_subcommand_from {}; and not "
        "__fish_seen_subcommand_from help'",
        verb.name);
    for (const Choice& choice : verb.choices) {
      std::string words = fmt::format("{}", fmt::join(choice.values, " "));
      if (choice.long_name == "step") words = "(__ckpt_step)";
      const std::string values = words.empty() ? "" : " -a " + fish_quoted(words);
      if (stands_alone(choice)) {
        if (!values.empty()) out += fmt::format("{} -f{}\n", condition, values);
        continue;
      }
      const char* value = !choice.takes_value ? "" : values.empty() ? " -r" : " -x";
      const std::string short_name =
          choice.short_name.empty() ? "" : fmt::format(" -s {}", choice.short_name);
      out += fmt::format("{} -l {}{}{}{} -d {}\n", condition, choice.long_name, short_name, value,
                         values, fish_quoted(choice.help));
    }
  }
  return out;
}

Run declare_completion(CommandOptions& options) {
  auto shell = std::make_shared<std::string>();
  Option& name = options.add("SHELL", shell.get(), "bash, zsh or fish");
  name.is_required = true;
  name.choices = {"bash", "zsh", "fish"};
  return [shell](const Console& console, const CommonOptions&) -> Result<int> {
    const std::vector<Verb> verbs = verbs_of(all_commands());
    std::string script = *shell == "bash"  ? bash_script(verbs)
                         : *shell == "zsh" ? zsh_script(verbs)
                                           : fish_script(verbs);
    console.object("completion", {{"shell", *shell}, {"script", script}});
    script.pop_back();  // an answer is a line
    console.answer_lines(script);
    return 0;
  };
}

}  // namespace

constinit const Command kCompletionCommand{
    "completion", "Prints a script that lets a shell complete commands, options and values.",
    "  source <(ckpt completion bash)                                    # in ~/.bashrc\n"
    "  ckpt completion zsh > \"${fpath[1]}/_ckpt\"\n"
    "  mkdir -p ~/.config/fish/completions && ckpt completion fish > "
    "~/.config/fish/completions/ckpt.fish",
    declare_completion};

}  // namespace ckpt

// ckpt man [COMMAND]: writes the manual pages that packages install, for users who have only the
// binary. The pages consist of the texts of --help, and of the lists of types, steps and profiles.
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "checks/checks.h"
#include "core/base/nearest.h"
#include "core/base/utf8.h"
#include "core/base/words.h"
#include "core/io/folder.h"
#include "plan/conversion/targets.h"
#include "plan/conversion/version.h"
#include "plan/text/type_names.h"
#include "tools/line/commands.h"
#include "tools/line/help.h"
#include "tools/line/topics.h"
#include "tools/line/typed_words.h"
#include "transforms/transforms.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

struct ManPage {
  std::string name;  // "ckpt", "ckpt-convert"
  std::string text;  // for man(1), in the macros of man(7); ASCII alone
};

struct Entry {
  std::string term;  // already in roff
  std::string help;
};

// Escapes what roff treats as a command or replaces; quotes and dashes stay as a shell reads them.
std::string roff(std::string_view text) {
  constexpr std::pair<char, std::string_view> kEscapes[] = {
      {'\\', "\\e"}, {'-', "\\-"}, {'\'', "\\(aq"}, {'`', "\\(ga"}, {'^', "\\(ha"}, {'~', "\\(ti"}};
  std::string out;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    const bool starts_line = at == 0 || text[at - 1] == '\n';
    if (starts_line && (c == '.' || c == '\'')) out += "\\&";
    const auto* escape = std::ranges::find(kEscapes, c, &std::pair<char, std::string_view>::first);
    out += escape == std::end(kEscapes) ? std::string_view(&c, 1) : escape->second;
  }
  return out;
}

std::string bold(std::string_view text) { return "\\fB" + roff(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + roff(text) + "\\fR"; }

std::string section(std::string_view name) { return fmt::format(".SH {}\n", name); }

std::string entries(const std::vector<Entry>& list) {
  std::string out;
  for (const Entry& entry : list) {
    out += fmt::format(".TP\n{}\n{}\n", entry.term, roff(entry.help));
  }
  return out;
}

std::string verbatim(std::string_view text) {
  return fmt::format(".nf\n{}\n.fi\n",
                     roff(text.ends_with('\n') ? text.substr(0, text.size() - 1) : text));
}

std::string heading(std::string_view name, std::string_view what) {
  const BuildInfo& build = build_info();
  return fmt::format(".TH {} 1 \"{}\" \"ckpt {}\" \"User Commands\"\n{}{} \\- {}\n",
                     roff(upper_case(std::string(name))), build.date, build.version,
                     section("NAME"), roff(name), roff(what));
}

// The first sentence in lower case without its full stop, as in the NAME section.
std::string short_description(std::string_view help) {
  std::string out(help);
  if (out.ends_with('.')) out.pop_back();
  if (!out.empty() && out[0] >= 'A' && out[0] <= 'Z') out[0] = static_cast<char>(out[0] + 32);
  return out;
}

Entry option_entry(const Option& option) {
  if (stands_alone(option)) return {italic(option.names), whole_help(option)};
  std::string term;
  for (const std::string& name : names_of(option)) term += (term.empty() ? "" : ", ") + bold(name);
  const std::string value = value_word(option);
  if (!value.empty()) term += " " + italic(value);
  return {std::move(term), whole_help(option)};
}

std::vector<Entry> option_entries(const CommandOptions& options, bool alone) {
  std::vector<Entry> out;
  for (const Option& option : options.declared()) {
    if (stands_alone(option) == alone) out.push_back(option_entry(option));
  }
  return out;
}

std::string synopsis_of(std::string_view verb, const CommandOptions& options) {
  std::string out = fmt::format("{} [{}]...", bold(fmt::format("ckpt {}", verb)), italic("OPTION"));
  for (const Option& option : options.declared()) {
    if (!stands_alone(option)) continue;
    const std::string name = italic(option.names);
    out += option.is_required ? " " + name : " [" + name + "]";
  }
  return section("SYNOPSIS") + out + "\n";
}

std::string list_of_types() {
  std::vector<Entry> list;
  for (const TargetType& type : target_types()) list.push_back({bold(type.name), type.help});
  return section("TYPES") + "What " + bold("--to") + " takes, in any case:\n" + entries(list);
}

std::string list_of_steps() {
  std::string out = section("STEPS") + "What " + bold("--step") + " takes, as " +
                    italic("NAME:KEY=VALUE,KEY=VALUE") +
                    ". Payload steps change values of tensors, metadata steps do not.\n";
  for (const Transform* step : all_transforms()) {
    out += fmt::format(".TP\n{} ({})\n{}\n", bold(step->name), step->effect(), roff(step->help));
    if (step->options.empty()) continue;
    std::vector<Entry> list;
    for (const OptionRule& rule : step->options) {
      list.push_back(
          {bold(fmt::format("{}=", rule.name)) + italic(rule.value()), rule.whole_help()});
    }
    out += ".RS\n" + entries(list) + ".RE\n";
  }
  return out;
}

std::string list_of_profiles() {
  std::vector<Entry> list;
  for (const ProfileInfo& profile : all_profiles()) {
    list.push_back({bold(profile.name), std::string(profile.help)});
  }
  return section("PROFILES") + "What " + bold("--for") + " takes:\n" + entries(list);
}

// The lists that the values of a command's options are chosen from.
std::string lists_of(const CommandOptions& options) {
  std::string out;
  for (const Option& option : options.declared()) {
    const std::string name = option.names.substr(0, option.names.find(','));
    if (name == "--to") out += list_of_types();
    if (name == "--step") out += list_of_steps();
    if (name == "--for") out += list_of_profiles();
  }
  return out;
}

std::string section_of(std::string_view name, const Topic& topic) {
  std::vector<Entry> list;
  for (const TopicRow& row : topic.rows) list.push_back({roff(row.term), std::string(row.text)});
  return section(name) + entries(list);
}

std::string see_also(std::string_view but) {
  std::vector<std::string> out;
  if (but != "ckpt") out.push_back(bold("ckpt") + "(1)");
  for (const Command* command : all_commands()) {
    if (command->name == but) continue;
    out.push_back(bold(fmt::format("ckpt-{}", command->name)) + "(1)");
  }
  return section("SEE ALSO") + fmt::format("{}\n", fmt::join(out, ",\n"));
}

ManPage page_of_program() {
  std::string out = heading("ckpt", "convert, patch, check and publish LLM checkpoints");
  out += section("SYNOPSIS") + bold("ckpt") + " " + italic("COMMAND") + " [" + italic("OPTION") +
         "]... [" + italic("PATH") + "]...\n";
  out += section("DESCRIPTION") +
         "Reads and writes Hugging Face folders, safetensors and GGUF, in bounded memory and\n"
         "without a GPU. The bytes of an output depend on the input, the options and the\n"
         "version alone. Each command has a page of its own.\n";
  std::vector<Entry> commands;
  for (const Command* command : all_commands()) {
    commands.push_back({bold(command->name), std::string(command->help)});
  }
  out += section("COMMANDS") + entries(commands);
  CommonOptions common;
  CommandOptions shared;
  declare_common(shared, common);
  out +=
      section("OPTIONS") + "Every command takes these.\n" + entries(option_entries(shared, false));
  out += entries({{bold("-h") + ", " + bold("--help"), "print help, examples first"},
                  {bold("--version"), "print version, commit and the vector instructions in use"}});
  out += section_of("EXIT STATUS", exit_codes()) + section_of("ENVIRONMENT", environment_topic());
  return {"ckpt", out + see_also("ckpt")};
}

ManPage page_of(const Command& command) {
  CommandOptions options;
  const Run run = command.declare(options);
  const std::string name = fmt::format("ckpt-{}", command.name);
  std::string out = heading(name, short_description(command.help)) +
                    synopsis_of(command.name, options) + section("DESCRIPTION") +
                    roff(command.help) + "\n" + entries(option_entries(options, true));
  out += section("EXAMPLES") + verbatim(command.examples);
  const std::vector<Entry> own = option_entries(options, false);
  out += section("OPTIONS") + entries(own) + (own.empty() ? "" : ".PP\n") + "Those of " +
         bold("ckpt") + "(1) are taken as well.\n";
  out += lists_of(options) + section_of("EXIT STATUS", exit_codes());
  return {name, out + see_also(command.name)};
}

// Writes other characters as roff names, because not every roff accepts UTF-8.
std::string in_ascii(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    out += character.code < 0x80 ? std::string(1, text[0])
                                 : fmt::format("\\[u{:04X}]", character.code);
    text.remove_prefix(character.size_bytes);
  }
  return out;
}

// Returns ckpt(1), then one page per command in the order of all_commands().
std::vector<ManPage> man_pages() {
  std::vector<ManPage> out = {page_of_program()};
  for (const Command* command : all_commands()) out.push_back(page_of(*command));
  for (ManPage& page : out) page.text = in_ascii(page.text);
  return out;
}

struct TypedMan {
  std::string command;
  fs::path into;
};

// Requires that `path` is free or holds a page that ckpt wrote earlier.
Status check_page(const fs::path& path, const ManPage& page) {
  constexpr uint64_t kMaxManBytes = 1 << 20;
  CKPT_TRY(refuse_link_at(path));
  CKPT_ASSIGN(const bool exists, is_there(path));
  if (!exists) return {};
  CKPT_ASSIGN(const std::string text, read_small(path, kMaxManBytes));
  const std::string_view title = std::string_view(page.text).substr(0, page.text.find(" 1 "));
  if (text.starts_with(title)) return {};
  return misuse_hint(fmt::format("mv {} elsewhere", shell_path(path.string())),
                     "{}: exists and is not a manual page of ckpt", path.string());
}

Status write_into(const fs::path& folder, const std::vector<ManPage>& pages,
                  const Console& console) {
  for (const ManPage& page : pages) CKPT_TRY(check_page(folder / (page.name + ".1"), page));
  for (const ManPage& page : pages) {
    const fs::path path = folder / (page.name + ".1");
    CKPT_TRY(replace_file(path, page.text));
    console.object("file", {{"path", path.string()}, {"size_bytes", page.text.size()}});
    console.answer(path.string());
  }
  return {};
}

Result<int> write_pages(const std::vector<ManPage>& pages, const fs::path& folder,
                        const Console& console) {
  std::error_code error;
  const bool is_new = fs::create_directories(folder, error);
  if (error) return io_failure(folder, "cannot be made", error.value());
  const Status written = write_into(folder, pages, console);
  // A new folder that the umask makes unwritable would stop the next run too.
  if (!written && is_new) fs::remove(folder, error);
  return written.map([] { return 0; });
}

Result<int> man(const TypedMan& typed, const Console& console) {
  const std::vector<ManPage> pages = man_pages();
  if (!typed.into.empty() && !typed.command.empty()) {
    return misuse_hint("ckpt man --into DIR", "{}: --into writes the pages of all commands",
                       typed.command);
  }
  if (!typed.into.empty()) return write_pages(pages, typed.into, console);
  const bool is_program = typed.command.empty() || typed.command == "ckpt";
  const std::string wanted = is_program ? "ckpt" : "ckpt-" + typed.command;
  for (const ManPage& page : pages) {
    if (page.name != wanted) continue;
    console.object("man", {{"name", page.name}, {"page", page.text}});
    console.answer_lines(page.text);
    return 0;
  }
  return misuse_hint(near_hint(typed.command, names_in(all_commands()), "ckpt man ", "ckpt --help"),
                     "'{}' is not a command, so it has no page", typed.command);
}

Run declare_man(CommandOptions& options) {
  auto typed = std::make_shared<TypedMan>();
  options.add("COMMAND", &typed->command, "the command whose page is printed; default: of ckpt");
  options.add("--into", &typed->into, "folder to write all pages into, as ckpt.1 and so on",
              {.value_name = "DIR", .place = OptionPlace::kWritten});
  return [typed](const Console& console, const CommonOptions&) { return man(*typed, console); };
}

}  // namespace

extern const Command kManCommand{"man",
                                 "Prints a manual page, or writes all of them into a folder.",
                                 "  ckpt man convert | man -l -\n"
                                 "  ckpt man --into ~/.local/share/man/man1",
                                 declare_man};

}  // namespace ckpt

// ckpt man [COMMAND]: the manual pages that packages install, for who has the binary alone.
#include <nlohmann/json.hpp>

#include "core/base/nearest.h"
#include "core/io/folder.h"
#include "plan/conversion/targets.h"
#include "tools/line/commands.h"
#include "tools/line/man_page.h"
#include "tools/published/published_files.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

struct TypedMan {
  std::string command;
  fs::path into;
};

// Requires that nothing has this name but an earlier page of ours.
Status check_page(const fs::path& path, const ManPage& page) {
  constexpr uint64_t kMaxManBytes = 1 << 20;
  CKPT_TRY(refuse_link_at(path));
  CKPT_ASSIGN(const bool exists, is_there(path));
  if (!exists) return {};
  CKPT_ASSIGN(const std::string text, read_small(path, kMaxManBytes));
  const std::string_view title = std::string_view(page.text).substr(0, page.text.find(" 1 "));
  if (text.starts_with(title)) return {};
  return fail_with_hint(ErrorCode::kUsage, fmt::format("mv {} ..", shell_path(path.string())),
                        "{}: exists and is not a manual page of ckpt", path.string());
}

Result<int> write_pages(const std::vector<ManPage>& pages, const fs::path& folder,
                        const Console& console) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return io_failure(folder, "cannot be made", error.value());
  for (const ManPage& page : pages) CKPT_TRY(check_page(folder / (page.name + ".1"), page));
  for (const ManPage& page : pages) {
    const fs::path path = folder / (page.name + ".1");
    CKPT_TRY(replace_file(path, page.text));
    console.object("file", {{"path", path.string()}, {"size_bytes", page.text.size()}});
    console.answer(path.string());
  }
  return 0;
}

Result<int> man(const TypedMan& typed, const Console& console) {
  const std::vector<ManPage> pages = man_pages();
  if (!typed.into.empty() && !typed.command.empty()) {
    return fail_with_hint(ErrorCode::kUsage, "ckpt man --into DIR",
                          "{}: --into writes the pages of all commands", typed.command);
  }
  if (!typed.into.empty()) return write_pages(pages, typed.into, console);
  const std::string wanted = typed.command.empty() ? "ckpt" : "ckpt-" + typed.command;
  for (const ManPage& page : pages) {
    if (page.name != wanted) continue;
    console.object("man", {{"name", page.name}, {"page", page.text}});
    console.answer_lines(page.text);
    return 0;
  }
  std::vector<std::string> names;
  for (const Command* command : all_commands()) names.emplace_back(command->name);
  const std::string near = nearest(typed.command, names);
  return fail_with_hint(ErrorCode::kUsage, near.empty() ? "ckpt --help" : "ckpt man " + near,
                        "'{}' is not a command, so it has no page", typed.command);
}

Run declare_man(CommandOptions& options) {
  auto typed = std::make_shared<TypedMan>();
  options.add("COMMAND", &typed->command, "the command whose page is printed; default: of ckpt");
  options.add("--into", &typed->into, "folder to write all pages into, as ckpt.1 and so on")
      .value_name = "DIR";
  return [typed](const Console& console, const CommonOptions&) { return man(*typed, console); };
}

}  // namespace

extern const Command kManCommand{"man",
                                 "Prints a manual page, or writes all of them into a folder.",
                                 "  ckpt man convert | man -l -\n"
                                 "  ckpt man --into ~/.local/share/man/man1",
                                 declare_man};

}  // namespace ckpt

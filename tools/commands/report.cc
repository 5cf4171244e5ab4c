// ckpt report PATH...: writes a page about checkpoints and their distance from a base.
#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "core/base/words.h"
#include "core/io/child.h"
#include "core/io/files_read.h"
#include "core/io/folder.h"
#include "plan/conversion/targets.h"
#include "tools/line/commands.h"
#include "tools/report/data.h"
#include "tools/report/page.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

struct TypedReport : ReportQuestion {
  fs::path out;
  bool force = false, opens = false;
};

// Rejects the ending .svg, because a browser chooses the file type by the name.
Status check_name(const fs::path& out) {
  if (!has_ending(out.native(), ".svg")) return {};
  return misuse_hint("--out " + shell_path(fs::path(out).replace_extension(".html").string()),
                     "--out {}: the page is an HTML file; its figures are saved from it as SVG",
                     out.string());
}

// Opens the page with xdg-open, which starts the browser of the desktop or of $BROWSER.
Status open_page(const fs::path& page) {
  std::string program = "xdg-open", path = page.string();
  if (path.starts_with('-')) path.insert(0, "./");
  char* const words[] = {program.data(), path.data(), nullptr};
  Child child;
  posix_spawn_file_actions_addopen(child.files(), STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(child.files(), STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  const int error = child.start(words);
  const std::string why = error != 0 ? std::string(std::strerror(error)) : child.wait();
  if (why.empty()) return {};
  return fail(ErrorCode::kIo, "--open: xdg-open: {}; {} is written, open it in a browser", why,
              page.string());
}

Status check_open(const TypedReport& typed, const fs::path& out) {
  if (!typed.opens || !out.empty()) return {};
  return misuse("--open: --json alone writes no page; name one with --out");
}

// Under --json the data is the answer, so a page is written only on request.
Result<int> report(const TypedReport& typed, const Console& console, const CommonOptions& common) {
  CKPT_TRY(check_name(typed.out));
  const fs::path out = typed.out.empty() && !console.json() ? "report.html" : typed.out;
  CKPT_TRY(check_open(typed, out));
  if (!out.empty()) CKPT_TRY(check_report_target(out, typed.force));
  CKPT_ASSIGN(Json data, report_data(typed, console, common));
  CKPT_TRY(check_files_read());
  console.object("report", data);
  if (out.empty()) return 0;
  const std::string page = report_page(data.dump(-1, ' ', false, Json::error_handler_t::replace));
  CKPT_TRY(replace_file(out, page, typed.force));
  console.answer(out.string());
  console.talk("{} of {}: {}.{}", human_bytes(page.size()),
               typed.paths.size() == 1 ? "one checkpoint"
                                       : fmt::format("{} checkpoints", typed.paths.size()),
               typed.against.empty() ? "values were not read (--against BASE compares them)"
                                     : "values compared with " + typed.against.string(),
               typed.opens ? "" : " Next: open it in a browser (--open does)");
  if (typed.opens) CKPT_TRY(open_page(out));
  return 0;
}

Run declare_report(CommandOptions& options) {
  auto typed = std::make_shared<TypedReport>();
  options.add("PATH", &typed->paths, "Hugging Face folders, .safetensors or .gguf files",
              {.is_required = true});
  options.add("--against", &typed->against,
              "the checkpoint that they were made from; compares the values",
              {.value_name = "BASE"});
  options.add("--imatrix FILE", &typed->imatrix,
              "importance matrix (GGUF or .dat): tokens that each expert saw");
  options.add("--eval FILE", &typed->evaluation,
              "figures of an evaluation, JSON or CSV, shown unchanged; docs/REPORT.md");
  options.add("--out,-o FILE", &typed->out, "the page (default: report.html; with --json none)",
              {.place = OptionPlace::kWritten});
  options.add("--open", &typed->opens, "open the page in the browser, with xdg-open");
  options.add("--force", &typed->force, "replace an older report");
  declare_follow_links(options, &typed->reading.follow_links);
  return run_with(std::move(typed), report);
}

}  // namespace

extern const Command kReportCommand{
    "report", "Makes a page about checkpoints: bytes, types, errors, verdicts.",
    "  ckpt report served/\n"
    "  ckpt report q4.gguf q6.gguf --against bf16.gguf -o report.html\n"
    "  ckpt report q4.gguf --imatrix imatrix.gguf --eval kld_results.csv\n"
    "  ckpt report served/ --json",
    declare_report};

}  // namespace ckpt

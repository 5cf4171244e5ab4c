// ckpt report PATH...: a page that shows what is in checkpoints, and how far they are from a base.
#include <nlohmann/json.hpp>

#include "core/io/folder.h"
#include "tools/commands.h"
#include "tools/report/data.h"
#include "tools/report/page.h"
#include "tools/report/svg.h"
#include "tools/targets.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

struct TypedReport {
  std::vector<std::string> paths;
  fs::path against, imatrix, evaluation, out;
  std::string svg;  // the plot that is asked for; empty: the page
  bool force = false;
};

Status check_plot(const TypedReport& typed, bool is_json) {
  if (typed.svg.empty()) return {};
  if (typed.paths.size() > 1) {
    return fail(ErrorCode::kUsage, "--svg {}: {} checkpoints; a plot is of one", typed.svg,
                typed.paths.size());
  }
  const bool is_unmeasured = typed.svg == "bytes";
  const char* const unused = !typed.imatrix.empty()                    ? "--imatrix"
                             : !typed.evaluation.empty()               ? "--eval"
                             : is_unmeasured && !typed.against.empty() ? "--against"
                                                                       : nullptr;
  if (unused != nullptr) {
    return fail(ErrorCode::kUsage, "--svg {}: {} is not in this plot", typed.svg, unused);
  }
  if (is_json && typed.out.empty()) {
    return fail_with_hint(ErrorCode::kUsage, fmt::format("--out {}.svg", typed.svg),
                          "--svg {}: --json prints the data, and no plot without --out", typed.svg);
  }
  if (typed.svg != "error" || !typed.against.empty()) return {};
  return fail_with_hint(ErrorCode::kUsage, "--against BASE",
                        "--svg error without --against: errors are those of values");
}

// A browser goes by the name.
Status check_name(const TypedReport& typed) {
  const std::string ending = typed.out.extension().string();
  const bool is_plot = !typed.svg.empty();
  if (ending != (is_plot ? ".html" : ".svg")) return {};
  fs::path fitting = typed.out;
  fitting.replace_extension(is_plot ? ".svg" : ".html");
  return fail_with_hint(ErrorCode::kUsage, fmt::format("--out {}", fitting.string()),
                        "--out {}: {}", typed.out.string(),
                        is_plot ? "a plot is an SVG file" : "the page is an HTML file");
}

// The file that is asked for: the page, or one plot.
Result<std::string> drawn(const TypedReport& typed, const Json& data) {
  const Json& first = data["checkpoints"][0];
  if (typed.svg == "layers") return svg_of_layers(first);
  if (typed.svg == "error") return svg_of_errors(first);
  if (typed.svg == "bytes") return svg_of_bytes(first);
  return report_page(data.dump(-1, ' ', false, Json::error_handler_t::replace));
}

// Under --json the data is the answer, and a page is made only where it is asked for.
Result<int> report(const TypedReport& typed, const Console& console, const CommonOptions& common) {
  CKPT_TRY(check_plot(typed, console.json()));
  CKPT_TRY(check_name(typed));
  fs::path out = typed.out;
  if (out.empty() && !console.json()) {
    out = typed.svg.empty() ? "report.html" : typed.svg + ".svg";
  }
  if (!out.empty()) CKPT_TRY(check_report_target(out, typed.force));
  ReportQuestion question;
  question.against = typed.against;
  question.imatrix = typed.imatrix;
  question.evaluation = typed.evaluation;
  question.paths.assign(typed.paths.begin(), typed.paths.end());
  CKPT_ASSIGN(Json data, report_data(question, console, common));
  console.object("report", data);
  if (out.empty()) return 0;
  CKPT_ASSIGN(const std::string page, drawn(typed, data));
  CKPT_TRY(replace_file(out, page));
  console.answer(out.string());
  console.talk(
      fmt::format("{} of {}: {}. Next: open it in a browser", human_bytes(page.size()),
                  typed.paths.size() == 1 ? "one checkpoint"
                                          : fmt::format("{} checkpoints", typed.paths.size()),
                  typed.against.empty() ? "values were not read (--against BASE compares them)"
                                        : "values compared with " + typed.against.string()));
  return 0;
}

Run declare_report(CommandOptions& options) {
  auto typed = std::make_shared<TypedReport>();
  options.add("PATH", &typed->paths, "Hugging Face folders, .safetensors or .gguf files")
      .is_required = true;
  options
      .add("--against", &typed->against,
           "the checkpoint that they were made from: its values are compared with theirs")
      .value_name = "BASE";
  options.add("--imatrix", &typed->imatrix,
              "importance matrix (GGUF or .dat): what each expert saw of its text");
  options.add("--eval", &typed->evaluation,
              "figures of an evaluation, JSON or CSV, shown as they are (docs/REPORT.md)");
  options
      .add(
          "--svg", &typed->svg,
          "one plot instead of the page: layers (SQNR, or types without --against), error or bytes")
      .choices = {"layers", "error", "bytes"};
  options.add("--out,-o", &typed->out,
              "the page (default: report.html, of a plot NAME.svg; with --json none)");
  options.add("--force", &typed->force, "replace an older report");
  declare_follow_links(options);
  return [typed](const Console& console, const CommonOptions& common) {
    return report(*typed, console, common);
  };
}

}  // namespace

constinit const Command kReportCommand{
    "report", "Makes a page that shows checkpoints: bytes, types, errors, verdicts, memory.",
    "  ckpt report served/\n"
    "  ckpt report q4.gguf q6.gguf --against bf16.gguf -o report.html\n"
    "  ckpt report q4.gguf --imatrix imatrix.gguf --eval kld_results.csv\n"
    "  ckpt report q4.gguf --against bf16.gguf --svg layers -o layers.svg\n"
    "  ckpt report served/ --json",
    declare_report};

}  // namespace ckpt

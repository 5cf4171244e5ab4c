#include "tools/commands/carry_out.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>

#include "checks/checks.h"
#include "core/base/counted.h"
#include "core/base/words.h"
#include "core/chunks/repack.h"
#include "core/chunks/tasks.h"
#include "core/computed/computed_source.h"
#include "core/io/folder.h"
#include "core/io/remote_files.h"
#include "core/model/adapter.h"
#include "plan/conversion/advice.h"
#include "plan/conversion/sizes.h"
#include "plan/conversion/targets.h"
#include "plan/text/plan_file.h"
#include "publish/publish.h"
#include "tools/commands/made_record.h"
#include "tools/doctor/doctor_report.h"
#include "tools/line/commands.h"

namespace ckpt {
namespace {

std::string first_path(const Output& output) {
  return shell_path(final_path(output, output.layout.files[0]).string());
}

// The path of the projector file that the plan makes, or "" if it makes none.
std::string projector_path(const Plan& plan) {
  const auto projector = std::ranges::find_if(
      plan.outputs, [](const Output& each) { return each.checkpoint.is_projector(); });
  return projector == plan.outputs.end() ? std::string() : first_path(*projector);
}

// Whether llama.cpp cannot load this GGUF checkpoint.
bool is_refused(const Checkpoint& checkpoint) {
  DiagnosisOptions diagnosis_options;
  diagnosis_options.profiles = {"llama.cpp"};
  const auto diagnosis = diagnose(checkpoint, diagnosis_options);
  return diagnosis && !diagnosis->verdicts[0].loads;
}

// Chooses the program to check a folder for if the user named none: the first that loads it.
std::vector<std::string> usual_program(const Checkpoint& checkpoint) {
  for (const char* const name : {"vllm", "transformers-5"}) {
    DiagnosisOptions diagnosis_options;
    diagnosis_options.profiles = {name};
    const auto diagnosis = diagnose(checkpoint, diagnosis_options);
    if (!diagnosis) continue;
    const Verdict& verdict = diagnosis->verdicts[0];
    if (verdict.loads && verdict.not_checked.empty()) return {name};
  }
  return {};
}

// The program of llama.cpp that runs the model.
std::string_view gguf_runner(const Checkpoint& checkpoint) {
  const Metadata& metadata = checkpoint.metadata;
  if (has_word("dream llada llada-moe rnd1", metadata.architecture())) return "llama-diffusion-cli";
  return gguf_answer(metadata) == GgufAnswer::kTexts ? "llama-cli" : "llama-embedding";
}

// The command that a person runs next. A GGUF file is run, together with its projector if the plan
// makes one. A folder is checked for `profiles`. "" if another output's command includes this one.
std::string next_command(const Output& output, const Plan& plan,
                         const std::vector<std::string>& profiles) {
  if (!adapter_words(output.checkpoint).empty()) {
    return output.layout.is_folder
               ? fmt::format("ckpt show {}", shell_path(output.path.string()))
               : fmt::format("llama-cli -m MODEL.gguf --lora {}", first_path(output));
  }
  if (output.layout.is_folder) {
    return with_profiles("ckpt doctor " + shell_path(output.path.string()),
                         profiles.empty() ? usual_program(output.checkpoint) : profiles);
  }
  if (output.checkpoint.format != "gguf") return fmt::format("ckpt show {}", first_path(output));
  const auto is_model = [](const Output& each) {
    return each.checkpoint.format == "gguf" && !each.checkpoint.is_projector();
  };
  if (is_refused(output.checkpoint)) {
    return fmt::format("ckpt doctor {} --for llama.cpp", first_path(output));
  }
  if (output.checkpoint.is_projector()) {
    if (std::ranges::any_of(plan.outputs, is_model)) return {};
    return fmt::format("llama-mtmd-cli -m MODEL.gguf --mmproj {}", first_path(output));
  }
  const std::string projector = projector_path(plan);
  if (projector.empty()) {
    return fmt::format("{} -m {}", gguf_runner(output.checkpoint), first_path(output));
  }
  return fmt::format("llama-mtmd-cli -m {} --mmproj {}", first_path(output), projector);
}

// Prints, for each profile in which the output loads and is correct, the command that serves it.
void show_serving(const Console& console, const Output& output, const PlannedConversion& planned,
                  const std::vector<std::string>& profiles) {
  if (output.checkpoint.is_projector()) return;  // served with the model
  for (const std::string& profile : profiles) {
    const bool is_bad = std::ranges::any_of(planned.verdicts, [&](const OutputVerdict& each) {
      return each.out == output.path && !each.is_good() && each.verdict.profile == profile;
    });
    if (is_bad) continue;
    const std::string path =
        output.layout.is_folder ? shell_path(output.path.string()) : first_path(output);
    const std::string command =
        serve_command(profile, output.checkpoint, path, projector_path(planned.plan));
    if (!command.empty()) console.talk("{}: {}", profile, command);
  }
}

// Reports as JSON, per requantized tensor, the second rounding error and the blocks kept exactly.
void show_moves(const Console& console, const Output& output) {
  for (const Tensor& tensor : output.checkpoint.tensors) {
    if (tensor.is_stored()) continue;
    const Recoded& made = tensor.recoded();
    if (made.second_error) {
      console.object("rounded", {{"out", output.path.string()},
                                 {"tensor", tensor.name},
                                 {"second_error", *made.second_error}});
    }
    if (made.exact_blocks != 0) {
      console.object("moved", {{"out", output.path.string()},
                               {"tensor", tensor.name},
                               {"moved_blocks", made.exact_blocks}});
    }
  }
}

// The path of the file whose hash took nearly all of the time, as one core computes it; or empty.
std::string bound_by_hash(const ExecuteReport& report) {
  constexpr double kNearlyAll = 0.9;
  for (const FileReport& file : report.files) {
    if (file.hash_seconds >= kNearlyAll * report.seconds) return file.path;
  }
  return {};
}

void show_report(const Console& console, const Plan& plan, const ExecuteReport& report,
                 const std::vector<std::string>& profiles) {
  for (const FileReport& file : report.files) show_file(console, file);
  const double seconds = std::max(report.seconds, 1e-3);
  console.talk("{} read, {} written in {} ({}/s)", human_bytes(report.read_bytes),
               human_bytes(report.written_bytes), human_seconds(report.seconds),
               human_bytes(static_cast<uint64_t>(
                   static_cast<double>(report.read_bytes + report.written_bytes) / seconds)));
  std::set<std::string> said;  // one Next line for each program that is suggested
  for (const Output& output : plan.outputs) {
    const std::string next = next_command(output, plan, profiles);
    const bool is_new = !next.empty() && said.insert(next.substr(0, next.find(' '))).second;
    if (is_new) console.next(next);
    show_moves(console, output);
    const MovedBlocks moved = count_moved(output.checkpoint.tensors);
    console.object("summary", {{"out", output.path.string()},
                               {"dry_run", false},
                               {"tensors", output.checkpoint.tensors.size()},
                               {"moved_tensors", moved.tensors},
                               {"moved_blocks", moved.blocks},
                               {"files", output.layout.files.size()},
                               {"read_bytes", report.read_bytes},
                               {"written_bytes", report.written_bytes},
                               {"seconds", report.seconds},
                               {"bound_by_hash_of", bound_by_hash(report)}});
  }
}

// Lists numbers as "2, 3, 7"; long lists are shortened to ranges: "2 to 999, 1001".
std::string words_of_shares(const std::vector<uint32_t>& shares) {
  constexpr size_t kMostEach = 20;
  if (shares.size() <= kMostEach) return fmt::format("{}", fmt::join(shares, ", "));
  std::vector<std::string> runs;
  for (size_t i = 0, end = 0; i < shares.size() && runs.size() < kMostEach; i = end) {
    for (end = i + 1; end < shares.size() && shares[end] == shares[end - 1] + 1;) ++end;
    runs.push_back(end - i == 1 ? fmt::format("{}", shares[i])
                                : fmt::format("{} to {}", shares[i], shares[end - 1]));
    if (runs.size() == kMostEach && end < shares.size()) {
      runs.push_back(fmt::format("and {} more", shares.size() - end));
    }
  }
  return fmt::format("{}", fmt::join(runs, ", "));
}

// Reports that a share is complete while other shares are still missing. Returns the exit code.
int show_share(const Console& console, const ExecuteOptions& options, const ExecuteReport& report) {
  const std::string share =
      fmt::format("{}/{}", options.resume.share_number, options.resume.share_count);
  std::string state = "still to be done: " + words_of_shares(report.missing_shares);
  if (report.is_ended_elsewhere)
    state = "all are done; another ckpt gives the final names just now";
  if (report.was_made) state = "the output is complete already";
  console.answer("share {} done; {}", share, state);
  console.object("share", {{"share", share},
                           {"written_bytes", report.written_bytes},
                           {"missing", report.missing_shares},
                           {"complete", report.was_made}});
  return 0;
}

}  // namespace

void show_file(const Console& console, const FileReport& file) {
  console.answer_bytes(sums_line(file.path, file.sha256));
  console.object("file",
                 {{"path", file.path}, {"size_bytes", file.size_bytes}, {"sha256", file.sha256}});
}

ExecuteOptions with_common(ExecuteOptions options, const CommonOptions& common) {
  options.threads = common.threads;
  options.memory_bytes = common.memory_bytes;
  options.interrupted = &interrupted;
  options.resume.enabled = true;
  options.resume.version = CKPT_VERSION;
  options.resume.command = common.command;
  return options;
}

int show_verdicts(const PlannedConversion& planned, const Console& console) {
  int code = 0;
  for (const OutputVerdict& each : planned.verdicts) {
    const Verdict& verdict = each.verdict;
    Json fields{{"out", each.out.string()}};
    fields.update(verdict_fields(verdict));
    console.object("verdict", std::move(fields));
    if (each.is_good()) continue;
    code = 1;
    console.error(Error{
        ErrorCode::kUnsupported,
        each.out.string(),
        fmt::format("{} {}", verdict.profile,
                    verdict.loads ? "loads it and computes something else" : "will not load it"),
        {}});
  }
  return code;
}

Status set_cache(const PlannedConversion& planned, const std::string& folder,
                 const std::string& size, ExecuteOptions& options) {
  if (!size.empty()) {
    CKPT_ASSIGN(options.cache_bytes, in("--cache-size", parse_size(size)));
    if (folder.empty()) return misuse("--cache-size needs --cache-dir DIR");
  }
  if (folder.empty()) return {};
  options.cache_folder = folder;
  if (planned.plan.outputs.size() > 1) {
    return misuse_hint("one output at a time",
                       "--cache-dir {}: only for one output; this plan has {}", folder,
                       planned.plan.outputs.size());
  }
  bool is_read_far = false, is_scanned = false;
  each_source(planned.plan,
              [&](const ByteSource& source) { is_read_far |= is_url(source.name()); });
  for (const Output& output : planned.plan.outputs) {
    for (const Tensor& tensor : output.checkpoint.tensors) is_scanned |= needs_scan(tensor);
  }
  if (is_read_far && is_scanned) return {};
  return misuse_hint("without --cache-dir", "--cache-dir {}: nothing is read twice from a URL",
                     folder);
}

int show_made(const PlannedConversion& planned, const std::vector<FileReport>& files,
              const Console& console) {
  for (const FileReport& file : files) show_file(console, file);
  for (const Output& output : planned.plan.outputs) {
    console.talk("{}: up to date; nothing was written (--if-needed)", output.path.string());
    console.object("summary", {{"out", output.path.string()},
                               {"dry_run", false},
                               {"up_to_date", true},
                               {"tensors", output.checkpoint.tensors.size()},
                               {"files", output.layout.files.size()},
                               {"read_bytes", 0},
                               {"written_bytes", 0}});
  }
  return show_verdicts(planned, console);
}

Result<int> carry_out(const PlannedConversion& planned, const Conversion& conversion,
                      ExecuteOptions options, const Console& console, const CommonOptions& common) {
  const Plan& plan = planned.plan;
  options = with_common(std::move(options), common);
  ProgressLine progress(console, plan.outputs[0].path.filename().string());
  options.progress = &progress;
  const auto report = execute_planned(planned, conversion, options);
  progress.clear();
  if (!report) return Failure(report.error());
  const bool is_share = options.resume.share_count > 0;
  if (is_share && (report->was_made || report->is_ended_elsewhere || report->files.empty())) {
    return show_share(console, options, *report);
  }
  if (conversion.if_needed) {
    const bool is_good = std::ranges::all_of(planned.verdicts, &OutputVerdict::is_good);
    const Status recorded = record_made(planned, *report, conversion, is_good);
    // OUT is complete; the next run just does not recognize it.
    if (!recorded) console.warn(recorded.error().text());
  }
  show_report(console, plan, *report, conversion.profiles);
  for (const Output& output : plan.outputs) {
    show_serving(console, output, planned, conversion.profiles);
  }
  return show_verdicts(planned, console);
}

void show_findings(const PlannedConversion& planned, const Console& console) {
  for (const std::string& note : planned.notes) {
    console.warn(note);
    console.object("note", {{"text", note}});
  }
  for (const MergedWeight& one : planned.merged) {
    console.object("merged", {{"out", one.out},
                              {"tensor", one.tensor},
                              {"tensor_type", one.codec->name},
                              {"kept", one.kept},
                              {"below_rounding", one.is_below_rounding}});
  }
}

Result<int> write_plan(Conversion conversion, const std::filesystem::path& path,
                       const Console& console) {
  const bool to_stdout = path == "-", may_replace = conversion.force;
  if (to_stdout && console.json()) {
    return misuse_hint("--plan-out - alone, the plan is JSON", "--plan-out - with --json");
  }
  if (!to_stdout) CKPT_TRY(check_plan_target(path, conversion.force));
  CKPT_ASSIGN(conversion, settled(std::move(conversion)));
  CKPT_ASSIGN(const PlannedConversion planned, plan_conversion(conversion));
  show_findings(planned, console);
  CKPT_ASSIGN(const PlanFile file, plan_file_of(std::move(conversion), planned.plan));
  const std::string text = render_plan_file(file, planned.plan);
  if (text.find("\\ufffd") != text.npos) {
    return unsupported("{}: a plan cannot hold a name that is not UTF-8", path.string());
  }
  if (to_stdout) {
    // Another program reads this plan, so its bytes are written unescaped. main() checks the write.
    (void)!std::fwrite(text.data(), 1, text.size(), stdout);
    return 0;
  }
  CKPT_TRY(replace_file(path, text, may_replace));
  uint64_t bytes = 0, files = 0;
  for (const Output& output : planned.plan.outputs) {
    bytes += output.layout.size_bytes();
    files += output.layout.files.size();
  }
  console.summary().answer("{}: {}, {}", path.string(), counted(files, "file"), human_bytes(bytes));
  console.object(
      "plan-file",
      {{"path", path.string()}, {"digest", file.digest}, {"files", files}, {"size_bytes", bytes}});
  console.next("ckpt execute " + shell_path(path.string()));
  return 0;
}

}  // namespace ckpt

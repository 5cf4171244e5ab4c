// Decides which findings ckpt can fix, and builds the commands that fix them.
#include <algorithm>

#include "core/base/printable.h"
#include "core/base/words.h"
#include "core/io/remote_files.h"
#include "plan/conversion/advice.h"
#include "plan/conversion/pipeline.h"
#include "plan/conversion/steps.h"
#include "plan/text/type_names.h"
#include "tools/doctor/doctor_report.h"

namespace ckpt {
namespace {

const NoOpStep* find_no_op_step(const Report& report, const Fix& fix) {
  const auto at = std::ranges::find(report.all.no_op, fix.step, &NoOpStep::step);
  return at == report.all.no_op.end() ? nullptr : &*at;
}

AdviceTarget advised_for(const Report& report) {
  return {report.path, report.typed.base, report.typed.profiles};
}

bool needs_base(const Finding& finding) {
  return finding.severity >= Severity::kUnsound && finding.fix.needs.starts_with("BASE");
}

// The programs with remaining findings that the unquantized model would fix.
std::vector<std::string> profiles_without_base(const Report& report) {
  std::vector<std::string> out;
  for (const Finding& finding : report.all.left.findings) {
    const bool is_new = std::ranges::count(out, finding.profile) == 0;
    if (needs_base(finding) && is_new) out.push_back(finding.profile);
  }
  return out;
}

// The fix for a finding whose own step changes nothing until other findings are fixed.
std::string fix_after_other_fixes(const Report& report, const Finding& finding) {
  const auto is_same = [&](const Finding& left) {
    return left.check == finding.check && left.profile == finding.profile;
  };
  if (!report.all.steps.empty() && std::ranges::none_of(report.all.left.findings, is_same)) {
    return "the command after 'Fix all' includes it";
  }
  return fix_with_base_command(report).empty() ? std::string() : "the command with BASE below";
}

std::string no_op_words(const Report& report, const Finding& finding, const NoOpStep& no_op) {
  if (!no_op.why.empty()) {
    return fmt::format("step {} cannot be applied yet: {}", no_op.step,
                       with_patch_command(no_op.why, report.path));
  }
  std::string words = fix_after_other_fixes(report, finding);
  if (words.empty()) words = fmt::format("none here; step {} changes nothing", no_op.step);
  return words;
}

// The option that writes fixed files of a URL to a copy.
std::string copy_option(const std::filesystem::path& path) {
  return is_url(path) ? " --out " + free_name(path, "fixed") : "";
}

// Plans the export, which reads no weights, and diagnoses the planned result.
Result<Offer> offer_export(const Checkpoint& checkpoint, const Report& report,
                           const DiagnosisOptions& diagnosis_options) {
  Conversion conversion;
  conversion.in = report.path;
  conversion.out = "export";  // this folder is never created
  conversion.to = "nvfp4";
  conversion.profiles = report.typed.profiles;
  conversion.reading = report.typed.reading;
  Offer out;
  auto planned = plan_conversion(conversion, {checkpoint, {}});
  if (!planned) {
    out.left = report.diagnosis;
    return out;
  }
  CKPT_SET(out.left, diagnose(planned->plan.outputs[0].checkpoint, diagnosis_options));
  out.command = export_command(report.path, report.typed.profiles);
  return out;
}

bool asks_for(const Diagnosis& diagnosis, const std::string& step) {
  return std::ranges::any_of(diagnosis.findings, [&](const Finding& finding) {
    return finding.fix.step == step && !finding.fix.rewrites_weights;
  });
}

// Tries the fixes on headers alone. Notes of the steps are not repeated here.
Result<Offer> offer_for(const Checkpoint& checkpoint, const Report& report) {
  std::vector<std::string> notes;
  const DoctorOptions& typed = report.typed;
  const std::vector<std::string>& profiles = typed.profiles;
  const Diagnosis& found = report.diagnosis;
  const Context context = step_context(&notes, typed.reading);
  if (report.is_training) {
    return offer_export(checkpoint, report, diagnosis_options_for(context, profiles));
  }
  Offer out;
  out.no_op = no_op_steps(checkpoint, found, context);
  CKPT_ASSIGN(FixedCheckpoint fixed,
              fix_checkpoint(checkpoint,
                             {profiles, typed.base, true, typed.deep ? nullptr : &found}, context));
  for (NoOpStep& no_op : fixed.no_op) {
    if (!asks_for(found, no_op.step)) out.no_op.push_back(std::move(no_op));
  }
  out.steps = std::move(fixed.steps);
  out.left = std::move(fixed.left);
  if (out.steps.empty()) return out;
  out.command =
      fmt::format("ckpt doctor {} --fix{}{}", shell_path(report.path.string()),
                  copy_option(report.path), fixed.rewrites_weights ? " --rewrite-weights" : "");
  out.command = with_profiles(std::move(out.command), profiles);
  if (!typed.base.empty()) out.command += " --base " + shell_path(typed.base);
  return out;
}

Diagnosis of_profile(const Diagnosis& diagnosis, const std::string& profile) {
  Diagnosis out = diagnosis;
  std::erase_if(out.verdicts, [&](const Verdict& verdict) { return verdict.profile != profile; });
  std::erase_if(out.findings, [&](const Finding& finding) { return finding.profile != profile; });
  return out;
}

// Fills in the command that fixes the findings of a row, or as many of them as one command can.
Status fill_fix(const Checkpoint& checkpoint, const Report& report, ProgramRow& row) {
  const std::string& profile = row.verdict.profile;
  Report one{report.path, report.typed, of_profile(report.diagnosis, profile), {}};
  one.typed.profiles = {profile};
  one.is_training = report.is_training;
  if (report.typed.profiles == one.typed.profiles) {
    one.all = report.all;
  } else {
    CKPT_SET(one.all, offer_for(checkpoint, one));
  }
  row.left = failed_checks(one.all.left);
  const bool fixes_any = row.left != failed_checks(one.diagnosis);  // else it fixes only warnings
  if (fixes_any) row.fix = one.all.command;
  if (row.fix.empty()) row.fix = fix_with_base_command(one);
  for (const Finding& finding : one.diagnosis.findings) {
    if (!row.fix.empty() || finding.severity < Severity::kUnsound) continue;
    row.fix = fix_command(one, finding);
    if (!row.fix.empty()) std::erase(row.left, finding.check);
  }
  if (has_blank(row.fix, "BASE")) {
    for (const Finding& finding : one.all.left.findings) {
      if (needs_base(finding)) std::erase(row.left, finding.check);
    }
  }
  return {};
}

void fill_next(const Checkpoint& checkpoint, const std::filesystem::path& path, ProgramRow& row) {
  const std::string word = shell_path(path.string());
  if (is_for_gguf(row.verdict.profile) && checkpoint.format != "gguf") {
    row.convert = fmt::format("ckpt convert {} {}", word, free_name(path, "", ".gguf"));
  } else {
    row.serve = serve_command(row.verdict.profile, checkpoint, word);
  }
}

}  // namespace

std::vector<std::string> failed_checks(const Diagnosis& diagnosis) {
  std::vector<std::string> out;
  for (const Finding& finding : diagnosis.findings) {
    const bool is_new = std::ranges::count(out, finding.check) == 0;
    if (finding.severity >= Severity::kUnsound && is_new) out.push_back(finding.check);
  }
  return out;
}

bool is_fixed(const Report& report, const Fix& fix) {
  if (!fix.is_automatic() || report.is_training) return false;
  return find_no_op_step(report, fix) == nullptr ||
         std::ranges::count(report.all.steps, fix.step) != 0;
}

std::string fix_with_base_command(const Report& report) {
  const std::vector<std::string> profiles = profiles_without_base(report);
  if (profiles.empty() || report.is_training) return {};
  return with_profiles(
      fmt::format("ckpt convert {} {} --base BASE", shell_path(report.path.string()),
                  free_name(report.path, "fixed")),
      report.typed.profiles.empty() ? profiles : report.typed.profiles);
}

std::string fix_command(const Report& report, const Finding& finding) {
  const Fix& fix = finding.fix;
  if (report.is_training && !fix.step.empty()) {
    return export_command(report.path, {finding.profile});
  }
  const bool is_no_op = find_no_op_step(report, fix) != nullptr;
  if (is_no_op && !fix_after_other_fixes(report, finding).empty()) return {};
  if (fix.step.empty() || is_no_op) return advised_command(fix.advice, advised_for(report));
  const std::string word = shell_path(report.path.string());
  if (fix.rewrites_weights) {
    return with_profiles(fmt::format("ckpt convert {} {} --step {}", word,
                                     free_name(report.path, "fixed"), shell_word(fix.step)),
                         report.typed.profiles);
  }
  return fmt::format("ckpt patch {}{} --step {}", word, copy_option(report.path),
                     shell_word(fix.step));
}

std::string fix_words(const Report& report, const Finding& finding) {
  std::string words = advised_words(finding.fix.advice, advised_for(report));
  const NoOpStep* no_op = find_no_op_step(report, finding.fix);
  if (!words.empty() || no_op == nullptr || !fix_command(report, finding).empty()) return words;
  return no_op_words(report, finding, *no_op);
}

bool has_blank(const std::string& command, const std::string& word) {
  return has_word(" " + command + " ", word) || command.find("=" + word) != command.npos;
}

bool is_training_checkpoint(const Checkpoint& checkpoint) {
  return std::ranges::any_of(checkpoint.tensors, [](const Tensor& tensor) {
    return tensor.name.find("_quantizer.") != std::string::npos;
  });
}

std::string export_command(const std::filesystem::path& path,
                           const std::vector<std::string>& profiles) {
  return advised_command("ckpt convert IN OUT --to nvfp4", {path, {}, profiles});
}

std::vector<ProgramRow> plain_rows(const Diagnosis& diagnosis) {
  std::vector<ProgramRow> out;
  for (const Verdict& verdict : diagnosis.verdicts) out.push_back({verdict, {}, {}, {}, {}});
  return out;
}

Result<Report> report_of(const std::filesystem::path& path, const DoctorOptions& typed,
                         FolderDiagnosis found) {
  Report report{path, typed, std::move(found.diagnosis), std::move(found.older)};
  report.rows = plain_rows(report.diagnosis);
  if (!found.checkpoint) return report;
  const Checkpoint& checkpoint = *found.checkpoint;
  report.is_training = is_training_checkpoint(checkpoint);
  if (found.is_whole) CKPT_SET(report.all, offer_for(checkpoint, report));
  for (ProgramRow& row : report.rows) {
    if (!row.verdict.sound) {
      if (found.is_whole) CKPT_TRY(fill_fix(checkpoint, report, row));
    } else if (row.verdict.not_checked.empty()) {
      fill_next(checkpoint, path, row);
    }
  }
  return report;
}

}  // namespace ckpt

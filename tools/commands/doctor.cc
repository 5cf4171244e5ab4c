// ckpt doctor PATH: will it load, is it valid, and how to fix it.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "checks/checks.h"
#include "core/base/nearest.h"
#include "formats/formats.h"
#include "plan/conversion/imatrix_fit.h"
#include "plan/conversion/steps.h"
#include "plan/text/profile_names.h"
#include "quantizers/quantizers.h"
#include "tools/doctor/doctor_fix.h"
#include "tools/doctor/doctor_report.h"
#include "tools/doctor/doctor_statistics.h"
#include "tools/doctor/moments_fit.h"
#include "tools/line/commands.h"
#include "transforms/transforms.h"

namespace ckpt {
namespace {

constexpr int kNotChecked = 3;  // no verdict is no, and some are not of everything

struct TypedDoctor {
  std::filesystem::path path, out, imatrix, moments;
  std::vector<std::string> profiles;
  std::string base;
  bool deep = false;
  bool fix = false, dry_run = false, rewrite_weights = false;
};

// Each command once, for the first program that it serves in.
void find_serving(const Checkpoint& checkpoint, Report& report) {
  for (const Verdict& verdict : report.diagnosis.verdicts) {
    const bool is_good = verdict.loads && verdict.sound && verdict.not_checked.empty();
    if (!is_good) continue;
    const std::string path = shell_path(report.path.string());
    std::string command = serve_command(verdict.profile, checkpoint, path);
    const bool is_new = std::none_of(report.serve.begin(), report.serve.end(),
                                     [&](const auto& entry) { return entry.second == command; });
    if (!command.empty() && is_new) report.serve.emplace_back(verdict.profile, std::move(command));
  }
}

// Quantizers of a training are tensors of their own, and state of a trainer.
bool is_training_checkpoint(const Checkpoint& checkpoint) {
  return std::ranges::any_of(checkpoint.tensors, [](const Tensor& tensor) {
    return tensor.name.find("_quantizer.") != std::string::npos;
  });
}

bool asks_for(const Diagnosis& diagnosis, const std::string& step) {
  return std::any_of(diagnosis.findings.begin(), diagnosis.findings.end(), [&](const Finding& f) {
    return f.fix.step == step && !f.fix.rewrites_weights;
  });
}

// Tries the fixes, on headers alone; what steps say of themselves is not repeated here.
Status try_fixes(Checkpoint checkpoint, bool deep, Report& report) {
  std::vector<std::string> notes;
  const Diagnosis found = report.diagnosis;
  const Fixing fixing{report.profiles, report.base, true, deep ? nullptr : &found};
  report.idle = idle_alone(checkpoint, report.diagnosis, step_context(&notes));
  CKPT_ASSIGN(Fixed fixed, fix_checkpoint(std::move(checkpoint), fixing, step_context(&notes)));
  report.steps = std::move(fixed.steps);
  for (IdleStep& idle : fixed.idle) {
    if (!asks_for(report.diagnosis, idle.step)) report.idle.push_back(std::move(idle));
  }
  report.left = std::move(fixed.left);
  report.rewrites_weights = fixed.rewrites_weights;
  return {};
}

Result<Report> report_of(const TypedDoctor& typed, const std::filesystem::path& path,
                         const Console& console) {
  ProgressLine progress(console, "reading");
  const Examination examination{typed.profiles, typed.deep, typed.base,   is_given_step,
                                packed_forms,   &progress,  &interrupted, tokenizer_findings};
  Report report;
  report.path = path;
  report.profiles = typed.profiles;
  report.base = typed.base;
  CKPT_ASSIGN(ExaminedFolder examined, examine(path, examination));
  report.diagnosis = std::move(examined.diagnosis);
  if (!examined.checkpoint) return report;
  find_serving(*examined.checkpoint, report);
  report.is_training = is_training_checkpoint(*examined.checkpoint);
  if (examined.is_whole) {
    CKPT_TRY(try_fixes(std::move(*examined.checkpoint), typed.deep, report));
  }
  return report;
}

Status check_flags(const TypedDoctor& typed) {
  if (typed.fix) return {};
  if (typed.rewrite_weights) return fail(ErrorCode::kUsage, "--rewrite-weights without --fix");
  if (typed.dry_run) return fail(ErrorCode::kUsage, "--dry-run without --fix");
  if (!typed.out.empty()) return fail(ErrorCode::kUsage, "--out without --fix");
  return {};
}

// --moments takes an importance matrix, too.
Status settle_statistics(TypedDoctor& typed, const Console& console) {
  if (typed.moments.empty() || !is_imatrix_file(typed.moments)) return {};
  if (!typed.imatrix.empty()) {
    return fail_with_hint(ErrorCode::kUsage, "one of them",
                          "--moments {} and --imatrix {}: two importance matrices",
                          typed.moments.string(), typed.imatrix.string());
  }
  console.warn(note_of_imatrix_as_moments(typed.moments));
  typed.imatrix = std::exchange(typed.moments, {});
  return {};
}

// "--for all" is every program; without --for a GGUF is asked of llama.cpp alone.
Status settle_profiles(TypedDoctor& typed) {
  const bool asks_all = std::ranges::any_of(
      typed.profiles, [](const std::string& name) { return is_same_word(name, "all"); });
  if (asks_all) {
    typed.profiles.clear();
    return {};
  }
  CKPT_ASSIGN(typed.profiles, profiles_named(typed.profiles));
  if (!typed.profiles.empty()) return {};
  const auto format = recognize(typed.path);
  if (format && (*format)->name == "gguf") typed.profiles = {"llama.cpp"};
  return {};
}

Result<int> doctor(TypedDoctor typed, const Console& console, const CommonOptions& common) {
  CKPT_TRY(settle_profiles(typed));
  CKPT_TRY(check_flags(typed));
  CKPT_TRY(settle_statistics(typed, console));
  std::optional<ImatrixSums> sums;
  if (!typed.imatrix.empty()) {  // before --fix writes anything
    CKPT_ASSIGN(sums, read_imatrix_sums(typed.imatrix));
  }
  if (!typed.moments.empty()) CKPT_TRY(recognize(typed.moments));
  FixDone done{typed.path, std::nullopt};
  if (typed.fix) {
    const Fixing fixing{typed.profiles, typed.base, typed.rewrite_weights};
    // "fixed/" is the folder "fixed".
    const auto out = typed.out.has_filename() ? typed.out : typed.out.parent_path();
    CKPT_ASSIGN(done, apply_fixes({typed.path, out, fixing, typed.dry_run}, console, common));
  }
  const std::filesystem::path& path = done.path;
  Report report{path, typed.profiles, typed.base, {}, true, {}, {}, {}, false, false, {}};
  if (done.would_be) {
    report.diagnosis = std::move(*done.would_be);
  } else {
    CKPT_ASSIGN(report, report_of(typed, path, console));
  }
  show_diagnosis(console, report);
  bool fits = true;
  if (sums) {
    CKPT_ASSIGN(fits, show_statistics(path, *sums, console));
  }
  if (!typed.moments.empty()) {
    CKPT_ASSIGN(const bool are_its, show_moments(path, typed.moments, console));
    fits = fits && are_its;
  }
  console.object("summary", {{"path", path.string()},
                             {"good", report.diagnosis.is_good()},
                             {"findings", report.diagnosis.findings.size()}});
  if (!report.diagnosis.is_good() || !fits) return 1;
  return report.diagnosis.is_checked() ? 0 : kNotChecked;
}

Run declare_doctor(CommandOptions& options) {
  auto typed = std::make_shared<TypedDoctor>();
  options.add("PATH", &typed->path, "Hugging Face folder, .safetensors or .gguf").is_required =
      true;
  options.add("--for PROFILE", &typed->profiles,
              "PROFILE of a program, or all (ckpt list profiles; may repeat); default: all, and "
              "of a GGUF llama.cpp");
  options.add("--base DIR", &typed->base,
              "the unquantized model, for fixes that need it; the folder of a GGUF's source");
  options.add("--fix", &typed->fix, "apply the fixes in place, then look again");
  options.add("--out PATH", &typed->out, "with --fix: write the fixed checkpoint here; PATH stays");
  options.add("--dry-run", &typed->dry_run, "with --fix: say what would change, write nothing");
  options.add("--rewrite-weights", &typed->rewrite_weights,
              "with --fix: also fixes that change weights");
  options.add("--deep", &typed->deep, "read the tensors too: NaN, scales, rows of zeros");
  options.add("--imatrix FILE", &typed->imatrix,
              "also say whether this importance matrix (GGUF or .dat) is one of the model");
  options.add("--moments FILE", &typed->moments,
              "also say whether these second moments (docs/SEARCH.md) are of the model's layers");
  declare_follow_links(options);
  return [typed](const Console& console, const CommonOptions& common) {
    return doctor(*typed, console, common);
  };
}

}  // namespace

extern const Command kDoctorCommand{
    "doctor", "Checks whether programs load a checkpoint, and fixes it.",
    "  ckpt doctor Qwen3.5-9B-NVFP4/\n"
    "  ckpt doctor Qwen3.5-9B-NVFP4/ --for vllm-0.17 --for sglang\n"
    "  ckpt doctor Qwen3.5-9B-NVFP4/ --for vllm --fix\n"
    "  ckpt doctor Qwen3.5-9B-NVFP4/ --for vllm --fix --out fixed/\n"
    "  ckpt doctor model-bf16.gguf --for llama.cpp --imatrix imatrix.gguf",
    declare_doctor};

}  // namespace ckpt

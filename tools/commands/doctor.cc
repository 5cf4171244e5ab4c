// ckpt doctor PATH: checks whether programs load a checkpoint and compute correct results with it.
#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "checks/checks.h"
#include "core/base/counted.h"
#include "core/base/nearest.h"
#include "core/model/tensor_names.h"
#include "core/patch/patch.h"
#include "formats/formats.h"
#include "models/models.h"
#include "plan/conversion/fixing.h"
#include "plan/conversion/imatrix_fit.h"
#include "plan/conversion/patching.h"
#include "plan/conversion/steps.h"
#include "plan/conversion/targets.h"
#include "plan/diagnosed.h"
#include "tools/commands/carry_patch.h"
#include "tools/doctor/doctor_report.h"
#include "tools/line/commands.h"
#include "tools/say/console.h"
#include "transforms/transforms.h"

namespace ckpt {
namespace {

constexpr std::string_view kInputMoments = ".input_moments";

// How a file of statistics fits the layers or weights of a checkpoint; `items` is what it counts.
struct StatisticsFit {
  std::string file;
  std::string_view items, fault;  // "layers" or "weights", and the kind of fault in `wrong`
  uint64_t fitting = 0;           // items with statistics of the right size
  std::vector<std::string> wrong = {}, unknown = {}, missing = {};
  uint64_t experts = 0, unseen = 0;
  bool is_good() const { return wrong.empty() && fitting > 0; }
};

// Prints how the file fits. `fits` introduces the fitting items, `lacks` those without statistics.
void show_fit(const StatisticsFit& fit, const std::string& fits, const std::string& lacks,
              const Console& console) {
  constexpr size_t kMostWrongLines = 12;
  const std::string other = fmt::format("is of another model: it names none of its {}", fit.items);
  const std::string wrong = fmt::format("does not fit: {} {}", fit.wrong.size(), fit.fault);
  console.answer("{}: {}", fit.file,
                 fit.is_good()       ? "fits: " + fits
                 : fit.wrong.empty() ? other
                                     : wrong);
  for (size_t i = 0; i < std::min(fit.wrong.size(), kMostWrongLines); ++i) {
    console.answer("  " + fit.wrong[i]);
  }
  if (fit.wrong.size() > kMostWrongLines) {
    console.answer("  and {} more", fit.wrong.size() - kMostWrongLines);
  }
  if (!fit.unknown.empty()) console.answer("  not in the model: " + first_names(fit.unknown));
  if (!fit.missing.empty()) {
    console.answer("  {}: {}", lacks, first_names(fit.missing));
  }
  console.object("statistics", {{"file", fit.file},
                                {"fits", fit.is_good()},
                                {"tensors", fit.fitting},
                                {"wrong", fit.wrong},
                                {"unknown", fit.unknown},
                                {"missing", fit.missing},
                                {"experts", fit.experts},
                                {"unseen", fit.unseen}});
}

// The layer's name without the prefixes of wrappers; all experts of a layer share one key.
std::string moments_key(std::string module) {
  constexpr std::string_view kWrapper = "language_model.";
  const size_t at = module.find(kWrapper);
  if (at != module.npos) module.erase(at, kWrapper.size());
  const auto expert = expert_name(module);
  return expert ? fmt::format("{}*.{}", expert->front, expert->rest) : module;
}

// Maps layers to their input size. A stack of experts counts as the layers that it is split into.
std::map<std::string, uint64_t> columns_of_layers(const Checkpoint& model) {
  std::map<std::string, uint64_t> out;
  for (const Tensor& tensor : model.tensors) {
    const std::string key = moments_key(module_of(tensor.name));
    if (tensor.shape.size() == 2 && tensor.name.ends_with(kWeight)) {
      out[key] = tensor.row_values();
    } else if (tensor.shape.size() == 3 && key.ends_with(".experts")) {
      for (const std::string_view part : parts_of_stack(last_word(tensor.name))) {
        out[fmt::format("{}.*.{}", key, part)] = tensor.row_values();
      }
    }
  }
  return out;
}

// For a stack of experts, the first layer that it is split into; otherwise `key` itself.
std::string first_layer(const std::string& key) {
  const std::span<const std::string_view> parts = parts_of_stack(last_word(key));
  const bool is_stack = !parts.empty() && last_word(module_of(key)) == "experts";
  return is_stack ? fmt::format("{}.*.{}", module_of(key), parts[0]) : key;
}

// Whether exports quantize the layer by default, judged by its name alone.
bool wants_moments(const std::string& key) {
  const bool is_in_layer = key.find("layers.") != key.npos;
  const bool is_other = key.starts_with("mtp.") || key.find("vis") != key.npos;
  const auto role = role_of_inputs(last_word(key));
  return is_in_layer && !is_other && role != ProjectionRole::kRouter &&
         role != ProjectionRole::kDeltaGates && last_word(key) != "conv1d";
}

void fit_one(const Tensor& tensor, const std::map<std::string, uint64_t>& columns,
             std::set<std::string>& known, StatisticsFit& out) {
  if (!tensor.name.ends_with(kInputMoments)) {
    out.unknown.push_back(tensor.name);
    return;
  }
  const std::string module = tensor.name.substr(0, tensor.name.size() - kInputMoments.size());
  const auto layer = columns.find(first_layer(moments_key(module)));
  if (layer == columns.end()) {
    out.unknown.push_back(module);
    return;
  }
  const std::vector<uint64_t>& shape = tensor.shape;
  const bool is_square = shape.size() == 3 && shape[1] == shape[2] && shape[2] % 16 == 0;
  if (!is_square) {
    out.wrong.push_back(fmt::format("{}: [{}]; expected [runs, n, n], n a multiple of 16",
                                    tensor.name, fmt::join(shape, ", ")));
  } else if (shape[0] > layer->second || shape[0] * shape[2] != layer->second) {
    out.wrong.push_back(fmt::format("{}: {} x {} columns; the layer has {}", tensor.name, shape[0],
                                    shape[2], layer->second));
  } else {
    ++out.fitting;
    known.insert(layer->first);
  }
}

Result<StatisticsFit> fit_moments(const Checkpoint& model, const Checkpoint& moments,
                                  const std::string& file) {
  const std::map<std::string, uint64_t> columns = columns_of_layers(model);
  StatisticsFit out{file, "layers", "wrong"};
  std::set<std::string> known;
  for (const Tensor& tensor : moments.tensors) fit_one(tensor, columns, known, out);
  std::vector<std::string> layers;
  for (const auto& [key, count] : columns) layers.push_back(key);
  CKPT_ASSIGN(const std::vector<std::string> groups, joined_layers(model, layers));
  // Layers that read the same input share statistics, so one of them suffices.
  std::set<std::string> served;
  for (size_t i = 0; i < layers.size(); ++i) {
    if (known.count(layers[i]) != 0) served.insert(groups[i]);
  }
  for (size_t i = 0; i < layers.size(); ++i) {
    if (wants_moments(layers[i]) && served.count(groups[i]) == 0) out.missing.push_back(layers[i]);
  }
  return out;
}

// Prints how moments fit the checkpoint, reading headers only. Returns false if a size is wrong or
// no name matches: no conversion can use that file. Fails: kUsage: `path` is a GGUF, or the file
// holds no moments; as reading either file.
Result<bool> show_moments(const std::filesystem::path& path, const std::filesystem::path& moments,
                          const ReadOptions& reading, const Console& console) {
  CKPT_ASSIGN(const Checkpoint model, read_checkpoint(path, reading));
  if (model.format == "gguf") {
    return misuse_hint("the folder that it was made from",
                       "--moments {}: {} is a GGUF; moments are of the layers of a folder",
                       moments.string(), path.string());
  }
  CKPT_ASSIGN(const Checkpoint measured, read_checkpoint(moments, reading));
  const bool has_any = std::ranges::any_of(
      measured.tensors, [](const Tensor& tensor) { return tensor.name.ends_with(kInputMoments); });
  if (!has_any) {
    return misuse_hint("a file as docs/SEARCH.md makes it",
                       "--moments {}: no tensor in it is named *{}", moments.string(),
                       kInputMoments);
  }
  CKPT_ASSIGN(const StatisticsFit fit, fit_moments(model, measured, moments.string()));
  show_fit(fit, fmt::format("moments of {} layers", fit.fitting), "layers without moments",
           console);
  return fit.is_good();
}

// Prints whether the statistics of `ckpt doctor --imatrix FILE` belong to the checkpoint. Returns
// and fails as show_moments(), and as fit_imatrix().
Result<bool> show_statistics(const std::filesystem::path& checkpoint, const ImatrixSums& sums,
                             const ReadOptions& reading, const Console& console) {
  CKPT_ASSIGN(const Checkpoint model, read_checkpoint(checkpoint, reading));
  CKPT_ASSIGN(const ImatrixFit fit, in(checkpoint.string(), fit_imatrix(model, sums)));
  const StatisticsFit shown{sums.file,          "weights",   "of another size",
                            fit.entries.size(), fit.wrong,   fit.unknown,
                            fit.missing,        fit.experts, fit.unseen};
  const std::string lacking = fit.missing.size() == 1
                                  ? "one weight of its layers is"
                                  : fmt::format("{} weights of its layers are", fit.missing.size());
  show_fit(shown, "statistics of " + counted(fit.entries.size(), "weight"),
           lacking + " without statistics", console);
  if (fit.unseen > 0) {
    console.answer(
        "  {} of {} experts saw no input; they are quantized with equal weights "
        "(ckpt imatrix show names them, ckpt imatrix fill fills them)",
        fit.unseen, fit.experts);
  }
  if (sums.is_legacy) console.answer("  what each expert saw is not in a legacy file");
  return shown.is_good();
}

struct TypedDoctor : DoctorOptions {
  std::filesystem::path path, out, imatrix, moments;
  bool fix = false, dry_run = false, rewrite_weights = false;
};

struct FixOutcome {
  std::filesystem::path path;         // checked after fixing: PATH, or OUT if one was written
  std::optional<Diagnosis> would_be;  // of a dry run that would change something
};

void show_files(const TypedDoctor& fix, const Patch& patch, const Console& console) {
  for (const PatchedFile& file : patch.files) {
    console.answer("{}{}: {}", fix.dry_run ? "would be " : "", name(file.change), file.path);
    if (fix.dry_run) {
      console.object("plan", {{"file", file.path},
                              {"change", name(file.change)},
                              {"new", file.is_new},
                              {"written_bytes", file.written_bytes}});
    } else {
      console.object("file", {{"path", file.path}, {"change", name(file.change)}});
    }
  }
}

// Replaces a hint at --force, which the doctor does not have, by another --out.
Failure without_force(Error error) {
  if (error.remedy == Remedy::kForce || error.remedy == Remedy::kOtherOut) {
    error.hint = "another --out";
  }
  return Failure(std::move(error));
}

Status apply_steps(const TypedDoctor& fix, const std::vector<std::string>& steps,
                   const Console& console, const CommonOptions& common) {
  PatchRun run;
  run.path = fix.path;
  run.out = fix.out;
  run.reading = fix.reading;
  run.elsewhere = !fix.out.empty();
  run.dry_run = fix.dry_run;
  run.rewrite_weights = fix.rewrite_weights;
  CKPT_ASSIGN(run.steps, parse_steps(steps));
  CKPT_ASSIGN(const PlannedPatch planned, plan_patching(run));
  CKPT_TRY(check_name_of_out(run, planned.patch));
  if (fix.dry_run) {
    const Status may_run = check_patch_places(run, planned.patch);
    if (!may_run) return Failure(without_force(may_run.error()));
    show_files(fix, planned.patch, console);
    return {};
  }
  run.allow_nonfinite = true;  // other checks report values that are NaN or Inf
  const auto report = execute_patch(run, planned.patch, console, common);
  if (!report) return Failure(without_force(report.error()));
  show_files(fix, planned.patch, console);
  return {};
}

// Applies the fixes. Fails: as the format, the steps and the patch engine, all without a change.
Result<FixOutcome> apply_fixes(const TypedDoctor& fix, const Console& console,
                               const CommonOptions& common) {
  const bool is_in_place = fix.out.empty() && !fix.dry_run;
  ConsoleObserver observer(console, &interrupted);
  if (is_in_place) CKPT_TRY(finish_earlier(fix.path, observer));
  CKPT_ASSIGN(Checkpoint checkpoint, read_checkpoint(fix.path, fix.reading));
  if (fix.out.empty() && is_training_checkpoint(checkpoint)) {
    return misuse_hint(export_command(fix.path, fix.profiles) + ", or --out DIR to fix a copy",
                       "{}: a trainer's checkpoint; --fix does not change it in place",
                       fix.path.string());
  }
  std::vector<std::string> notes;
  CKPT_ASSIGN(FixedCheckpoint fixed,
              fix_checkpoint(std::move(checkpoint), {fix.profiles, fix.base, fix.rewrite_weights},
                             step_context(&notes, fix.reading)));
  for (const std::string& note : notes) console.warn(note);
  if (fixed.steps.empty()) {
    console.answer("{}: no step can fix the findings; no file was touched", fix.path.string());
    return FixOutcome{fix.path, std::nullopt};
  }
  CKPT_TRY(apply_steps(fix, fixed.steps, console, common));
  console.answer("{} by: {}{}", fix.dry_run ? "would be fixed" : "fixed",
                 fmt::join(fixed.steps, ", "),
                 fix.dry_run ? "; nothing was written (--dry-run)" : "");
  if (fix.dry_run) return FixOutcome{fix.path, std::move(fixed.left)};
  return FixOutcome{fix.out.empty() ? fix.path : fix.out, std::nullopt};
}

constexpr int kNotChecked = 3;  // no verdict is "no", but some checks did not run

// Treats an importance matrix given by --moments as if it were given by --imatrix.
Status settle_statistics(TypedDoctor& typed, const Console& console) {
  if (typed.moments.empty() || !is_imatrix_file(typed.moments)) return {};
  if (!typed.imatrix.empty()) {
    return misuse_hint("one of them", "--moments {} and --imatrix {}: two importance matrices",
                       typed.moments.string(), typed.imatrix.string());
  }
  console.warn(note_of_imatrix_as_moments(typed.moments));
  typed.imatrix = std::exchange(typed.moments, {});
  return {};
}

Result<int> doctor_typed(TypedDoctor typed, const Console& console, const CommonOptions& common) {
  if (typed.fix && typed.out.empty()) CKPT_TRY(refuse_url(typed.path));
  CKPT_TRY(name_profiles(typed));
  CKPT_TRY(settle_statistics(typed, console));
  std::optional<ImatrixSums> sums;
  if (!typed.imatrix.empty()) {  // before --fix writes anything
    CKPT_ASSIGN(sums, read_imatrix_sums(typed.imatrix));
  }
  if (!typed.moments.empty()) CKPT_TRY(recognize(typed.moments));
  FixOutcome done{typed.path, std::nullopt};
  if (typed.fix) {
    if (!typed.out.empty()) CKPT_SET(typed.out, target_path(typed.out));
    CKPT_ASSIGN(done, apply_fixes(typed, console, common));
  }
  const std::filesystem::path& path = done.path;
  Report report{path, typed, {}, {}, true};
  if (done.would_be) {
    report.diagnosis = std::move(*done.would_be);
    report.rows = plain_rows(report.diagnosis);
  } else {
    ConsoleObserver observer(console, &interrupted);
    CKPT_ASSIGN(FolderDiagnosis found,
                diagnose_path(path, typed, observer, OlderReleases::kCounted, typed.fix));
    CKPT_SET(report, report_of(path, typed, std::move(found)));
  }
  show_diagnosis(console, report);
  bool fits = true;
  if (sums) CKPT_SET(fits, show_statistics(path, *sums, typed.reading, console));
  if (!typed.moments.empty()) {
    CKPT_ASSIGN(const bool are_its, show_moments(path, typed.moments, typed.reading, console));
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
  options.add("PATH", &typed->path, "Hugging Face folder, .safetensors or .gguf",
              {.is_required = true});
  options.add("--for PROFILE", &typed->profiles,
              "PROFILE of a program, or all; ckpt list profiles; default: the current release of "
              "each program (may repeat)");
  options.add("--base DIR", &typed->base,
              "the unquantized model, for fixes that need it; the folder of a GGUF's source");
  options.add("--fix", &typed->fix, "apply the fixes in place, then check again");
  options.add("--out PATH", &typed->out, "with --fix: write the fixed checkpoint here; PATH stays",
              {.needs = {"--fix"}, .place = OptionPlace::kWritten});
  options.add("--dry-run", &typed->dry_run, "with --fix: show what would change, write nothing",
              {.needs = {"--fix"}});
  options.add("--rewrite-weights", &typed->rewrite_weights,
              "with --fix: also fixes that change weights", {.needs = {"--fix"}});
  options.add("--deep", &typed->deep, "read the tensors too: NaN, scales, rows of zeros");
  options.add("--imatrix FILE", &typed->imatrix,
              "also check whether this importance matrix is of the model; GGUF or .dat");
  options.add("--moments FILE", &typed->moments,
              "also check whether these second moments are of the model; docs/SEARCH.md");
  declare_follow_links(options, &typed->reading.follow_links);
  return run_with(std::move(typed), doctor_typed);
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

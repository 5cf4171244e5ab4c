#include "plan/conversion/fixing.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/base/printable.h"
#include "core/io/paths.h"
#include "formats/formats.h"
#include "plan/conversion/steps.h"
#include "quantizers/quantizers.h"
#include "transforms/transforms.h"

namespace ckpt {
namespace {

constexpr int kMaxRounds = 8;

bool is_same(const Tensor& a, const Tensor& b) {
  return a.name == b.name && a.shape == b.shape && a.codec == b.codec && a.is_stored() &&
         b.is_stored() && a.stored().parts == b.stored().parts;
}

bool is_same(const Checkpoint& a, const Checkpoint& b) {
  const auto are_documents_same = [](const Document& x, const Document& y) {
    return x.path == y.path && x.text() == y.text();
  };
  const auto are_tensors_same = [](const Tensor& x, const Tensor& y) { return is_same(x, y); };
  return std::ranges::equal(a.documents, b.documents, are_documents_same) &&
         a.metadata == b.metadata && a.file_metadata == b.file_metadata &&
         std::ranges::equal(a.tensors, b.tensors, are_tensors_same);
}

// Returns true if the step changed something. If it fails, the checkpoint is unchanged and `error`
// holds the step's error.
bool apply_step(Checkpoint& checkpoint, const std::string& text, const Context& context,
                std::optional<Error>& error) {
  const auto step = parse_step(text);
  if (!step) {
    error = step.error();
    return false;
  }
  auto made = step->transform->apply(checkpoint, step->options, context);
  if (!made) {
    error = std::move(made.error());
    return false;
  }
  if (is_same(checkpoint, *made)) return false;
  checkpoint = std::move(*made);
  return true;
}

NoOpStep no_op_step(const std::string& step, const std::optional<Error>& error) {
  return {step, error ? error->text() : std::string()};
}

}  // namespace

DiagnosisOptions diagnosis_options_for(Context context, std::vector<std::string> profiles) {
  context.notes = nullptr;
  DiagnosisOptions out;
  out.profiles = std::move(profiles);
  out.has_step = [](std::string_view name) { return find_transform(name) != nullptr; };
  out.packed_forms = packed_forms;
  out.unpacked = [codecs = context.codecs](const Checkpoint& checkpoint) {
    return join_packed_weights(checkpoint, codecs);
  };
  // The user may set the pre-tokenizer by hand, so this check does not require a known one.
  out.run_to_gguf = [context](const Checkpoint& folder) -> Result<Checkpoint> {
    CKPT_ASSIGN(Checkpoint model, from_mlx(folder, context));
    return find_transform("to-gguf")->apply(model, {{"tokenizer-pre", "default"}}, context);
  };
  out.tokenizer_findings = [context = std::move(context)](const Checkpoint& checkpoint,
                                                          const std::string& base,
                                                          std::vector<Finding>& findings) {
    return find_tokenizer_findings(checkpoint, base, context, findings);
  };
  return out;
}

Status check_base(const std::string& base) {
  if (base.empty()) return {};
  CKPT_ASSIGN(const bool exists, is_there(base, Links::kFollow));
  if (!exists) return not_found("--base {}: no such folder", base);
  return is_folder(base) ? Status() : recognize(base).map([](const Format*) {});
}

Result<FolderDiagnosis> diagnose_folder(const std::filesystem::path& path,
                                        const DiagnosisOptions& diagnosis_options,
                                        const ReadOptions& reading) {
  FolderDiagnosis out;
  CKPT_TRY(recognize(path));
  FileMisfit misfit;
  auto checkpoint = read_despite_misfit(path, all_codecs(), reading, misfit);
  if (!checkpoint && checkpoint.error().code != ErrorCode::kCorrupt) {
    return Failure(std::move(checkpoint.error()));
  }
  out.is_whole = misfit.found.empty();
  if (!checkpoint) {
    CKPT_ASSIGN(out.diagnosis, unreadable(checkpoint.error(), diagnosis_options));
    return out;
  }
  const Error error = misfit.error().in(path.string());
  CKPT_ASSIGN(out.diagnosis, out.is_whole
                                 ? diagnose(*checkpoint, diagnosis_options)
                                 : diagnose_files(*checkpoint, misfit, error, diagnosis_options));
  out.checkpoint = std::move(*checkpoint);
  return out;
}

Result<FixedCheckpoint> fix_checkpoint(Checkpoint checkpoint, const FixOptions& fixing,
                                       const Context& context) {
  FixedCheckpoint out{std::move(checkpoint), {}, {}, {}, false};
  DiagnosisOptions diagnosis_options = diagnosis_options_for(context, fixing.profiles);
  diagnosis_options.base = fixing.base;
  diagnosis_options.files_to_write = fixing.files_to_write;
  std::set<std::string> settled;        // steps that were applied or change nothing
  std::map<std::string, Error> failed;  // steps to retry after another fix
  for (int round = 0; round < kMaxRounds; ++round) {
    if (round == 0 && fixing.found != nullptr) {
      out.left = *fixing.found;
    } else {
      CKPT_ASSIGN(out.left, diagnose(out.checkpoint, diagnosis_options));
    }
    bool changed = false;
    for (const Fix& each : fixes(out.left, fixing.rewrite_weights)) {
      if (!each.is_automatic() || settled.count(each.step) != 0) continue;
      std::optional<Error> error;
      if (apply_step(out.checkpoint, each.step, context, error)) {
        changed = true;
        out.rewrites_weights |= each.rewrites_weights;
        out.steps.push_back(each.step);
      } else if (!error) {
        out.no_op.push_back({each.step, {}});
      }
      if (!error || each.rewrites_weights) settled.insert(each.step);
      failed.erase(each.step);
      if (error) failed.emplace(each.step, std::move(*error));
      // The change may affect the following steps and what they do.
      if (changed && (!failed.empty() || each.step.starts_with("config:"))) break;
    }
    if (!changed) break;
  }
  for (auto& [step, error] : failed) {
    out.no_op.push_back(no_op_step(step, error));
    context.note(std::move(error).in(fmt::format("step {}", step)).text());
  }
  return out;
}

std::string with_patch_command(std::string text, const std::filesystem::path& path) {
  constexpr std::string_view kTry = "Try: ";
  const size_t at = text.find("Try: --step ");
  if (at == text.npos) return text;
  return text.insert(at + kTry.size(), fmt::format("ckpt patch {} ", shell_path(path.string())));
}

std::vector<NoOpStep> no_op_steps(const Checkpoint& checkpoint, const Diagnosis& diagnosis,
                                  const Context& context) {
  std::vector<NoOpStep> out;
  std::set<std::string> tried;
  for (const Finding& finding : diagnosis.findings) {
    const Fix& fix = finding.fix;
    if (!fix.is_automatic() || fix.rewrites_weights || !tried.insert(fix.step).second) continue;
    Checkpoint copy = checkpoint;
    std::optional<Error> error;
    if (!apply_step(copy, fix.step, context, error)) out.push_back(no_op_step(fix.step, error));
  }
  return out;
}

}  // namespace ckpt

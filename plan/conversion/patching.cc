#include "plan/conversion/patching.h"

#include <algorithm>
#include <unordered_map>

#include "core/base/find.h"
#include "core/base/printable.h"
#include "core/io/folder.h"
#include "formats/formats.h"
#include "plan/conversion/targets.h"
#include "plan/conversion/uncopied.h"
#include "publish/publish.h"
#include "quantizers/quantizers.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

// Records that `ckpt publish` made of the files before the patch.
constexpr std::string_view kStale[] = {kSumsName, kSignatureName, kProvenanceName, kReportName};

Result<Output> lay_out_at(const PatchRequest& patching, Checkpoint checkpoint,
                          const ShiftAbility& shift) {
  const Format* format = find_format(checkpoint.format);
  CKPT_CHECK(format != nullptr);
  LayoutOptions options;
  // The name of a folder does not matter to any format.
  if (!is_folder(patching.path)) {
    options.out_name = patching.path.filename().string();
  }
  options.header_slack_bytes = patching.header_slack_bytes;
  options.keep_places = true;
  options.shift_bytes = shift.block_bytes;
  CKPT_ASSIGN(Layout layout, format->lay_out(checkpoint, options, all_codecs()));
  if (layout.is_folder != options.out_name.empty()) {
    return misuse_hint("another name", "{}: its name does not tell the format",
                       patching.path.string());
  }
  return Output{patching.path, std::move(checkpoint), std::move(layout)};
}

// Returns a tensor of `after` that must be encoded, or whose name had other bytes in `before`; null
// if there is none. A tensor with a new name does not count.
const Tensor* find_new_values(const Checkpoint& before, const Checkpoint& after) {
  std::unordered_map<std::string_view, const Tensor*> known;
  for (const Tensor& tensor : before.tensors) known[tensor.name] = &tensor;
  for (const Tensor& tensor : after.tensors) {
    if (!tensor.is_stored()) return &tensor;
    const auto found = known.find(tensor.name);
    if (found != known.end() && found->second->stored().parts != tensor.stored().parts)
      return &tensor;
  }
  return nullptr;
}

Status check_values(const PatchRequest& patching, const Checkpoint& before,
                    const Checkpoint& after) {
  if (patching.rewrite_weights || patching.elsewhere) return {};
  const auto payload = std::ranges::find_if(patching.steps, [](const Step& step) {
    return step.transform->touches == ChangeScope::kValues;
  });
  if (payload == patching.steps.end()) return {};
  const Tensor* changed = find_new_values(before, after);
  if (changed == nullptr) return {};
  return misuse_hint("--rewrite-weights, or --out DIR",
                     "{}: step {} changes the values of tensor '{}'; in place that is only "
                     "done when asked for",
                     patching.path.string(), payload->transform->name, changed->name);
}

Result<PlannedPatch> plan_documents(const PatchRequest& patching, const Context& context) {
  Checkpoint before;
  before.format = "safetensors";
  before.name = patching.path.filename().string();
  CKPT_ASSIGN(before.documents, read_documents(patching.path, patching.reading));
  CKPT_ASSIGN(auto index, read_index_document(patching.path, patching.reading));
  if (index) before.set_document(std::move(*index));
  CKPT_ASSIGN(Checkpoint after, apply_steps(patching.steps, before, context));
  CKPT_CHECK(after.tensors.empty());
  const auto is_reindex = [](const Step& each) { return each.transform->name == "reindex"; };
  if (std::ranges::any_of(patching.steps, is_reindex)) {
    CKPT_ASSIGN(Document made, in(patching.path.string(),
                                  index_of_files(patching.path, all_codecs(), patching.reading)));
    after.set_document(std::move(made));
  }
  Output now{patching.path, std::move(before), {}};
  now.layout = lay_out_documents(now.checkpoint);
  Output then{patching.path, std::move(after), {}};
  then.layout = lay_out_documents(then.checkpoint);
  CKPT_ASSIGN(Patch patch, plan_patch(patching.path, now, std::move(then), {}));
  return PlannedPatch{std::move(patch), std::move(now.checkpoint), {}};
}

// Whether the folder holds a tokenizer and configuration, but no weights that ckpt can read.
bool is_folder_of_documents(const PatchRequest& patching, const Result<const Format*>& format) {
  if (format || format.error().code != ErrorCode::kUnsupported) return false;
  if (!is_folder(patching.path)) return false;
  const auto documents = read_documents(patching.path, patching.reading);
  return documents && !documents->empty();
}

Result<PlannedPatch> plan_all(const PatchRequest& patching, const Context& context) {
  FileMisfit misfit;
  CKPT_ASSIGN(Checkpoint before,
              read_despite_misfit(patching.path, all_codecs(), patching.reading, misfit));
  if (holds_torch_weights(patching.path) || !before.layout.empty()) {
    return unsupported_hint(
        fmt::format("ckpt convert {} OUT, which makes safetensors of them",
                    shell_path(patching.path.string())),
        "{}: the weights are {}, which is not patched", patching.path.string(),
        before.layout.empty() ? "in a format of PyTorch" : before.layout);
  }
  if (misfit.is_fault) return Failure(misfit.error().in(patching.path.string()));
  CKPT_TRY(refuse_parts(patching.path, before, misfit));
  if (!misfit.found.empty()) context.note("{}", misfit.found);
  if (const std::string rest = bytes_after_tensors(before); !rest.empty()) {
    return unsupported_hint(fmt::format("ckpt convert {} OUT.gguf, which leaves them out",
                                        shell_path(patching.path.string())),
                            "{} belong to no tensor and would be lost", rest);
  }
  Checkpoint after = before;
  if (patching.elsewhere) leave_adapter(after, patching.path, patching.steps, context);
  CKPT_ASSIGN(after, apply_steps(patching.steps, std::move(after), context));
  if (after.format != before.format) {
    return misuse_hint("ckpt convert", "{}: the steps make {} of {}; a patch keeps the format",
                       patching.path.string(), after.format, before.format);
  }
  CKPT_TRY(check_values(patching, before, after));
  const ShiftAbility shift = probe_shift(base_of(patching.path));
  CKPT_ASSIGN(Output now, lay_out_at(patching, std::move(before), shift));
  CKPT_ASSIGN(Output then, lay_out_at(patching, std::move(after), shift));
  CKPT_ASSIGN(Patch patch, plan_patch(patching.path, now, std::move(then), shift));
  return PlannedPatch{std::move(patch), std::move(now.checkpoint), {}};
}

// Returns the first step that cannot edit a single file, or null. `tokenizer` can edit the keys of
// a GGUF.
const Step* step_without_documents(const std::vector<Step>& steps,
                                   const Result<const Format*>& format) {
  const bool has_keys = format && (*format)->name == "gguf";
  const auto found = std::ranges::find_if(
      steps, [&](const Step& step) { return !has_keys || step.transform->name != "tokenizer"; });
  return found == steps.end() ? nullptr : &*found;
}

// Whether a journal may name the file (core/patch/journal.h), so that each patch can be finished.
bool may_change(const fs::path& path, const std::string& name) {
  const bool is_stale = std::ranges::find(kStale, name) != std::end(kStale);
  return is_file_of(path, name) || (is_stale && is_folder(path));
}

Status check_names(const Patch& patch) {
  for (const PatchedFile& file : patch.files) {
    if (may_change(patch.path, file.path)) continue;
    return unsupported("{}: '{}' has no name that files of a checkpoint have", patch.path.string(),
                       file.path);
  }
  return {};
}

// Removes stale records. Keeps those of other programs and signatures, which need a key.
Status leave_or_remove(const fs::path& folder, std::string_view name, Patch& patch,
                       std::vector<std::string>& notes) {
  CKPT_ASSIGN(const bool is_known, is_stale_record(folder, name));
  if (is_known) {
    CKPT_TRY(remove_also(patch, std::string(name)));
    notes.push_back(fmt::format("{} is removed: it describes the files before this patch", name));
    return {};
  }
  CKPT_ASSIGN(const bool is_left, is_there(folder / name));
  if (!is_left) patch.absent.emplace_back(name);
  if (!is_left || name == kReportName) return {};
  notes.push_back(fmt::format(
      "{} stays, although it describes the files before this patch: {}", name,
      name == kSignatureName ? "ckpt publish replaces it (--sign KEY) or removes it (--unsigned)"
                             : "ckpt publish did not write it for this folder as it is"));
  return {};
}

// Notes records next to a single file. They stay, because a journal names only the patched file.
Status note_sibling_records(const fs::path& file, std::vector<std::string>& notes) {
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  CKPT_ASSIGN(const bool has_sums, is_there(folder / kSumsName));
  if (!has_sums) return {};
  constexpr uint64_t kMaxSumsBytes = uint64_t{64} << 20;
  const auto sums = read_small(folder / kSumsName, kMaxSumsBytes).and_then(parse_sha256sums);
  if (!sums || find_by(*sums, &FileDigest::name, file.filename().string()) == nullptr) return {};
  notes.push_back(fmt::format(
      "{} lists this file as it was before this patch, and stays. ckpt publish {} writes it again",
      kSumsName, shell_path(folder.string())));
  return {};
}

}  // namespace

Result<PatchState> finish_earlier_patch(const fs::path& path, const StepHook& hook,
                                        JournalFrom from) {
  CKPT_TRY(refuse_url(path));
  const auto belongs = [&](const std::string& name) { return may_change(path, name); };
  return recover_patch(path, belongs, hook, from);
}

Result<PlannedPatch> plan_patching(const PatchRequest& patching) {
  std::vector<std::string> notes;
  const Context context = step_context(&notes, patching.reading);
  const bool in_folder = is_folder(patching.path);
  const bool documents_only = touches(patching.steps) == ChangeScope::kDocuments;
  auto found = recognize(patching.path);
  const bool needs_weights = !documents_only || !is_folder_of_documents(patching, found);
  if (!found && needs_weights) return Failure(std::move(found.error()));
  const Step* no_op =
      documents_only && !in_folder ? step_without_documents(patching.steps, found) : nullptr;
  if (no_op != nullptr) {
    return misuse("{}: step {} edits documents; this is one file, without any",
                  patching.path.string(), no_op->transform->name);
  }
  auto planned = documents_only && in_folder && (!patching.elsewhere || !found)
                     ? plan_documents(patching, context)
                     : plan_all(patching, context);
  if (!planned) return planned;
  if (in_folder && patching.elsewhere) note_uncopied(planned->patch.after.checkpoint, context);
  if (in_folder && !patching.elsewhere && !planned->patch.changes_nothing()) {
    for (const std::string_view name : kStale) {
      CKPT_TRY(leave_or_remove(patching.path, name, planned->patch, notes));
    }
  }
  if (!in_folder && !patching.elsewhere && !planned->patch.changes_nothing()) {
    CKPT_TRY(note_sibling_records(patching.path, notes));
  }
  if (!patching.elsewhere) CKPT_TRY(check_names(planned->patch));
  note_unchecked_sources({&planned->patch.after, 1}, context);
  planned->notes = std::move(notes);
  return planned;
}

}  // namespace ckpt

// ckpt patch PATH --step STEP: edits a checkpoint where it stands.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/io/folder.h"
#include "plan/conversion/patching.h"
#include "plan/conversion/targets.h"
#include "plan/text/recipe.h"
#include "tools/line/commands.h"

namespace ckpt {
namespace {

struct TypedPatch {
  std::filesystem::path path, out;
  std::vector<std::string> steps;
  std::string header_slack, link = "reflink", recipe;
  std::vector<Step> recipe_steps;  // when none were typed
  bool rewrite_weights = false;
  bool dry_run = false;
  bool allow_nonfinite = false;
};

std::string what_happens(const PatchedFile& file) {
  switch (file.change) {
    case FileChange::kWritten:
      return file.is_new ? "written" : "replaced";
    case FileChange::kHeader:
      return "header in place, tensor bytes stay";
    case FileChange::kShifted:
      return "header, tensor bytes keep their blocks";
    case FileChange::kRewritten:
      return file.is_new ? "written, tensor bytes copied" : "rewritten, tensor bytes copied";
    case FileChange::kRemoved:
      return "removed";
  }
  return "";
}

void show_files(const Console& console, const Patch& patch) {
  Table table({"file", "change", "bytes"});
  for (const PatchedFile& file : patch.files) {
    table.add({file.path, what_happens(file), fmt::format("{}", file.written_bytes)});
    console.object("plan", {{"file", file.path},
                            {"change", name(file.change)},
                            {"new", file.is_new},
                            {"written_bytes", file.written_bytes}});
  }
  for (const std::string& line : table.lines({false, false, true})) console.answer(line);
}

void show_summary(const Console& console, const TypedPatch& typed, const Patch& patch,
                  const ExecuteReport* report) {
  for (size_t i = 0; report != nullptr && i < report->files.size(); ++i) {
    const FileReport& file = report->files[i];
    if (file.sha256.empty()) continue;
    console.answer(fmt::format("{}  {}", file.sha256, file.path));
    console.object("file",
                   {{"path", file.path}, {"size_bytes", file.size_bytes}, {"sha256", file.sha256}});
  }
  const auto& out = typed.out.empty() ? typed.path : typed.out;
  console.object("summary", {{"path", out.string()},
                             {"dry_run", typed.dry_run},
                             {"files", patch.files.size()},
                             {"read_bytes", report == nullptr ? 0 : report->read_bytes},
                             {"written_bytes", patch.written_bytes()},
                             {"seconds", report == nullptr ? 0.0 : report->seconds}});
}

Status finish_earlier(const Console& console, const std::filesystem::path& path) {
  CKPT_ASSIGN(const PatchState found, finish_earlier_patch(path));
  if (found == PatchState::kUnfinished) {
    console.warn(fmt::format("{}: an interrupted patch was finished first", path.string()));
  } else if (found == PatchState::kLeftovers) {
    console.warn(
        fmt::format("{}: leftovers of an interrupted patch were removed; it had changed "
                    "nothing",
                    path.string()));
  }
  return {};
}

bool makes_values(const Output& output) {
  const auto& tensors = output.checkpoint.tensors;
  return std::any_of(tensors.begin(), tensors.end(),
                     [](const Tensor& tensor) { return !tensor.is_stored(); });
}

Result<LinkWay> parse_link(const std::string& text) {
  if (text == "reflink") return LinkWay::kReflink;
  if (text == "hard") return LinkWay::kHard;
  if (text == "copy") return LinkWay::kCopy;
  return fail(ErrorCode::kUsage, "--link {}; expected reflink, hard or copy", text);
}

Result<ExecuteReport> carry_out(const TypedPatch& typed, const Patch& patch, LinkWay link,
                                const Console& console, const CommonOptions& common) {
  ProgressLine progress(console, typed.path.filename().string());
  PatchOptions options;
  options.execute.threads = common.threads;
  options.execute.memory_bytes = common.memory_bytes;
  // Bytes that only move are not judged.
  options.execute.allow_nonfinite = typed.allow_nonfinite || !makes_values(patch.after);
  options.execute.progress = &progress;
  options.execute.interrupted = &interrupted;
  auto report = typed.out.empty() ? apply_patch(patch, options)
                                  : write_patched(patch, typed.out, link, options);
  progress.clear();
  return report;
}

std::string conversion_key(const Recipe& recipe) {
  if (!recipe.options.empty()) return recipe.options[0].first;
  return !recipe.to.empty() ? "to" : !recipe.also.empty() ? "also" : "for";
}

// What was typed wins over what the recipe says.
Status take_recipe(TypedPatch& typed) {
  if (!typed.recipe.empty()) {
    CKPT_ASSIGN(Recipe recipe, read_recipe(typed.recipe));
    if (!recipe.to.empty() || !recipe.also.empty() || !recipe.profiles.empty() ||
        !recipe.options.empty()) {
      return fail_with_hint(ErrorCode::kUsage, "ckpt convert --recipe " + shell_path(typed.recipe),
                            "{}: \"{}\" is for conversions; a patch takes \"in\", \"out\" and "
                            "\"steps\"",
                            typed.recipe, conversion_key(recipe));
    }
    if (typed.path.empty()) typed.path = std::move(recipe.in);
    if (typed.out.empty()) typed.out = std::move(recipe.out);
    if (typed.steps.empty()) typed.recipe_steps = std::move(recipe.steps);
  }
  if (!typed.path.empty()) return {};
  return fail_with_hint(ErrorCode::kUsage, "ckpt help patch", "PATH is missing");
}

// Sums of a published folder are older than what was just changed.
const char* next_verb(const std::filesystem::path& patched) {
  std::error_code ignored;
  const bool has_sums = std::filesystem::exists(patched / "SHA256SUMS", ignored);
  return has_sums && check_published_targets(patched) ? "publish" : "doctor";
}

// A new place, and none in PATH: what is made there would be a part of what it is made from.
Status check_out(TypedPatch& typed) {
  if (typed.out.empty()) return {};
  if (!typed.out.has_filename() && typed.out.has_relative_path()) {
    typed.out = typed.out.parent_path();
  }
  CKPT_ASSIGN(const bool exists, in("--out", is_there(typed.out)));
  if (exists) {
    return fail_with_hint(ErrorCode::kUsage, "another name, where nothing is",
                          "--out {}: exists already; expected a new place", typed.out.string());
  }
  std::error_code error;
  const auto path = std::filesystem::weakly_canonical(typed.path, error);
  const auto out = std::filesystem::weakly_canonical(typed.out, error);
  const auto parted = std::mismatch(path.begin(), path.end(), out.begin(), out.end());
  const bool is_inside = !error && parted.first == path.end();
  if (!is_inside) return {};
  return fail_with_hint(ErrorCode::kUsage, "a folder beside it", "--out {}: lies inside {}",
                        typed.out.string(), typed.path.string());
}

Result<int> patch(TypedPatch& typed, const Console& console, const CommonOptions& common) {
  CKPT_TRY(take_recipe(typed));
  CKPT_TRY(check_out(typed));
  CKPT_ASSIGN(const LinkWay link, parse_link(typed.link));
  Patching patching;
  patching.path = typed.path;
  patching.elsewhere = !typed.out.empty();
  patching.rewrite_weights = typed.rewrite_weights;
  if (!typed.header_slack.empty()) {
    CKPT_ASSIGN(patching.header_slack_bytes, in("--header-slack", parse_size(typed.header_slack)));
  }
  CKPT_ASSIGN(patching.steps, parse_steps(typed.steps));
  if (typed.steps.empty()) patching.steps = typed.recipe_steps;
  CKPT_ASSIGN(const PatchState found, patch_state(typed.path));
  const bool finishes_only =
      patching.steps.empty() && found != PatchState::kNone && typed.out.empty();
  if (patching.steps.empty() && !finishes_only) {
    return fail_with_hint(ErrorCode::kUsage, "ckpt list steps",
                          "{}: no --step, and no interrupted patch to finish", typed.path.string());
  }
  if (!typed.dry_run && typed.out.empty()) CKPT_TRY(finish_earlier(console, typed.path));
  if (finishes_only) return 0;

  CKPT_ASSIGN(const PlannedPatch planned, plan_patching(patching));
  for (const std::string& note : planned.notes) console.warn(note);
  const Patch& plan = planned.patch;
  if (plan.changes_nothing() && typed.out.empty()) {
    console.answer(fmt::format("{}: nothing to change; no file was touched", typed.path.string()));
    show_summary(console, typed, plan, nullptr);
    return 0;
  }
  if (typed.dry_run) {
    show_files(console, plan);
    console.answer(fmt::format("{}: {} file(s), {} bytes to write; nothing was written (--dry-run)",
                               typed.path.string(), plan.files.size(), plan.written_bytes()));
    show_summary(console, typed, plan, nullptr);
    return 0;
  }
  CKPT_ASSIGN(const ExecuteReport report, carry_out(typed, plan, link, console, common));
  show_files(console, plan);
  show_summary(console, typed, plan, &report);
  const auto& out = typed.out.empty() ? typed.path : typed.out;
  console.talk(fmt::format("Next: ckpt {} {}", next_verb(out), shell_path(out.string())));
  return 0;
}

Run declare_patch(CommandOptions& options) {
  auto typed = std::make_shared<TypedPatch>();
  options.add("PATH", &typed->path, "Hugging Face folder, .safetensors or .gguf");
  options.add("--recipe", &typed->recipe, "a JSON file that says what the flags do not");
  options.add("--step", &typed->steps, "name:key=value,... (ckpt list steps; may repeat)");
  options.add("--out", &typed->out, "write the patched checkpoint here; PATH stays as it is");
  options.add("--link", &typed->link,
              "how unchanged files come to --out: reflink (default; copies where blocks cannot "
              "be shared), hard or copy");
  options.add("--rewrite-weights", &typed->rewrite_weights,
              "allow steps that change values of tensors in place");
  options.add("--header-slack", &typed->header_slack,
              "room for later edits, in headers that are written anew");
  options.add("--dry-run", &typed->dry_run, "show what would be done to which file");
  options.add("--allow-nonfinite", &typed->allow_nonfinite, "copy NaN and Inf as they are");
  declare_follow_links(options);
  return [typed](const Console& console, const CommonOptions& common) {
    return patch(*typed, console, common);
  };
}

}  // namespace

constinit const Command kPatchCommand{
    "patch", "Edits a checkpoint where it stands: only what differs is written, all or nothing.",
    "  ckpt patch model/ --step config:set=max_position_embeddings=40960\n"
    "  ckpt patch model.gguf --step metadata:set=general.name=Mine --dry-run\n"
    "  ckpt patch model/ --step rename:from=model.,to=model.language_model. --out patched/\n"
    "  ckpt patch model/                       finishes a patch that was interrupted",
    declare_patch};

}  // namespace ckpt

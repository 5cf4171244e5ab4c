// ckpt patch PATH --step STEP: edits a checkpoint in place.
#include "core/base/printable.h"
#include "plan/text/recipe.h"
#include "tools/commands/carry_patch.h"
#include "tools/line/commands.h"

namespace ckpt {
namespace {

struct TypedPatch {
  PatchRun run;
  std::vector<std::string> steps;
  std::string header_slack, recipe, link = "reflink";
  bool finish_copied = false;
};

std::string conversion_key(const Recipe& recipe) {
  if (!recipe.options.empty()) return recipe.options[0].first;
  return !recipe.to.empty() ? "to" : !recipe.also.empty() ? "also" : "for";
}

// Applies the recipe. Typed options override those of the recipe.
Status take_recipe(TypedPatch& typed) {
  if (!typed.recipe.empty()) {
    CKPT_ASSIGN(Recipe recipe, read_recipe(typed.recipe));
    if (!recipe.to.empty() || !recipe.also.empty() || !recipe.profiles.empty() ||
        !recipe.options.empty()) {
      return misuse_hint("ckpt convert --recipe " + shell_path(typed.recipe),
                         "{}: \"{}\" is for conversions; a patch takes \"in\", \"out\" and "
                         "\"steps\"",
                         typed.recipe, conversion_key(recipe));
    }
    if (typed.run.path.empty()) typed.run.path = std::move(recipe.in);
    if (typed.run.out.empty()) typed.run.out = std::move(recipe.out);
    if (typed.steps.empty()) typed.run.steps = std::move(recipe.steps);
  }
  if (!typed.run.path.empty()) return {};
  return misuse_hint("ckpt help patch", "PATH is missing");
}

Result<LinkWay> parse_link(const std::string& text) {
  if (text == "reflink") return LinkWay::kReflink;
  if (text == "hard") return LinkWay::kHard;
  if (text == "copy") return LinkWay::kCopy;
  return misuse("--link {}; expected reflink, hard or copy", text);
}

Result<int> patch_typed(TypedPatch& typed, const Console& console, const CommonOptions& common) {
  CKPT_TRY(take_recipe(typed));
  PatchRun& run = typed.run;
  CKPT_TRY(check_patched_out(run));
  if (!typed.header_slack.empty()) {
    CKPT_ASSIGN(run.header_slack_bytes, in("--header-slack", parse_size(typed.header_slack)));
  }
  CKPT_ASSIGN(std::vector<Step> steps, parse_steps(typed.steps));
  if (!steps.empty()) run.steps = std::move(steps);
  CKPT_ASSIGN(const PatchState found, earlier_patch(run));
  if (typed.finish_copied && found != PatchState::kUnfinished) {
    return misuse("{}: no interrupted patch to finish, but --finish-copied is given",
                  run.path.string());
  }
  if (!run.dry_run && !run.elsewhere) {
    ConsoleObserver observer(console, &interrupted);
    CKPT_TRY(finish_earlier(run.path, observer,
                            typed.finish_copied ? JournalFrom::kCopied : JournalFrom::kHere));
  }
  if (run.steps.empty()) return 0;
  CKPT_SET(run.link, parse_link(typed.link));
  return run_patch(run, console, common);
}

Run declare_patch(CommandOptions& options) {
  auto typed = std::make_shared<TypedPatch>();
  options.add("PATH", &typed->run.path, "Hugging Face folder, .safetensors or .gguf",
              {.place = OptionPlace::kWritten, .unless = {"--out", "--recipe"}});
  options.add("--recipe FILE", &typed->recipe,
              "a JSON or YAML file with further options; - for stdin");
  options.add("--step NAME:KEY=VALUE,...", &typed->steps,
              "a step to run; ckpt list steps explains them (may repeat)");
  options.add("--out PATH", &typed->run.out,
              "write the patched checkpoint here; PATH stays as it is",
              {.place = OptionPlace::kWritten});
  options.add(
      "--link WAY", &typed->link,
      "how to link unchanged files: reflink, hard or copy (default: reflink); reflink "
      "copies where blocks cannot be shared",
      {.needs = {"--out"}});
  options.add("--rewrite-weights", &typed->run.rewrite_weights,
              "allow steps that change values of tensors in place");
  options.add("--header-slack SIZE", &typed->header_slack,
              "room for later edits, in headers that are rewritten");
  options.add("--dry-run", &typed->run.dry_run, "show the changes to each file, write nothing");
  options.add("--finish-copied", &typed->finish_copied,
              "finish an interrupted patch of a PATH that was copied or moved here",
              {.excludes = "--dry-run"});
  options.add("--allow-nonfinite", &typed->run.allow_nonfinite, "copy NaN and Inf as they are");
  declare_follow_links(options, &typed->run.reading.follow_links);
  return run_with(std::move(typed), patch_typed);
}

}  // namespace

extern const Command kPatchCommand{
    "patch", "Edits a checkpoint in place: all files that differ, or none.",
    "  ckpt patch model/ --step config:set=max_position_embeddings=40960\n"
    "  ckpt patch model.gguf --step metadata:set=general.name=Mine --dry-run\n"
    "  ckpt patch model/ --step rename:from=model.,to=model.language_model. --out patched/\n"
    "  ckpt patch model/                       finishes a patch that was interrupted",
    declare_patch};

}  // namespace ckpt

// ckpt convert IN OUT: plans a conversion and executes the plan.
#include <algorithm>

#include "core/model/usual_type.h"
#include "plan/conversion/option_table.h"
#include "plan/conversion/pipeline.h"
#include "plan/conversion/targets.h"
#include "plan/size_target/size_target.h"
#include "plan/text/recipe.h"
#include "plan/text/type_names.h"
#include "tools/commands/carry_out.h"
#include "tools/commands/made_record.h"
#include "tools/line/commands.h"
#include "tools/say/preview.h"

namespace ckpt {
namespace {

// Typed options override those of the recipe. The last matching rule wins, so typed rules are
// appended.
Status take_recipe(const std::string& path, Conversion& conversion) {
  CKPT_ASSIGN(Recipe recipe, read_recipe(path));
  if (conversion.in.empty()) conversion.in = std::move(recipe.in);
  if (conversion.out.empty()) conversion.out = std::move(recipe.out);
  if (conversion.to.empty()) conversion.to = std::move(recipe.to);
  conversion.recipe_steps = std::move(recipe.steps);
  if (conversion.profiles.empty()) conversion.profiles = std::move(recipe.profiles);
  if (conversion.also.empty()) {
    for (auto& [out, to] : recipe.also) conversion.also.push_back({out, to});
  }
  const Options typed = std::exchange(conversion.flags, {});
  for (auto& [name, value] : recipe.options) {
    const bool is_rule = find_convert_option(name)->repeats();
    const auto is_typed = [&, key = name](const GivenOption& given) {
      return given.name == key && !given.is_from_recipe;
    };
    if (!is_rule && std::ranges::any_of(conversion.given, is_typed)) continue;
    conversion.given.push_back({name, value, true});
    CKPT_TRY(in(path, set_option(conversion, *find_convert_option(name), std::move(value), "")));
  }
  for (const auto& [name, value] : typed.pairs()) conversion.flags.add(name, value);
  return {};
}

// Applies all typed options. Rules of steps keep the order in which they were typed.
Status take_typed(const CommandOptions& options, Conversion& conversion) {
  for (const auto& [name, value, takes_value] : options.typed()) {
    const ConvertOption* option = find_convert_option(name);
    conversion.given.push_back({name, value, false});
    if (option == nullptr) continue;  // an option that every command has
    CKPT_TRY(set_option(conversion, *option, takes_value ? value : "yes", "--"));
  }
  return {};
}

// Sets IN and OUT from the command line or the recipe.
Status take_places(const CommandOptions& options, Conversion& conversion) {
  const std::string outfile = options.value("outfile"), recipe = options.value("recipe");
  if (!outfile.empty() && !conversion.out.empty()) {
    return misuse("-o {}: OUT is {} already; expected one of them", outfile,
                  conversion.out.string());
  }
  if (!outfile.empty()) conversion.out = outfile;
  return recipe.empty() ? Status() : take_recipe(recipe, conversion);
}

// Rejects --if-needed together with options that write no OUT, because it asks whether OUT exists.
Status check_if_needed(const Conversion& conversion, bool is_dry, const std::string& plan_out) {
  if (!conversion.if_needed || (!is_dry && plan_out.empty())) return {};
  return misuse_hint("one of them", "--if-needed and --{}: the latter writes no OUT",
                     is_dry ? "dry-run" : "plan-out");
}

// Shows the files that an identical earlier request made, without planning.
int show_requested(const Conversion& conversion, const std::vector<FileReport>& files,
                   const Console& console) {
  for (const FileReport& file : files) show_file(console, file);
  std::vector<std::string> outs = {conversion.out.string()};
  for (const AlsoOutput& also : conversion.also) outs.push_back(also.out.string());
  for (const std::string& out : outs) {
    console.talk("{}: up to date; nothing was written (--if-needed)", out);
  }
  return 0;
}

Result<int> convert(const CommandOptions& options, const Console& console,
                    const CommonOptions& common) {
  Conversion conversion;
  conversion.reading.follow_links = options.has("follow-links");
  CKPT_TRY(take_typed(options, conversion));
  CKPT_TRY(take_places(options, conversion));
  ConsoleObserver observer(console, &interrupted);
  CKPT_TRY(settle_conversion(conversion, observer));
  const bool is_dry = options.has("dry-run");
  const std::string plan_out = options.value("plan-out");
  if (is_dry && !plan_out.empty()) {
    return misuse_hint("one of them", "--dry-run writes nothing, --plan-out writes the plan");
  }
  CKPT_TRY(check_own_name("plan-out", plan_out, conversion));
  CKPT_TRY(check_if_needed(conversion, is_dry, plan_out));
  if (conversion.if_needed && !console.json()) {
    CKPT_ASSIGN(const auto made, find_requested(conversion));
    if (made) return show_requested(conversion, *made, console);
  }
  const bool is_new = !is_dry && plan_out.empty() && !conversion.if_needed;
  CKPT_ASSIGN(const auto chosen, resolve_target(conversion, is_new, observer, common.threads));
  if (chosen) show_chosen_types(console, chosen->first, chosen->second);
  const std::string cache = options.value("cache-dir"), cache_size = options.value("cache-size");
  if (!plan_out.empty() && !(cache + cache_size).empty()) {
    return misuse_hint(fmt::format("--plan-out {0}, then ckpt execute {0} --cache-dir {1}",
                                   shell_path(plan_out), cache.empty() ? "DIR" : shell_path(cache)),
                       "--cache-dir and --cache-size are not part of a plan");
  }
  if (!plan_out.empty()) return write_plan(std::move(conversion), plan_out, console);
  conversion.is_only_shown = is_dry;
  CKPT_ASSIGN(const PlannedConversion planned, plan_conversion(conversion));
  show_findings(planned, console);
  ExecuteOptions how;
  CKPT_TRY(set_cache(planned, cache, cache_size, how));
  if (is_dry) {
    CKPT_ASSIGN(const auto replaced, check_places(planned.plan, conversion.force));
    for (const std::string& refused : replaced) {
      console.warn("without --dry-run, ckpt refuses: {}", refused);
    }
    show_plan(console, planned.plan);
    return show_verdicts(planned, console);
  }
  if (conversion.if_needed) {
    CKPT_ASSIGN(const auto made, find_made(planned.plan));
    if (made) return show_made(planned, *made, console);
  }
  how.allow_nonfinite = conversion.allow_nonfinite;
  how.force = conversion.force;
  return carry_out(planned, conversion, how, console, common);
}

// CommandOptions::typed() keeps all values of these options in order, because order matters.
Run declare_convert(CommandOptions& options) {
  for (const ConvertOption& row : convert_options()) {
    const bool is_alone = row.name == "IN" || row.name == "OUT";
    std::string names = fmt::format("{}{}", is_alone ? "" : "--", row.name);
    if (row.name == "outfile") names.insert(0, "-o,");
    OptionTarget target;
    if (!row.takes_value()) target = std::function<void()>([] {});
    Option& option = options.add(std::move(names), std::move(target), row.whole_help());
    option.value_name = row.value_name();
    option.group = row.group;
    option.may_repeat = row.repeats();
    option.is_checked_later = true;
    if (is_written(row)) option.place = OptionPlace::kWritten;
    if (row.step() != nullptr && row.takes_value()) option.choices = row.rule().words();
  }
  declare_follow_links(options, std::function<void()>([] {}));
  return [&options](const Console& console, const CommonOptions& common) {
    return convert(options, console, common);
  };
}

}  // namespace

extern const Command kConvertCommand{
    "convert", "Converts a checkpoint in one pass, with bounded memory.",
    "  ckpt convert Qwen3.5-9B/ qwen3.5-9b-" CKPT_USUAL_TYPE ".gguf --to " CKPT_USUAL_TYPE
    "\n"
    "  ckpt convert model-bf16.gguf model-q6_k.gguf --to q6_k --imatrix imatrix.gguf\n"
    "  ckpt convert model-bf16.gguf folder/\n"
    "  ckpt convert checkpoint-162/ resharded/ --shard-size 5GB\n"
    "  ckpt convert Qwen3.5-9B/ out.gguf --to " CKPT_USUAL_TYPE " --dry-run",
    declare_convert};

}  // namespace ckpt

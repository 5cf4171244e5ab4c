// ckpt convert IN OUT: plan, and carry the plan out.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "formats/formats.h"
#include "plan/conversion/added_steps.h"
#include "plan/conversion/pipeline.h"
#include "plan/conversion/step_flags.h"
#include "plan/conversion/targets.h"
#include "plan/size_target/folder_target.h"
#include "plan/size_target/size_target.h"
#include "plan/text/conversion_fields.h"
#include "plan/text/recipe.h"
#include "plan/text/settled_names.h"
#include "plan/text/typed_types.h"
#include "tools/commands/carry_out.h"
#include "tools/commands/write_plan.h"
#include "tools/line/commands.h"
#include "tools/say/chosen_types.h"
#include "tools/say/dry_run.h"

namespace ckpt {
namespace {

struct TypedConvert {
  Conversion conversion;
  std::string shard_size, split_size, split_tensors, header_slack;
  std::vector<std::string> also;  // "OUT2=TYPE2"
  std::string recipe;
  std::string plan_out;
  std::string outfile;  // -o, another way to say OUT
  bool dry_run = false;
};

// What is typed is kept in CommandOptions::typed(), where order counts.
void declare_step_flags(CommandOptions& options) {
  for (const StepFlag& flag : step_flags()) {
    const std::string name = fmt::format("--{}", flag.name);
    if (!flag.takes_value()) {
      options.add(
          name, [] {}, flag.whole_help());
      continue;
    }
    Option& option = options.add(name, {}, flag.whole_help());
    option.value_name = flag.rule().value();
    option.choices = flag.rule().words();
    option.is_checked_later = true;
    option.may_repeat = flag.rule().repeats;
  }
}

void declare_model(CommandOptions& options, TypedConvert& typed) {
  Conversion& conversion = typed.conversion;
  options.add("--imatrix", &conversion.imatrix, "importance matrix (GGUF or .dat)");
  options.add("--tokenizer", &conversion.tokenizer, "folder to take the tokenizer from");
  options.add("--also", &typed.also, "OUT2=TYPE2, made from the same reading of IN (may repeat)");
  options.add("--mmproj", &conversion.mmproj,
              "FILE for the projector of a vision model, made from the same reading of IN");
  options.add("--mmproj-only", &conversion.mmproj_only,
              "OUT is the projector alone; --to is its type: f32, f16, bf16 or q8_0");
  options.add("--for", &conversion.profiles,
              "target PROFILE: applies the fixes that ckpt doctor recommends (may repeat)");
  options.add(
      "--base", &conversion.base,
      "the unquantized model: for fixes that need it, and for names and documents of a folder "
      "made from a GGUF");
  options.add("--step", &conversion.steps, "name:key=value,... (ckpt list steps; may repeat)");
}

Status read_also(TypedConvert& typed) {
  for (const std::string& text : typed.also) {
    const size_t equals = text.rfind('=');
    if (equals == text.npos || equals == 0 || equals + 1 == text.size()) {
      return fail(ErrorCode::kUsage, "--also '{}'; expected OUT=TYPE", text);
    }
    typed.conversion.also.push_back({text.substr(0, equals), text.substr(equals + 1)});
  }
  return {};
}

// What was typed wins over what the recipe says; of rules, of which the last match counts, those
// typed stand behind.
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
    const bool is_rule = find_conversion_field(name)->kind == FieldKind::kRules;
    const auto is_typed = [&, key = name](const GivenOption& given) {
      return given.name == key && !given.is_from_recipe;
    };
    if (!is_rule && std::ranges::any_of(conversion.given, is_typed)) continue;
    conversion.given.push_back({name, value, true});
    CKPT_TRY(in(path, set_field(conversion, name, std::move(value))));
  }
  for (const auto& [name, value] : typed.pairs()) conversion.flags.add(name, value);
  return {};
}

// IN and OUT, wherever they were said.
Status take_places(TypedConvert& typed) {
  Conversion& conversion = typed.conversion;
  if (!typed.outfile.empty() && !conversion.out.empty()) {
    return fail(ErrorCode::kUsage, "-o {}: OUT is {} already; expected one of them", typed.outfile,
                conversion.out.string());
  }
  if (!typed.outfile.empty()) conversion.out = typed.outfile;
  if (!typed.recipe.empty()) CKPT_TRY(take_recipe(typed.recipe, conversion));
  if (!conversion.in.empty() && !conversion.out.empty()) return {};
  return fail_with_hint(ErrorCode::kUsage, "ckpt help convert", "{} is missing",
                        conversion.in.empty() ? "IN" : "OUT");
}

// What was typed: the flags of steps, and all of it for the rule that every option has an effect.
// Before what a recipe says.
Status add_given(const CommandOptions& options, Conversion& conversion) {
  std::vector<GivenOption> typed;
  for (const auto& [name, value, takes_value] : options.typed()) {
    if (name.empty()) continue;  // IN, OUT
    typed.push_back({name, value, false});
    if (find_step_flag(name) == nullptr || (!takes_value && conversion.flags.has(name))) continue;
    conversion.flags.add(name, takes_value ? value : "yes");
  }
  conversion.given.insert(conversion.given.begin(), typed.begin(), typed.end());
  return {};
}

// A number alone counts bytes, which is seldom what was meant.
void note_bytes(const Console& console, std::string_view option, std::string_view text,
                uint64_t bytes) {
  constexpr uint64_t kLeastUsualBytes = 1'000'000;
  if (bytes >= kLeastUsualBytes || text.find_first_not_of("0123456789.") != text.npos) return;
  console.warn(fmt::format("{} {} is {} bytes; with a unit it is more: {} {}GB", option, text,
                           bytes, option, text));
}

Status read_sizes(TypedConvert& typed, const Console& console) {
  if (!typed.shard_size.empty() && !typed.split_size.empty()) {
    return fail(ErrorCode::kUsage,
                "--shard-size is for folders, --split-size for .gguf; one of them");
  }
  const std::string& size = typed.shard_size.empty() ? typed.split_size : typed.shard_size;
  const char* option = typed.shard_size.empty() ? "--split-size" : "--shard-size";
  if (!size.empty()) {
    CKPT_ASSIGN(typed.conversion.shard_bytes, in(option, parse_size(size)));
    if (typed.conversion.shard_bytes == 0) {
      return fail_with_hint(ErrorCode::kUsage, fmt::format("{} 5GB", option),
                            "{} {}: files of no size", option, size);
    }
    note_bytes(console, option, size, typed.conversion.shard_bytes);
  }
  if (!typed.split_tensors.empty()) {
    CKPT_ASSIGN(typed.conversion.split_tensors,
                in("--split-tensors", parse_tensor_count(typed.split_tensors)));
  }
  if (!typed.header_slack.empty()) {
    CKPT_ASSIGN(typed.conversion.header_slack_bytes,
                in("--header-slack", parse_size(typed.header_slack)));
  }
  return {};
}

// Each size limits files of one format.
Status check_sizes(const TypedConvert& typed) {
  const Conversion& conversion = typed.conversion;
  const auto is_file = [](const AlsoOutput& also) { return is_gguf_path(also.out); };
  const bool has_folder =
      !is_gguf_path(conversion.out) || !std::ranges::all_of(conversion.also, is_file);
  if (typed.shard_size.empty() || has_folder) return {};
  return fail_with_hint(ErrorCode::kUsage, fmt::format("--split-size {}", typed.shard_size),
                        "--shard-size is for files of a folder; {} is one .gguf",
                        conversion.out.string());
}

Status check_cache_target(const Conversion& conversion) {
  const std::filesystem::path& cache = conversion.target_cache;
  CKPT_TRY(refuse_stdout(cache));
  const bool is_out =
      !cache.empty() && cache.lexically_normal() == conversion.out.lexically_normal();
  if (!is_out) return {};
  return fail_with_hint(ErrorCode::kUsage, "a name of its own",
                        "--target-cache {}: the name of OUT", cache.string());
}

// A target becomes types, as if they had been typed.
Status settle_target(TypedConvert& typed, const Console& console, const CommonOptions& common) {
  Conversion& conversion = typed.conversion;
  if (conversion.target_size.empty() && conversion.target_bits.empty()) return {};
  CKPT_TRY(recognize(conversion.in));  // what is wrong with IN comes first
  CKPT_ASSIGN(const auto target, read_size_target(conversion));
  CKPT_TRY(check_cache_target(conversion));
  const bool is_written = !typed.dry_run && typed.plan_out.empty();
  if (is_written && !conversion.force) CKPT_TRY(check_new_out(conversion.out));
  const auto choose = is_gguf_path(conversion.out) ? with_chosen_types : with_chosen_layers;
  ConsoleObserver observer(console, &interrupted);
  CKPT_ASSIGN(auto settled, choose(conversion, *target, observer, common.threads));
  show_chosen_types(console, *target, settled.second);
  conversion = std::move(settled.first);
  std::erase_if(conversion.given, [](const auto& each) {
    return each.name == "sensitivity" || each.name == "target-cache";
  });
  return {};
}

Result<int> convert(TypedConvert& typed, const Console& console, const CommonOptions& common) {
  CKPT_TRY(read_sizes(typed, console));
  CKPT_TRY(read_also(typed));
  CKPT_TRY(take_places(typed));
  CKPT_TRY(spread_types(typed.conversion));
  CKPT_TRY(check_sizes(typed));
  CKPT_TRY(settle_names(typed.conversion));
  ConsoleObserver observer(console, &interrupted);
  CKPT_TRY(settle_moments(typed.conversion, observer));
  if (typed.dry_run && !typed.plan_out.empty()) {
    return fail_with_hint(ErrorCode::kUsage, "one of them",
                          "--dry-run writes nothing, --plan-out writes the plan");
  }
  CKPT_TRY(settle_target(typed, console, common));
  if (!typed.plan_out.empty()) {
    return write_plan(typed.conversion, typed.conversion.allow_nonfinite, typed.plan_out, console);
  }
  typed.conversion.is_only_shown = typed.dry_run;
  CKPT_ASSIGN(const PlannedConversion planned, plan_conversion(typed.conversion));
  for (const std::string& note : planned.notes) console.warn(note);
  if (typed.dry_run) {
    show_plan(console, planned.plan);
    return show_verdicts(planned, console);
  }
  ExecuteOptions options;
  options.allow_nonfinite = typed.conversion.allow_nonfinite;
  options.force = typed.conversion.force;
  return carry_out(planned, typed.conversion, options, console, common);
}

Run declare_convert(CommandOptions& options) {
  auto typed = std::make_shared<TypedConvert>();
  Conversion& conversion = typed->conversion;
  options.add("IN", &conversion.in, "Hugging Face folder, .safetensors or .gguf");
  options.add("OUT", &conversion.out, "NAME.gguf, or a folder");
  options.add("-o,--outfile", &typed->outfile, "the same as OUT");
  options.add("--recipe", &typed->recipe, "a JSON file that says what the flags do not");
  options.add(
      "--to,--outtype", &conversion.to,
      "type to store weights in: q4_k_m, q8_0, bf16, ...; several between commas, with {type} in "
      "OUT "
      "(ckpt list types); default: keep what is there");
  options.add("--target-size", &conversion.target_size,
              "choose types of tensors so that OUT has at most this size, like 24GB");
  options.add("--target-bits", &conversion.target_bits,
              "the same for bits a weight: of the tensors that are quantized, or of a folder "
              "effective bits as ModelOpt counts them, like 4.6");
  options.add("--sensitivity", &conversion.sensitivity,
              "for a target: a kld_results.csv that says how much each tensor matters");
  options.add("--target-cache", &conversion.target_cache,
              "for a target: FILE that keeps the errors that were measured for the next run");
  declare_step_flags(options);
  declare_model(options, *typed);
  options.add("--shard-size", &typed->shard_size, "largest .safetensors file, like 5GB");
  options.add("--split-size", &typed->split_size, "largest .gguf file; writes a split");
  options.add("--split-tensors", &typed->split_tensors, "most tensors of a .gguf file; the same");
  options.add("--header-slack", &typed->header_slack, "room for later edits of the header");
  options.add("--plan-out", &typed->plan_out,
              "FILE (- for stdout) to write the plan to, for ckpt execute; converts nothing");
  options.add("--dry-run", &typed->dry_run, "show the plan, write nothing");
  options.add("--force", &conversion.force, "replace OUT, if it holds nothing but a checkpoint");
  options.add("--allow-nonfinite", &conversion.allow_nonfinite, "convert NaN and Inf as they are");
  declare_follow_links(options);
  return [typed, &options](const Console& console, const CommonOptions& common) -> Result<int> {
    CKPT_TRY(add_given(options, typed->conversion));
    return convert(*typed, console, common);
  };
}

}  // namespace

constinit const Command kConvertCommand{
    "convert", "Converts a checkpoint: one pass, bounded memory, no second copy on disk.",
    "  ckpt convert Qwen3.5-9B/ qwen3.5-9b-q4_k_m.gguf --to q4_k_m\n"
    "  ckpt convert model-bf16.gguf model-q6_k.gguf --to q6_k --imatrix imatrix.gguf\n"
    "  ckpt convert model-bf16.gguf folder/\n"
    "  ckpt convert checkpoint-162/ resharded/ --shard-size 5GB\n"
    "  ckpt convert Qwen3.5-9B/ out.gguf --to q4_k_m --dry-run",
    declare_convert};

}  // namespace ckpt

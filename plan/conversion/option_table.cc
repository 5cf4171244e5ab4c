#include "plan/conversion/option_table.h"

#include <algorithm>

#include "core/base/numbers.h"
#include "core/base/printable.h"
#include "core/base/words.h"
#include "core/model/usual_type.h"
#include "plan/conversion/sizes.h"
#include "transforms/transforms.h"

namespace ckpt {
namespace {

constexpr std::string_view kInput = "Input", kOutput = "Output", kType = "Type", kGguf = "GGUF",
                           kNvfp4 = "NVFP4 and FP8 (--to nvfp4, nvfp4-w4a16, fp8)",
                           kServing = "Serving", kRunning = "Running";

constexpr std::string_view kNoExport = "no output is converted from floats to nvfp4 or fp8";
constexpr std::string_view kNoType = "no output is made a quantized type";
constexpr std::string_view kNoQuantizedGguf = "no output that ends in .gguf is quantized by --to";
constexpr std::string_view kNoTarget = "no types are chosen (--target-size, --target-bits)";
constexpr std::string_view kNoProjector = "no projector is made (--mmproj FILE, --mmproj-only)";
constexpr std::string_view kNoMadeGguf =
    "no output is a language model's GGUF that is made from a folder here";

using enum OptionPersistence;
using enum OptionEffect;
using C = Conversion;

constexpr std::monostate kNoField{};

constexpr ConvertOption kOptions[] = {
    {"IN", "PATH", kInput, &C::in, kRecipeAndPlan, kCommand, "",
     "Hugging Face folder, .safetensors or .gguf", "", "in"},
    {"OUT", "PATH", kOutput, &C::out, kRecipeAndPlan, kCommand, "", "NAME.gguf, or a folder", "",
     "out"},
    {"recipe", "FILE", kInput, kNoField, kNowhere, kCommand, "",
     "a JSON or YAML file with further options; - for stdin"},
    {"tokenizer", "DIR", kInput, &C::tokenizer, kRecipeAndPlan, kPlan,
     "IN is a GGUF, which has its own", "folder to take the tokenizer from"},
    {"base", "DIR", kInput, &C::base, kRecipeAndPlan, kOffered,
     "IN lacks nothing that it has, and no requested change needs the unquantized model",
     "the model that IN was made from; gives what IN lacks (configuration, tokenizer, weights), "
     "and what steps, fixes and a folder made from a GGUF need"},
    {"weights", "model|master", kInput, &C::weights, kRecipeAndPlan, kCommand, "",
     "of a trainer's checkpoint: its model's weights or F32 masters"},
    {"step", "NAME:KEY=VALUE,...", kInput, &C::steps, kRecipeAndPlan, kCommand, "",
     "a step to run on IN first (ckpt list steps)", "", "steps"},
    {"like", "", kInput, StepKey{"to-gguf", "like"}, kRecipeAndPlan, kTaken,
     "no output is made by a family's table"},
    {"allow-nonfinite", "", kInput, &C::allow_nonfinite, kRecipeAndPlan, kCommand, "",
     "convert NaN and Inf as they are"},

    {"outfile", "OUT", kOutput, kNoField, kNowhere, kCommand, "", "the same as OUT"},
    {"also", "OUT2=TYPE2", kOutput, &C::also, kRecipeAndPlan, kCommand, "",
     "one more output from the same pass over IN"},
    {"shard-size", "SIZE", kOutput, &C::shard_bytes, kRecipeAndPlan, kCommand, "",
     "largest .safetensors file, like 5GB; auto: equal files"},
    {"header-slack", "SIZE", kOutput, &C::header_slack_bytes, kRecipeAndPlan, kCommand, "",
     "room for later edits of the header"},
    {"plan-out", "FILE", kOutput, kNoField, kNowhere, kCommand, "",
     "write the plan to FILE (or to -), for ckpt execute; converts nothing"},
    {"dry-run", "", kOutput, kNoField, kNowhere, kCommand, "", "show the plan, write nothing"},
    {"if-needed", "", kOutput, &C::if_needed, kNowhere, kCommand, "",
     "do nothing if OUT is already the result of this plan for the same IN"},
    {"force", "", kOutput, &C::force, kNowhere, kCommand, "",
     "replace OUT, if it holds nothing but a checkpoint"},

    {"cache-dir", "DIR", kInput, kNoField, kNowhere, kCommand, "",
     "for URLs: a folder for data that is read twice; it holds, during the run, what does not fit "
     "in "
     "--memory"},
    {"cache-size", "SIZE", kInput, kNoField, kNowhere, kCommand, "",
     "the most that --cache-dir may hold (default: 64G)"},

    {"to", "TYPE", kType, &C::to, kRecipeAndPlan, kPlan, "",
     "type to store weights in: " CKPT_USUAL_TYPE ", q8_0, bf16, ... (ckpt list types); several "
     "between commas, with {type} in OUT; default: keep the types"},
    {"target-size", "SIZE", kType, &C::target_size, kRecipe, kCommand, "",
     "choose types of tensors so that OUT has at most this size, like 24GB"},
    {"target-bits", "BITS", kType, &C::target_bits, kRecipe, kCommand, "",
     "choose types of tensors for so many bits per weight, like 4.6; of quantized tensors, or of a "
     "folder effective bits as ModelOpt counts them"},
    {"sensitivity", "FILE", kType, &C::sensitivity, kRecipe, kTaken, kNoTarget,
     "for a target: a kld_results.csv with the weight of each tensor"},
    {"target-cache", "FILE", kType, &C::target_cache, kNowhere, kTaken, kNoTarget,
     "for a target: FILE that caches measured errors for the next run"},
    {"imatrix", "FILE", kType, &C::imatrix, kRecipeAndPlan, kPlan, kNoType,
     "importance matrix (GGUF or .dat)", "importance matrix"},
    {"keep", "", kType, StepKey{"quantize", "keep"}, kRecipeAndPlan, kTaken,
     "no output changes types tensor by tensor (a quantized folder becomes floats entirely)"},
    {"search", "", kType, StepKey{"export", "search"}, kRecipeAndPlan, kPlan, kNoType,
     "search for better block scales than the default; best for K-quants of 4 to 6 bits too (with "
     "--moments of 2 to 6)",
     "search="},
    {"moments", "", kType, StepKey{"export", "moments"}, kRecipeAndPlan, kPlan, kNoType},
    {"allow-requantize", "", kType, StepKey{"quantize", "allow-requantize", "yes"}, kRecipeAndPlan,
     kPlanIfTaken, "no quantized weight becomes another type"},

    {"preset", "", kNvfp4, StepKey{"export", "preset"}, kRecipeAndPlan, kPlan, kNoExport},
    {"amax-from", "", kNvfp4, StepKey{"export", "amax-from"}, kRecipeAndPlan, kPlan, kNoExport},
    {"kv-cache", "", kNvfp4, StepKey{"export", "kv-cache"}, kRecipeAndPlan, kPlan, kNoExport},
    {"only", "", kNvfp4, StepKey{"export", "only"}, kRecipeAndPlan, kTaken, kNoExport},
    {"fp8", "", kNvfp4, StepKey{"export", "fp8"}, kRecipeAndPlan, kTaken, kNoExport},
    {"rest", "", kNvfp4, StepKey{"export", "rest"}, kRecipeAndPlan, kPlan, kNoExport},
    {"rounding", "", kNvfp4, StepKey{"export", "rounding"}, kRecipeAndPlan, kPlan, kNoExport},
    {"fresh-weight-amax", "", kNvfp4, StepKey{"export", "fresh-weight-amax", "yes"}, kRecipeAndPlan,
     kPlan, kNoExport},

    {"tensor-type", "", kGguf, StepKey{"quantize", "tensor-type"}, kRecipeAndPlan, kPlan,
     kNoQuantizedGguf, "", "tensor-type="},
    {"output-tensor-type", "", kGguf, StepKey{"quantize", "output-tensor-type"}, kRecipeAndPlan,
     kPlan, kNoQuantizedGguf},
    {"token-embedding-type", "", kGguf, StepKey{"quantize", "token-embedding-type"}, kRecipeAndPlan,
     kPlan, kNoQuantizedGguf},
    {"pure", "", kGguf, StepKey{"quantize", "pure", "yes"}, kRecipeAndPlan, kPlan,
     kNoQuantizedGguf},
    {"leave-output-tensor", "", kGguf, StepKey{"quantize", "leave-output-tensor", "yes"},
     kRecipeAndPlan, kPlan, kNoQuantizedGguf},
    {"split-size", "SIZE", kGguf, &C::split_bytes, kRecipeAndPlan, kCommand, "",
     "largest .gguf file, writes a split; auto: equal files"},
    {"split-tensors", "N", kGguf, SplitCount{&C::split_tensors}, kRecipeAndPlan, kCommand, "",
     "most tensors of a .gguf file; writes a split"},
    {"tokenizer-pre", "", kGguf, StepKey{"to-gguf", "tokenizer-pre"}, kRecipeAndPlan, kPlan,
     kNoMadeGguf},
    {"tokenizer-as", "", kGguf, StepKey{"to-gguf", "tokenizer-as"}, kRecipeAndPlan, kPlan,
     kNoMadeGguf},
    {"model-name", "", kGguf, StepKey{"to-gguf", "model-name"}, kRecipeAndPlan, kPlan, kNoMadeGguf},
    {"no-mtp", "", kGguf, StepKey{"to-gguf", "mtp", "no"}, kRecipeAndPlan, kPlan, kNoMadeGguf,
     "drop the layers for multi-token prediction"},
    {"keep-codes", "", kGguf, StepKey{"to-gguf", "keep-codes", "yes"}, kRecipeAndPlan, kPlan,
     kNoMadeGguf},
    {"mmproj", "FILE", kGguf, &C::mmproj, kRecipeAndPlan, kCommand, "",
     "FILE for the projector of a vision model, from the same pass over IN"},
    {"mmproj-only", "", kGguf, &C::mmproj_only, kRecipeAndPlan, kCommand, "",
     "OUT is only the projector; --to is its type: f32, f16, bf16 or q8_0"},
    {"mmproj-type", "", kGguf, StepKey{"to-mmproj", "mmproj-type"}, kRecipeAndPlan, kPlan,
     kNoProjector},

    {"for", "PROFILE", kServing, &C::profiles, kRecipeAndPlan, kCommand, "",
     "apply the fixes that ckpt doctor recommends for this program; ckpt list profiles"},
};

template <class T>
constexpr bool kIsField = !std::is_same_v<T, std::monostate> && !std::is_same_v<T, StepKey> &&
                          !std::is_same_v<T, SplitCount>;

Result<uint64_t> parse_tensor_count(std::string_view text) {
  const auto count = number_from<uint64_t>(text);
  if (count && *count > 0) return *count;
  return misuse("'{}'; expected a number of tensors, like 128", text);
}

class Setter {
 public:
  Setter(Conversion& conversion, const ConvertOption& option, std::string value,
         std::string_view before)
      : conversion_(conversion),
        option_(option),
        name_(fmt::format("{}{}", before, option.name)),
        value_(std::move(value)) {}

  Status operator()(std::monostate) { return {}; }
  Status operator()(std::string C::*field) { return set(conversion_.*field, std::move(value_)); }
  Status operator()(std::filesystem::path C::*field) { return set(conversion_.*field, value_); }
  Status operator()(bool C::*field) { return set(conversion_.*field, value_ == "yes"); }
  Status operator()(uint64_t C::*field) {
    const bool is_of_files = field != &C::header_slack_bytes;
    if (is_of_files && value_ == "auto") return set(conversion_.*field, kAutoFileBytes);
    CKPT_ASSIGN(conversion_.*field, in(name_, parse_size(value_)));
    if (conversion_.*field != 0 || !is_of_files) return {};
    return misuse_hint(fmt::format("{} 5GB", name_), "{} {}: files of no size", name_, value_);
  }
  Status operator()(SplitCount count) {
    CKPT_ASSIGN(conversion_.*count.field, in(name_, parse_tensor_count(value_)));
    return {};
  }
  Status operator()(std::vector<std::string> C::*field) {
    (conversion_.*field).push_back(std::move(value_));
    return {};
  }
  Status operator()(std::vector<AlsoOutput> C::*field) {
    const size_t equals = value_.rfind('=');
    if (equals == value_.npos || equals == 0 || equals + 1 == value_.size()) {
      return misuse("{} '{}'; expected OUT=TYPE", name_, value_);
    }
    (conversion_.*field).push_back({value_.substr(0, equals), value_.substr(equals + 1)});
    return {};
  }
  // Stores a flag. Turning it off stores nothing, and turning it on twice stores it once.
  Status operator()(const StepKey&) {
    const bool is_idle =
        !option_.takes_value() && (value_ != "yes" || conversion_.flags.has(option_.name));
    if (!is_idle) conversion_.flags.add(std::string(option_.name), std::move(value_));
    return {};
  }

 private:
  template <class Field, class Value>
  static Status set(Field& field, Value&& value) {
    field = std::forward<Value>(value);
    return {};
  }

  Conversion& conversion_;
  const ConvertOption& option_;
  std::string name_, value_;
};

}  // namespace

const OptionRule& ConvertOption::rule() const {
  const Transform* transform = find_transform(step()->step);
  CKPT_CHECK(transform != nullptr);
  const OptionRule* found = find_rule(transform->options, step()->key);
  CKPT_CHECK(found != nullptr);
  return *found;
}

bool ConvertOption::takes_value() const {
  return step() != nullptr ? step()->value.empty() : !value.empty();
}

bool ConvertOption::repeats() const {
  return step() != nullptr ? rule().repeats
                           : std::holds_alternative<std::vector<std::string> C::*>(field) ||
                                 std::holds_alternative<std::vector<AlsoOutput> C::*>(field);
}

bool ConvertOption::is_path(std::string_view given) const {
  return step() != nullptr ? rule().is_path(given)
                           : value == "FILE" || value == "DIR" || value == "PATH";
}

std::string ConvertOption::value_name() const {
  return step() != nullptr && takes_value() ? rule().value() : std::string(value);
}

std::string ConvertOption::whole_help() const {
  if (step() == nullptr) return fmt::format("{}{}", help, repeats() ? " (may repeat)" : "");
  OptionRule told = rule();
  if (!help.empty()) told.help = help;
  return takes_value() ? told.whole_help() : std::string(told.help);
}

std::span<const ConvertOption> convert_options() { return kOptions; }

const ConvertOption* find_convert_option(std::string_view name) {
  const auto found = std::ranges::find(kOptions, name, &ConvertOption::name);
  return found == std::end(kOptions) ? nullptr : found;
}

const ConvertOption* find_kept_option(std::string_view spelling, OptionPersistence least) {
  const auto found = std::ranges::find_if(kOptions, [&](const ConvertOption& option) {
    return option.kept >= least && (option.spelling() == spelling || option.name == spelling);
  });
  return found == std::end(kOptions) ? nullptr : found;
}

Status set_option(Conversion& conversion, const ConvertOption& option, std::string value,
                  std::string_view before) {
  return std::visit(Setter(conversion, option, std::move(value), before), option.field);
}

Conversion with_paths(Conversion conversion, const ResolvePath& resolve) {
  const auto resolved = [&](const std::string& path) {
    return path.empty() ? path : resolve(path);
  };
  for (const ConvertOption& option : kOptions) {
    const auto* path = std::get_if<std::filesystem::path C::*>(&option.field);
    const auto* text = std::get_if<std::string C::*>(&option.field);
    if (path != nullptr) conversion.** path = resolved((conversion.**path).string());
    if (text != nullptr && option.is_path("")) conversion.** text = resolved(conversion.**text);
  }
  const Options flags = std::exchange(conversion.flags, {});
  for (const auto& [name, value] : flags.pairs()) {
    const bool is_path = find_convert_option(name)->is_path(value);
    conversion.flags.add(name, is_path ? resolved(value) : value);
  }
  conversion.recipe_steps = with_paths(std::move(conversion.recipe_steps), resolve);
  for (AlsoOutput& also : conversion.also) also.out = resolved(also.out.string());
  return conversion;
}

void clear_option(Conversion& conversion, const ConvertOption& option) {
  std::visit(
      [&](const auto& field) {
        using Field = std::decay_t<decltype(field)>;
        if constexpr (kIsField<Field>) {
          conversion.*field = std::decay_t<decltype(conversion.*field)>();
        }
        if constexpr (std::is_same_v<Field, SplitCount>) conversion.*field.field = 0;
        if constexpr (std::is_same_v<Field, StepKey>) conversion.flags.remove(option.name);
      },
      option.field);
}

bool is_written(const ConvertOption& option) {
  return has_word("OUT outfile also mmproj plan-out cache-dir target-cache", option.name);
}

std::string convert_line(const Conversion& conversion, std::string_view out) {
  const auto typed = std::ranges::find_if(conversion.given, [](const GivenOption& given) {
    return given.name == "IN" && !given.is_from_recipe;
  });
  const bool is_typed = typed != conversion.given.end();
  const std::string in = is_typed ? typed->value : conversion.in.string();
  return fmt::format("ckpt convert {} {}", shell_path(in), out);
}

}  // namespace ckpt

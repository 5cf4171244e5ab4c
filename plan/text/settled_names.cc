// Brings a request into ckpt's spelling before planning, so that later code compares exact names.
#include <algorithm>
#include <utility>

#include "core/io/remote_files.h"
#include "plan/conversion/added_steps.h"
#include "plan/conversion/advice.h"
#include "plan/conversion/imatrix_fit.h"
#include "plan/conversion/observer.h"
#include "plan/conversion/option_table.h"
#include "plan/conversion/targets.h"
#include "plan/text/type_names.h"

namespace ckpt {
namespace {

// The value that was typed; "" if the option was not typed or only set by a recipe.
std::string typed_value(const Conversion& conversion, std::string_view name) {
  const auto is_typed = [&](const GivenOption& given) {
    return given.name == name && !given.is_from_recipe;
  };
  const auto found = std::ranges::find_if(conversion.given, is_typed);
  return found == conversion.given.end() ? std::string() : found->value;
}

// Notes a small number without a unit: it counts bytes, which is seldom intended.
void note_bytes(Observer& observer, std::string_view option, std::string_view text,
                uint64_t bytes) {
  constexpr uint64_t kLeastUsualBytes = 1'000'000;
  if (bytes >= kLeastUsualBytes || text.find_first_not_of("0123456789.") != text.npos) return;
  observer.note(fmt::format("{} {} is {} bytes; with a unit it is more: {} {}GB", option, text,
                            bytes, option, text));
}

// Requires that each typed size applies to an output, as each limits files of one format.
Status check_sizes(const Conversion& conversion, Observer& observer) {
  const std::string shard = typed_value(conversion, "shard-size");
  const std::string split = typed_value(conversion, "split-size");
  if (!shard.empty()) note_bytes(observer, "--shard-size", shard, conversion.shard_bytes);
  if (!split.empty()) note_bytes(observer, "--split-size", split, conversion.split_bytes);
  const auto is_file = [](const AlsoOutput& also) { return is_gguf_path(also.out); };
  const bool is_gguf = is_gguf_path(conversion.out);
  const bool has_folder = !is_gguf || !std::ranges::all_of(conversion.also, is_file);
  const bool has_gguf = is_gguf || std::ranges::any_of(conversion.also, is_file);
  if (!shard.empty() && !split.empty() && !(has_folder && has_gguf)) {
    return misuse("--shard-size is for folders, --split-size for .gguf; one of them");
  }
  if (shard.empty() || has_folder) return {};
  return misuse_hint(fmt::format("--split-size {}", shard),
                     "--shard-size is for files of a folder; {} is one .gguf",
                     conversion.out.string());
}

Status settle_names(Conversion& conversion) {
  if (!conversion.to.empty()) CKPT_SET(conversion.to, target_type_named("--to ", conversion.to));
  for (AlsoOutput& also : conversion.also) {
    CKPT_ASSIGN(also.to, target_type_named(fmt::format("--also {}=", also.out.string()), also.to));
  }
  const Options typed = std::exchange(conversion.flags, {});
  for (const auto& [name, value] : typed.pairs()) {
    const OptionRule& rule = find_convert_option(name)->rule();
    const std::string known = rule.kind == ValueKind::kType ? tensor_type_named(value)
                              : name == "tensor-type"       ? rule_with_type_named(value)
                                                            : value;
    auto checked = check_value(rule, known, fmt::format("--{} ", name));
    if (!checked && checked.error().hint.empty()) checked.error().hint = "ckpt help convert";
    CKPT_TRY(std::move(checked));
    conversion.flags.add(name, known);
  }
  CKPT_ASSIGN(conversion.profiles, profiles_named(conversion.profiles));
  return {};
}

Status settle_moments(Conversion& conversion, Observer& observer) {
  const auto moments = conversion.flags.get("moments");
  if (!moments || !is_imatrix_file(*moments)) return {};
  if (!conversion.imatrix.empty()) {
    return misuse_hint("one of them", "--moments {} and --imatrix {}: two importance matrices",
                       *moments, conversion.imatrix);
  }
  observer.note(note_of_imatrix_as_moments(*moments));
  conversion.imatrix = *moments;
  conversion.flags.remove("moments");
  for (GivenOption& given : conversion.given) {
    if (given.name == "moments") given.name = "imatrix";
  }
  return {};
}

// Suggests the command with a free name for OUT, if the type of --to tells what OUT will be.
std::string line_with_out(const Conversion& conversion) {
  const auto type = target_type_named("", conversion.to);
  if (conversion.in.empty() || !type) return "ckpt help convert";
  const std::string_view ending = is_export_type(*type) ? "" : ".gguf";
  return convert_line(conversion, free_name(conversion.in, *type, ending));
}

}  // namespace

Status settle_conversion(Conversion& conversion, Observer& observer) {
  CKPT_TRY(refuse_url(conversion.out));
  CKPT_ASSIGN(conversion.in, pinned_path(conversion.in));
  if (conversion.in.empty() || conversion.out.empty()) {
    return misuse_hint(line_with_out(conversion), "{} is missing",
                       conversion.in.empty() ? "IN" : "OUT");
  }
  CKPT_TRY(spread_types(conversion));
  CKPT_TRY(check_sizes(conversion, observer));
  CKPT_TRY(settle_names(conversion));
  return settle_moments(conversion, observer);
}

}  // namespace ckpt

// Handles several types typed for one OUT, and types typed in place of OUT.
//
//   --to q6_k,q5_k_m     OUT model-{type}.gguf     two outputs from reading IN once
#include <algorithm>
#include <span>

#include "core/base/printable.h"
#include "core/base/words.h"
#include "core/io/folder.h"
#include "plan/conversion/added_steps.h"
#include "plan/conversion/conversion.h"
#include "plan/conversion/option_table.h"
#include "plan/text/type_names.h"

namespace ckpt {
namespace {

// Placeholders, also those of convert_hf_to_gguf; one in capitals gets the type in capitals.
constexpr std::string_view kPlaces[] = {"{type}", "{ftype}", "{TYPE}", "{FTYPE}"};

bool has_place(std::string_view out) {
  return std::ranges::any_of(kPlaces, [&](auto place) { return out.find(place) != out.npos; });
}

std::string with_type(std::string out, const std::string& type) {
  for (const std::string_view place : kPlaces) {
    const std::string word = place.find('T') == place.npos ? type : upper_case(type);
    for (size_t at = 0; (at = out.find(place, at)) != out.npos; at += word.size()) {
      out.replace(at, place.size(), word);
    }
  }
  return out;
}

// Names the output by its type: "model-q5_k_m.gguf" for "model.gguf" or "model-bf16.gguf".
std::string named_by_type(const Conversion& conversion, const std::string& type) {
  const auto in = conversion.in.has_filename() ? conversion.in : conversion.in.parent_path();
  std::string stem = has_ending(in.native(), ".gguf") ? in.stem().string() : in.filename().string();
  for (const std::string_view end : {"bf16", "f16", "f32", "BF16", "F16", "F32"}) {
    if (stem.size() > end.size() + 1 && stem.ends_with(end)) {
      stem.resize(stem.size() - end.size() - 1);
    }
  }
  return stem + "-" + type + (is_export_type(type) ? "" : ".gguf");
}

// Suggests a command for several types. OUT contains {type} if all outputs are files or all are
// folders; otherwise the command names each output.
std::string line_of_types(const Conversion& conversion, const std::vector<std::string>& types) {
  const std::string out = (conversion.out / "").parent_path().string();
  const bool is_gguf = has_ending(out, ".gguf");
  const std::string stem = is_gguf ? out.substr(0, out.size() - 5) : out;
  const auto is_codes = [](const auto& type) {
    return !is_export_type(type) && !is_float_type(type);
  };
  const bool has_codes = is_gguf || std::ranges::any_of(types, is_codes);
  const auto name = [&](const std::string& type, const std::string& word) {
    const bool is_file = !is_export_type(type) && has_codes;
    return stem + "-" + word + (is_file ? ".gguf" : "");
  };
  const auto is_alike = [&](const auto& type) {
    return name(type, "") == name(types[0], "");
  };
  if (std::ranges::all_of(types, is_alike)) {
    const std::string place = shell_path(name(types[0], "{type}"));
    return fmt::format("{} --to {}", convert_line(conversion, place), fmt::join(types, ","));
  }
  const std::string first = shell_path(name(types[0], types[0]));
  std::string line = fmt::format("{} --to {}", convert_line(conversion, first), types[0]);
  for (const std::string& type : std::span(types).subspan(1)) {
    line += " --also " + shell_word(fmt::format("{}={}", name(type, type), type));
  }
  return line;
}

// Rejects a type as OUT, which `llama-quantize model.gguf Q5_K_M` accepts; here it names a folder.
Status refuse_type_as_out(const Conversion& conversion) {
  const std::string out = conversion.out.string();
  const auto type = target_type_named("", out);
  const bool has_steps = !conversion.steps.empty() || !conversion.recipe_steps.empty();
  if (!type || !conversion.to.empty() || has_steps) return {};
  CKPT_ASSIGN(const bool exists, is_there(conversion.out));
  if (exists) return {};
  const std::string named = shell_path(named_by_type(conversion, *type));
  return misuse_hint(fmt::format("{} --to {}, or ./{} for a folder of that name",
                                 convert_line(conversion, named), *type, out),
                     "OUT is '{}', the name of a type; expected NAME.gguf or a folder", out);
}

}  // namespace

Status spread_types(Conversion& conversion) {
  CKPT_TRY(refuse_type_as_out(conversion));
  for (AlsoOutput& also : conversion.also) also.out = with_type(also.out.string(), also.to);
  const std::string out = conversion.out.string();
  if (conversion.to.empty() && has_place(out)) {
    return misuse_hint("--to TYPE", "OUT {}: has a place for a type, but --to is missing", out);
  }
  if (conversion.to.empty()) return {};
  std::vector<std::string> types;
  for (const std::string& word : words_between_commas(conversion.to)) {
    CKPT_ASSIGN(std::string type, target_type_named("--to ", word));
    if (std::ranges::find(types, type) != types.end()) {
      return misuse("--to {}: {} is named twice", conversion.to, type);
    }
    types.push_back(std::move(type));
  }
  if (types.size() > 1 && !has_place(out)) {
    return misuse_hint(line_of_types(conversion, types),
                       "--to {}: {} types for one OUT; expected {{type}} in its name, or --also",
                       conversion.to, types.size());
  }
  conversion.to = types[0];
  conversion.out = with_type(out, types[0]);
  for (size_t i = 1; i < types.size(); ++i) {
    conversion.also.insert(conversion.also.begin() + static_cast<std::ptrdiff_t>(i - 1),
                           {with_type(out, types[i]), types[i]});
  }
  return {};
}

}  // namespace ckpt

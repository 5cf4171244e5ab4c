#include "plan/text/plan_file.h"

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "core/base/numbers.h"
#include "core/io/files_read.h"
#include "core/io/remote_files.h"
#include "core/json/json_edit.h"
#include "core/resume/ledger_files.h"
#include "plan/conversion/option_table.h"
#include "plan/text/recipe.h"
#include "transforms/transforms.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

constexpr uint64_t kPlanFileVersion = 1;

// The list of pairs that stores an option of a step, or "" if the option has its own key.
std::string_view list_of(const ConvertOption& option) {
  if (option.rule().repeats) return "rules";
  return option.step()->step == "export" ? "export" : "";
}

std::optional<uint64_t Conversion::*> whole_of(const ConvertOption& option) {
  if (const auto* bytes = std::get_if<uint64_t Conversion::*>(&option.field)) return *bytes;
  const auto* count = std::get_if<SplitCount>(&option.field);
  return count == nullptr ? std::nullopt : std::optional(count->field);
}

// An absolute path, or a URL with the commit that was read.
std::string absolute(const std::string& path) {
  if (is_url(path)) return pinned_path(path).value_or(path).string();
  std::error_code error;
  const fs::path out = fs::absolute(path, error);
  return error ? path : out.string();
}

// This key is not an option: it keeps the name under which outputs record the importance matrix.
constexpr std::string_view kImatrixName = "imatrix-name";

using Pairs = std::vector<Options::Pair>;

JsonText pairs_json(const Pairs& pairs) {
  JsonText out = JsonText::array();
  for (const auto& [key, value] : pairs) out.items().push_back(JsonText::texts({key, value}));
  return out;
}

// The value of a field; null if it is empty, or stored under another spelling.
JsonText field_json(const Conversion& conversion, const ConvertOption& option) {
  if (const auto* path = std::get_if<fs::path Conversion::*>(&option.field)) {
    const std::string text = (conversion.**path).string();
    return text.empty() ? JsonText::null() : JsonText::text(text);
  }
  if (const auto* text = std::get_if<std::string Conversion::*>(&option.field)) {
    return (conversion.**text).empty() ? JsonText::null() : JsonText::text(conversion.**text);
  }
  if (const auto* flag = std::get_if<bool Conversion::*>(&option.field)) {
    return conversion.**flag ? JsonText::boolean(true) : JsonText::null();
  }
  if (const auto number = whole_of(option)) {
    return conversion.**number > 0 ? JsonText::number(conversion.**number) : JsonText::null();
  }
  return JsonText::null();
}

JsonText conversion_json(const Conversion& conversion) {
  JsonText out = JsonText::object();
  for (const ConvertOption& option : convert_options()) {
    if (option.kept != OptionPersistence::kRecipeAndPlan) continue;
    JsonText value = field_json(conversion, option);
    if (!value.is_null()) out.set(option.spelling(), std::move(value));
  }
  std::map<std::string_view, Pairs> lists;
  for (const auto& [name, value] : conversion.flags.pairs()) {
    const ConvertOption& option = *find_convert_option(name);
    if (const auto list = list_of(option); !list.empty()) {
      lists[list].emplace_back(name, value);
    } else {
      out.set(name, option.takes_value() ? JsonText::text(value) : JsonText::boolean(true));
    }
  }
  if (!conversion.imatrix_name.empty()) {
    out.set(kImatrixName, JsonText::text(conversion.imatrix_name));
  }
  if (!conversion.profiles.empty()) out.set("for", JsonText::texts(conversion.profiles));
  for (const auto& [list, pairs] : lists) out.set(list, pairs_json(pairs));
  JsonText steps = JsonText::array(), also = JsonText::array();
  for (const Step& step : conversion.recipe_steps) {
    JsonText& json = steps.items().emplace_back(JsonText::object());
    json.set("name", JsonText::text(step.transform->name));
    json.set("options", pairs_json(step.options.pairs()));
  }
  for (const AlsoOutput& one : conversion.also) {
    JsonText& json = also.items().emplace_back(JsonText::object());
    json.set("out", JsonText::text(one.out.string()));
    json.set("to", JsonText::text(one.to));
  }
  if (!steps.items().empty()) out.set("steps", std::move(steps));
  if (!also.items().empty()) out.set("also", std::move(also));
  return out;
}

Failure bad_value(std::string_view key, const JsonText& value, std::string_view expected) {
  return misuse("\"{}\": {}; expected {}", key, value.dump(0).substr(0, 80), expected);
}

Result<std::string> text_of(std::string_view key, const JsonText& value) {
  auto text = value.as_text();
  if (!text) return bad_value(key, value, "text");
  return std::move(*text);
}

Result<Pairs> pairs_of(std::string_view key, const JsonText& value) {
  Pairs out;
  for (const JsonText& item : value.items()) {
    if (item.items().size() != 2) return bad_value(key, item, "[\"NAME\", \"VALUE\"]");
    auto& [name, content] = out.emplace_back();
    CKPT_ASSIGN(name, text_of(key, item.items()[0]));
    CKPT_ASSIGN(content, text_of(key, item.items()[1]));
  }
  return out;
}

Result<Step> step_of_plan(const JsonText& json) {
  CKPT_ASSIGN(const std::string name,
              text_of("name", json.find("name") ? *json.find("name") : JsonText::null()));
  Step step{find_transform(name), {}};
  if (step.transform == nullptr) return misuse("no step is called '{}'", name);
  const JsonText* options = json.find("options");
  if (options == nullptr) return step;
  CKPT_ASSIGN(const Pairs pairs, pairs_of("options", *options));
  for (const auto& [key, value] : pairs) CKPT_TRY(add_option(step, key, value));
  return step;
}

Status list_of_plan(std::string_view key, const JsonText& value, Conversion& out) {
  if (!value.is_array()) return bad_value(key, value, "an array");
  if (key == "rules" || key == "export") {
    CKPT_ASSIGN(const Pairs pairs, pairs_of(key, value));
    for (const auto& [name, content] : pairs) {
      const ConvertOption* option = find_convert_option(name);
      if (option == nullptr || option->step() == nullptr || list_of(*option) != key) {
        return misuse("\"{}\": option '{}' is not known", key, name);
      }
      out.flags.add(name, content);
    }
    return {};
  }
  for (const JsonText& item : value.items()) {
    if (key == "for") {
      CKPT_ASSIGN(out.profiles.emplace_back(), text_of(key, item));
    } else if (key == "steps") {
      CKPT_ASSIGN(out.recipe_steps.emplace_back(), step_of_plan(item));
    } else {
      const auto to_path = item.find_text("out"), type = item.find_text("to");
      if (!to_path || !type) return bad_value(key, item, "{\"out\": OUT, \"to\": TYPE}");
      out.also.push_back({*to_path, *type});
    }
  }
  return {};
}

Status field_of_plan(std::string_view key, const JsonText& value, Conversion& out) {
  constexpr std::array<std::string_view, 5> kLists = {"for", "rules", "export", "steps", "also"};
  if (std::ranges::find(kLists, key) != kLists.end()) return list_of_plan(key, value, out);
  if (key == kImatrixName) {
    CKPT_ASSIGN(out.imatrix_name, text_of(key, value));
    return {};
  }
  const ConvertOption* option = find_kept_option(key, OptionPersistence::kRecipeAndPlan);
  if (option == nullptr || (option->step() != nullptr && !list_of(*option).empty())) {
    return misuse("key \"{}\" is not known", key);
  }
  if (const auto number = whole_of(*option)) {
    const auto whole = value.as_whole();
    if (!whole) return bad_value(key, value, "a whole number");
    out.** number = *whole;
    return {};
  }
  if (!option->takes_value()) {
    const auto is_on = value.as_boolean();
    if (!is_on) return bad_value(key, value, "true or false");
    return set_option(out, *option, *is_on ? "yes" : "no", "");
  }
  CKPT_ASSIGN(std::string text, text_of(key, value));
  return set_option(out, *option, std::move(text), "");
}

Result<Conversion> read_conversion(const JsonText& json) {
  if (!json.is_object()) return bad_value("convert", json, "an object");
  Conversion out;
  for (const auto& [key, value] : json.members()) CKPT_TRY(field_of_plan(key, value, out));
  return out;
}

Status read_inputs(const JsonText& json, PlanFile& file) {
  for (const JsonText& item : json.items()) {
    const auto path = item.find_text("path");
    const auto size = item.find_whole("size_bytes");
    const JsonText* time = item.find("modified_ns");
    const auto modified =
        number_from<int64_t>(time == nullptr ? std::string_view() : time->token());
    if (!path || !size || !modified) {
      return bad_value("inputs", item, "path, size_bytes, modified_ns");
    }
    file.inputs.push_back({*path, *size, *modified, 0});
  }
  return {};
}

Result<PlanFile> read_plan(const JsonText& root, const fs::path& folder) {
  PlanFile file;
  if (root.find_whole("ckpt_plan") != kPlanFileVersion) {
    return misuse("no plan of ckpt; expected \"ckpt_plan\": {}", kPlanFileVersion);
  }
  for (const auto& [key, value] : root.members()) {
    if (key == "convert") {
      CKPT_ASSIGN(file.conversion, in("\"convert\"", read_conversion(value)));
    } else if (key == "inputs") {
      CKPT_TRY(in("\"inputs\"", read_inputs(value, file)));
    } else if (key == "version" || key == "digest") {
      CKPT_ASSIGN((key == "version" ? file.version : file.digest), text_of(key, value));
    } else if (key != "ckpt_plan" && key != "files") {
      return misuse("key \"{}\" is not known", key);
    }
  }
  const auto resolve = [&](const std::string& path) { return path_from(folder, path); };
  file.conversion = with_paths(std::move(file.conversion), resolve);
  if (!file.conversion.in.empty() && !file.conversion.out.empty()) return file;
  return misuse("no \"in\" or no \"out\" in \"convert\"");
}

}  // namespace

Result<PlanFile> parse_plan_file(std::string_view text, const fs::path& folder) {
  auto root = JsonText::parse(text);
  if (!root) {
    root.error().code = ErrorCode::kUsage;
    return Failure(std::move(root.error()));
  }
  CKPT_TRY(refuse_url_logins(*root));
  return read_plan(*root, folder);
}

Result<PlanFile> read_plan_file(const fs::path& path) {
  constexpr uint64_t kMaxPlanBytes = uint64_t{64} << 20;
  CKPT_ASSIGN(const std::string text, read_small(path, kMaxPlanBytes));
  std::error_code error;
  return in(path.string(), parse_plan_file(text, fs::absolute(path, error).parent_path()));
}

std::string render_plan_file(const PlanFile& file, const Plan& plan) {
  JsonText root = JsonText::object();
  root.set("ckpt_plan", JsonText::number(kPlanFileVersion));
  root.set("version", JsonText::text(file.version));
  root.set("digest", JsonText::text(file.digest));
  root.set("convert", conversion_json(file.conversion));
  JsonText inputs = JsonText::array(), files = JsonText::array();
  for (const InputFile& input : file.inputs) {
    JsonText& json = inputs.items().emplace_back(JsonText::object());
    json.set("path", JsonText::text(input.path));
    json.set("size_bytes", JsonText::number(input.size_bytes));
    const bool is_known = input.modified_ns != kTimeUnknown;
    json.set("modified_ns", JsonText::number(is_known ? input.modified_ns : 0));
  }
  for (const Output& output : plan.outputs) {
    for (const OutputFile& one : output.layout.files) {
      JsonText& json = files.items().emplace_back(JsonText::object());
      json.set("path", JsonText::text(final_path(output, one).string()));
      json.set("size_bytes", JsonText::number(one.size_bytes));
    }
  }
  root.set("inputs", std::move(inputs));
  root.set("files", std::move(files));
  return root.dump(2) + "\n";
}

Result<Conversion> settled(Conversion conversion) {
  if (conversion.imatrix_name.empty() && !is_url(conversion.imatrix)) {
    conversion.imatrix_name = conversion.imatrix;
  }
  CKPT_ASSIGN(std::vector<Step> steps, parse_steps(conversion.steps));
  if (!steps.empty()) conversion.recipe_steps = std::move(steps);
  conversion.steps.clear();
  return with_paths(std::move(conversion), absolute);
}

Result<PlanFile> plan_file_of(Conversion conversion, const Plan& plan) {
  ExecuteOptions options;
  options.allow_nonfinite = conversion.allow_nonfinite;
  options.resume.version = CKPT_VERSION;
  CKPT_ASSIGN(PlanDigest digest, digest_of(plan, options));
  return PlanFile{CKPT_VERSION, digest.sha256, std::move(conversion), std::move(digest.inputs)};
}

Result<PlannedConversion> plan_again(const PlanFile& file, const ExecuteOptions& options) {
  CKPT_ASSIGN(PlannedConversion planned, plan_conversion(file.conversion));
  CKPT_ASSIGN(const PlanDigest digest, digest_of(planned.plan, options));
  const std::string changed = changed_input(file.inputs, digest.inputs, false);
  const std::string hint = "the command that made the plan again, with --plan-out";
  if (!changed.empty()) {
    return misuse_hint(hint, "an input changed since the plan was made: {}", changed);
  }
  if (digest.sha256 == file.digest) return planned;
  if (file.version != CKPT_VERSION) {
    return misuse_hint(hint, "the plan was made by ckpt {}; this is {}", file.version,
                       CKPT_VERSION);
  }
  return misuse_hint(hint,
                     "this is another plan by now: documents of IN ({}) or files that options "
                     "name have changed",
                     file.conversion.in.string());
}

}  // namespace ckpt

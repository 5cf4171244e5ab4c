// ckpt list: prints the program's tables: types, checks, families, steps and options.
#include <nlohmann/json.hpp>

#include "checks/checks.h"
#include "core/base/words.h"
#include "formats/formats.h"
#include "plan/conversion/option_table.h"
#include "plan/text/type_names.h"
#include "quantizers/quantizers.h"
#include "tools/line/commands.h"
#include "tools/line/help.h"
#include "tools/line/typed_words.h"
#include "tools/say/severity.h"
#include "transforms/transforms.h"

namespace ckpt {
namespace {

using Words = std::vector<std::string>;

struct TypedList {
  std::string what;
  bool all = false;
};

void list_formats(const Console& console) {
  Table table({"format", "what"});
  for (const Format* format : all_formats()) {
    table.add({std::string(format->name), std::string(format->help)});
    console.object("format", {{"name", format->name}, {"help", format->help}});
  }
  console.answer_table(table);
}

// Lists the values of --to. With --all it also lists the types that tensors are stored as, some of
// which have the same names.
void list_types(const Console& console, bool all) {
  Table table({"type", "bits/weight", "error", "what"});
  for (const TargetType& type : target_types()) {
    table.add({std::string(type.name), fmt::format("{:.2f}", type.bits),
               fmt::format("{:.2f} %", type.error), type.help});
    console.object("type", {{"name", type.name},
                            {"kind", type.kind},
                            {"help", type.help},
                            {"base", type.base},
                            {"bits_per_weight", type.bits},
                            {"error_percent", type.error}});
  }
  console.answer_table(table, {false, true, true});
  Table stored({"type", "ckpt can", "what"});
  for (const Codec* codec : all_codecs()) {
    const std::string_view kind = codec->encode != nullptr   ? "encode, decode"
                                  : codec->decode != nullptr ? "decode"
                                                             : "copy";
    stored.add({std::string(codec->name), std::string(kind), std::string(codec->help)});
    console.object("type", {{"name", codec->name}, {"kind", kind}, {"help", codec->help}});
  }
  console.answer("");
  if (all) console.answer_table(stored);
  console.answer(
      "Bits and error (of the weights' size, in percent) are those of normally distributed weights "
      "in a model of 8 B parameters. ckpt help TYPE tells more{}.",
      all ? "" : ", ckpt list types --all lists the types of tensors");
}

Json rule_json(const OptionRule& rule) {
  Json out = {{"name", rule.name},          {"value", rule.value()},
              {"help", rule.help},          {"repeats", rule.repeats},
              {"kind", name_of(rule.kind)}, {"required", rule.is_required}};
  if (!rule.words().empty()) out["choices"] = rule.words();
  if (!rule.otherwise.empty()) out["default"] = rule.otherwise;
  if (rule.kind == ValueKind::kNumber) out["range"] = {rule.least, rule.most};
  return out;
}

void list_steps(const Console& console) {
  for (const Transform* step : all_transforms()) {
    console.answer_headed(step->name, fmt::format("  ({}) {}", step->effect(), step->help));
    Json options = Json::array();
    for (const OptionRule& rule : step->options) {
      console.answer("    {}={}  {}", rule.name, rule.value(), rule.whole_help());
      options.push_back(rule_json(rule));
    }
    console.object("step", {{"name", step->name},
                            {"effect", step->effect()},
                            {"help", step->help},
                            {"options", options}});
  }
}

// Whether NVFP4 and FP8 exports cover all linear layers of a family, or which ones they omit.
std::string export_of(const FamilyInfo& family, bool for_json) {
  if (!family.not_in_nvfp4.empty()) {
    return fmt::format("{} {}", for_json ? "all but" : "no", family.not_in_nvfp4);
  }
  if (!family.has_fp8_export) return for_json ? "all as nvfp4" : "nvfp4";
  return for_json ? "all" : "yes";
}

void list_families(const Console& console) {
  Table table({"family", "--mmproj", "vl-wrap", "from GGUF", "nvfp4, fp8", "architectures"});
  for (const FamilyInfo& family : all_families()) {
    table.add({std::string(family.name), family.has_projector ? "yes" : "-",
               family.has_wrapper ? "yes" : "-", family.comes_back ? "yes" : "-",
               export_of(family, false), std::string(family.architectures)});
    console.object("family", {{"name", family.name},
                              {"architectures", family.architectures},
                              {"projector", family.has_projector},
                              {"vl_wrap", family.has_wrapper},
                              {"from_gguf", family.comes_back},
                              {"export", export_of(family, true)}});
  }
  console.answer_table(table);
}

void list_pre_tokenizers(const Console& console) {
  for (const PreTokenizerRules& one : all_pre_tokenizers()) {
    console.answer_headed(one.names, "");
    for (const std::string& rule : one.rules) console.answer("    {}", rule);
    console.object("pre-tokenizer", {{"names", split_words(one.names)}, {"rules", one.rules}});
  }
}

// Lists each check with the worst severity that any program gives it. `ckpt help CHECK` lists the
// programs.
void list_checks(const Console& console) {
  const auto profiles = all_profiles();
  Table table({"check", "at worst", "what"});
  for (const CheckInfo& check : all_checks()) {
    Json severities = Json::object();
    std::optional<Severity> worst;
    for (size_t i = 0; i < check.severities.size(); ++i) {
      const auto& severity = check.severities[i];
      if (severity) severities[profiles[i].name] = severity_name(*severity);
      worst = std::max(worst, severity);
    }
    table.add({std::string(check.id), std::string(worst ? severity_word(*worst) : "-"),
               fmt::format("{}{}", check.title, check.is_deep ? " (--deep)" : "")});
    console.object("check", {{"id", check.id},
                             {"title", check.title},
                             {"cause", check.cause},
                             {"effect", check.effect},
                             {"step", check.step},
                             {"advice", check.advice},
                             {"example", check.example},
                             {"deep", check.is_deep},
                             {"severities", severities}});
  }
  console.answer_table(table);
}

void list_profiles(const Console& console) {
  Table table({"profile", "program", "version", "facts of", "what"});
  for (const ProfileInfo& profile : all_profiles()) {
    const std::string read = fmt::format("{} (read)", profile.date);
    table.add({std::string(profile.name), std::string(profile.program),
               std::string(profile.version), profile.is_released ? std::string(profile.date) : read,
               std::string(profile.help)});
    console.object("profile", {{"name", profile.name},
                               {"help", profile.help},
                               {"program", profile.program},
                               {"version", profile.version},
                               {profile.is_released ? "released" : "read", profile.date}});
  }
  console.answer_table(table);
}

// Prints the options of convert. docs/OPTIONS.md and docs/RECIPES.md are made from the JSON.
void list_options(const Console& console) {
  static constexpr std::string_view kEffects[] = {"command", "taken", "offered", "plan",
                                                  "plan-if-taken"};
  static constexpr std::string_view kKept[] = {"", "recipe", "recipe, plan"};
  Table table({"option", "group", "kept in", "has no effect where"});
  for (const ConvertOption& option : convert_options()) {
    const std::string_view kept = kKept[static_cast<size_t>(option.kept)];
    table.add({std::string(option.name), std::string(option.group), std::string(kept),
               std::string(option.unused)});
    const bool has_words = option.step() != nullptr && option.takes_value();
    console.object("option", {{"name", option.name},
                              {"group", option.group},
                              {"value", option.value_name()},
                              {"choices", has_words ? option.rule().words() : Words()},
                              {"path", option.is_path("")},
                              {"repeats", option.repeats()},
                              {"kept", kept},
                              {"key", option.spelling()},
                              {"effect", kEffects[static_cast<size_t>(option.effect)]},
                              {"unused", option.unused},
                              {"help", option.whole_help()}});
  }
  console.answer_table(table);
}

// An option of any command, as its help prints it. The Python package's arguments are made from
// these objects.
Json option_json(const Option& option) {
  const Words names = stands_alone(option) ? Words{option.names} : names_of(option);
  return {{"names", names},
          {"value", takes_value(option) ? value_word(option) : ""},
          {"choices", option.is_checked_later ? Words() : option.choices},
          {"number", takes_number(option)},
          {"optional", option.is_value_optional},
          {"repeats", takes_list(option) || option.may_repeat},
          {"help", whole_help(option)}};
}

void list_commands(const Console& console) {
  Table table({"command", "group", "what"});
  for (const Command* command : all_commands()) {
    CommandOptions options;
    CommonOptions common;
    const Run run = command->declare(options);  // keeps the targets of the options alive
    declare_common(options, common);
    Json listed = Json::array();
    for (const Option& option : options.declared()) listed.push_back(option_json(option));
    table.add(
        {std::string(command->name), std::string(group_of(*command)), std::string(command->help)});
    console.object("command", {{"name", command->name},
                               {"group", group_of(*command)},
                               {"help", command->help},
                               {"options", std::move(listed)}});
  }
  console.answer_table(table);
}

Result<int> list(const TypedList& typed, const Console& console) {
  struct List {
    std::string_view name;
    void (*print)(const Console&);
  };
  static constexpr List kLists[] = {{"formats", list_formats}, {"types", nullptr},
                                    {"steps", list_steps},     {"families", list_families},
                                    {"checks", list_checks},   {"profiles", list_profiles},
                                    {"options", list_options}, {"commands", list_commands},
                                    {"pre-tokenizers", list_pre_tokenizers}};
  for (const List& entry : kLists) {
    if (!typed.what.empty() && typed.what != entry.name) continue;
    if (typed.what.empty()) console.answer_headed(entry.name, "");
    entry.print != nullptr ? entry.print(console) : list_types(console, typed.all);
    if (typed.what.empty()) console.answer("");
  }
  return 0;
}

Run declare_list(CommandOptions& options) {
  auto typed = std::make_shared<TypedList>();
  options.add("WHAT", &typed->what, "what to list (default: all)",
              {.choices = {"formats", "types", "steps", "families", "checks", "profiles", "options",
                           "commands", "pre-tokenizers"}});
  options.add("--all", &typed->all, "types: also those that tensors are stored as");
  return [typed](const Console& console, const CommonOptions&) { return list(*typed, console); };
}

}  // namespace

extern const Command kListCommand{
    "list", "Lists formats, types, steps, families, checks, profiles and more.",
    "  ckpt list\n  ckpt list types", declare_list};

}  // namespace ckpt

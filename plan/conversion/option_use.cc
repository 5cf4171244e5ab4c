// Reports given options without effect on the plan: typed ones as errors, those of a recipe as
// notes.
#include <algorithm>

#include "core/base/printable.h"
#include "plan/conversion/added_steps.h"
#include "plan/conversion/option_table.h"

namespace ckpt {
namespace {

// The typed step that could take the option, if any; then only its own options have an effect.
std::string find_step_option(const Conversion& conversion, const GivenOption& given) {
  const ConvertOption* option = find_convert_option(given.name);
  const StepKey* own = option == nullptr ? nullptr : option->step();
  const std::string_view key = own == nullptr ? given.name : own->key;
  std::string value = own == nullptr || own->value.empty() ? given.value : std::string(own->value);
  if (value.find(',') != value.npos) value = fmt::format("\"{}\"", value);
  for (const std::string& text : conversion.steps) {
    const auto step = parse_step(text);
    if (!step) continue;
    if (find_rule(step->transform->options, key) != nullptr) {
      const char join = text.find(':') == text.npos ? ':' : ',';
      return fmt::format("--step {} instead",
                         shell_word(fmt::format("{}{}{}={}", text, join, key, value)));
    }
  }
  return {};
}

bool already_noted(const ConvertOption& row, const std::vector<std::string>& notes) {
  const std::string name = fmt::format("--{} ", row.name);
  return std::ranges::any_of(notes, [&](const std::string& note) {
    return note.find(name) != note.npos ||
           (!row.noted_as.empty() && note.find(row.noted_as) != note.npos);
  });
}

}  // namespace

Status check_options_used(const Conversion& conversion, const OptionUse& use,
                          const Context& context) {
  std::set<std::string_view> seen;
  std::vector<std::pair<std::string_view, std::vector<std::string>>> refused;  // by reason
  std::string hint;
  for (const GivenOption& given : conversion.given) {
    const ConvertOption* row = find_convert_option(given.name);  // null: every command has it
    if (row == nullptr || row->unused.empty() || use.has(given.name)) continue;
    if (!seen.insert(given.name).second) continue;
    if (given.is_from_recipe || is_offer(row->effect)) {
      context.note("--{} has no effect: {}", given.name, row->unused);
      continue;
    }
    const auto same =
        std::ranges::find_if(refused, [&](const auto& each) { return each.first == row->unused; });
    auto& names = same == refused.end()
                      ? refused.emplace_back(row->unused, std::vector<std::string>())
                      : *same;
    names.second.push_back(fmt::format("--{}", given.name));
    if (hint.empty()) hint = find_step_option(conversion, given);
  }
  if (refused.empty()) return {};
  std::string what;
  for (const auto& [reason, names] : refused) {
    what += fmt::format("{}{} {} no effect: {}", what.empty() ? "" : "; ", fmt::join(names, ", "),
                        names.size() == 1 ? "has" : "have", reason);
  }
  const bool lacks_type = conversion.to.empty() && conversion.steps.empty() &&
                          conversion.out.extension() != ".gguf" &&
                          find_convert_option("preset")->unused == refused[0].first;
  if (hint.empty() && lacks_type && refused.size() == 1) hint = "--to nvfp4 as well";
  if (hint.empty()) {
    const bool is_one = refused.size() == 1 && refused[0].second.size() == 1;
    hint = fmt::format("the same command without {}", is_one ? "it" : "them");
  }
  return misuse_hint(hint, "{}", what);
}

std::vector<std::string> options_to_compare(const Conversion& conversion,
                                            const std::vector<std::string>& notes) {
  std::vector<std::string> out;
  for (const GivenOption& given : conversion.given) {
    const ConvertOption* row = find_convert_option(given.name);
    if (row == nullptr || row->effect < OptionEffect::kPlan || already_noted(*row, notes)) continue;
    if (std::ranges::find(out, given.name) == out.end()) out.push_back(given.name);
  }
  return out;
}

}  // namespace ckpt

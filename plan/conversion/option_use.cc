#include "plan/conversion/option_use.h"

#include <algorithm>

#include "core/base/printable.h"
#include "plan/conversion/step_flags.h"

namespace ckpt {
namespace {

using Remove = void (*)(Conversion&, std::string_view name);

enum class Kind : uint8_t {
  kCommand,  // how the command runs, or a permission or limit: nothing of a plan must differ
  kTaken,    // must be taken; whoever takes it says when it changes nothing
  kPlan,     // must be taken, and the plan must be another without it
};

struct OptionRow {
  std::string_view name;
  Kind kind;
  std::string_view unused;     // why nothing took it
  Remove remove = nullptr;     // kPlan
  std::string_view said = {};  // what a note that speaks of it already holds, beside "--NAME"
};

template <auto kField>
void clear(Conversion& conversion, std::string_view) {
  using Field = std::remove_reference_t<decltype(conversion.*kField)>;
  conversion.*kField = Field();
}
void clear_flag(Conversion& conversion, std::string_view name) { conversion.flags.remove(name); }

constexpr std::string_view kNoExport = "no output is made nvfp4 or fp8 from floats";
constexpr std::string_view kNoQuantizedGguf = "no output that ends in .gguf is quantized by --to";
constexpr std::string_view kNoTarget = "no types are chosen (--target-size, --target-bits)";
constexpr std::string_view kNoProjector = "no projector is made (--mmproj FILE, --mmproj-only)";
constexpr std::string_view kNoMadeGguf =
    "no output is a language model's GGUF that is made from a folder here";

constexpr OptionRow kRows[] = {
    {"json", Kind::kCommand, ""},
    {"quiet", Kind::kCommand, ""},
    {"threads", Kind::kCommand, ""},
    {"memory", Kind::kCommand, ""},
    {"color", Kind::kCommand, ""},
    {"progress", Kind::kCommand, ""},
    {"follow-links", Kind::kCommand, ""},
    {"recipe", Kind::kCommand, ""},
    {"outfile", Kind::kCommand, ""},
    {"dry-run", Kind::kCommand, ""},
    {"plan-out", Kind::kCommand, ""},
    {"force", Kind::kCommand, ""},
    {"allow-nonfinite", Kind::kCommand, ""},
    {"shard-size", Kind::kCommand, ""},
    {"split-size", Kind::kCommand, ""},
    {"split-tensors", Kind::kCommand, ""},
    {"header-slack", Kind::kCommand, ""},
    {"target-size", Kind::kCommand, ""},
    {"target-bits", Kind::kCommand, ""},
    {"also", Kind::kCommand, ""},
    {"mmproj", Kind::kCommand, ""},
    {"mmproj-only", Kind::kCommand, ""},
    {"step", Kind::kCommand, ""},
    {"to", Kind::kPlan, "", clear<&Conversion::to>},
    {"for", Kind::kCommand, ""},  // says what it changed, or that nothing had to be
    {"base", Kind::kTaken, "nothing that was to be done needs the unquantized model"},
    {"keep", Kind::kTaken,
     "no output changes types tensor by tensor (a quantized folder becomes floats as a whole)"},
    {"allow-requantize", Kind::kPlan, "no quantized weight becomes another type", clear_flag},
    {"sensitivity", Kind::kTaken, kNoTarget},
    {"target-cache", Kind::kTaken, kNoTarget},
    {"imatrix", Kind::kPlan, "no output is made a quantized type", clear<&Conversion::imatrix>,
     "importance matrix"},
    {"tokenizer", Kind::kPlan, "IN is a GGUF, which has its own", clear<&Conversion::tokenizer>},
    {"search", Kind::kPlan, "no output is made a quantized type", clear_flag, "search="},
    {"moments", Kind::kPlan, "no output is made a quantized type", clear_flag},
};

// Of a flag of a step: globs say themselves when they change nothing.
OptionRow row_of(const StepFlag& flag) {
  const std::string_view unused = flag.step == "export"      ? kNoExport
                                  : flag.step == "to-gguf"   ? kNoMadeGguf
                                  : flag.step == "to-mmproj" ? kNoProjector
                                                             : kNoQuantizedGguf;
  return {flag.name, flag.rule().repeats ? Kind::kTaken : Kind::kPlan, unused, clear_flag};
}

OptionRow row_of(std::string_view name) {
  const auto row = std::find_if(std::begin(kRows), std::end(kRows),
                                [&](const OptionRow& each) { return each.name == name; });
  if (row != std::end(kRows)) return *row;
  if (const StepFlag* flag = find_step_flag(name)) return row_of(*flag);
  // One that was forgotten here is refused wherever it is typed.
  return {"", Kind::kTaken, "nothing takes it"};
}

// How a typed step takes the option: beside one, only its own options count.
std::string find_step_option(const Conversion& conversion, const GivenOption& given) {
  const StepFlag* flag = find_step_flag(given.name);
  const std::string_view key = flag == nullptr ? given.name : flag->key;
  const bool takes_value = flag == nullptr || flag->takes_value();
  std::string value = takes_value ? given.value : std::string(flag->value);
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

bool is_spoken_of(const OptionRow& row, const std::vector<std::string>& notes) {
  const std::string name = fmt::format("--{} ", row.name);
  return std::any_of(notes.begin(), notes.end(), [&](const std::string& note) {
    return note.find(name) != note.npos || (!row.said.empty() && note.find(row.said) != note.npos);
  });
}

}  // namespace

Status check_options_used(const Conversion& conversion, const OptionUse& use,
                          const Context& context) {
  std::set<std::string_view> seen;
  std::vector<std::pair<std::string_view, std::vector<std::string>>> refused;  // by reason
  std::string hint;
  for (const GivenOption& given : conversion.given) {
    const OptionRow row = row_of(given.name);
    if (row.unused.empty() || use.has(given.name) || !seen.insert(given.name).second) continue;
    const bool is_offer = row.name == "base" || row.name == "allow-requantize";
    if (given.is_from_recipe || is_offer) {
      context.note(fmt::format("--{} has no effect: {}", given.name, row.unused));
      continue;
    }
    const auto same = std::find_if(refused.begin(), refused.end(),
                                   [&](const auto& each) { return each.first == row.unused; });
    auto& names = same == refused.end()
                      ? refused.emplace_back(row.unused, std::vector<std::string>())
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
                          conversion.out.extension() != ".gguf" && refused[0].first == kNoExport;
  if (hint.empty() && lacks_type && refused.size() == 1) hint = "--to nvfp4 as well";
  if (hint.empty()) {
    const bool is_one = refused.size() == 1 && refused[0].second.size() == 1;
    hint = fmt::format("the same command without {}", is_one ? "it" : "them");
  }
  return fail_with_hint(ErrorCode::kUsage, hint, "{}", what);
}

std::vector<std::string> options_to_compare(const Conversion& conversion,
                                            const std::vector<std::string>& notes) {
  std::vector<std::string> out;
  for (const GivenOption& given : conversion.given) {
    const OptionRow row = row_of(given.name);
    const bool is_new = std::find(out.begin(), out.end(), given.name) == out.end();
    if (row.kind == Kind::kPlan && is_new && !is_spoken_of(row, notes)) out.push_back(given.name);
  }
  return out;
}

Conversion without_option(Conversion conversion, std::string_view name) {
  const OptionRow row = row_of(name);
  CKPT_CHECK(row.remove != nullptr);
  row.remove(conversion, name);
  return conversion;
}

}  // namespace ckpt

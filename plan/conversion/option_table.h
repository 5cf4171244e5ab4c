// Every option of convert, declared once: the parser, help, completion, recipes, plan files,
// docs/OPTIONS.md and docs/RECIPES.md follow from these rows.
//
//   command line, recipe, program ── set_option() ──▶ Conversion ── clear_option(): undoes it
//
// To add `--foo`, add its row to option_table.cc and the code that uses it.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/result.h"
#include "core/model/step_options.h"
#include "plan/conversion/conversion.h"

namespace ckpt {

// An option that is passed to a step that convert adds (added_steps.h), under the name `key`. Other
// added steps that have `key` get it too.
struct StepKey {
  std::string_view step, key;
  std::string_view value = {};  // for a flag: the value to pass, "no"
};
struct SplitCount {
  uint64_t Conversion::*field;
};

// The field that an option sets. std::monostate: none; the command reads the typed value itself.
using OptionField =
    std::variant<std::monostate, std::string Conversion::*, std::filesystem::path Conversion::*,
                 bool Conversion::*, uint64_t Conversion::*, SplitCount,
                 std::vector<std::string> Conversion::*, std::vector<AlsoOutput> Conversion::*,
                 StepKey>;

enum class OptionEffect : uint8_t {
  kCommand,  // affects how the command runs, not the plan
  kTaken,    // a step must use it, and reports if it changes nothing
  kOffered,  // a step may use it; otherwise a note says so
  kPlan,     // a step must use it, and the plan without it must differ
  kPlanIfTaken,
};
inline bool is_offer(OptionEffect effect) {
  return effect == OptionEffect::kOffered || effect == OptionEffect::kPlanIfTaken;
}
enum class OptionPersistence : uint8_t { kNowhere, kRecipe, kRecipeAndPlan };

struct ConvertOption {
  std::string_view name;   // without dashes; upper case for positionals
  std::string_view value;  // placeholder in help; empty: that of the step's rule
  std::string_view group;
  OptionField field;
  OptionPersistence kept;
  OptionEffect effect;
  std::string_view unused;         // why nothing used it; empty for kCommand
  std::string_view help = {};      // empty: help of the step's rule
  std::string_view noted_as = {};  // text of notes that also report it, like "--NAME"
  std::string_view key = {};       // key in recipes and plan files, if not the name

  const StepKey* step() const { return std::get_if<StepKey>(&field); }
  const OptionRule& rule() const;  // requires: step()
  bool takes_value() const;
  bool repeats() const;
  bool is_path(std::string_view given) const;
  std::string value_name() const;
  std::string whole_help() const;
  std::string_view spelling() const { return key.empty() ? name : key; }
};

std::span<const ConvertOption> convert_options();
// Returns nullptr if no option has this name.
const ConvertOption* find_convert_option(std::string_view name);
// Finds an option by its spelling in recipes and plan files, or by its name on the command line.
// Ignores options whose persistence is below `least`; nullptr: no such option.
const ConvertOption* find_kept_option(std::string_view spelling, OptionPersistence least);

// Sets the option's field; flags take "yes" and "no". Fails: kUsage: a value of another kind.
// `before` ("--") precedes the option's name in the message.
Status set_option(Conversion& conversion, const ConvertOption& option, std::string value,
                  std::string_view before);
// Returns `conversion` with each path replaced by `resolve` of it.
Conversion with_paths(Conversion conversion, const ResolvePath& resolve);
// Whether the option names a path that convert writes.
bool is_written(const ConvertOption& option);
// Resets the option, as if it had not been given.
void clear_option(Conversion& conversion, const ConvertOption& option);
// Returns "ckpt convert IN OUT" for advice, with IN as typed and `out`, which is already quoted.
// with_typed() adds the other options (tools/line/suggested.h).
std::string convert_line(const Conversion& conversion, std::string_view out);

}  // namespace ckpt

// Every option of convert, declared once: the parser, help, completion, recipes, plan files,
// docs/OPTIONS.md and docs/RECIPES.md follow from these rows.
//
//   typed, of a recipe, of a program ── set_option() ──▶ Conversion ── clear_option(): without it
//
// `--foo` is a row in option_table.cc, and what uses it.
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

// An option of a step that convert adds (added_steps.h), by its name there. Other added steps that
// have `key` get it too.
struct StepKey {
  std::string_view step, key;
  std::string_view value = {};  // of a flag: what it means there, "no"
};
struct SplitCount {
  uint64_t Conversion::*field;
};

// The field that an option sets. std::monostate: none, the command reads the typed value.
using OptionField =
    std::variant<std::monostate, std::string Conversion::*, std::filesystem::path Conversion::*,
                 bool Conversion::*, uint64_t Conversion::*, SplitCount,
                 std::vector<std::string> Conversion::*, std::vector<AlsoOutput> Conversion::*,
                 StepKey>;

enum class OptionEffect : uint8_t {
  kCommand,  // how the command runs, or a permission or limit: nothing of a plan must differ
  kTaken,    // must be used; the step that uses it reports if it changes nothing
  kOffered,  // may be used; a note if nothing uses it
  kPlan,     // must be used, and the plan without it must differ
  kPlanIfTaken,
};
inline bool is_offer(OptionEffect effect) {
  return effect == OptionEffect::kOffered || effect == OptionEffect::kPlanIfTaken;
}
enum class OptionPersistence : uint8_t { kNowhere, kRecipe, kRecipeAndPlan };

struct ConvertOption {
  std::string_view name;   // without dashes; in capitals for a positional argument
  std::string_view value;  // as help calls it; of a step's option: empty, its rule says it
  std::string_view group;
  OptionField field;
  OptionPersistence kept;
  OptionEffect effect;
  std::string_view unused;         // why nothing used it; kCommand: empty
  std::string_view help = {};      // empty: that of the step's rule
  std::string_view noted_as = {};  // text of notes that already mention it, with "--NAME"
  std::string_view key = {};       // in recipes and plan files, if it differs from the name

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
// nullptr: none of that name.
const ConvertOption* find_convert_option(std::string_view name);
// Finds an option by its spelling in recipes and plan files, or by its name on the command line.
// Options that are kept in less than `least` are not found; nullptr: none.
const ConvertOption* find_kept_option(std::string_view spelling, OptionPersistence least);

// Sets what the option names; "yes" and "no" of a flag. Fails: kUsage: a value of another kind;
// `before` stands before the option's name in the message, "--".
Status set_option(Conversion& conversion, const ConvertOption& option, std::string value,
                  std::string_view before);
// `conversion` with `resolve` of each path that it names in its place.
Conversion with_paths(Conversion conversion, const ResolvePath& resolve);
// A path that convert makes.
bool is_written(const ConvertOption& option);
// As if it had not been given.
void clear_option(Conversion& conversion, const ConvertOption& option);
// "ckpt convert IN OUT" for advice, with IN as it was typed and `out`, which is quoted for a shell.
// with_typed() adds the other options (tools/line/suggested.h).
std::string convert_line(const Conversion& conversion, std::string_view out);

}  // namespace ckpt

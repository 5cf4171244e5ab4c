#include <utility>

#include "plan/conversion/imatrix_fit.h"
#include "plan/conversion/observer.h"
#include "plan/conversion/option_table.h"
#include "plan/text/type_names.h"

namespace ckpt {

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

}  // namespace ckpt

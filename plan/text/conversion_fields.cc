#include "plan/text/conversion_fields.h"

#include <algorithm>
#include <charconv>
#include <variant>

#include "plan/conversion/sizes.h"
#include "plan/conversion/step_flags.h"

namespace ckpt {
namespace {

using Text = std::string Conversion::*;
using Path = std::filesystem::path Conversion::*;
using Flag = bool Conversion::*;
using Size = uint64_t Conversion::*;
struct Count {
  uint64_t Conversion::*field;
};

// Fields that are not options of a step (step_flags.h).
struct OwnField {
  std::string_view name;
  FieldKind kind;
  std::variant<Text, Path, Flag, Size, Count> field;
};
const OwnField kOwnFields[] = {
    {"imatrix", FieldKind::kPath, &Conversion::imatrix},
    {"target-size", FieldKind::kText, &Conversion::target_size},
    {"target-bits", FieldKind::kText, &Conversion::target_bits},
    {"sensitivity", FieldKind::kPath, &Conversion::sensitivity},
    {"tokenizer", FieldKind::kPath, &Conversion::tokenizer},
    {"base", FieldKind::kPath, &Conversion::base},
    {"mmproj", FieldKind::kPath, &Conversion::mmproj},
    {"mmproj-only", FieldKind::kFlag, &Conversion::mmproj_only},
    {"allow-nonfinite", FieldKind::kFlag, &Conversion::allow_nonfinite},
    {"shard-size", FieldKind::kSize, &Conversion::shard_bytes},
    {"split-size", FieldKind::kSize, &Conversion::shard_bytes},
    {"split-tensors", FieldKind::kSize, Count{&Conversion::split_tensors}},
    {"header-slack", FieldKind::kSize, &Conversion::header_slack_bytes},
};

FieldKind kind_of(const StepFlag& flag) {
  if (!flag.takes_value()) return FieldKind::kFlag;
  const OptionRule& rule = flag.rule();
  if (rule.repeats) return FieldKind::kRules;
  return rule.kind == ValueKind::kPath ? FieldKind::kPath : FieldKind::kText;
}

class Setter {
 public:
  Setter(Conversion& conversion, std::string_view name, std::string value)
      : conversion_(conversion), name_(name), value_(std::move(value)) {}

  Status operator()(Text field) { return set(field, std::move(value_)); }
  Status operator()(Path field) { return set(field, std::filesystem::path(value_)); }
  Status operator()(Flag field) { return set(field, value_ == "yes"); }
  Status operator()(Size field) {
    CKPT_ASSIGN(const uint64_t bytes, in(name_, parse_size(value_)));
    if (bytes == 0) return fail(ErrorCode::kUsage, "{}: 0", name_);
    return set(field, bytes);
  }
  Status operator()(Count count) {
    CKPT_ASSIGN(const uint64_t tensors, in(name_, parse_tensor_count(value_)));
    return set(count.field, tensors);
  }

 private:
  template <class Field, class Value>
  Status set(Field field, Value value) {
    conversion_.*field = std::move(value);
    return {};
  }

  Conversion& conversion_;
  std::string_view name_;
  std::string value_;
};

}  // namespace

Result<uint64_t> parse_tensor_count(std::string_view text) {
  uint64_t count = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, count);
  if (error == std::errc() && rest == end && count > 0) return count;
  return fail(ErrorCode::kUsage, "'{}'; expected a number of tensors, like 128", text);
}

std::vector<ConversionField> conversion_fields() {
  std::vector<ConversionField> out;
  for (const StepFlag& flag : step_flags()) out.push_back({flag.name, kind_of(flag)});
  for (const OwnField& own : kOwnFields) out.push_back({own.name, own.kind});
  return out;
}

std::optional<ConversionField> find_conversion_field(std::string_view name) {
  for (const ConversionField& field : conversion_fields()) {
    if (field.name == name) return field;
  }
  return std::nullopt;
}

Status set_field(Conversion& conversion, std::string_view name, std::string value) {
  if (const StepFlag* flag = find_step_flag(name)) {
    // A flag that is off is none.
    if (flag->takes_value() || value == "yes") {
      conversion.flags.add(std::string(name), std::move(value));
    }
    return {};
  }
  const auto own = std::find_if(std::begin(kOwnFields), std::end(kOwnFields),
                                [&](const OwnField& each) { return each.name == name; });
  CKPT_CHECK(own != std::end(kOwnFields));
  return std::visit(Setter(conversion, name, std::move(value)), own->field);
}

}  // namespace ckpt

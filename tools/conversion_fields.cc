#include "tools/conversion_fields.h"

#include <algorithm>
#include <variant>

#include "tools/console.h"

namespace ckpt {
namespace {

using Text = std::string Conversion::*;
using Path = std::filesystem::path Conversion::*;
using Flag = bool Conversion::*;
using Size = uint64_t Conversion::*;
// An option of the export step, kept under its own name; a rule; what the command itself keeps.
struct Export {};
struct Rule {};

struct FieldPlace {
  std::string_view name;
  std::variant<Text, Path, Flag, Size, Export, Rule> field;
};

const FieldPlace kPlaces[] = {
    {"output-tensor-type", &Conversion::output_tensor_type},
    {"token-embedding-type", &Conversion::token_embedding_type},
    {"imatrix", &Conversion::imatrix},
    {"tokenizer", &Conversion::tokenizer},
    {"tokenizer-pre", &Conversion::tokenizer_pre},
    {"model-name", &Conversion::model_name},
    {"base", &Conversion::base},
    {"no-mtp", &Conversion::no_mtp},
    {"allow-requantize", &Conversion::allow_requantize},
    {"pure", &Conversion::pure},
    {"leave-output-tensor", &Conversion::leave_output_tensor},
    {"allow-nonfinite", &Conversion::allow_nonfinite},
    {"shard-size", &Conversion::shard_bytes},
    {"split-size", &Conversion::shard_bytes},
    {"header-slack", &Conversion::header_slack_bytes},
    {"keep", Rule{}},
    {"only", Rule{}},
    {"tensor-type", Rule{}},
    {"amax-from", Export{}},
    {"moments", Export{}},
    {"preset", Export{}},
    {"rounding", Export{}},
    {"search", Export{}},
    {"fresh-weight-amax", Export{}},
};

constexpr ConversionField kFields[] = {
    {"output-tensor-type", FieldKind::kText},
    {"token-embedding-type", FieldKind::kText},
    {"imatrix", FieldKind::kPath},
    {"tokenizer", FieldKind::kPath},
    {"tokenizer-pre", FieldKind::kText},
    {"model-name", FieldKind::kText},
    {"base", FieldKind::kPath},
    {"no-mtp", FieldKind::kFlag},
    {"allow-requantize", FieldKind::kFlag},
    {"pure", FieldKind::kFlag},
    {"leave-output-tensor", FieldKind::kFlag},
    {"allow-nonfinite", FieldKind::kFlag},
    {"shard-size", FieldKind::kSize},
    {"split-size", FieldKind::kSize},
    {"header-slack", FieldKind::kSize},
    {"keep", FieldKind::kRules},
    {"only", FieldKind::kRules},
    {"tensor-type", FieldKind::kRules},
    {"amax-from", FieldKind::kPath},
    {"moments", FieldKind::kPath},
    {"preset", FieldKind::kText},
    {"rounding", FieldKind::kText},
    {"search", FieldKind::kText},
    {"fresh-weight-amax", FieldKind::kFlag},
};

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
  Status operator()(Export) {
    // A flag that is off is none.
    if (value_ != "no") conversion_.export_options.emplace_back(name_, std::move(value_));
    return {};
  }
  Status operator()(Rule) {
    conversion_.type_rules.emplace_back(name_, std::move(value_));
    return {};
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

std::span<const ConversionField> conversion_fields() { return kFields; }

const ConversionField* find_conversion_field(std::string_view name) {
  const auto found = std::find_if(std::begin(kFields), std::end(kFields),
                                  [&](const ConversionField& field) { return field.name == name; });
  return found == std::end(kFields) ? nullptr : found;
}

Status set_field(Conversion& conversion, std::string_view name, std::string value) {
  const auto place = std::find_if(std::begin(kPlaces), std::end(kPlaces),
                                  [&](const FieldPlace& each) { return each.name == name; });
  CKPT_CHECK(place != std::end(kPlaces));
  return std::visit(Setter(conversion, name, std::move(value)), place->field);
}

}  // namespace ckpt

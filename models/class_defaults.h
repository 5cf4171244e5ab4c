// Facts of a parameter's row that tables of families and of towers share: how servers split it, and
// what the class fills in for fields that config.json lacks.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/base/result.h"

namespace ckpt {

// The dimension along which servers split a parameter between devices.
enum class ServerCut : uint8_t { kWhole, kRows, kColumns };

class Fields;

// Who reads a default of a class: all, the keys of a GGUF alone, or shapes alone.
enum class ReadBy : uint8_t { kAll, kKeys, kShapes };

// A field that its model class fills in when config.json lacks it.
//   value   a number, or fields as in a shape
//   unless  for keys: nothing is filled in where this field is there, be it null; the field itself
//           where null means that there is none
// A field that is there, but null, stays null in transformers. Keys refuse it where the default is
// a number that the class computes with, unless `null_as` says what it is then; in shapes it is
// zero and untrue, and no size.
struct ClassDefault {
  std::string_view field, value;
  ReadBy read_by = ReadBy::kAll;
  std::string_view unless = {}, null_as = {};
  Result<uint64_t> (*compute)(const Fields& fields) = nullptr;
};

}  // namespace ckpt

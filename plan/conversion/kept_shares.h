// How much of what adapters add is left in the types that an output stores, measured on a sample of
// each weight that has a product added.
//
//   base (F32) ── + products, not rounded ─▶ merged        both with the operations of the output
//   share = sum of (stored - base) (merged - base)  /  sum of (merged - base) squared
#pragma once

#include <string>
#include <vector>

#include "core/model/plan.h"

namespace ckpt {

// A weight of an output into which adapters were merged.
struct MergedWeight {
  std::string out, tensor;
  const Codec* codec;      // that it is stored in
  double kept;             // share of the change that is left in it
  bool is_below_rounding;  // the error of storing the weight exceeds the change, or undoes half
};

// Of those whose values come from rows of the base. Fails: kIo, kCorrupt, as reading them.
Result<std::vector<MergedWeight>> measure_merged(const Output& output);

// About quantized weights, and about floats if the change is below their rounding; else empty.
std::string note_of(const std::vector<MergedWeight>& merged);

}  // namespace ckpt

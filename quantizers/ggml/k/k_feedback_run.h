// Rounds one run of columns of K-quants again with error feedback: the kernel of k_feedback.h. A
// code represents a whole number: 0 to 15, or -32 to 31 for Q6_K.
//
//   stored value = scale x number - minimum
//   i from the first column to the last:  number = nearest that (value + minimum) / scale allows
//     e = value - stored value;  cost += c_i (e e);  value_k -= e F_ik for k > i, one after the
//     other
//
// The cost of the existing numbers is computed the same way; they stay unless the new ones cost
// less. round_k_run_scalar is the specification of round_k_run, which gives the same result with
// vectors.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ckpt {

inline constexpr size_t kRunRows = 16;

struct KRun {
  const float* factors;  // [columns][columns] of ErrorFeedback: F, with c on its diagonal
  uint32_t columns;
  uint32_t sub_values;  // values per sub-block, which share a scale and a minimum
  uint32_t before;      // columns of the first sub-block before the run
  float low, high;      // the smallest and the largest number
};

// kRunRows rows, stored column by column.
struct KRunRows {
  const float* values;             // [columns][kRunRows]
  const float *scales, *minimums;  // [sub-blocks in the run][kRunRows]
  float* numbers;                  // [columns][kRunRows]; replaced only for entire rows
};

void round_k_run(const KRun& run, const KRunRows& rows);
void round_k_run_scalar(const KRun& run, const KRunRows& rows);

}  // namespace ckpt

// Speed of codecs that take plain bfloat16 as it is in memory (Codec::scan_bf16, encode_bf16).
#pragma once

#include <functional>
#include <string_view>

namespace ckpt {

// Prints a row for each such codec and target that `wants_codec` and `wants_target` accept: 64 Mi
// values from memory, scanned whole and then encoded whole, in million values a second of CPU time
// on one thread; next to it how often memcpy would have copied them in the time of both passes.
struct Bf16RowChoice {
  std::function<bool(std::string_view)> wants_codec, wants_target;
  int rounds;
};
// False when a target's bytes differ from the scalar twin's.
bool report_bf16_rows(const Bf16RowChoice& choice);

}  // namespace ckpt

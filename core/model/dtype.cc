#include "core/model/dtype.h"

#include <array>
#include <cstddef>

#include "core/base/result.h"

namespace ckpt {
namespace {

constexpr std::array<DtypeInfo, kDtypeCount> kTable = {{
    {"bool", 1, 1},       {"f4", 2, 1},          {"f6_e2m3", 4, 3},     {"f6_e3m2", 4, 3},
    {"u8", 1, 1},         {"i8", 1, 1},          {"f8_e5m2", 1, 1},     {"f8_e4m3", 1, 1},
    {"f8_e8m0", 1, 1},    {"f8_e4m3fnuz", 1, 1}, {"f8_e5m2fnuz", 1, 1}, {"i16", 1, 2},
    {"u16", 1, 2},        {"f16", 1, 2},         {"bf16", 1, 2},        {"i32", 1, 4},
    {"u32", 1, 4},        {"f32", 1, 4},         {"c64", 1, 8},         {"f64", 1, 8},
    {"i64", 1, 8},        {"u64", 1, 8},         {"q4_0", 32, 18},      {"q4_1", 32, 20},
    {"q5_0", 32, 22},     {"q5_1", 32, 24},      {"q8_0", 32, 34},      {"q8_1", 32, 36},
    {"q2_k", 256, 84},    {"q3_k", 256, 110},    {"q4_k", 256, 144},    {"q5_k", 256, 176},
    {"q6_k", 256, 210},   {"q8_k", 256, 292},    {"iq2_xxs", 256, 66},  {"iq2_xs", 256, 74},
    {"iq3_xxs", 256, 98}, {"iq1_s", 256, 50},    {"iq4_nl", 32, 18},    {"iq3_s", 256, 110},
    {"iq2_s", 256, 82},   {"iq4_xs", 256, 136},  {"iq1_m", 256, 56},    {"tq1_0", 256, 54},
    {"tq2_0", 256, 66},   {"mxfp4", 32, 17},     {"nvfp4", 64, 36},     {"q1_0", 128, 18},
    {"q2_0", 64, 18},
}};
static_assert(kTable.back().name == "q2_0", "one row for each Dtype, in order");

}  // namespace

const DtypeInfo& info(Dtype dtype) {
  const auto index = static_cast<size_t>(dtype);
  CKPT_CHECK(index < kTable.size());
  return kTable[index];
}

}  // namespace ckpt

// nearest() finds typing errors of commands, options and types, and rejects words that mean others.
#include "core/base/nearest.h"

#include <gtest/gtest.h>

namespace ckpt {
namespace {

struct NearestCase {
  const char* typed;
  const char* meant;  // "": none
};

void expect_each(const std::vector<NearestCase>& cases, const std::vector<std::string>& names) {
  for (const auto& [typed, meant] : cases) EXPECT_EQ(nearest(typed, names), meant) << typed;
}

TEST(Nearest, FindsTypingErrors) {
  const std::vector<std::string> verbs{"convert", "patch",  "set",     "show",   "get",    "diff",
                                       "report",  "list",   "doctor",  "verify", "publish"};
  expect_each({{"convrt", "convert"}, {"covnert", "convert"}, {"connvert", "convert"},
               {"convwrt", "convert"}, {"cnvrt", "convert"}, {"xonvert", "convert"},
               {"canvert", "convert"}, {"shwo", "show"}, {"lisr", "list"}, {"dif", "diff"},
               {"docter", "doctor"}, {"varify", "verify"}, {"pub", ""}, {"Show", "show"}},
              verbs);
  expect_each({{"--shardsize", "--shard-size"}, {"--imatrx", "--imatrix"},
               {"--shard_size", "--shard-size"}},
              {"--shard-size", "--split-size", "--imatrix"});
}

TEST(Nearest, LeavesOtherWordsAlone) {
  const std::vector<std::string> verbs{"convert", "patch", "set", "show", "get", "list", "report"};
  expect_each({{"export", ""}, {"lint", ""}, {"import", ""}, {"test", ""}, {"s", ""}, {"", ""},
               {"invent", ""}, {"revoke", ""}},
              verbs);
  expect_each({{"--calib_size", ""}, {"--batch_size", ""}, {"--model-base", ""}},
              {"--cache-size", "--split-size", "--model-name"});
  expect_each({{"MiniCPM", ""}, {"Qwen2", ""}, {"qwen", ""}}, {"MiniMax", "Qwen3"});
}

TEST(Nearest, KeepsDigits) {
  const std::vector<std::string> types{"q2_k", "q4_k_m", "q4_k_s", "q8_0", "bf16", "nvfp4"};
  expect_each({{"q7_k", ""}, {"q3_k_m", ""}, {"fp8", ""}, {"bf61", "bf16"}, {"nvpf4", "nvfp4"},
               {"q4_k_n", "q4_k_m"}, {"q8", "q8_0"}, {"q4", ""}},
              types);
}

}  // namespace
}  // namespace ckpt

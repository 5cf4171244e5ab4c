// In which order a plan's tasks come, and where tensors are cut.
#include "core/chunks/tasks.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "quantizers/quantizers.h"

namespace ckpt {
namespace {

constexpr uint64_t kTaskColumns = 1024, kTaskRows = 512;
constexpr uint64_t kPlainBytes = kTaskRows * kTaskColumns * 2;

Tensor stored_bf16(std::string name) {
  Tensor tensor;
  tensor.name = std::move(name);
  tensor.shape = {kTaskRows, kTaskColumns};
  tensor.codec = &plain_codec(all_codecs(), Dtype::kBF16);
  const auto source = make_blob(tensor.name, std::vector<std::byte>(kPlainBytes));
  tensor.origin = Stored{{{Slice{source, 0, kPlainBytes}}}, {}};
  return tensor;
}

// As in a folder of safetensors: the scale of "codes" is the first entry, "copied" follows, the
// block scales and codes end the file.
Plan scale_first_plan() {
  Plan plan;
  Output& output = plan.outputs.emplace_back();
  output.path = "out";
  output.checkpoint.tensors = {
      recode(stored_bf16("codes"), *find_codec(all_codecs(), "nvfp4_modelopt")).value(),
      stored_bf16("copied")};
  OutputFile& file = output.layout.files.emplace_back();
  file.path = "out";
  file.header.resize(100);
  const uint64_t codes = kTaskRows * kTaskColumns / 2, scales = kTaskRows * kTaskColumns / 16;
  const uint64_t copied_end = 104 + kPlainBytes;
  file.extents = {{0, 2, 100, 4},
                  {1, 0, 104, kPlainBytes},
                  {0, 1, copied_end, scales},
                  {0, 0, copied_end + scales, codes}};
  file.size_bytes = copied_end + scales + codes;
  return plan;
}

// The hash of a file can not begin before its first bytes are known, and what is written until then
// is read back: so nothing that could be hashed at once may come before them.
TEST(Tasks, ATensorWhoseScaleBeginsTheFileComesBeforeTheCopiesBehindIt) {
  const Plan plan = scale_first_plan();
  const Jobs jobs = cut(plan, {1 << 17, 1});
  std::string kinds;
  for (const Task& task : jobs.tasks) {
    const char kind = "hcrss"[static_cast<size_t>(task.kind)];
    if (kinds.empty() || kinds.back() != kind) kinds += kind;
  }
  EXPECT_EQ(kinds, "hsrc");  // header, scan, recode, copy
}

// Direct I/O writes whole pages; a page that two pieces share is written twice, through the cache.
TEST(Tasks, CopiesAreCutBetweenPagesOfTheFile) {
  const Plan plan = scale_first_plan();
  const Jobs jobs = cut(plan, {1 << 17, 1});
  uint64_t next = 104, pieces = 0;
  for (const Task& task : jobs.tasks) {
    if (task.kind != Task::Kind::kCopy) continue;
    EXPECT_EQ(task.offset_bytes, next);
    EXPECT_TRUE(pieces == 0 || task.offset_bytes % kPageBytes == 0) << task.offset_bytes;
    ++pieces;
    EXPECT_LE(task.count, uint64_t{1} << 17);
    EXPECT_EQ(task.count % 2, 0u);
    next += task.count;
  }
  EXPECT_EQ(next, 104 + kPlainBytes);
  EXPECT_EQ(pieces, kPlainBytes / (1 << 17) + 1);
}

}  // namespace
}  // namespace ckpt

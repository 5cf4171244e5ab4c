// The order of a plan's tasks, and where tensors are cut.
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

// Three files of one copied tensor each, of the same size.
Plan plan_of_files(size_t count) {
  Plan plan;
  Output& output = plan.outputs.emplace_back();
  output.path = "out";
  output.layout.is_folder = true;
  for (uint32_t i = 0; i < count; ++i) {
    output.checkpoint.tensors.push_back(stored_bf16("copied" + std::to_string(i)));
    OutputFile& file = output.layout.files.emplace_back();
    file.path = std::to_string(i);
    file.header.resize(104);
    file.extents = {{i, 0, 104, kPlainBytes}};
    file.size_bytes = 104 + kPlainBytes;
  }
  return plan;
}

// Each file's hash is a chain for one core, so as many files as cores are written at a time.
TEST(Tasks, FilesOfAnOutputAreWrittenInParallel) {
  const Plan plan = plan_of_files(3);
  const Jobs jobs = cut(plan, {1 << 17, 2});
  std::vector<uint64_t> written(3);
  for (const Task& task : jobs.tasks) {
    written[task.file] += task.count;
    const uint64_t most = std::max(written[0], written[1]);
    EXPECT_TRUE(task.file != 2 || most >= 104 + kPlainBytes);
    const uint64_t ahead = most - std::min(written[0], written[1]);
    EXPECT_TRUE(written[2] > 0 || ahead <= uint64_t{1} << 17);
  }
  EXPECT_EQ(written, std::vector<uint64_t>(3, 104 + kPlainBytes));
}

// Of two errors the first one in the plan is reported, however many files are written at a time.
TEST(Tasks, OrderIsThatOfFilesThatFollowEachOther) {
  const Plan plan = plan_of_files(3);
  const Jobs one = cut(plan, {1 << 17, 1});
  Jobs three = cut(plan, {1 << 17, 3});
  std::ranges::sort(three.tasks, {}, &Task::order);
  ASSERT_EQ(three.tasks.size(), one.tasks.size());
  for (size_t i = 0; i < one.tasks.size(); ++i) {
    EXPECT_EQ(one.tasks[i].order, i);
    EXPECT_EQ(three.tasks[i].order, i);
    EXPECT_EQ(three.tasks[i].file, one.tasks[i].file);
    EXPECT_EQ(three.tasks[i].first, one.tasks[i].first);
  }
}

// A task that waits for scans may not come before them, whichever file's turn it is.
TEST(Tasks, ScansComeBeforeTheirUseInParallelFiles) {
  Plan plan = scale_first_plan();
  Output& output = plan.outputs[0];
  output.layout.is_folder = true;
  output.checkpoint.tensors.push_back(stored_bf16("other"));
  OutputFile& file = output.layout.files.emplace_back();
  file.path = "second";
  file.header.resize(104);
  file.extents = {{2, 0, 104, kPlainBytes}};
  file.size_bytes = 104 + kPlainBytes;
  const Jobs jobs = cut(plan, {1 << 17, 2});
  const auto first_use = std::ranges::find(jobs.tasks, Task::Kind::kRecode, &Task::kind);
  EXPECT_EQ(std::count_if(first_use, jobs.tasks.end(),
                          [](const Task& task) { return task.kind == Task::Kind::kScan; }),
            0);
  EXPECT_EQ(std::ranges::count(jobs.tasks, Task::Kind::kScan, &Task::kind), jobs.scans[0].tasks);
}

}  // namespace
}  // namespace ckpt

// Output that a run has begun and not ended is not a checkpoint, whatever its files look like.
#include "core/resume/unfinished.h"

#include <cstdlib>
#include <fstream>

#include "formats/formats.h"
#include "quantizers/quantizers.h"
#include "tests/pipeline/ends_run.h"
#include "tests/pipeline/pipeline.h"

namespace ckpt {
namespace {

namespace fs = std::filesystem;

Conversion qwen35_to(const fs::path& out, const char* type) {
  Conversion conversion;
  conversion.in = testdata("qwen35-micro");
  conversion.out = out;
  conversion.to = type;
  return conversion;
}

void end_early(const Conversion& conversion, uint64_t limit_bytes = 600'000) {
  EndsRun ender(limit_bytes);
  const auto report = run(conversion, options_for(ender));
  ASSERT_FALSE(report);
  ASSERT_EQ(report.error().code, ErrorCode::kInterrupted) << report.error().text();
}

std::string refusal(const fs::path& path) {
  const Status status = refuse_unfinished_output(path);
  return status ? "not refused" : status.error().text();
}

// Every command that reads a checkpoint asks recognize().
void expect_unfinished(const fs::path& path, const std::string& how) {
  const auto format = recognize(path);
  ASSERT_FALSE(format) << path;
  EXPECT_EQ(format.error().code, ErrorCode::kUsage);
  const std::string text = format.error().text();
  EXPECT_NE(text.find("unfinished output of " + how), text.npos) << text;
}

TEST(Unfinished, EveryKindOfOutputIsRecognizedUntilItIsEnded) {
  const TemporaryFolder folder;
  Conversion several = qwen35_to(folder / "out", "nvfp4-w4a16");
  several.also = {{folder / "a.gguf", "q4_k_m"}, {folder / "b", "bf16"}};
  end_early(several);
  for (const char* name : {"out.partial", "out.partial/", "out.partial/model.safetensors",
                           "a.gguf.partial", "b.partial", "b.partial/model.safetensors"}) {
    expect_unfinished(folder.path() / name, "`ckpt convert`");
  }
  ASSERT_TRUE(run(several));
  for (const char* name : {"out", "out/model.safetensors", "a.gguf", "b"}) {
    EXPECT_TRUE(recognize(folder.path() / name)) << name;
  }
}

TEST(Unfinished, AFolderThatAnOutputIsPutIntoIsRecognized) {
  const TemporaryFolder folder;
  fs::create_directories(folder / "out");
  end_early(qwen35_to(folder / "out", "nvfp4-w4a16"));
  for (const char* name : {"out", "out/.ckpt-partial", "out/.ckpt-partial/model.safetensors"}) {
    expect_unfinished(folder.path() / name, "`ckpt convert`");
  }
}

TEST(Unfinished, TheFilesOfASplitAreRecognized) {
  const TemporaryFolder folder;
  Conversion split = qwen35_to(folder / "out.gguf", "q8_0");
  split.shard_bytes = 1'000'000;
  end_early(split);
  int count = 0;
  for (const auto& entry : fs::directory_iterator(folder.path())) {
    if (entry.path().extension() != ".partial") continue;
    expect_unfinished(entry.path(), "`ckpt convert`");
    ++count;
  }
  EXPECT_GT(count, 1);
}

TEST(Unfinished, TheShareThatIsDoneIsNamed) {
  const TemporaryFolder folder;
  const fs::path out = folder / "out.gguf";
  int last = -1;
  for (const uint64_t limit : {uint64_t{300'000}, uint64_t{1'500'000}}) {
    end_early(qwen35_to(out, "q8_0"), limit);
    const std::string text = refusal(folder / "out.gguf.partial");
    const size_t at = text.find(" (");
    ASSERT_NE(at, text.npos) << text;
    const int percent = std::atoi(text.c_str() + at + 2);
    EXPECT_GT(percent, last) << text;
    EXPECT_LE(percent, 100) << text;
    last = percent;
  }
  EXPECT_GT(last, 0);
}

bool is_read(const fs::path& path) {
  const auto format = recognize(path);
  return format && (*format)->read(path, all_codecs(), {});
}

// Copied, moved, or after its ledger was lost: at no moment before its end is it a model.
TEST(Unfinished, IsNotAModelWithoutItsLedger) {
  const TemporaryFolder folder;
  Conversion several = qwen35_to(folder / "out", "nvfp4-w4a16");
  several.also = {{folder / "a.gguf", "q4_k_m"}};
  const auto expect_no_models = [&] {
    for (const std::string name : {"out", "a.gguf"}) {
      const fs::path copy = folder / ("copy." + name);
      fs::copy(folder / (name + ".partial"), copy);
      EXPECT_FALSE(is_read(copy)) << copy;
      fs::remove_all(copy);
    }
  };
  for (const uint64_t limit : {uint64_t{300'000}, uint64_t{1'500'000}}) {
    end_early(several, limit);
    expect_no_models();
  }
  EndsRun ender(UINT64_MAX);
  ender.at_end = expect_no_models;
  const auto report = run(several, options_for(ender));
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_TRUE(is_read(folder / "out"));
  EXPECT_TRUE(is_read(folder / "a.gguf"));
}

TEST(Unfinished, ItsCommandIsShownForTheFolderOfTheReader) {
  const TemporaryFolder folder;
  fs::create_directories(folder / "a b");
  const fs::path before = fs::current_path();
  fs::current_path(folder / "a b");
  end_early(qwen35_to("out", "nvfp4-w4a16"));
  expect_unfinished("out.partial", "`ckpt convert`");
  fs::current_path(folder.path());
  const fs::path real = fs::canonical(folder / "a b");
  expect_unfinished("a b/out.partial", fmt::format("`cd '{}' && ckpt convert`", real.string()));
  fs::current_path(before);
}

// An unreadable ledger gives no information, but is a ledger.
TEST(Unfinished, ALedgerThatSaysNothingCountsToo) {
  const TemporaryFolder folder;
  end_early(qwen35_to(folder / "out", "nvfp4-w4a16"));
  std::ofstream(folder / "out.partial.ledger", std::ios::trunc) << "torn";
  expect_unfinished(folder / "out.partial", "a run of ckpt");
}

TEST(Unfinished, WhatHasNoLedgerIsSomebodyElses) {
  const TemporaryFolder folder;
  fs::copy(testdata("qwen3-micro"), folder / "model.partial");
  EXPECT_TRUE(recognize(folder / "model.partial"));
  fs::copy(testdata("qwen3-micro"), folder / "model");
  std::ofstream(folder / "model.ledger") << "of somebody's shop";
  EXPECT_TRUE(recognize(folder / "model"));
}

// An old OUT that --force is about to replace is whole until then.
TEST(Unfinished, TheOutputThatIsToBeReplacedIsWhole) {
  const TemporaryFolder folder;
  const Conversion conversion = qwen35_to(folder / "out", "bf16");
  ASSERT_TRUE(run(conversion));
  fs::rename(folder / "out", folder / "kept");
  end_early(conversion);
  fs::rename(folder / "kept", folder / "out");
  EXPECT_TRUE(recognize(folder / "out"));
  expect_unfinished(folder / "out.partial", "`ckpt convert`");
}

}  // namespace
}  // namespace ckpt

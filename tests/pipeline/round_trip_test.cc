// Folder to folder and GGUF to GGUF: what is not changed stays byte for byte.
#include <sys/stat.h>

#include "plan/conversion/sizes.h"
#include "tests/pipeline/pipeline.h"

namespace ckpt {
namespace {

class RoundTrip : public testing::TestWithParam<const char*> {};

TEST_P(RoundTrip, FolderCopyHasTheSameFiles) {
  const TemporaryFolder folder;
  Conversion conversion;
  conversion.in = testdata(GetParam());
  conversion.out = folder / "copy";
  const auto report = run(conversion);
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_EQ(listing(conversion.in), listing(conversion.out));
  for (const auto& entry : std::filesystem::directory_iterator(conversion.in)) {
    EXPECT_TRUE(read_file(entry.path()) == read_file(conversion.out / entry.path().filename()))
        << entry.path();
  }
}

TEST_P(RoundTrip, ShardedAndJoinedAgainIsTheSameFile) {
  const TemporaryFolder folder;
  Conversion apart;
  apart.in = testdata(GetParam());
  apart.out = folder / "apart";
  apart.shard_bytes = 1'500'000;
  ASSERT_TRUE(run(apart));
  Conversion together;
  together.in = apart.out;
  together.out = folder / "together";
  together.shard_bytes = uint64_t{1} << 40;
  ASSERT_TRUE(run(together));
  EXPECT_TRUE(read_file(together.out / "model.safetensors") ==
              read_file(testdata(GetParam()) / "model.safetensors"));
}

TEST_P(RoundTrip, GgufCopyAndSplitAndMergeGiveTheSameFile) {
  const TemporaryFolder folder;
  Conversion first;
  first.in = testdata(GetParam());
  first.out = folder / "first.gguf";
  first.to = "bf16";
  first.flags.add("tokenizer-pre", "qwen2");
  ASSERT_TRUE(run(first));
  Conversion copy;
  copy.in = first.out;
  copy.out = folder / "copy.gguf";
  ASSERT_TRUE(run(copy));
  EXPECT_TRUE(read_file(copy.out) == read_file(first.out));
  Conversion split;
  split.in = first.out;
  split.out = folder / "split.gguf";
  split.shard_bytes = 2'000'000;
  const auto report = run(split);
  ASSERT_TRUE(report) << report.error().text();
  ASSERT_GT(report->files.size(), 1u);
  Conversion merged;
  merged.in = report->files[0].path;
  merged.out = folder / "merged.gguf";
  ASSERT_TRUE(run(merged)) << error_of(merged);
  EXPECT_TRUE(read_file(merged.out) == read_file(first.out));
}

INSTANTIATE_TEST_SUITE_P(All, RoundTrip,
                         testing::Values("qwen35-micro", "qwen35vl-micro", "qwen35moe-micro",
                                         "qwen3-micro", "llama-micro"),
                         [](const auto& tested) {
                           std::string name = tested.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(Outputs, HaveTheModeThatUmaskAsksForWhateverTheSourceHad) {
  const TemporaryFolder folder;
  std::filesystem::copy(testdata("qwen3-micro"), folder / "in");
  ::chmod((folder / "in" / "model.safetensors").c_str(), 0600);
  const mode_t mask = ::umask(0);  // other masks: output_modes.sh
  ::umask(mask);
  Conversion conversion;
  conversion.in = folder / "in";
  conversion.out = folder / "out";
  const auto report = run(conversion);
  ASSERT_TRUE(report) << report.error().text();
  for (const auto& entry : std::filesystem::directory_iterator(conversion.out)) {
    struct stat status {};
    ASSERT_EQ(::stat(entry.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0666u & ~mask) << entry.path();
  }
}

// The number of files under the limit of equal_file_bytes(), and the limit.
std::pair<size_t, uint64_t> equal_files(const std::vector<uint64_t>& tensor_bytes) {
  const uint64_t limit = equal_file_bytes(tensor_bytes);
  size_t files = 0;
  uint64_t open_bytes = limit;
  for (const uint64_t bytes : tensor_bytes) {
    const bool is_full = open_bytes + bytes > limit;
    files += is_full;
    open_bytes = is_full ? bytes : open_bytes + bytes;
  }
  return {files, limit};
}

TEST(EqualFiles, HaveOneLimitThatNoMachineChanges) {
  constexpr uint64_t kMega = 1'000'000;
  const auto tensors = [](size_t count, uint64_t megabytes) {
    return std::vector<uint64_t>(count, megabytes * kMega);
  };
  EXPECT_EQ(equal_files(tensors(1000, 1)), std::pair(size_t{3}, 334 * kMega));
  EXPECT_EQ(equal_files(tensors(200, 100)), std::pair(size_t{16}, 1300 * kMega));
  EXPECT_EQ(equal_files(tensors(1000, 100)), std::pair(size_t{20}, 5000 * kMega));
  EXPECT_EQ(equal_files(tensors(100, 1)).first, 1u);
  EXPECT_EQ(equal_files({5000 * kMega, kMega, kMega}).first, 2u);
  EXPECT_EQ(equal_files({}).first, 0u);
}

TEST(Outputs, CastChangesFloatsAndSaysSo) {
  const TemporaryFolder folder;
  Conversion conversion;
  conversion.in = testdata("qwen3-micro");
  conversion.out = folder / "out";
  conversion.to = "f16";
  const auto report = run(conversion);
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_NE(read_file(conversion.out / "config.json").find("\"dtype\": \"float16\""),
            std::string::npos);
}

}  // namespace
}  // namespace ckpt

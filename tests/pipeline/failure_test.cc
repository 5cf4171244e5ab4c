// When it cannot be done: one sentence, nothing under a final name, the input untouched.
#include <sys/mount.h>
#include <unistd.h>

#include <atomic>
#include <fstream>

#include "tests/pipeline/pipeline.h"

namespace ckpt {
namespace {

namespace fs = std::filesystem;

Conversion to_gguf(const fs::path& in, const fs::path& out) {
  Conversion conversion;
  conversion.in = in;
  conversion.out = out;
  conversion.to = "q4_k_m";
  conversion.flags.add("tokenizer-pre", "qwen2");
  return conversion;
}

// Overwrites the 2-byte value at `index` of a tensor's data, found by the file's own header.
void poke(const fs::path& file, uint64_t from_end_bytes, uint16_t bits) {
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekp(-static_cast<std::streamoff>(from_end_bytes), std::ios::end);
  stream.write(reinterpret_cast<const char*>(&bits), sizeof bits);
}

TEST(Failure, NanIsNamedWithTensorRowAndColumn) {
  const TemporaryFolder folder;
  fs::copy(testdata("qwen3-micro"), folder / "in");
  poke(folder / "in" / "model.safetensors", 2, 0x7FC0);  // last value of the last tensor
  const std::string error = error_of(to_gguf(folder / "in", folder / "out.gguf"));
  EXPECT_NE(error.find("NaN at row"), std::string::npos) << error;
  EXPECT_NE(error.find("--allow-nonfinite"), std::string::npos) << error;
  EXPECT_EQ(listing(folder.path()).find("out.gguf"), std::string::npos) << listing(folder.path());
  ExecuteOptions options;
  options.allow_nonfinite = true;
  EXPECT_EQ(error_of(to_gguf(folder / "in", folder / "out.gguf"), options), "no error");
}

TEST(Failure, TheFirstOfTwoBadTensorsIsNamedForAnyThreads) {
  const TemporaryFolder folder;
  fs::copy(testdata("qwen3-micro"), folder / "in");
  poke(folder / "in" / "model.safetensors", 2, 0x7F80);
  poke(folder / "in" / "model.safetensors", 2'000'000, 0xFF80);
  ExecuteOptions options;
  options.threads = 1;
  options.chunk_bytes = 1 << 16;
  const std::string expected = error_of(to_gguf(folder / "in", folder / "out.gguf"), options);
  EXPECT_NE(expected.find("Inf at row"), std::string::npos) << expected;
  for (int i = 0; i < 10; ++i) {
    options.threads = 8;
    EXPECT_EQ(error_of(to_gguf(folder / "in", folder / "out.gguf"), options), expected);
  }
}

TEST(Failure, ValuesTooLargeForTheTypeAreRefused) {
  const TemporaryFolder folder;
  fs::copy(testdata("qwen3-micro"), folder / "in");
  poke(folder / "in" / "model.safetensors", 2'000'000, 0x7F00);  // 1.7e38
  const std::string error = error_of(to_gguf(folder / "in", folder / "out.gguf"));
  EXPECT_NE(error.find("too large for the float16 scales"), std::string::npos) << error;
  EXPECT_NE(error.find("--tensor-type"), std::string::npos) << error;
  // A folder has no --tensor-type, so the advice is another type.
  Conversion folders = to_gguf(folder / "in", folder / "out");
  folders.to = "f16";
  const std::string cast = error_of(folders);
  EXPECT_NE(cast.find("too large for f16. Try: --to bf16"), std::string::npos) << cast;
  folders.to = "bf16";
  EXPECT_EQ(error_of(folders), "no error");
}

// ggml writes some of these clipped, or as zeros: no scale that is stored is infinite.
TEST(Failure, ValuesTooLargeForTheTypeAreRefusedByEveryEncoder) {
  for (const uint16_t bits : {uint16_t{0x60AD}, uint16_t{0x7F00}}) {  // 1e20, 1.7e38
    const TemporaryFolder folder;
    fs::copy(testdata("qwen3-micro"), folder / "bf16");
    poke(folder / "bf16" / "model.safetensors", 2'000'000, bits);
    Conversion wide = to_gguf(folder / "bf16", folder / "f32");
    wide.to = "f32";
    ASSERT_EQ(error_of(wide), "no error");
    for (const char* source : {"bf16", "f32"}) {
      for (const char* type :
           {"q8_0", "q4_0", "q4_1", "q5_0", "q5_1", "iq4_nl", "iq4_xs", "q2_k", "q3_k_m", "q4_k_m",
            "q5_k_m", "q6_k", "tq2_0", "tq1_0", "nvfp4-ggml"}) {
        Conversion conversion = to_gguf(folder / source, folder / "out.gguf");
        conversion.to = type;
        const std::string error = error_of(conversion);
        EXPECT_NE(error.find("too large for the "), std::string::npos) << type << ": " << error;
      }
    }
  }
}

TEST(Failure, OutThatExistsStaysUnlessForced) {
  const TemporaryFolder folder;
  write_file(folder / "out.gguf", "precious");
  Conversion conversion = to_gguf(testdata("qwen3-micro"), folder / "out.gguf");
  EXPECT_NE(error_of(conversion).find("exists already"), std::string::npos);
  EXPECT_EQ(read_file(folder / "out.gguf"), "precious");
  conversion.force = true;  // still refused: it is not a checkpoint
  EXPECT_NE(error_of(conversion).find("does not look like a checkpoint"), std::string::npos);
  EXPECT_EQ(read_file(folder / "out.gguf"), "precious");
}

TEST(Failure, ForceReplacesACheckpointWholeAndNothingElse) {
  const TemporaryFolder folder;
  fs::copy(testdata("qwen3-micro"), folder / "out");
  const fs::path other = folder / "out" / "model-00009-of-00009.safetensors";  // of no index
  write_file(other, "left over");
  Conversion conversion;
  conversion.in = testdata("llama-micro");
  conversion.out = folder / "out";
  conversion.force = true;
  EXPECT_NE(error_of(conversion).find("model-00009-of-00009.safetensors"), std::string::npos);
  fs::remove(other);
  EXPECT_EQ(listing(folder / "out"), listing(testdata("qwen3-micro")));
  EXPECT_EQ(error_of(conversion), "no error");
  EXPECT_EQ(listing(folder / "out"), listing(testdata("llama-micro")));
  EXPECT_EQ(listing(folder.path()).find("partial"), std::string::npos);
}

TEST(Failure, OutMayNotBeInOrLieInsideIt) {
  const TemporaryFolder folder;
  fs::copy(testdata("qwen3-micro"), folder / "in");
  EXPECT_NE(error_of(to_gguf(folder / "in", folder / "in" / "out.gguf")).find("is inside IN"),
            std::string::npos);
  Conversion same;
  same.in = folder / "in";
  same.out = (folder.path() / "x" / ".." / "in").lexically_normal();
  same.force = true;
  EXPECT_NE(error_of(same).find("OUT is IN"), std::string::npos);
  EXPECT_EQ(listing(folder / "in"), listing(testdata("qwen3-micro")));
}

TEST(Failure, InterruptedLeavesNothing) {
  const TemporaryFolder folder;
  const std::atomic<bool> stop{true};
  ExecuteOptions options;
  options.interrupted = &stop;
  EXPECT_EQ(error_of(to_gguf(testdata("qwen3-micro"), folder / "out.gguf"), options),
            "interrupted");
  EXPECT_EQ(listing(folder.path()), "");
}

TEST(Failure, ReportsAFullDiskBeforeWriting) {
  const TemporaryFolder folder;
  if (::geteuid() != 0 || ::mount("tmpfs", folder.path().c_str(), "tmpfs", 0, "size=262144") != 0) {
    GTEST_SKIP() << "needs the right to mount a small tmpfs";
  }
  const std::string error = error_of(to_gguf(testdata("qwen3-micro"), folder / "out.gguf"));
  const std::string left = listing(folder.path());
  ::umount(folder.path().c_str());
  EXPECT_NE(error.find("the disk is full"), std::string::npos) << error;
  EXPECT_EQ(left, "");
}

}  // namespace
}  // namespace ckpt

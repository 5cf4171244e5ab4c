// Outputs are the same bytes whatever the threads, the chunk size, the memory limit and the SIMD
// target.
#include "tests/pipeline/pipeline.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace ckpt {
namespace {

Conversion moe(const TemporaryFolder& folder) {
  Conversion conversion;
  conversion.in = testdata("qwen35moe-micro");
  conversion.out = folder / "out.gguf";
  conversion.to = "q4_k_m";
  conversion.force = true;
  return conversion;
}

TEST(Determinism, ThreadsChunksAndMemoryDoNotChangeAByte) {
  const TemporaryFolder folder;
  const std::string expected = digest_of(moe(folder));
  ASSERT_EQ(expected.size(), 64u) << expected;
  for (const unsigned threads : {1u, 2u, 7u}) {
    for (const uint64_t chunk_bytes : {uint64_t{1}, uint64_t{96} << 10, uint64_t{8} << 20}) {
      for (const uint64_t memory_bytes : {uint64_t{1} << 20, uint64_t{512} << 20}) {
        ExecuteOptions options;
        options.threads = threads;
        options.chunk_bytes = chunk_bytes;
        options.memory_bytes = memory_bytes;
        EXPECT_EQ(digest_of(moe(folder), options), expected)
            << threads << " threads, chunks of " << chunk_bytes << ", memory " << memory_bytes;
      }
    }
  }
}

#if defined(__SSE2__)
TEST(Determinism, ACallerThatFlushesDenormalsChangesNothing) {
  const TemporaryFolder folder;
  Conversion conversion = moe(folder);
  conversion.in = folder / "tiny";
  std::filesystem::copy(testdata("qwen35-micro"), conversion.in);
  // Every weight becomes a denormal; flushed to zero, the scales of all blocks would change.
  for (const auto& entry : std::filesystem::directory_iterator(conversion.in)) {
    if (entry.path().extension() != ".safetensors") continue;
    std::string bytes = read_file(entry.path());
    uint64_t header_bytes = 0;
    std::memcpy(&header_bytes, bytes.data(), sizeof header_bytes);
    for (size_t i = 8 + header_bytes; i + 2 <= bytes.size(); i += 2) bytes[i + 1] &= '\x80';
    write_file(entry.path(), bytes);
  }
  conversion.to = "q8_0";
  const std::string expected = digest_of(conversion);
  const unsigned control = _mm_getcsr();
  _mm_setcsr(control | 0x8040);  // flush to zero, denormals are zero
  const std::string flushed = digest_of(conversion);
  _mm_setcsr(control);
  EXPECT_EQ(flushed, expected);
}
#endif

TEST(Determinism, ShardedInputGivesTheSameTensors) {
  const TemporaryFolder folder;
  Conversion shards;
  shards.in = testdata("qwen35-micro");
  shards.out = folder / "qwen35-micro";
  shards.shard_bytes = 1'000'000;
  ASSERT_TRUE(run(shards));
  ASSERT_TRUE(std::filesystem::exists(shards.out / "model.safetensors.index.json"));
  Conversion whole, parts;
  whole.in = testdata("qwen35-micro");
  parts.in = shards.out;
  whole.out = folder / "whole.gguf";
  parts.out = folder / "parts.gguf";
  whole.to = parts.to = "q4_k_m";  // sorted by the quantizer, so shards leave no trace
  EXPECT_EQ(digest_of(parts), digest_of(whole));
}

}  // namespace
}  // namespace ckpt

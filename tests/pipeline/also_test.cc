// Several outputs from one reading: each as if it were made alone, and the source read once.
#include "core/engine/compare.h"
#include "tests/pipeline/pipeline.h"

namespace ckpt {
namespace {

TEST(Also, EachOutputIsAsIfMadeAlone) {
  const TemporaryFolder folder;
  Conversion conversion;
  conversion.in = testdata("qwen35-micro");
  conversion.out = folder / "copy";
  conversion.also = {{folder / "a.gguf", "q4_k_m"}, {folder / "b.gguf", "q8_0"}};
  for (const unsigned threads : {1u, 5u}) {
    ExecuteOptions options;
    options.threads = threads;
    options.chunk_bytes = 1 << 16;
    conversion.force = true;
    const auto report = run(conversion, options);
    ASSERT_TRUE(report) << report.error().text();
    EXPECT_EQ(hash_file(folder / "a.gguf").value(),
              "d1f8552b538719348de9b563280e43698fa087faca1fdf5bca1bb1c1d742c7e3");
    EXPECT_EQ(hash_file(folder / "b.gguf").value(),
              "2aaf4eeeb597c812894e372c9e71d2fe05448869f83aef9f055df4ad5ce4812b");
    EXPECT_TRUE(read_file(folder / "copy" / "model.safetensors") ==
                read_file(testdata("qwen35-micro") / "model.safetensors"));
    for (const FileReport& file : report->files) {
      EXPECT_EQ(file.sha256, hash_file(file.path).value()) << file.path;
    }
    // Once, and not three times.
    const uint64_t source = std::filesystem::file_size(conversion.in / "model.safetensors");
    EXPECT_LE(report->read_bytes, source);
  }
}

TEST(Also, TwoOutputsOfOneNameAreRefused) {
  const TemporaryFolder folder;
  Conversion conversion;
  conversion.in = testdata("qwen35-micro");
  conversion.out = folder / "a.gguf";
  conversion.to = "q4_k_m";
  conversion.also = {{folder / "a.gguf", "q8_0"}};
  EXPECT_NE(error_of(conversion).find("two outputs are called"), std::string::npos);
  EXPECT_EQ(listing(folder.path()), "");
}

}  // namespace
}  // namespace ckpt

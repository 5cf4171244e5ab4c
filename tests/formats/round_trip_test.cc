// Reading and laying out again gives the same bytes, for files of the packages that define the
// formats (testdata/formats/make_good.py).
#include <gtest/gtest.h>

#include "formats/formats.h"
#include "quantizers/quantizers.h"
#include "tests/support/files.h"

namespace ckpt {
namespace {

namespace fs = std::filesystem;

Checkpoint read_back(const fs::path& path) {
  const auto format = recognize(path);
  CKPT_CHECK(format);
  auto checkpoint = (*format)->read(path, all_codecs(), {});
  if (!checkpoint) {
    ADD_FAILURE() << checkpoint.error().text();
    return {};
  }
  EXPECT_EQ(checkpoint->format, (*format)->name);
  return std::move(*checkpoint);
}

Layout lay_out(const Checkpoint& checkpoint, std::string_view format,
               const LayoutOptions& options) {
  auto layout = find_format(format)->lay_out(checkpoint, options, all_codecs());
  if (!layout) {
    ADD_FAILURE() << layout.error().text();
    return {};
  }
  return std::move(*layout);
}

// Every file of `layout` has the bytes of the file of that name in `folder`.
void expect_files(const Checkpoint& checkpoint, const Layout& layout, const fs::path& folder) {
  for (const OutputFile& file : layout.files) {
    ASSERT_TRUE(fs::exists(folder / file.path)) << file.path;
    EXPECT_TRUE(render(checkpoint, file) == read_file(folder / file.path)) << file.path;
  }
}

size_t file_count(const fs::path& folder) {
  return static_cast<size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

class OneFile : public testing::TestWithParam<const char*> {};

TEST_P(OneFile, IsTheSameAgain) {
  const fs::path path = testdata("formats/good") / GetParam();
  const Checkpoint checkpoint = read_back(path);
  LayoutOptions options;
  options.out_name = path.filename().string();
  const Layout layout = lay_out(checkpoint, checkpoint.format, options);
  EXPECT_FALSE(layout.is_folder);
  ASSERT_EQ(layout.files.size(), 1u);
  EXPECT_EQ(layout.files[0].path, options.out_name);
  expect_files(checkpoint, layout, path.parent_path());
  if (!checkpoint.tensors.empty()) {
    EXPECT_EQ(layout.files[0].same_as.source, checkpoint.tensors[0].stored().parts[0][0].source);
    EXPECT_EQ(layout.files[0].same_as.size_bytes, layout.files[0].size_bytes);
  }
}

INSTANTIATE_TEST_SUITE_P(
    RoundTrip, OneFile,
    testing::Values("safetensors/dtypes.safetensors", "safetensors/ranks.safetensors",
                    "safetensors/escapes.safetensors", "safetensors/no_tensors.safetensors",
                    "safetensors/six_bits.safetensors", "safetensors/three_parts.safetensors",
                    "gguf/types.gguf", "gguf/values.gguf", "gguf/ranks.gguf",
                    "gguf/alignment_64.gguf", "gguf/no_tensors.gguf", "gguf/uncut.gguf",
                    "gguf/ggml_writer.gguf"));

class Folder : public testing::TestWithParam<const char*> {};

TEST_P(Folder, IsTheSameAgain) {
  const fs::path path = testdata("formats/good/folders") / GetParam();
  const Checkpoint checkpoint = read_back(path);
  EXPECT_EQ(checkpoint.name, GetParam());
  const Layout layout = lay_out(checkpoint, "safetensors", {});
  EXPECT_TRUE(layout.is_folder);
  EXPECT_EQ(layout.files.size(), file_count(path));
  expect_files(checkpoint, layout, path);
}

INSTANTIATE_TEST_SUITE_P(RoundTrip, Folder,
                         testing::Values("saved_whole", "saved_in_shards", "uncut", "cut_at_1000"));

// huggingface_hub cut the tensors of "uncut" at 1000 bytes; one tensor is larger than that.
TEST(RoundTrip, CutsShardsLikeHuggingFace) {
  const fs::path folder = testdata("formats/good/folders");
  const Checkpoint checkpoint = read_back(folder / "uncut");
  LayoutOptions options;
  options.max_file_bytes = 1000;
  const Layout layout = lay_out(checkpoint, "safetensors", options);
  EXPECT_EQ(layout.files.size(), file_count(folder / "cut_at_1000"));
  expect_files(checkpoint, layout, folder / "cut_at_1000");
}

TEST(RoundTrip, JoinsShardsIntoOneFile) {
  const fs::path folder = testdata("formats/good/folders");
  const Checkpoint checkpoint = read_back(folder / "saved_in_shards");
  LayoutOptions options;
  options.out_name = "model.safetensors";
  const Layout layout = lay_out(checkpoint, "safetensors", options);
  ASSERT_EQ(layout.files.size(), 1u);
  expect_files(checkpoint, layout, folder / "saved_whole");
}

// gguf-py cut the tensors of "uncut" at 1000 bytes.
TEST(RoundTrip, SplitsGgufLikeItsWriter) {
  const fs::path folder = testdata("formats/good/gguf");
  const Checkpoint checkpoint = read_back(folder / "uncut.gguf");
  LayoutOptions options;
  options.out_name = "cut_at_1000.gguf";
  options.max_file_bytes = 1000;
  const Layout layout = lay_out(checkpoint, "gguf", options);
  ASSERT_EQ(layout.files.size(), 3u);
  EXPECT_EQ(layout.files[0].path, "cut_at_1000-00001-of-00003.gguf");
  expect_files(checkpoint, layout, folder);
}

TEST(RoundTrip, JoinsSplitGguf) {
  const fs::path folder = testdata("formats/good/gguf");
  const Checkpoint checkpoint = read_back(folder / "cut_at_1000-00001-of-00003.gguf");
  EXPECT_EQ(checkpoint.name, "cut_at_1000");
  EXPECT_EQ(checkpoint.tensors.size(), 8u);
  EXPECT_EQ(checkpoint.tensors[7].home, "cut_at_1000-00003-of-00003.gguf");
  LayoutOptions options;
  options.out_name = "uncut.gguf";
  expect_files(checkpoint, lay_out(checkpoint, "gguf", options), folder);
}

TEST(RoundTrip, AnEarlierVersionBecomesThisOne) {
  const fs::path folder = testdata("formats/good/gguf");
  const Checkpoint checkpoint = read_back(folder / "version_2.gguf");
  LayoutOptions options;
  options.out_name = "types.gguf";
  const Layout layout = lay_out(checkpoint, "gguf", options);
  EXPECT_EQ(layout.files[0].same_as.source, nullptr);
  expect_files(checkpoint, layout, folder);
}

}  // namespace
}  // namespace ckpt

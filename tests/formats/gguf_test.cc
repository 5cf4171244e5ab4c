#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "formats/formats.h"
#include "quantizers/quantizers.h"
#include "tests/support/files.h"

namespace ckpt {
namespace {

namespace fs = std::filesystem;

const Format& gguf() { return *find_format("gguf"); }

Checkpoint read_gguf_file(const fs::path& path) {
  auto checkpoint = gguf().read(path, all_codecs(), {});
  if (!checkpoint) {
    ADD_FAILURE() << checkpoint.error().text();
    return {};
  }
  return std::move(*checkpoint);
}

Checkpoint read_good(std::string_view name) {
  return read_gguf_file(testdata("formats/good/gguf") / name);
}

Tensor f32_tensor(std::string name, std::vector<uint64_t> shape) {
  uint64_t values = 1;
  for (const uint64_t axis : shape) values *= axis;
  return make_tensor(std::move(name), std::move(shape), plain_codec(all_codecs(), Dtype::kF32),
                     std::vector<std::byte>(values * 4, std::byte{1}));
}

TEST(Gguf, EveryTypeHasItsCodecAndSize) {
  const Checkpoint checkpoint = read_good("types.gguf");
  EXPECT_EQ(checkpoint.tensors.size(), 32u);
  for (const Tensor& tensor : checkpoint.tensors) {
    EXPECT_EQ(tensor.name, fmt::format("of.{}", tensor.codec->name));
    const DtypeInfo& type = info(tensor.codec->parts[0].dtype);
    EXPECT_EQ(tensor.shape, (std::vector<uint64_t>{3, 2 * uint64_t{type.values}})) << tensor.name;
    EXPECT_EQ(part_bytes(tensor).size(), 6 * type.size_bytes);
    EXPECT_EQ(part_bytes(tensor)[0], 11);
  }
}

TEST(Gguf, ValuesKeepTypeAndBits) {
  const Metadata metadata = read_good("values.gguf").metadata;
  const auto value = [&](std::string_view key) { return *metadata.find(key); };
  EXPECT_EQ(value("uint8.high"), (MetaValue{MetaType::kU8, uint64_t{255}}));
  EXPECT_EQ(value("int8.low"), (MetaValue{MetaType::kI8, int64_t{-128}}));
  EXPECT_EQ(value("int16.low"), (MetaValue{MetaType::kI16, int64_t{-32768}}));
  EXPECT_EQ(value("uint64.high"), (MetaValue{MetaType::kU64, UINT64_MAX}));
  EXPECT_EQ(value("int64.low"), (MetaValue{MetaType::kI64, INT64_MIN}));
  EXPECT_EQ(value("float32.high"),
            (MetaValue{MetaType::kF32, double{std::numeric_limits<float>::denorm_min()}}));
  EXPECT_EQ(value("float64.high"), (MetaValue{MetaType::kF64, 5e-324}));
  EXPECT_EQ(value("bool.high"), MetaValue::boolean(true));
  EXPECT_EQ(value("text"), MetaValue::text(std::string("caf\u00e9 \0 zero inside", 19)));
  EXPECT_EQ(value("texts"), MetaValue::array(make_text_array({"a", "", "\u00e9"})));
  const auto array = std::get<MetaArray>(value("int32.array").value);
  EXPECT_EQ(array, make_i32_array({INT32_MIN, INT32_MAX, INT32_MAX}));
  const auto nested = std::get<MetaArray>(value("nested").value);
  ASSERT_EQ(nested.arrays.size(), 2u);
  EXPECT_EQ(nested.arrays[0], make_i32_array({1, 2}));
}

TEST(Gguf, ShapesAreOutermostFirstWithTheirRank) {
  const Checkpoint checkpoint = read_good("ranks.gguf");
  EXPECT_EQ(checkpoint.find_tensor("rank1.weight")->shape, (std::vector<uint64_t>{1, 5}));
  EXPECT_EQ(checkpoint.find_tensor("rank3.weight")->shape, (std::vector<uint64_t>{2, 1, 3, 5}));
  EXPECT_EQ(checkpoint.find_tensor("rank4.weight")->shape, (std::vector<uint64_t>{7, 0}));
}

TEST(Gguf, PaddingAfterTheLastTensorMayBeMissing) {
  const TemporaryFolder folder;
  const std::string bytes = read_file(testdata("formats/good/gguf/ranks.gguf"));
  write_file(folder.path() / "x.gguf", bytes.substr(0, bytes.size() - 8));
  EXPECT_EQ(read_gguf_file(folder.path() / "x.gguf").tensors.size(), 5u);
  write_file(folder.path() / "x.gguf", bytes.substr(0, bytes.size() - 9));
  EXPECT_FALSE(gguf().read(folder.path() / "x.gguf", all_codecs(), {}));
}

TEST(Gguf, MetadataThatNobodyChangesKeepsItsBytes) {
  const TemporaryFolder folder;
  std::string bytes = read_file(testdata("formats/good/gguf/values.gguf"));
  bytes[bytes.find("bool.high") + 9 + 4] = 2;
  const size_t number = bytes.find("float32.high") + 12 + 4;
  for (const uint32_t nan : {0x7F80'0001u, 0xFFA0'0000u, 0x7FC0'0000u, 0xFFFF'FFFFu}) {
    std::memcpy(bytes.data() + number, &nan, sizeof(nan));
    write_file(folder.path() / "x.gguf", bytes);
    const Checkpoint read = read_gguf_file(folder.path() / "x.gguf");
    const auto layout = gguf().lay_out(read, {.out_name = "x.gguf"}, all_codecs());
    ASSERT_TRUE(layout) << layout.error().text();
    const std::vector<std::byte>& header = layout->files.at(0).header;
    EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(header.data()), header.size()),
              std::string_view(bytes).substr(0, header.size()));
  }
}

TEST(Gguf, AnyNonZeroByteIsTrue) {
  const TemporaryFolder folder;
  std::string bytes = read_file(testdata("formats/good/gguf/values.gguf"));
  const size_t at = bytes.find("bool.high") + 9 + 4;
  ASSERT_EQ(bytes[at], 1);
  bytes[at] = 2;
  write_file(folder.path() / "x.gguf", bytes);
  EXPECT_EQ(*read_gguf_file(folder.path() / "x.gguf").metadata.find("bool.high"),
            MetaValue::boolean(true));
}

// ---- laying out --------------------------------------------------------------------------------

TEST(GgufLayout, EveryTensorIsAlignedAndPaddedTheLastOneToo) {
  for (const uint64_t alignment : {1u, 8u, 32u, 64u, 4096u}) {
    Checkpoint checkpoint;
    checkpoint.metadata.append("general.alignment", MetaValue::u32(alignment));
    for (const auto name : {"a", "b", "c"}) checkpoint.tensors.push_back(f32_tensor(name, {3}));
    const auto layout = gguf().lay_out(checkpoint, {}, all_codecs());
    ASSERT_TRUE(layout);
    const OutputFile& file = layout->files[0];
    EXPECT_EQ(file.header.size() % alignment, 0u);
    for (const Extent& extent : file.extents) EXPECT_EQ(extent.offset_bytes % alignment, 0u);
    EXPECT_EQ(file.size_bytes % alignment, 0u);
    const TemporaryFolder folder;
    write_file(folder.path() / "x.gguf", render(checkpoint, file));
    EXPECT_EQ(read_gguf_file(folder.path() / "x.gguf").tensors.size(), 3u);
  }
}

TEST(GgufLayout, SplitFilesWithAnotherAlignmentReadBack) {
  Checkpoint checkpoint;
  checkpoint.metadata.append("general.alignment", MetaValue::u32(128));
  for (const auto name : {"a", "b", "c"}) checkpoint.tensors.push_back(f32_tensor(name, {33}));
  LayoutOptions options;
  options.out_name = "m.gguf";
  options.max_file_bytes = 1;
  const auto layout = gguf().lay_out(checkpoint, options, all_codecs());
  ASSERT_TRUE(layout);
  ASSERT_EQ(layout->files.size(), 3u);
  const TemporaryFolder folder;
  for (const OutputFile& file : layout->files) {
    write_file(folder.path() / file.path, render(checkpoint, file));
  }
  const Checkpoint again = read_gguf_file(folder.path() / "m-00001-of-00003.gguf");
  ASSERT_EQ(again.tensors.size(), 3u);
  EXPECT_EQ(part_bytes(again.tensors[2]), part_bytes(checkpoint.tensors[2]));
  EXPECT_EQ(again.metadata, checkpoint.metadata);
}

TEST(GgufLayout, OldSplitKeysAreReplaced) {
  Checkpoint checkpoint;
  checkpoint.metadata.append("split.count", MetaValue::u16(7));
  checkpoint.metadata.append("x", MetaValue::u32(1));
  checkpoint.tensors = {f32_tensor("a", {8}), f32_tensor("b", {8})};
  LayoutOptions options;
  options.out_name = "m.gguf";
  options.max_file_bytes = 32;
  const auto layout = gguf().lay_out(checkpoint, options, all_codecs());
  ASSERT_TRUE(layout);
  const TemporaryFolder folder;
  for (const OutputFile& file : layout->files) {
    write_file(folder.path() / file.path, render(checkpoint, file));
  }
  EXPECT_EQ(read_gguf_file(folder.path() / "m-00001-of-00002.gguf").metadata.entries.size(), 1u);
}

TEST(GgufLayout, SlackGrowsTheHeaderByExactlyThatAndIsNotReadBack) {
  Checkpoint checkpoint;
  checkpoint.metadata.append("x", MetaValue::u32(1));
  checkpoint.tensors = {f32_tensor("a", {8})};
  const auto plain = gguf().lay_out(checkpoint, {}, all_codecs());
  for (const uint64_t slack : {32u, 64u, 4096u}) {
    LayoutOptions options;
    options.header_slack_bytes = slack;
    const auto roomy = gguf().lay_out(checkpoint, options, all_codecs());
    ASSERT_TRUE(plain && roomy);
    EXPECT_EQ(roomy->files[0].header.size(), plain->files[0].header.size() + slack);
    const TemporaryFolder folder;
    write_file(folder.path() / "x.gguf", render(checkpoint, roomy->files[0]));
    EXPECT_EQ(read_gguf_file(folder.path() / "x.gguf").metadata, checkpoint.metadata);
  }
}

std::string layout_error(Tensor tensor) {
  Checkpoint checkpoint;
  checkpoint.tensors.push_back(std::move(tensor));
  const auto layout = gguf().lay_out(checkpoint, {}, all_codecs());
  return layout ? "" : layout.error().text();
}

TEST(GgufLayout, RefusesWhatLlamaCppCannotRead) {
  const std::string name(64, 'n');
  EXPECT_EQ(layout_error(f32_tensor(name, {1})),
            "tensor '" + name + "': a name of 64 bytes; llama.cpp reads at most 63");
  EXPECT_EQ(layout_error(f32_tensor(name.substr(1), {1})), "");
  EXPECT_EQ(layout_error(f32_tensor("x", {1, 1, 1, 1, 1})),
            "tensor 'x': 5 dimensions; GGUF has at most 4");
  EXPECT_EQ(layout_error(make_tensor("x", {1}, plain_codec(all_codecs(), Dtype::kU8),
                                     std::vector<std::byte>(1))),
            "tensor 'x': stored as u8, for which GGUF has no type");
  Checkpoint twice;
  twice.tensors = {f32_tensor("a", {1}), f32_tensor("a", {1})};
  EXPECT_FALSE(gguf().lay_out(twice, {}, all_codecs()));
  Checkpoint crooked;
  crooked.metadata.append("general.alignment", MetaValue::u32(33));
  EXPECT_FALSE(gguf().lay_out(crooked, {}, all_codecs()));
}

// ---- importance matrices -----------------------------------------------------------------------

TEST(ImatrixFile, LegacyValuesAreDividedByTheCalls) {
  const auto imatrix = read_imatrix(testdata("formats/good/imatrix/legacy.dat"));
  ASSERT_TRUE(imatrix);
  EXPECT_EQ(imatrix->weights.at("blk.0.attn_q.weight"),
            (std::vector<float>{1.0f / 3, 2.0f / 3, 3.5f / 3}));
  EXPECT_EQ(imatrix->weights.at("output.weight"), (std::vector<float>{0.25f, 7.0f}));
  EXPECT_EQ(imatrix->chunk_count, 12u);
  EXPECT_EQ(imatrix->datasets, std::vector<std::string>{"wiki.test"});
  EXPECT_EQ(imatrix->file, testdata("formats/good/imatrix/legacy.dat").string());
  const auto bare = read_imatrix(testdata("formats/good/imatrix/legacy_without_tail.dat"));
  ASSERT_TRUE(bare);
  EXPECT_EQ(bare->weights, imatrix->weights);
  EXPECT_EQ(bare->chunk_count, 0u);
}

TEST(ImatrixFile, GgufSumsAreDividedByTheRoundedCountOfTheirMatrix) {
  const auto imatrix = read_imatrix(testdata("formats/good/imatrix/imatrix.gguf"));
  ASSERT_TRUE(imatrix) << imatrix.error().text();
  EXPECT_EQ(imatrix->weights.at("blk.0.attn_q.weight"),
            (std::vector<float>{1.0f / 3, 2.0f / 3, 3.5f / 3}));
  EXPECT_EQ(imatrix->weights.at("blk.0.ffn_up_exps.weight"),
            (std::vector<float>{2, 3, 1, 1, 2.25f, 0.25f}));
  EXPECT_EQ(imatrix->chunk_count, 12u);
  EXPECT_EQ(imatrix->datasets, (std::vector<std::string>{"wiki.test", "code.txt"}));
}

}  // namespace
}  // namespace ckpt

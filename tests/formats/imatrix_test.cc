// Importance matrices: fields of a file that are kept in addition to the weights for quantizers.
#include <gtest/gtest.h>

#include "formats/formats.h"
#include "formats/gguf.h"
#include "quantizers/quantizers.h"
#include "tests/support/files.h"

namespace ckpt {
namespace {

// A GGUF of these sums.
Result<SharedSource> written(const ImatrixSums& sums) {
  const auto output = lay_out_imatrix(sums, "x.gguf", all_codecs());
  if (!output) return Failure(output.error());
  const OutputFile& file = output->layout.files[0];
  std::vector<std::byte> bytes(file.size_bytes);
  std::copy(file.header.begin(), file.header.end(), bytes.begin());
  for (const Extent& extent : file.extents) {
    const Slice& from = output->checkpoint.tensors[extent.tensor].stored().parts[0][0];
    CKPT_TRY(from.source->read(from.offset_bytes,
                               std::span(bytes).subspan(extent.offset_bytes, extent.size_bytes)));
  }
  return SharedSource(make_blob("x.gguf", std::move(bytes)));
}

Result<ImatrixSums> written_and_read(const ImatrixSums& sums) {
  CKPT_ASSIGN(const SharedSource source, written(sums));
  return read_imatrix_sums(source);
}

ImatrixSums of_one(ImatrixEntry entry) {
  ImatrixSums out;
  out.chunk_size = 512;
  out.entries.emplace("x", std::move(entry));
  return out;
}

TEST(ImatrixSumsFile, CountsAreKeptForEachExpert) {
  const auto sums = read_imatrix_sums(testdata("formats/good/imatrix/imatrix.gguf"));
  ASSERT_TRUE(sums) << sums.error().text();
  const ImatrixEntry& experts = sums->entries.at("blk.0.ffn_up_exps.weight");
  EXPECT_EQ(experts.counts, (std::vector<int64_t>{2, 0, 4}));
  EXPECT_EQ(experts.unseen(), 1u);
  EXPECT_EQ(experts.columns(), 2u);
  EXPECT_EQ(sums->entries.at("blk.0.attn_q.weight").counts, std::vector<int64_t>{3});
  EXPECT_EQ(sums->chunk_size, 512u);
  EXPECT_FALSE(sums->is_legacy);
}

TEST(ImatrixSumsFile, LegacyCallsAreOneCountAndValuesStayAsStored) {
  const auto sums = read_imatrix_sums(testdata("formats/good/imatrix/legacy.dat"));
  ASSERT_TRUE(sums) << sums.error().text();
  EXPECT_TRUE(sums->is_legacy);
  EXPECT_EQ(sums->entries.at("blk.0.attn_q.weight").sums, (std::vector<float>{1, 2, 3.5f}));
  EXPECT_EQ(sums->entries.at("blk.0.attn_q.weight").counts, std::vector<int64_t>{3});
}

TEST(ImatrixSumsFile, ReadsBackWhatItWrites) {
  const ImatrixSums wanted = of_one({{1, 2, 3, 4}, {5, 0}, {-1, 0.5f, 0, 2}});
  const auto found = written_and_read(wanted);
  ASSERT_TRUE(found) << found.error().text();
  const ImatrixEntry& entry = found->entries.at("x");
  EXPECT_EQ(entry.sums, wanted.entries.at("x").sums);
  EXPECT_EQ(entry.counts, wanted.entries.at("x").counts);
  EXPECT_EQ(entry.input_sums, wanted.entries.at("x").input_sums);
}

TEST(ImatrixSumsFile, CountsPastWholeNumbersAreRefused) {
  const auto found = written_and_read(of_one({{1, 2}, {int64_t{1} << 60}, {}}));
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(found.error().text().find("'x.counts'"), std::string::npos) << found.error().text();
}

// Weights by which nothing matters would all become zero.
TEST(ImatrixSumsFile, SumsOfZeroThatWereCountedAreNoImportance) {
  for (const auto& [counts, is_refused] :
       {std::pair{std::vector<int64_t>{5, 5}, true}, {{0, 3}, true}, {{0, 0}, false}}) {
    const auto found = read_imatrix(*written(of_one({{0, 0, 0, 0}, counts, {}})));
    EXPECT_EQ(!found, is_refused) << counts[0];
    EXPECT_EQ(found ? "" : found.error().what,
              is_refused ? "'x': all 4 sums are 0, so that no weight would matter; expected "
                           "sums of squares"
                         : "");
  }
}

TEST(ImatrixSumsFile, ASumOfSquaresBelowZeroIsRefused) {
  const auto found = written_and_read(of_one({{1, -2}, {5}, {-1, 1}}));
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::kCorrupt);
  EXPECT_NE(found.error().text().find("value 1 is -2"), std::string::npos) << found.error().text();
}

}  // namespace
}  // namespace ckpt

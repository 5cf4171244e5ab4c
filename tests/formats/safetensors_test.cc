#include "formats/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>

#include "formats/formats.h"
#include "quantizers/quantizers.h"
#include "tests/support/files.h"

namespace ckpt {
namespace {

namespace fs = std::filesystem;

const Format& safetensors() { return *find_format("safetensors"); }

Checkpoint read(const fs::path& path, Codecs codecs = all_codecs()) {
  auto checkpoint = safetensors().read(path, codecs, {});
  if (!checkpoint) {
    ADD_FAILURE() << checkpoint.error().text();
    return {};
  }
  return std::move(*checkpoint);
}

Checkpoint read_good_safetensors(std::string_view name, Codecs codecs = all_codecs()) {
  return read(testdata("formats/good/safetensors") / name, codecs);
}

const Tensor& tensor(const Checkpoint& checkpoint, std::string_view name) {
  const Tensor* found = checkpoint.find_tensor(name);
  CKPT_CHECK(found != nullptr);
  return *found;
}

Tensor u8_tensor(std::string name, uint64_t size) {
  return make_tensor(std::move(name), {size}, plain_codec(all_codecs(), Dtype::kU8),
                     std::vector<std::byte>(size, std::byte{7}));
}

std::string header_of(const OutputFile& file) {
  return {reinterpret_cast<const char*>(file.header.data()) + 8, file.header.size() - 8};
}

std::string framed_header(std::string_view json) {
  const uint64_t length = json.size();
  std::string out(sizeof(length), '\0');
  std::memcpy(out.data(), &length, sizeof(length));
  return out.append(json);
}

// ---- reading -----------------------------------------------------------------------------------

TEST(Safetensors, EveryDtypeHasItsCodecAndBytes) {
  const Checkpoint checkpoint = read_good_safetensors("dtypes.safetensors");
  EXPECT_EQ(checkpoint.name, "dtypes");
  EXPECT_EQ(checkpoint.tensors.size(), 40u);
  for (const auto& [name, codec] :
       std::vector<std::pair<std::string, std::string_view>>{{"of.bool", "bool"},
                                                             {"of.float8_e4m3fn", "f8_e4m3"},
                                                             {"of.float8_e8m0fnu", "f8_e8m0"},
                                                             {"of.float8_e5m2fnuz", "f8_e5m2fnuz"},
                                                             {"of.bfloat16", "bf16"},
                                                             {"of.complex64", "c64"},
                                                             {"of.uint64", "u64"}}) {
    const Tensor& found = tensor(checkpoint, name);
    EXPECT_EQ(found.codec->name, codec);
    EXPECT_EQ(found.shape, (std::vector<uint64_t>{2, 3, 4}));
    EXPECT_EQ(part_bytes(found).size(), 24u * size_bytes(found.codec->parts[0].dtype));
    EXPECT_EQ(found.home, "dtypes.safetensors");
  }
  // Two values in a byte: the shape counts values.
  EXPECT_EQ(tensor(checkpoint, "of.float4_e2m1fn_x2").shape, (std::vector<uint64_t>{2, 3, 8}));
  EXPECT_EQ(part_bytes(tensor(checkpoint, "of.uint8")).substr(0, 3), "\x0b\x30\x55");
  EXPECT_EQ(*checkpoint.file_metadata.at("dtypes.safetensors").find_text("format"), "pt");
}

// As other programs write them; the reference library reads both.
TEST(Safetensors, NullMetadataAndUnknownFieldsAreSkipped) {
  const std::string json =
      R"({"__metadata__":null,"a":{"note":{"b":[1,{"c":[]}]},"dtype":"U8","shape":[2],"more":1,)"
      R"("data_offsets":[0,2]}})";
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "a.safetensors";
  write_file(file, framed_header(json) + "xy");
  const auto read = find_format("safetensors")->read(file, all_codecs(), {});
  ASSERT_TRUE(read.has_value()) << read.error().text();
  EXPECT_EQ(read->tensors.size(), 1u);
  EXPECT_EQ(part_bytes(tensor(*read, "a")), "xy");
}

TEST(Safetensors, TensorsComeInFileOrder) {
  const Checkpoint checkpoint = read_good_safetensors("dtypes.safetensors");
  uint64_t offset = 0;
  for (const Tensor& found : checkpoint.tensors) {
    const Slice& slice = found.stored().parts[0][0];
    EXPECT_GE(slice.offset_bytes, offset);
    offset = slice.offset_bytes;
  }
}

TEST(Safetensors, ScalarsAndEmptyTensors) {
  const Checkpoint checkpoint = read_good_safetensors("ranks.safetensors");
  EXPECT_TRUE(tensor(checkpoint, "scalar").shape.empty());
  EXPECT_EQ(size_bytes(tensor(checkpoint, "scalar")), 4u);
  EXPECT_EQ(tensor(checkpoint, "empty").shape, (std::vector<uint64_t>{0, 3}));
  EXPECT_EQ(size_bytes(tensor(checkpoint, "empty_rows")), 0u);
}

TEST(Safetensors, AHeaderOfManyTensorsIsReadInOneGo) {
  constexpr size_t kCount = 50'000;
  std::string json = "{";
  for (size_t i = kCount; i-- > 0;) {  // backwards: listed in another order than they lie
    json += fmt::format(
        "\"model.layers.{}.w\":{{\"dtype\":\"U8\",\"shape\":[1],"
        "\"data_offsets\":[{},{}]}}{}",
        i, i, i + 1, i == 0 ? "}" : ",");
  }
  const TemporaryFolder folder;
  write_file(folder.path() / "x.safetensors", framed_header(json) + std::string(kCount, 'x'));
  const Checkpoint checkpoint = read(folder.path() / "x.safetensors");
  ASSERT_EQ(checkpoint.tensors.size(), kCount);
  EXPECT_EQ(checkpoint.tensors[7].name, "model.layers.7.w");
}

// ---- codecs of several parts -------------------------------------------------------------------

constexpr PartRule kThreeParts[] = {
    {"", Dtype::kU8, 1, 2}, {"_scale", Dtype::kF8E4M3, 1, 16}, {"_scale_2", Dtype::kF32, 0, 0}};
constexpr Codec kThree{
    .name = "three", .help = "", .parts = kThreeParts, .band_rows = 1, .block_values = 16};
constexpr PartRule kTileParts[] = {{"", Dtype::kF8E4M3, 1, 1}, {"_scale_inv", Dtype::kF32, 2, 4}};
constexpr Codec kTiles{
    .name = "tiles", .help = "", .parts = kTileParts, .band_rows = 2, .block_values = 1};

std::vector<const Codec*> with(const Codec& codec) {
  std::vector<const Codec*> codecs;
  // Without the composed codecs of the program: the test shall not depend on them.
  for (const Codec* each : all_codecs()) {
    if (each->parts.size() == 1) codecs.push_back(each);
  }
  codecs.push_back(&codec);
  return codecs;
}

TEST(SafetensorsParts, AreOneTensorWhenNamesDtypesAndShapesFit) {
  const auto codecs = with(kThree);
  const Checkpoint checkpoint = read_good_safetensors("three_parts.safetensors", codecs);
  const Tensor& weight = tensor(checkpoint, "layers.0.weight");
  EXPECT_EQ(weight.codec, &kThree);
  EXPECT_EQ(weight.shape, (std::vector<uint64_t>{4, 32}));
  EXPECT_EQ(part_bytes(weight, 0).size(), 64u);
  EXPECT_EQ(part_bytes(weight, 1).size(), 8u);
  EXPECT_EQ(part_bytes(weight, 2), std::string("\0\0\0\x3e", 4));
  EXPECT_EQ(checkpoint.find_tensor("layers.0.weight_scale"), nullptr);
  EXPECT_EQ(tensor(checkpoint, "layers.0.input_scale").codec->name, "f32");
  // Layer 1 has a scale too many in each row: not this codec, and nothing is guessed.
  EXPECT_EQ(tensor(checkpoint, "layers.1.weight").codec->name, "u8");
  EXPECT_EQ(tensor(checkpoint, "layers.1.weight_scale").codec->name, "f8_e4m3");
}

TEST(SafetensorsParts, AreWrittenAsTheyWereRead) {
  const auto codecs = with(kThree);
  const Checkpoint checkpoint = read_good_safetensors("three_parts.safetensors", codecs);
  LayoutOptions options;
  options.out_name = "three_parts.safetensors";
  const auto layout = safetensors().lay_out(checkpoint, options, codecs);
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->files[0].extents.size(), 8u);
  EXPECT_TRUE(render(checkpoint, layout->files[0]) ==
              read_file(testdata("formats/good/safetensors/three_parts.safetensors")));
  EXPECT_NE(layout->files[0].same_as.source, nullptr);
}

TEST(SafetensorsParts, TilesOverRowsRoundUp) {
  const std::string json = R"({"w":{"dtype":"F8_E4M3","shape":[3,6],"data_offsets":[16,34]},)"
                           R"("w_scale_inv":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}})";
  const TemporaryFolder folder;
  write_file(folder.path() / "x.safetensors", framed_header(json) + std::string(34, 'x'));
  const auto codecs = with(kTiles);
  const Checkpoint checkpoint = read(folder.path() / "x.safetensors", codecs);
  ASSERT_EQ(checkpoint.tensors.size(), 1u);
  EXPECT_EQ(checkpoint.tensors[0].codec, &kTiles);
  const auto layout = safetensors().lay_out(checkpoint, {}, codecs);
  ASSERT_TRUE(layout);
  EXPECT_NE(header_of(layout->files[0]).find(R"("w_scale_inv":{"dtype":"F32","shape":[2,2])"),
            std::string::npos);
}

TEST(SafetensorsParts, MayLieInDifferentShards) {
  const TemporaryFolder folder;
  write_file(folder.path() / "model-00001-of-00002.safetensors",
             framed_header(R"({"w":{"dtype":"F8_E4M3","shape":[2,4],"data_offsets":[0,8]}})") +
                 std::string(8, 'x'));
  write_file(
      folder.path() / "model-00002-of-00002.safetensors",
      framed_header(R"({"w_scale_inv":{"dtype":"F32","shape":[1,1],"data_offsets":[0,4]}})") +
          std::string(4, 'y'));
  const auto codecs = with(kTiles);
  const Checkpoint checkpoint = read(folder.path(), codecs);
  ASSERT_EQ(checkpoint.tensors.size(), 1u);
  EXPECT_EQ(part_bytes(checkpoint.tensors[0], 1), "yyyy");
  EXPECT_EQ(checkpoint.tensors[0].home, "model-00001-of-00002.safetensors");
}

// ---- laying out --------------------------------------------------------------------------------

Checkpoint new_checkpoint(const std::vector<std::pair<std::string, uint64_t>>& sizes) {
  Checkpoint checkpoint;
  for (const auto& [name, size] : sizes) checkpoint.tensors.push_back(u8_tensor(name, size));
  return checkpoint;
}

TEST(SafetensorsLayout, HeaderIsPaddedToEightBytes) {
  for (uint64_t size = 1; size < 2000; size = size * 10 + 3) {
    const auto layout = safetensors().lay_out(new_checkpoint({{"a", size}}), {}, all_codecs());
    ASSERT_TRUE(layout);
    EXPECT_EQ(layout->files[0].header.size() % 8, 0u);
    EXPECT_EQ(layout->files[0].extents[0].offset_bytes, layout->files[0].header.size());
    EXPECT_TRUE(header_of(layout->files[0])
                    .starts_with(R"({"__metadata__":{"format":"pt"},"a":{"dtype":"U8","shape":[)"));
  }
}

TEST(SafetensorsLayout, SlackIsSpacesAtTheEndOfTheHeader) {
  LayoutOptions options;
  const Checkpoint checkpoint = new_checkpoint({{"a", 5}});
  const auto plain = safetensors().lay_out(checkpoint, options, all_codecs());
  options.header_slack_bytes = 1001;
  const auto roomy = safetensors().lay_out(checkpoint, options, all_codecs());
  ASSERT_TRUE(plain && roomy);
  EXPECT_EQ(roomy->files[0].header.size(), plain->files[0].header.size() + 1008);
  EXPECT_TRUE(header_of(roomy->files[0]).ends_with(std::string(1001, ' ')));
  const TemporaryFolder folder;
  write_file(folder.path() / "x.safetensors", render(checkpoint, roomy->files[0]));
  EXPECT_EQ(read(folder.path() / "x.safetensors").tensors.size(), 1u);
}

TEST(SafetensorsLayout, TensorsFromElsewhereGoWhereTheOneBeforeThemGoes) {
  Checkpoint checkpoint = new_checkpoint({{"a", 1}, {"b", 1}, {"c", 1}, {"d", 1}});
  checkpoint.tensors[1].home = "y.safetensors";
  checkpoint.tensors[2].home = "x.safetensors";
  const auto layout = safetensors().lay_out(checkpoint, {}, all_codecs());
  ASSERT_TRUE(layout);
  ASSERT_EQ(layout->files.size(), 3u);
  EXPECT_EQ(layout->files[0].path, "x.safetensors");
  EXPECT_EQ(layout->files[0].extents.size(), 2u);
  EXPECT_EQ(layout->files[2].path, "model.safetensors.index.json");
}

TEST(SafetensorsLayout, IndexIsInAsciiAndSorted) {
  LayoutOptions options;
  options.max_file_bytes = 3;
  const auto layout = safetensors().lay_out(new_checkpoint({{"z", 3}, {"\u00e9\U0001f999\x7f", 2}}),
                                            options, all_codecs());
  ASSERT_TRUE(layout);
  EXPECT_EQ(render({}, layout->files.back()), R"({
  "metadata": {
    "total_parameters": 5,
    "total_size": 5
  },
  "weight_map": {
    "z": "model-00001-of-00002.safetensors",
    "\u00e9\ud83e\udd99\u007f": "model-00002-of-00002.safetensors"
  }
}
)");
}

TEST(SafetensorsLayout, RefusesWhatTheFormatCannotHold) {
  Checkpoint checkpoint;
  checkpoint.tensors.push_back(
      make_tensor("w", {32}, plain_codec(all_codecs(), Dtype::kQ8_0), std::vector<std::byte>(34)));
  const auto layout = safetensors().lay_out(checkpoint, {}, all_codecs());
  ASSERT_FALSE(layout);
  EXPECT_EQ(layout.error().what, "tensor 'w': q8_0 cannot be stored in safetensors");
  EXPECT_FALSE(safetensors().lay_out(new_checkpoint({{"\xff", 1}}), {}, all_codecs()));
  EXPECT_FALSE(safetensors().lay_out(new_checkpoint({{"a", 1}, {"a", 1}}), {}, all_codecs()));
}

TEST(SafetensorsLayout, NamesHaveALength) {
  for (const size_t size : {kMaxNameBytes, kMaxNameBytes + 1}) {
    const std::string name(size, 'x');
    const auto header = parse_safetensors_header(
        "{\"" + name + R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})");
    const auto layout = safetensors().lay_out(new_checkpoint({{name, 1}}), {}, all_codecs());
    EXPECT_EQ(header.has_value(), size == kMaxNameBytes);
    EXPECT_EQ(layout.has_value(), size == kMaxNameBytes);
    if (header || layout) continue;
    EXPECT_EQ(header.error().what, "tensor '" + std::string(80, 'x') +
                                       "...': a name of 4097 bytes; expected at most 4096");
    EXPECT_EQ(layout.error().what, header.error().what);
  }
}

TEST(SafetensorsLayout, DocumentsAreFilesBesideTheTensors) {
  Checkpoint checkpoint = new_checkpoint({{"a", 1}});
  checkpoint.set_document("config.json", "{\"x\": 1}\n");
  const auto layout = safetensors().lay_out(checkpoint, {}, all_codecs());
  ASSERT_TRUE(layout);
  ASSERT_EQ(layout->files.size(), 2u);
  EXPECT_EQ(render(checkpoint, layout->files[1]), "{\"x\": 1}\n");
  checkpoint.set_document("model.safetensors", "x");
  EXPECT_FALSE(safetensors().lay_out(checkpoint, {}, all_codecs()));
  LayoutOptions options;
  options.out_name = "one.safetensors";
  const auto one = safetensors().lay_out(checkpoint, options, all_codecs());
  ASSERT_TRUE(one);
  EXPECT_EQ(one->files.size(), 1u);
}

TEST(SafetensorsLayout, DoesNotCopyAChangedHeader) {
  Checkpoint checkpoint = read_good_safetensors("ranks.safetensors");
  checkpoint.tensors[0].name = "another";
  LayoutOptions options;
  options.out_name = "ranks.safetensors";
  const auto layout = safetensors().lay_out(checkpoint, options, all_codecs());
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->files[0].same_as.source, nullptr);
}

}  // namespace
}  // namespace ckpt

// Weights as PyTorch saves them: what a state_dict says is read, and nothing that it would run.
#include "formats/torch.h"

#include <gtest/gtest.h>

#include <map>

#include "core/base/arithmetic.h"
#include "formats/formats.h"
#include "quantizers/quantizers.h"
#include "tests/support/files.h"

namespace ckpt {
namespace {

Result<Checkpoint> opened(const std::filesystem::path& path) {
  CKPT_ASSIGN(const Format* format, recognize(path));
  return format->read(path, all_codecs(), {});
}

struct Content {
  std::vector<uint64_t> shape;
  std::string codec, bytes;
  bool operator==(const Content&) const = default;
};

std::map<std::string, Content> contents(const std::filesystem::path& path) {
  const auto checkpoint = opened(path);
  EXPECT_TRUE(checkpoint.has_value()) << checkpoint.error().text();
  std::map<std::string, Content> out;
  if (!checkpoint) return out;
  for (const Tensor& tensor : checkpoint->tensors) {
    out[tensor.name] = {tensor.shape, std::string(tensor.codec->name), part_bytes(tensor)};
  }
  return out;
}

TEST(Torch, TensorsAreThoseOfSafetensors) {
  const auto expected = contents(testdata("torch/equal.safetensors"));
  ASSERT_EQ(expected.size(), 7u);
  EXPECT_EQ(contents(testdata("torch/single")), expected);
  EXPECT_EQ(contents(testdata("torch/shards")), expected);
  EXPECT_EQ(contents(testdata("torch/single/pytorch_model.bin")), expected);
}

TEST(Torch, FilesAreCalledAsSafetensorsAre) {
  EXPECT_EQ(torch_file_as_safetensors("pytorch_model.bin"), "model.safetensors");
  EXPECT_EQ(torch_file_as_safetensors("pytorch_model-00001-of-00003.bin"),
            "model-00001-of-00003.safetensors");
  EXPECT_EQ(torch_file_as_safetensors("weights.pth"), "weights.safetensors");
  EXPECT_FALSE(is_torch_weights("training_args.bin"));
  EXPECT_FALSE(is_torch_weights("optimizer.bin"));
}

TEST(Torch, RejectsFilesWithoutAStateDict) {
  const std::pair<const char*, const char*> kCases[] = {
      {"compressed", "is compressed or encrypted; expected a stored one"},
      {"transposed", "[2, 3] lies with strides [1, 2]"},
      {"beyond_storage", "[6] of f32 is not within its storage of 24 bytes"},
      {"no_storage", "storage '0' is not in the file"},
      {"big_endian", "of another byte order"},
      {"trainer", "tensor 'state_dict': a value of another kind; expected a tensor"},
      {"list", "the pickle holds no dict"},
      {"calls_a_program", "made by '__builtin__ print'"},
      {"negated", "tensor 'a': saved with the bit 'neg', which changes its values"},
      {"negated_if_named", "tensor 'a': saved with the bit 'neg'"},
      {"negated_parameter", "tensor 'a': saved with the bit 'conj'"},
      {"unknown_wrapper", "made by 'torch._utils _rebuild_parameter_of_tomorrow'"},
      {"state", "a tensor whose state is set after it is made"},
      {"doubled_name", "two entries of the name 'doubled_name/data/0'"},
      {"doubled_case", "two entries of the name 'doubled_case/DATA/0'"},
      {"other_root", "entry 'other_root/data.pkl' is outside 'first/'"},
      {"two_roots", "entry 'another/data.pkl' is outside 'two_roots/'"},
      {"no_root", "a zip without NAME/data.pkl"},
      {"script", "a program of TorchScript"},
      {"two_types", "storage '0' is of two types, 'torch FloatStorage' and 'torch IntStorage'"},
      {"fewer_said", "storage '0' has 24 bytes; expected 5 values of 4 bytes"},
      {"more_said", "storage '0' has 24 bytes; expected 7 values of 4 bytes"},
      {"meta", "of the device 'meta'"},
      {"wide_offset", "is not within its storage of 24 bytes"},
      {"ordered_pairs", "the pickle holds no dict"},
      {"cut", "no end of the directory; expected one: the zip of"},
      {"legacy", "saved by a PyTorch before 1.6"}};
  for (const auto& [name, sentence] : kCases) {
    const auto found = opened(testdata(fmt::format("torch/bad/{}.bin", name)));
    ASSERT_FALSE(found.has_value()) << name;
    EXPECT_NE(found.error().text().find(sentence), std::string::npos) << found.error().text();
  }
}

TEST(Torch, BitsThatAreNotSetChangeNothing) {
  const auto found = contents(testdata("torch/plain_bits.bin"));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found.at("a").shape, std::vector<uint64_t>{6});
}

// The index and the files are held against each other as those of safetensors are.
TEST(Torch, RejectsAFalseIndex) {
  const TemporaryFolder folder;
  std::filesystem::copy(testdata("torch/shards"), folder / "model");
  const auto index = folder / "model" / "pytorch_model.bin.index.json";
  const std::string sound = read_file(index);
  const std::string name = "\"lm_head.weight\": \"pytorch_model-00002-of-00002.bin\"";
  for (const auto& [file, sentence] :
       {std::pair("pytorch_model-00001-of-00002.bin", "it is in 'pytorch_model-00002-of-00002"),
        std::pair("pytorch_model-00003-of-00003.bin", "which is missing")}) {
    std::string text = sound;
    const size_t at = text.find(name);
    ASSERT_NE(at, std::string::npos);
    text.replace(at, name.size(), fmt::format("\"lm_head.weight\": \"{}\"", file));
    write_file(index, text);
    FileMisfit misfit;
    ASSERT_TRUE(read_despite_misfit(folder / "model", all_codecs(), {}, misfit).has_value());
    EXPECT_NE(misfit.found.find(sentence), std::string::npos) << misfit.found;
    EXPECT_NE(misfit.found.find(kTorchIndexName), std::string::npos);
  }
  std::filesystem::remove(index);
  std::filesystem::remove(folder / "model" / "pytorch_model-00002-of-00002.bin");
  const auto missing = opened(folder / "model");
  ASSERT_FALSE(missing.has_value());
  EXPECT_NE(missing.error().text().find("1 of the numbered shards are there; their names say 2"),
            std::string::npos)
      << missing.error().text();
}

void expect_sound(const std::string& bytes) {
  const auto raw = std::as_bytes(std::span(bytes));
  const auto header = read_torch_header(make_blob("mutated", {raw.begin(), raw.end()}));
  if (!header) return;
  for (const SafetensorsEntry& entry : header->entries) {
    ASSERT_LE(entry.begin, entry.end);
    ASSERT_LE(header->data_start + entry.end, bytes.size());
    const auto values = product(entry.shape);
    ASSERT_TRUE(values && *values * size_bytes(entry.dtype) == entry.end - entry.begin);
  }
}

TEST(Torch, AnyChangedByteIsAnErrorOrOtherTensorsOfTheFile) {
  const std::string sound = read_file(testdata("torch/single/pytorch_model.bin"));
  for (size_t at = 0; at < sound.size(); ++at) {
    expect_sound(sound.substr(0, at));
    for (const int flip : {0x01, 0x80, 0xFF}) {
      std::string bytes = sound;
      bytes[at] = static_cast<char>(bytes[at] ^ flip);
      expect_sound(bytes);
    }
  }
}

}  // namespace
}  // namespace ckpt

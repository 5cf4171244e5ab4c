// NVFP4 from a folder to GGUF and back into a folder: the files it started from, bit for bit.
#include "core/engine/compare.h"
#include "formats/formats.h"
#include "quantizers/quantizers.h"
#include "tests/pipeline/pipeline.h"

namespace ckpt {
namespace {

namespace fs = std::filesystem;

struct Row {
  const char *model, *pre, *type;
};

// A folder's way: exported, to GGUF, and back.
class FromGguf : public testing::TestWithParam<Row> {
 protected:
  void make(const Row& row) {
    model_ = row.model;
    Conversion there;
    there.in = testdata(row.model);
    there.out = folder_ / "folder";
    there.to = row.type;
    if (there.to == "nvfp4") {
      there.flags.add("amax-from", testdata("export/modelopt/" + model_ + "/nvfp4").string());
    }
    ASSERT_EQ(error_of(there), "no error");
    Conversion packed;
    packed.in = there.out;
    packed.out = folder_ / "file.gguf";
    packed.flags.add("tokenizer-pre", row.pre);
    ASSERT_EQ(error_of(packed), "no error");
  }
  Conversion back() const {
    Conversion out;
    out.in = folder_ / "file.gguf";
    out.out = folder_ / "back";
    out.base = testdata(model_).string();
    return out;
  }

  const TemporaryFolder folder_;
  std::string model_;
};

TEST_P(FromGguf, TheFolderComesBack) {
  make(GetParam());
  ExecuteOptions small;  // many tasks, so that rows are cut
  small.chunk_bytes = 4096;
  ASSERT_TRUE(run(back(), small));
  size_t files = 0;
  for (const auto& entry : fs::directory_iterator(folder_ / "folder")) {
    const fs::path other = folder_ / "back" / entry.path().filename();
    ASSERT_TRUE(fs::exists(other)) << other;
    EXPECT_TRUE(read_file(entry.path()) == read_file(other)) << other;
    ++files;
  }
  EXPECT_GT(files, 5u);
}

// The file's keys alone give the same weights and scales; all else is what the file has of it.
TEST_P(FromGguf, NothingButTheFileIsNeeded) {
  make(GetParam());
  ASSERT_TRUE(run(back()));
  Conversion alone = back();
  alone.base.clear();
  alone.out = folder_ / "alone";
  ExecuteOptions small;
  small.chunk_bytes = 4096;
  ASSERT_EQ(error_of(alone, small), "no error");
  const auto based = find_format("safetensors")->read(folder_ / "back", all_codecs(), {});
  const auto made = find_format("safetensors")->read(folder_ / "alone", all_codecs(), {});
  ASSERT_TRUE(based && made);
  size_t packed = 0;
  for (const Tensor& tensor : made->tensors) {
    std::string name = tensor.name;
    if (based->find_tensor(name) == nullptr && name.starts_with("model.")) {
      name.insert(6, "language_model.");  // of a wrapper
    }
    const Tensor* other = based->find_tensor(name);
    ASSERT_NE(other, nullptr) << name;
    ASSERT_EQ(other->stored().parts.size(), tensor.stored().parts.size()) << name;
    packed += tensor.has_scales();
    for (size_t part = 0; part < tensor.stored().parts.size(); ++part) {
      EXPECT_TRUE(part_bytes(tensor, part) == part_bytes(*other, part)) << name;
    }
  }
  EXPECT_GT(packed, 3u);
  EXPECT_NE(read_file(folder_ / "alone" / "config.json").find("NVFP4\""), std::string::npos);
  EXPECT_TRUE(fs::exists(folder_ / "alone" / "hf_quant_config.json"));
}

// Rotary halves and heads of values exchanged, stacked experts, a tower and text, a model
// without input scales.
INSTANTIATE_TEST_SUITE_P(Models, FromGguf,
                         testing::Values(Row{"llama-micro", "llama-bpe", "nvfp4"},
                                         Row{"qwen3-micro", "qwen2", "nvfp4"},
                                         Row{"qwen35-micro", "qwen35", "nvfp4"},
                                         Row{"qwen35moe-micro", "qwen35", "nvfp4"},
                                         Row{"qwen35vl-micro", "qwen35", "nvfp4"},
                                         Row{"llama-micro", "llama-bpe", "nvfp4-w4a16"}),
                         [](const auto& each) {
                           std::string name = std::string(each.param.model) + each.param.type;
                           std::erase(name, '-');
                           return name;
                         });

using FromGgufRefusals = FromGguf;

TEST_P(FromGgufRefusals, NameMissingParts) {
  make(GetParam());
  Conversion conversion = back();
  conversion.base = testdata("qwen3-micro").string();
  EXPECT_NE(error_of(conversion).find("BASE is qwen3"), std::string::npos);
  conversion = back();
  conversion.to = "bf16";
  EXPECT_NE(error_of(conversion).find("comes back as it is"), std::string::npos);
  conversion = back();
  conversion.base = (folder_ / "folder").string();
  EXPECT_NE(error_of(conversion).find("unquantized"), std::string::npos);
}

// Another model of the same family: its last norm is another.
TEST_P(FromGgufRefusals, AnotherBase) {
  make(GetParam());
  const fs::path other = folder_ / "other";
  fs::copy(testdata(model_), other);
  const auto read = find_format("safetensors")->read(other, all_codecs(), {});
  ASSERT_TRUE(read);
  const Tensor* norm = read->find_tensor("model.norm.weight");
  ASSERT_NE(norm, nullptr);
  const Slice slice = norm->stored().parts[0][0];
  std::string text = read_file(other / norm->home);
  text[slice.offset_bytes] = static_cast<char>(text[slice.offset_bytes] ^ 1);
  fs::remove(other / norm->home);
  write_file(other / norm->home, text);
  Conversion conversion = back();
  conversion.base = other.string();
  EXPECT_NE(error_of(conversion).find("'output_norm.weight' is not what"), std::string::npos)
      << error_of(conversion);
}

// ggml reads such a scale as zero; a folder would mean NaN.
TEST_P(FromGgufRefusals, RejectInvalidScales) {
  make(GetParam());
  const fs::path file = folder_ / "file.gguf";
  const auto read = find_format("gguf")->read(file, all_codecs(), {});
  ASSERT_TRUE(read);
  const Slice slice = read->find_tensor("blk.0.ffn_up.weight")->stored().parts[0][0];
  std::string text = read_file(file);
  text[slice.offset_bytes + 2] = 0x7F;
  fs::remove(file);
  write_file(file, text);
  const std::string error = error_of(back());
  EXPECT_NE(error.find("row 0 has a block scale"), std::string::npos) << error;
}

INSTANTIATE_TEST_SUITE_P(Models, FromGgufRefusals,
                         testing::Values(Row{"llama-micro", "llama-bpe", "nvfp4"}),
                         [](const auto&) { return "llama"; });

}  // namespace
}  // namespace ckpt

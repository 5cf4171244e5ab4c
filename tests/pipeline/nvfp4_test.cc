// NVFP4 through whole conversions: folders to GGUF byte for byte as llama.cpp's converter, straight
// from floats as through the folder, and from one folder layout to the other and back.
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

#include "core/engine/compare.h"
#include "formats/formats.h"
#include "quantizers/quantizers.h"
#include "tests/pipeline/pipeline.h"
#include "transforms/transforms.h"

namespace ckpt {
namespace {

namespace fs = std::filesystem;

Result<Checkpoint> open(const fs::path& path) {
  CKPT_ASSIGN(const Format* format, recognize(path));
  return format->read(path, all_codecs(), {});
}

// A folder that ModelOpt's export of a model is equal to, under the name that its reference had.
fs::path exported(const TemporaryFolder& folder, const std::string& model,
                  const std::string& name) {
  Conversion conversion;
  conversion.in = testdata(model);
  conversion.out = folder / name;
  conversion.to = "nvfp4";
  conversion.flags.add("amax-from", testdata("export/modelopt/" + model + "/nvfp4").string());
  EXPECT_EQ(error_of(conversion), "no error");
  return conversion.out;
}

// ---- llama.cpp's files -------------------------------------------------------------------------

struct Nvfp4Row {
  const char *model, *pre, *sha256;
};
// Made by llama.cpp v0.5.0's convert_hf_to_gguf.py, with --no-mtp for Qwen3.5, from a folder
// called MODEL-nvfp4.
constexpr Nvfp4Row kRows[] = {
    {"qwen35-micro", "", "02c271ee687578ec47c7947118869d5f0ce404ab4dbbe8bc9eb238827a4229d2"},
    {"qwen3-micro", "qwen2", "93a13d5e4c5ae6706575edf980f1148b915e518766ff3d81914eec87510f0f38"},
    {"qwen35moe-micro", "", "14eb98848b15ff2ad0c205123564263c96bf3de6b75a87a01e36174f3aa00711"},
    {"llama-micro", "llama-bpe",
     "075c64f9650f25dd4f1b7c726c93b0dad67489e133470f285b92d152b24fc9c0"},
};

class Nvfp4Identity : public testing::TestWithParam<Nvfp4Row> {};

TEST_P(Nvfp4Identity, FolderToGgufEqualsTheReferenceFile) {
  const Nvfp4Row& row = GetParam();
  const TemporaryFolder folder;
  Conversion conversion;
  conversion.in = exported(folder, row.model, std::string(row.model) + "-nvfp4");
  conversion.out = folder / "out.gguf";
  if (*row.pre != 0) conversion.flags.add("tokenizer-pre", row.pre);
  conversion.flags.add("no-mtp", "yes");
  EXPECT_EQ(digest_of(conversion), row.sha256);
  conversion.to = "nvfp4";
  conversion.out = folder / "again.gguf";
  EXPECT_EQ(digest_of(conversion), row.sha256);
}

INSTANTIATE_TEST_SUITE_P(All, Nvfp4Identity, testing::ValuesIn(kRows), [](const auto& tested) {
  std::string name = tested.param.model;
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
});

// Folders of testdata: tensors of compressed-tensors, and FP8 with NVFP4.
TEST(Nvfp4Stored, CompressedTensorsAndMixedEqualTheReferenceFiles) {
  for (const auto& [name, sha256] :
       {std::pair("qwen35-micro-ct",
                  "26d33d7f7ee4057820cc3100f2aa677fad63c8699f28d7d5885419351c952215"),
        std::pair("qwen35-micro-mixed",
                  "cf308f407c2cf7085e02e105c1f0f06da52977935a0def32b6a83e48d4650edb")}) {
    const TemporaryFolder folder;
    Conversion conversion;
    conversion.in = testdata(std::string("nvfp4/") + name);
    conversion.out = folder / "out.gguf";
    EXPECT_EQ(digest_of(conversion), sha256) << name;
  }
}

// ---- floats straight to GGUF -------------------------------------------------------------------

TEST(Nvfp4Straight, GivesTheBytesOfTheWayThroughTheFolder) {
  for (const char* model : {"qwen35-micro", "qwen3-micro", "llama-micro", "qwen35moe-micro"}) {
    const TemporaryFolder folder;
    Conversion through;
    through.in = exported(folder, model, model);
    through.out = folder / "through.gguf";
    through.flags.add("tokenizer-pre", "qwen2");
    Conversion straight = through;
    straight.in = testdata(model);
    straight.out = folder / "straight.gguf";
    straight.to = "nvfp4";
    straight.flags.add("amax-from",
                       testdata(std::string("export/modelopt/") + model + "/nvfp4").string());
    ExecuteOptions small;  // a stack of experts in many tasks
    small.threads = 5;
    small.chunk_bytes = 8192;
    EXPECT_EQ(digest_of(straight, small), digest_of(through)) << model;
    EXPECT_TRUE(fs::exists(through.out));
  }
}

TEST(Nvfp4Straight, WritesBlocksAndScaleAsTwoTensorsAlsoInSplits) {
  const TemporaryFolder folder;
  Conversion conversion;
  conversion.in = testdata("llama-micro");
  conversion.out = folder / "out.gguf";
  conversion.to = "nvfp4-w4a16";
  conversion.flags.add("tokenizer-pre", "llama-bpe");
  conversion.shard_bytes = 1 << 20;
  const auto report = run(conversion);
  ASSERT_TRUE(report) << report.error().text();
  ASSERT_GT(report->files.size(), 1u);
  const auto made = open(report->files[0].path);
  ASSERT_TRUE(made) << made.error().text();
  const Tensor* blocks = made->find_tensor("blk.1.ffn_down.weight");
  const Tensor* scale = made->find_tensor("blk.1.ffn_down.scale");
  ASSERT_TRUE(blocks != nullptr && scale != nullptr);
  EXPECT_EQ(blocks->codec->name, "nvfp4");
  EXPECT_EQ(scale->shape, std::vector<uint64_t>{1});
  EXPECT_GT((*read_values(*scale, 1))[0], 0);
  EXPECT_EQ(made->find_tensor("blk.1.ffn_down.input_scale"), nullptr);
  EXPECT_EQ(made->metadata.find_unsigned("general.file_type"), 39u);
}

// The experts of a stack become one tensor, and so do their scales.
TEST(Nvfp4Straight, StacksExpertsAlsoInSplits) {
  const TemporaryFolder folder;
  Conversion experts;
  experts.in = testdata("qwen35moe-micro");
  experts.out = folder / "out.gguf";
  experts.to = "nvfp4-w4a16";
  experts.shard_bytes = 300 << 10;
  const auto report = run(experts);
  ASSERT_TRUE(report) << report.error().text();
  ASSERT_GT(report->files.size(), 2u);
  const auto made = open(report->files[0].path);
  ASSERT_TRUE(made) << made.error().text();
  const Tensor* blocks = made->find_tensor("blk.1.ffn_down_exps.weight");
  const Tensor* scale = made->find_tensor("blk.1.ffn_down_exps.scale");
  ASSERT_TRUE(blocks != nullptr && scale != nullptr);
  EXPECT_EQ(blocks->shape, (std::vector<uint64_t>{8, 256, 128}));
  EXPECT_EQ(scale->shape, std::vector<uint64_t>{8});
  const auto scales = read_values(*scale, 8);
  ASSERT_TRUE(scales);
  EXPECT_NE((*scales)[0], (*scales)[7]);
  EXPECT_EQ(made->find_tensor("blk.1.ffn_down_exps[0]"), nullptr);
}

TEST(Nvfp4Straight, RefusesGgufInput) {
  const TemporaryFolder folder;
  Conversion gguf;
  gguf.in = testdata("mixtures/file-tied.gguf");
  gguf.out = folder / "out.gguf";
  gguf.to = "nvfp4";
  EXPECT_NE(error_of(gguf).find("--to nvfp4-ggml"), std::string::npos) << error_of(gguf);
}

TEST(Nvfp4Folder, OtherTypesNeedASecondRounding) {
  const TemporaryFolder folder;
  Conversion conversion;
  conversion.in = exported(folder, "qwen3-micro", "qwen3-micro-nvfp4");
  conversion.out = folder / "out.gguf";
  conversion.to = "q4_k_m";
  conversion.flags.add("tokenizer-pre", "qwen2");
  EXPECT_NE(error_of(conversion).find("round them a second time"), std::string::npos);
  conversion.flags.add("allow-requantize", "yes");
  EXPECT_EQ(error_of(conversion), "no error");
  const auto made = open(conversion.out);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->find_tensor("blk.0.ffn_up.scale"), nullptr);
}

// ---- what is refused ---------------------------------------------------------------------------

class Nvfp4Refusals : public testing::Test {
 protected:
  Nvfp4Refusals() {
    auto read = open(exported(folder_, "qwen35-micro", "qwen35-micro-nvfp4"));
    CKPT_CHECK(read.has_value());
    checkpoint_ = std::move(*read);
  }
  Tensor& tensor(const std::string& name) {
    for (Tensor& each : checkpoint_.tensors) {
      if (each.name == name) return each;
    }
    CKPT_CHECK(false);
  }
  Tensor part(const std::string& name, const std::string& own_name, size_t index, Dtype dtype,
              std::vector<uint64_t> shape) {
    Tensor out = tensor(name);
    out.name = own_name;
    out.shape = std::move(shape);
    out.codec = &plain_codec(all_codecs(), dtype);
    out.origin = Stored{{tensor(name).stored().parts[index]}};
    return out;
  }
  std::string error() {
    const Context context{all_codecs()};
    const auto made = find_transform("to-gguf")->apply(checkpoint_, {}, context);
    return made ? "no error" : made.error().text();
  }
  void expect_error(const std::string& part) {
    EXPECT_NE(error().find(part), std::string::npos) << error();
  }

  TemporaryFolder folder_;
  Checkpoint checkpoint_;
  const std::string up_ = "model.layers.0.mlp.up_proj.weight";
};

TEST_F(Nvfp4Refusals, AcceptAValidCheckpoint) { EXPECT_EQ(error(), "no error"); }

TEST_F(Nvfp4Refusals, MissingParts) {
  const Tensor codes = part(up_, up_, 0, Dtype::kU8, {512, 128});
  const Tensor scales = part(up_, up_ + "_scale", 1, Dtype::kF8E4M3, {512, 16});
  tensor(up_) = codes;
  expect_error("'" + up_ + "_scale', which NVFP4 needs, is missing");
  checkpoint_.tensors.push_back(scales);
  expect_error("'" + up_ + "_scale_2', which NVFP4 needs, is missing");
}

TEST_F(Nvfp4Refusals, ScalesOfAnotherShape) {
  const Tensor codes = part(up_, up_, 0, Dtype::kU8, {512, 128});
  const Tensor scales = part(up_, up_ + "_scale", 1, Dtype::kF8E4M3, {1024, 8});
  const Tensor scale = part(up_, up_ + "_scale_2", 2, Dtype::kF32, {});
  tensor(up_) = codes;
  checkpoint_.tensors.push_back(scales);
  checkpoint_.tensors.push_back(scale);
  expect_error("'" + up_ + "_scale' is f8_e4m3 [1024, 8]");
}

TEST_F(Nvfp4Refusals, RejectNonFiniteScales) {
  const float nan = std::nanf("");
  std::vector<std::byte> bytes(sizeof nan);
  std::memcpy(bytes.data(), &nan, sizeof nan);
  Tensor& input = tensor("model.layers.0.mlp.up_proj.input_scale");
  input = make_tensor(input.name, {}, *input.codec, bytes);
  expect_error("tensor 'model.layers.0.mlp.up_proj.input_scale' is nan");
  std::erase_if(checkpoint_.tensors,
                [](const Tensor& each) { return each.name.ends_with("up_proj.input_scale"); });
  std::get<Stored>(tensor(up_).origin).parts[2] = {Slice{make_blob("x", bytes), 0, 4}};
  expect_error("tensor '" + up_ + "_scale_2' is nan");
}

TEST_F(Nvfp4Refusals, ActivationScalesOfAwq) {
  checkpoint_.tensors.push_back(make_tensor("model.layers.0.mlp.up_proj.pre_quant_scale", {1},
                                            plain_codec(all_codecs(), Dtype::kF32),
                                            std::vector<std::byte>(4)));
  expect_error("model.layers.0.mlp.up_proj.pre_quant_scale");
}

// A model that is 80 wide inside its MLPs, as its config.json says too.
TEST_F(Nvfp4Refusals, RejectPartialBlocksAndInvalidHeads) {
  auto config = nlohmann::json::parse(checkpoint_.find_document("config.json")->text());
  config["intermediate_size"] = 80;
  checkpoint_.set_document("config.json", config.dump());
  for (Tensor& each : checkpoint_.tensors) {
    if (each.name.find(".mlp.") == std::string::npos || each.shape.size() != 2) continue;
    for (uint64_t& length : each.shape) length = length == 512 ? 80 : length;
    for (size_t i = 0; i < 2; ++i) {
      Slice& slice = std::get<Stored>(each.origin).parts[i][0];
      slice.size_bytes = part_size_bytes(each, i);
    }
  }
  expect_error("down_proj.weight': rows of 80 values; nvfp4 needs a multiple of 64");
}

// ---- layouts of folders ------------------------------------------------------------------------

// The bytes of each part of each NVFP4 weight.
std::map<std::string, std::string> bits_of(const Checkpoint& checkpoint, size_t part) {
  std::map<std::string, std::string> out;
  for (const Tensor& tensor : checkpoint.tensors) {
    if (tensor.codec->parts.size() != 3) continue;
    std::string& bytes = out[tensor.name];
    for (const Slice& slice : tensor.stored().parts[part]) {
      const size_t start = bytes.size();
      bytes.resize(start + slice.size_bytes);
      EXPECT_TRUE(slice.source->read(slice.offset_bytes,
                                     std::as_writable_bytes(std::span(bytes)).subspan(start)));
    }
  }
  return out;
}

TEST(Nvfp4Layout, MovesBitsToCompressedTensorsAndBack) {
  const TemporaryFolder folder;
  Conversion there;
  there.in = exported(folder, "qwen35-micro", "modelopt");
  there.out = folder / "ct";
  there.steps = {"nvfp4-layout:to=compressed-tensors"};
  const auto planned = plan_conversion(there);
  ASSERT_TRUE(planned) << planned.error().text();
  ASSERT_FALSE(planned->notes.empty());
  EXPECT_NE(planned->notes[0].find("have no exact reciprocal"), std::string::npos);
  ASSERT_EQ(error_of(there), "no error");
  EXPECT_FALSE(fs::exists(there.out / "hf_quant_config.json"));

  Conversion back = there;
  back.in = there.out;
  back.out = folder / "back";
  back.steps = {"nvfp4-layout:to=modelopt"};
  ASSERT_EQ(error_of(back), "no error");
  const auto first = open(there.in), second = open(there.out), third = open(back.out);
  ASSERT_TRUE(first && second && third);
  EXPECT_EQ(bits_of(*first, 0), bits_of(*second, 0));
  EXPECT_EQ(bits_of(*first, 1), bits_of(*second, 1));
  EXPECT_EQ(bits_of(*first, 1), bits_of(*third, 1));
  ASSERT_GT(bits_of(*first, 0).size(), 20u);
  for (const char* name : {"config.json", "hf_quant_config.json"}) {
    EXPECT_EQ(read_file(there.in / name), read_file(back.out / name)) << name;
  }
  for (const auto& [name, bytes] : bits_of(*first, 2)) {
    float before = 0, between = 0, after = 0;
    std::memcpy(&before, bytes.data(), sizeof before);
    std::memcpy(&between, bits_of(*second, 2)[name].data(), sizeof between);
    std::memcpy(&after, bits_of(*third, 2)[name].data(), sizeof after);
    EXPECT_EQ(between, 1.0f / before) << name;
    EXPECT_NEAR(after / before, 1, 0x1p-23) << name;
  }
}

// FP8 layers keep their bytes; each kind of layer has a group that names its own.
TEST(Nvfp4Layout, Fp8BesideNvfp4BecomesMixedPrecision) {
  const TemporaryFolder folder;
  Conversion mixed;
  mixed.in = testdata("nvfp4/qwen35-micro-mixed");
  mixed.out = folder / "ct";
  mixed.steps = {"nvfp4-layout:to=compressed-tensors"};
  ASSERT_EQ(error_of(mixed), "no error");
  const auto before = open(mixed.in), after = open(mixed.out);
  ASSERT_TRUE(before && after);
  size_t fp8 = 0;
  for (const Tensor& tensor : after->tensors) {
    if (tensor.codec->name != "fp8_tensor_vector") continue;
    const Tensor* source = before->find_tensor(tensor.name);
    ASSERT_NE(source, nullptr);
    for (size_t part = 0; part < 2; ++part) {
      EXPECT_EQ(part_bytes(tensor, part), part_bytes(*source, part)) << tensor.name;
    }
    const std::string module = tensor.name.substr(0, tensor.name.rfind('.'));
    const Tensor* input = after->find_tensor(module + ".input_scale");
    ASSERT_NE(input, nullptr) << module;
    EXPECT_EQ(input->shape, std::vector<uint64_t>{1});
    EXPECT_EQ(part_bytes(*input), part_bytes(*before->find_tensor(input->name)));
    ++fp8;
  }
  EXPECT_EQ(fp8, 13u);
  const std::string config = read_file(mixed.out / "config.json");
  for (const char* text : {"\"mixed-precision\"", "\"float-quantized\"", "\"nvfp4-pack-quantized\"",
                           "\"model.layers.3.self_attn.q_proj\""}) {
    EXPECT_NE(config.find(text), std::string::npos) << text;
  }
  EXPECT_EQ(config.find("\"Linear\""), std::string::npos);

  Conversion back = mixed;
  back.in = mixed.out;
  back.out = folder / "back";
  back.steps = {"nvfp4-layout:to=modelopt"};
  EXPECT_NE(error_of(back).find("only plain NVFP4 can change its layout"), std::string::npos)
      << error_of(back);
}

TEST(Nvfp4Layout, RejectsWeightsThatAreNotPlainNvfp4) {
  const TemporaryFolder folder;
  Conversion mixed;
  mixed.in = testdata("mixed/qwen35-micro-awq-lite");
  mixed.out = folder / "out";
  mixed.steps = {"nvfp4-layout:to=compressed-tensors"};
  EXPECT_NE(error_of(mixed).find("only plain NVFP4 can change its layout"), std::string::npos);
  mixed.steps = {"nvfp4-layout:to=gptq"};
  EXPECT_NE(error_of(mixed).find("expected modelopt or compressed-tensors"), std::string::npos);
  mixed.in = testdata("llama-micro");
  mixed.steps = {"nvfp4-layout:to=modelopt"};
  EXPECT_NE(error_of(mixed).find("no tensor is NVFP4"), std::string::npos);
}

}  // namespace
}  // namespace ckpt

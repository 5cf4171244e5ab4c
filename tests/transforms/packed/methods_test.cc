// Weights in layouts of other programs: values are those that they were packed from, and files that
// lie are refused by name.
#include <cstring>
#include <map>
#include <set>
#include <sstream>

#include "core/base/sha256.h"
#include "core/computed/coded_matrix.h"
#include "tests/transforms/run_step.h"
#include "transforms/packed/packed.h"

namespace ckpt {
using namespace step_test;
namespace {

struct Expected {
  std::string folder, name, shape, sha256;
};

std::vector<Expected> expected_weights() {
  std::istringstream lines(read_file(testdata("packed/methods/expected.tsv")));
  std::vector<Expected> out;
  for (Expected row; lines >> row.folder >> row.name >> row.shape >> row.sha256;) {
    out.push_back(row);
  }
  return out;
}

Checkpoint folder_of(const std::string& method) {
  return *open(testdata("packed/methods/" + method));
}

void drop(Checkpoint& checkpoint, std::string_view end) {
  std::erase_if(checkpoint.tensors, [&](const Tensor& each) { return each.name.ends_with(end); });
}

void says(Checkpoint& checkpoint, std::string_view from, std::string_view to) {
  std::string text(checkpoint.find_document("config.json")->text());
  const size_t at = text.find(from);
  ASSERT_NE(at, std::string::npos) << from;
  checkpoint.set_document("config.json", text.replace(at, from.size(), to));
}

TEST(PackedMethods, EveryWeightIsWhatItWasPackedFrom) {
  const std::vector<Expected> all = expected_weights();
  ASSERT_GE(all.size(), 9u);
  for (const Expected& row : all) {
    const auto joined = join_packed_weights(folder_of(row.folder), all_codecs());
    ASSERT_TRUE(joined.has_value()) << row.folder << ": " << joined.error().text();
    const Tensor& weight = tensor(*joined, row.name);
    EXPECT_EQ(fmt::format("{}", fmt::join(weight.shape, ",")), row.shape) << row.folder;
    const Tensor floats = tensor(
        settle(run("dequantize", folder_of(row.folder), options({{"type", "f32"}}))), row.name);
    EXPECT_EQ(sha256_of(part_bytes(floats)), row.sha256) << row.folder << ' ' << row.name;
  }
}

TEST(PackedMethods, WeightsThatMlxQuantizedAreThoseOfItsDequantize) {
  for (const std::string name : {"packed/mlx", "packed/mlx-modes"}) {
    const Checkpoint folder = *open(testdata(name));
    const Checkpoint floats = settle(run("dequantize", folder, options({{"type", "f32"}})));
    std::istringstream lines(read_file(testdata(name + "/expected.tsv")));
    size_t rows = 0;
    for (Expected row; lines >> row.name >> row.shape >> row.sha256; ++rows) {
      const Tensor& weight = tensor(floats, row.name);
      EXPECT_EQ(fmt::format("{}", fmt::join(weight.shape, ",")), row.shape) << row.name;
      EXPECT_EQ(sha256_of(part_bytes(weight)), row.sha256) << row.name;
      EXPECT_EQ(packed_forms(folder).by_codes.at(row.name).shape, weight.shape);
    }
    EXPECT_EQ(rows + 1, floats.tensors.size());
    EXPECT_EQ(floats.find_document("config.json")->text().find("quantization"), std::string::npos);
  }
}

TEST(PackedMethods, RejectsContradictoryMlx) {
  Checkpoint folder = *open(testdata("packed/mlx"));
  says(folder, R"("group_size": 32,)", R"("group_size": 48,)");
  EXPECT_EQ(run("dequantize", folder, {}).error().code, ErrorCode::kCorrupt);
  folder = *open(testdata("packed/mlx"));
  drop(folder, "0.mlp.w64.biases");
  const auto refused = run("dequantize", folder, {});
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(refused.error().text().find("mlx_lm.convert"), std::string::npos);
}

TEST(PackedMethods, AnyRangeOfAWeightIsThatOfItsFloats) {
  for (const Expected& row : expected_weights()) {
    const auto joined = join_packed_weights(folder_of(row.folder), all_codecs());
    const Tensor& weight = tensor(*joined, row.name);
    if (!is_unpacked(weight)) continue;
    const Slice& slice = weight.stored().parts[0][0];
    std::string whole(slice.size_bytes, '\0');
    ASSERT_TRUE(slice.source->read(0, std::as_writable_bytes(std::span(whole))).has_value());
    for (const uint64_t first : {0, 3, 383, 384, 400, 12'289}) {
      for (const uint64_t size : {1, 4, 385, 4'000}) {
        if (first + size > whole.size()) continue;
        std::string part(size, '\0');
        ASSERT_TRUE(slice.source->read(slice.offset_bytes + first,
                                       std::as_writable_bytes(std::span(part))));
        EXPECT_EQ(part, whole.substr(first, size)) << row.folder << ' ' << first << ' ' << size;
      }
    }
    std::string two(2, '\0');
    EXPECT_FALSE(
        slice.source->read(whole.size() - 1, std::as_writable_bytes(std::span(two))).has_value());
  }
}

// ModelOpt's export of that very MXFP4 kept every value.
TEST(PackedMethods, ExpertsOfGptOssAreTheSameInMxfp4AndInModeloptsNvfp4) {
  const std::string name = "model.layers.0.mlp.experts.down_proj";
  const auto floats = [&](const char* folder) {
    const Checkpoint made = settle(run("dequantize", *open(testdata(folder)), {}));
    const Tensor& weight = tensor(made, name);
    return *read_values(weight, weight.values());
  };
  const std::vector<float> found = floats("packed/gpt-oss-nvfp4");
  ASSERT_EQ(found.size(), 4u * 128 * 128);
  EXPECT_TRUE(found == floats("packed/gpt-oss-mxfp4"));  // it made 0 of -0, which is the same
}

// Facts for the doctor without decoding.
TEST(PackedMethods, FormsAreTheNamesAndShapesOfTheWeights) {
  for (const Expected& row : expected_weights()) {
    const PackedForms forms = packed_forms(folder_of(row.folder));
    EXPECT_EQ(forms.fault, "") << row.folder;
    std::map<std::string, std::string> shapes;
    for (const auto& [codes, form] : forms.by_codes) {
      EXPECT_TRUE(forms.parts.contains(codes)) << row.folder;
      shapes[form.weight] = fmt::format("{}", fmt::join(form.shape, ","));
    }
    EXPECT_EQ(shapes[row.name], row.shape) << row.folder;
  }
  Checkpoint without = folder_of("gptq-4");
  drop(without, ".scales");
  EXPECT_NE(packed_forms(without).fault.find("has no 'model.layers.0.mlp.down_proj.scales'"),
            std::string::npos);
  Checkpoint unread = folder_of("gptq-4");
  says(unread, "\"gptq\"\n", "\"marlin\"\n");
  EXPECT_EQ(packed_forms(unread).fault, "");
}

TEST(PackedMethods, NothingIsLeftOfTheLayoutInAFolderOfFloats) {
  std::set<std::string> weights;
  for (const Expected& row : expected_weights()) weights.insert(row.name);
  for (const Expected& row : expected_weights()) {
    const auto made = run("dequantize", folder_of(row.folder), {});
    ASSERT_TRUE(made.has_value()) << row.folder << ": " << made.error().text();
    const std::string config(made->find_document("config.json")->text());
    EXPECT_EQ(config.find("quant"), std::string::npos) << row.folder;
    for (const Tensor& each : made->tensors) {
      EXPECT_TRUE(is_plain_float(*each.codec)) << row.folder << ' ' << each.name;
      const bool is_whole = each.name.ends_with(".weight") || each.name.ends_with("bias");
      EXPECT_TRUE(is_whole || weights.contains(each.name)) << row.folder << ' ' << each.name;
    }
  }
}

// Expects a refusal; `edit` changes a sound folder.
template <class Edit>
void refuses(const std::string& method, std::string_view sentence, Edit edit) {
  Checkpoint checkpoint = folder_of(method);
  edit(checkpoint);
  const auto joined = join_packed_weights(std::move(checkpoint), all_codecs());
  ASSERT_FALSE(joined.has_value()) << sentence;
  EXPECT_NE(joined.error().text().find(sentence), std::string::npos) << joined.error().text();
}

constexpr const char* kDown = "model.layers.0.mlp.down_proj";

TEST(PackedMethods, RejectsContradictoryGptq) {
  refuses("gptq-4", "has no 'model.layers.0.mlp.down_proj.scales'",
          [](Checkpoint& on) { drop(on, ".scales"); });
  refuses("gptq-4", "has no 'model.layers.0.mlp.down_proj.qzeros'",
          [](Checkpoint& on) { drop(on, ".qzeros"); });
  refuses("gptq-4", "quantization_config.bits is 5; of gptq only 2, 3, 4 and 8 is read here",
          [](Checkpoint& on) { says(on, "\"bits\": 4", "\"bits\": 5"); });
  refuses("gptq-4", "zero points of 8 bits for the 64 outputs",
          [](Checkpoint& on) { says(on, "\"bits\": 4", "\"bits\": 8"); });
  refuses("gptq-4", "checkpoint_format is 'marlin'",
          [](Checkpoint& on) { says(on, "\"gptq\"\n", "\"marlin\"\n"); });
  refuses("gptq-4", "expected i32 [96], one for each input",
          [](Checkpoint& on) { tensor(on, std::string(kDown) + ".g_idx").shape = {95}; });
  refuses("gptq-4-one-group-no-g-idx", "expected 1 rows: 96 inputs in groups of 96",
          [](Checkpoint& on) {
            for (const char* end : {".scales", ".qzeros"}) {
              uint64_t& rows = tensor(on, kDown + std::string(end)).shape[0];
              rows = 200;
            }
          });
  refuses("gptq-4", "input 5 is of group 3; there are 3 groups", [](Checkpoint& on) {
    Tensor& g_idx = tensor(on, std::string(kDown) + ".g_idx");
    std::vector<int32_t> groups(96);
    groups[5] = 3;
    const auto bytes = std::as_bytes(std::span(groups));
    g_idx = make_tensor(g_idx.name, {96}, *g_idx.codec, {bytes.begin(), bytes.end()});
  });
  refuses("gptq-4", "are both the weight of one layer", [](Checkpoint& on) {
    tensor(on, "model.norm.weight").name = std::string(kDown) + ".weight";
  });
}

TEST(PackedMethods, GroupsOfGptqAreDescribedAsDeclared) {
  Checkpoint on = folder_of("gptq-4-dynamic-no-g-idx");
  const Tensor& qweight = tensor(on, std::string(kDown) + ".qweight");
  const Codec* codec = qweight.codec;
  on.tensors.push_back(make_tensor(std::string(kDown) + ".g_idx", {320}, *codec,
                                   std::vector<std::byte>(320 * sizeof(int32_t))));
  const auto described = describe_packed_weights(on);
  ASSERT_TRUE(described) << described.error().text();
  EXPECT_EQ(described->at(std::string(kDown) + ".qweight"), "GPTQ 4 bits (group 128)");
}

// Groups of one size fit as many scales as groups of another, or none is declared.
TEST(PackedMethods, RejectsGptqWithoutADeclaredGroupSize) {
  const char* const folder = "gptq-4-dynamic-no-g-idx";
  refuses(folder, "320 inputs in groups of 112 and of 128 have as many",
          [](Checkpoint& on) { says(on, "\"group_size\": 64", "\"group_size\": 112"); });
  refuses(folder, "expected 5 rows: 320 inputs in groups of 64",
          [](Checkpoint& on) { says(on, "\"group_size\": 128", "\"group_size\": 64"); });
  refuses(folder, "expected a group_size in config.json", [](Checkpoint& on) {
    says(on, "\"group_size\": 128", "\"unsaid\": 0");
    says(on, "\"group_size\": 64", "\"unsaid\": 0");
  });
}

// 90 numbers of 3 bits take nine words as a stream, and nine in words that hold ten.
TEST(PackedMethods, PackingThatTwoVersionsWroteOtherwiseFollowsTheVersion) {
  refuses("ct-int3-padded", "the version of compressed-tensors is not said",
          [](Checkpoint& on) { says(on, "\"version\"", "\"unsaid\""); });
  Checkpoint older = folder_of("ct-int3-padded");
  says(older, "0.19.0", "0.17.0");
  const auto joined = join_packed_weights(older, all_codecs());
  ASSERT_TRUE(joined) << joined.error().text();
  const auto expected = join_packed_weights(folder_of("ct-int3-padded"), all_codecs());
  ASSERT_TRUE(expected);
  const auto bytes_of = [](const Checkpoint& of) {
    return part_bytes(*of.find_tensor(std::string(kDown) + ".weight"));
  };
  EXPECT_NE(bytes_of(*joined), bytes_of(*expected));
}

TEST(PackedMethods, RejectsContradictoryAwq) {
  refuses("awq", "quantization_config.version is 'gemv'; of awq only 'gemm' is read here",
          [](Checkpoint& on) { says(on, "gemm", "gemv"); });
  refuses("awq", "expected 5 columns: eight of the 40 outputs",
          [](Checkpoint& on) { tensor(on, std::string(kDown) + ".qweight").shape = {240, 2}; });
  refuses("awq", "expected 2 rows: 96 inputs in groups of 64",
          [](Checkpoint& on) { says(on, "\"group_size\": 32", "\"group_size\": 64"); });
  refuses("awq", "expected a multiple of group_size 33 as rows",
          [](Checkpoint& on) { says(on, "\"group_size\": 32", "\"group_size\": 33"); });
}

TEST(PackedMethods, RejectsContradictoryCompressedTensors) {
  refuses("ct-int4", "has no 'model.layers.0.mlp.down_proj.weight_shape'",
          [](Checkpoint& on) { drop(on, ".weight_shape"); });
  refuses(
      "ct-int4",
      "down_proj.weight_shape' says [40, 96]; 'model.layers.0.mlp.down_proj."
      "weight_packed' has 20 rows of 24 words",
      [](Checkpoint& on) { tensor(on, std::string(kDown) + ".weight_packed").shape = {20, 24}; });
  refuses("ct-int4", "expected 15 columns: 96 numbers of 5 bits",
          [](Checkpoint& on) { says(on, "\"num_bits\": 4", "\"num_bits\": 5"); });
  refuses("ct-int4", "[40, 3]; expected floats: one, [40, 1] or [40, 2]",
          [](Checkpoint& on) { says(on, "\"group_size\": 32", "\"group_size\": 64"); });
  refuses(
      "ct-int4-asymmetric", "expected i32 [5, 3]: zero points of 4 bits, packed down the columns",
      [](Checkpoint& on) { tensor(on, std::string(kDown) + ".weight_zero_point").shape = {3, 5}; });
  // Zero points of rows with one scale for all of them.
  refuses("ct-int4-asymmetric", "expected i8, one for each scale of", [](Checkpoint& on) {
    tensor(on, std::string(kDown) + ".weight_scale").shape = {1};
    tensor(on, std::string(kDown) + ".weight_zero_point").shape = {1, 1};
  });
  refuses("ct-w8a8", "holds int of 8 bits; no group of config.json's quantization_config has such",
          [](Checkpoint& on) { says(on, "\"type\": \"int\"", "\"type\": \"float\""); });
  refuses("ct-int8-asymmetric", "expected i8, one for each scale of", [](Checkpoint& on) {
    tensor(on, std::string(kDown) + ".weight_zero_point").shape = {40, 2};
  });
  for (const char* end : {"_scale", "_shape", "_zero_point"}) {
    refuses("ct-int4-asymmetric", std::string("has no '") + kDown + ".weight" + end,
            [&](Checkpoint& on) { drop(on, std::string(kDown) + ".weight" + end); });
  }
}

// W4A8, in the formats int-quantized and naive-quantized.
TEST(PackedMethods, IntegersOfFewerBitsAreAlsoStoredInBytes) {
  const auto bytes_of = [](const Checkpoint& of) {
    return part_bytes(*of.find_tensor(std::string(kDown) + ".weight"));
  };
  for (const char* folder : {"ct-w8a8", "ct-int8-asymmetric"}) {
    const auto whole = join_packed_weights(folder_of(folder), all_codecs());
    ASSERT_TRUE(whole) << whole.error().text();
    for (const int bits : {4, 6}) {
      Checkpoint smaller = folder_of(folder);
      says(smaller, "\"num_bits\": 8", fmt::format("\"num_bits\": {}", bits));
      const auto described = describe_packed_weights(smaller);
      ASSERT_TRUE(described) << described.error().text();
      const std::string label = described->at(std::string(kDown) + ".weight");
      EXPECT_TRUE(label.starts_with(fmt::format("INT{} ", bits))) << label;
      const auto joined = join_packed_weights(std::move(smaller), all_codecs());
      ASSERT_TRUE(joined) << joined.error().text();
      EXPECT_EQ(bytes_of(*joined), bytes_of(*whole)) << folder;
    }
  }
  refuses("ct-fp8-tensor", "holds float of 8 bits; no group",
          [](Checkpoint& on) { says(on, "\"num_bits\": 8", "\"num_bits\": 4"); });
}

void refuses_transforms(const char* folder, const std::string& said) {
  refuses(folder, "transform_config rotates activations", [&](Checkpoint& on) {
    says(on, R"("quantization_config": {)",
         R"("quantization_config": {"transform_config": )" + said + ", ");
    const std::string empty = R"("transform_config": {},)";
    std::string text(on.find_document("config.json")->text());
    if (const size_t at = text.find(empty); at != text.npos) {
      on.set_document("config.json", text.erase(at, empty.size()));
    }
  });
}

// Rotations are of the whole model, in whichever layout its weights are.
TEST(PackedMethods, RotatedActivationsAreRefusedInEveryLayoutOfCompressedTensors) {
  for (const char* folder : {"ct-int4", "ct-w8a8", "../../nvfp4/qwen35-micro-ct"}) {
    for (const char* said : {R"({"config_groups": {"u": {}}})", R"({"u": {}})", R"("u")", "[1]"}) {
      refuses_transforms(folder, said);
    }
  }
}

// The order of inputs that a document declares is in a tensor, or unknown.
TEST(PackedMethods, DeclaredOrderWithoutItsTensorIsRefused) {
  refuses("gptq-4-desc-act", "has no 'model.layers.0.mlp.down_proj.g_idx'",
          [](Checkpoint& on) { drop(on, ".g_idx"); });
  for (const char* order : {"\"group\"", "\"dynamic\"", "true"}) {
    for (const char* folder : {"ct-int4-g16-g-idx", "ct-int8-g-idx"}) {
      refuses(folder, "has no 'model.layers.0.mlp.down_proj.weight_g_idx'", [&](Checkpoint& on) {
        says(on, "\"actorder\": null", fmt::format("\"actorder\": {}", order));
        drop(on, "_g_idx");
      });
    }
  }
}

TEST(PackedMethods, GptqGroupsAreThoseThatTheDocumentSaysBesideTheirOrderToo) {
  refuses("gptq-4-desc-act", "expected 2 rows: 96 inputs in groups of 64",
          [](Checkpoint& on) { says(on, "\"group_size\": 32", "\"group_size\": 64"); });
}

// Among groups with equal bits, the one that fits the shape of the tensor's scales counts.
TEST(PackedMethods, DistinguishesGroupsOfOneWidthByTheirScales) {
  for (const char* folder : {"ct-int4", "ct-int8-asymmetric", "ct-w8a8", "ct-fp8-block"}) {
    const std::string type = folder == std::string("ct-fp8-block") ? "float" : "int";
    for (const char* other : {R"("group_size": 16)", R"("block_structure": [16, 16])",
                              R"("strategy": "channel")"}) {
      Checkpoint both = folder_of(folder);
      says(both, R"("config_groups": {)",
           fmt::format(R"("config_groups": {{"other": {{"weights": {{"num_bits": {}, "type": "{}",)"
                       R"( {}}}}}, )",
                       folder == std::string("ct-int4") ? 4 : 8, type, other));
      const auto found = join_packed_weights(std::move(both), all_codecs());
      ASSERT_TRUE(found.has_value()) << folder << other << found.error().text();
      const auto expected = join_packed_weights(folder_of(folder), all_codecs());
      const std::string weight = std::string(kDown) + ".weight";
      EXPECT_EQ(part_bytes(*found->find_tensor(weight)), part_bytes(*expected->find_tensor(weight)))
          << folder << other;
    }
  }
  refuses("ct-int4", "tiles of 1 x 47 and of 1 x 32 take as many", [](Checkpoint& on) {
    says(on, R"("config_groups": {)", R"("config_groups": {"other": {"weights": {"num_bits": 4,)"
                                      R"( "type": "int", "group_size": 47}}, )");
  });
}

TEST(PackedMethods, RejectsContradictoryBitsandbytes) {
  const auto renames = [](const char* from, const char* to) {
    return [from, to](Checkpoint& on) {
      tensor(on, kDown + std::string(from)).name = kDown + std::string(to);
    };
  };
  refuses("bitsandbytes-4", "has no 'model.layers.0.mlp.down_proj.weight.absmax'",
          renames(".weight.absmax", ".absmax"));
  refuses("bitsandbytes-4", "expected f32 [16], a value for each code", [](Checkpoint& on) {
    tensor(on, std::string(kDown) + ".weight.quant_map").shape = {15};
  });
  refuses("bitsandbytes-4", "expected 576 bytes: [24, 48], two values a byte",
          [](Checkpoint& on) { tensor(on, std::string(kDown) + ".weight").shape = {575, 1}; });
  refuses("bitsandbytes-4", "expected f32, one for each 4 of 18 blocks", [](Checkpoint& on) {
    tensor(on, std::string(kDown) + ".weight.nested_absmax").shape = {4};
  });
  for (const char* key : {"nested_offset", "nested_blocksize"}) {
    refuses("bitsandbytes-4", "expected numbers nested_blocksize and nested_offset",
            [&](Checkpoint& on) {
              Tensor& state = tensor(on, std::string(kDown) +
                                             ".weight.quant_state.bitsandbytes__nf4");
              std::string text = part_bytes(state);
              const size_t at = text.find(key);
              ASSERT_NE(at, std::string::npos) << text;
              text[at] = 'N';
              const auto bytes = std::as_bytes(std::span(text));
              state = make_tensor(state.name, state.shape, *state.codec,
                                  {bytes.begin(), bytes.end()});
            });
  }
  refuses("bitsandbytes-8", "one for each row",
          [](Checkpoint& on) { tensor(on, std::string(kDown) + ".SCB").shape = {1}; });
  refuses("bitsandbytes-8", "expected 0, codes row after row", [](Checkpoint& on) {
    Tensor& order = tensor(on, std::string(kDown) + ".weight_format");
    order = make_tensor(order.name, {}, *order.codec, {std::byte{2}});
  });
}

TEST(PackedMethods, TorchaoPartsThatItsNoteListsAreNeeded) {
  refuses("torchao", "has no 'model.layers.2.mlp.down_proj._weight_zero_point'",
          [](Checkpoint& on) { drop(on, "_zero_point"); });
}

TEST(PackedMethods, RejectsContradictoryMxfp4) {
  const std::string gate = "model.layers.0.mlp.experts.gate_up_proj";
  refuses("mxfp4-gpt-oss", "has no 'model.layers.0.mlp.experts.down_proj_scales'",
          [](Checkpoint& on) { drop(on, "down_proj_scales"); });
  refuses("mxfp4-gpt-oss", "expected u8 [3, 40, 3], one for each 32 values of",
          [&](Checkpoint& on) { tensor(on, gate + "_scales").shape = {3, 3, 40}; });
  refuses("mxfp4-gpt-oss", "expected 16 bytes in the last axis: 32 codes of 4 bits",
          [&](Checkpoint& on) { tensor(on, gate + "_blocks").shape = {3, 40, 6, 8}; });
  refuses("mxfp4-gpt-oss", "are both the weight of one layer",
          [&](Checkpoint& on) { tensor(on, "model.norm.weight").name = gate; });
  const std::string expert = "layers.0.ffn.experts.1.w1";
  refuses("fp8-deepseek-v4", "expected f8_e8m0 [40, 3], one for each 32 values",
          [&](Checkpoint& on) { tensor(on, expert + ".scale").shape = {3, 40}; });
  refuses("fp8-deepseek-v4", "expected a multiple of 16 bytes in a row: 32 codes of 4 bits",
          [&](Checkpoint& on) { tensor(on, expert + ".weight").shape = {80, 24}; });
}

TEST(PackedMethods, ChecksFp8ScalesAgainstTheDeclaredBlocks) {
  const std::string weight = "model.layers.1.mlp.down_proj.weight";
  const auto of_shape = [&](std::vector<uint64_t> shape) {
    return [&weight, shape](Checkpoint& on) {
      Tensor& scale = tensor(on, weight + "_scale_inv");
      scale = make_tensor(scale.name, shape, plain_codec(all_codecs(), Dtype::kF32),
                          std::vector<std::byte>(shape.empty() ? 4 : 4 * shape[0]));
    };
  };
  for (const std::vector<uint64_t>& shape : {std::vector<uint64_t>{}, {1}, {1, 1}, {40}, {40, 1}}) {
    refuses("fp8-block", "expected [3, 2], one for each 16 x 64 values, as the documents say",
            of_shape(shape));
  }
  const auto says_block = [](const char* block) {
    return [block](Checkpoint& on) {
      on.set_document("config.json", fmt::format(R"({{"quantization_config": {{
          "quant_method": "fp8", "weight_block_size": {}}}}})",
                                                 block));
    };
  };
  refuses("fp8-block", "expected [5, 2], one for each 8 x 64 values", says_block("[8, 64]"));
  for (const char* block : {"[16]", "[0, 64]", "[16, 64, 1]", "[-16, 64]", "\"16\"", "128"}) {
    refuses("fp8-block", "weight_block_size is", says_block(block));
  }
  refuses("fp8-block", "expected floats: one, [40, 1]", says_block("null"));
}

TEST(PackedMethods, Fp8ThatACodecReadsIsHeldAgainstTheBlocksToo) {
  const auto refused = [](const char* block) {
    Checkpoint checkpoint = *open(testdata("export/deepseek-v3-nano"));
    says(checkpoint, "\"weight_block_size\": [\n      128,\n      128\n    ]",
         fmt::format("\"weight_block_size\": {}", block));
    return join_packed_weights(std::move(checkpoint), all_codecs());
  };
  EXPECT_TRUE(refused("[128, 128]").has_value());
  EXPECT_TRUE(refused("null").has_value());
  expect_error(refused("[64, 128]"), ErrorCode::kCorrupt,
               "has a scale for each 128 x 128 values; expected 64 x 128, which is the "
               "weight_block_size of config.json");
}

TEST(PackedMethods, RejectsContradictoryStackedNvfp4) {
  const std::string gate = "model.layers.0.mlp.experts.gate_up_proj";
  refuses("modelopt-stacked-nvfp4", "has no 'model.layers.0.mlp.experts.down_proj_weight_scale_2'",
          [](Checkpoint& on) { drop(on, "down_proj_weight_scale_2"); });
  refuses("modelopt-stacked-nvfp4", "expected f8_e4m3 [3, 4, 40], one for each 16 inputs",
          [&](Checkpoint& on) { tensor(on, gate + "_weight_scale").shape = {3, 40, 4}; });
  refuses("modelopt-stacked-nvfp4", "expected one number, f32",
          [&](Checkpoint& on) { tensor(on, gate + "_weight_scale_2").shape = {2}; });
}

TEST(PackedMethods, RejectsContradictoryAndKernelPackedTorchao) {
  const std::string weight = std::string(kDown) + ".weight";
  const auto note = [&](Checkpoint& on, const std::string& text) {
    Metadata& said = on.file_metadata.at("model.safetensors");
    said.set(weight, MetaValue::text(text));
  };
  refuses("torchao",
          "down_proj.weight' is torchao's Int4TilePackedTo4dTensor; of torchao only Float8Tensor, "
          "Int8Tensor, IntxUnpackedToInt8Tensor are read here",
          [&](Checkpoint& on) { note(on, R"({"_type": "Int4TilePackedTo4dTensor"})"); });
  refuses("torchao", "expected i8 in two axes",
          [&](Checkpoint& on) { note(on, R"({"_type": "Int8Tensor"})"); });
  refuses("torchao", "which says of what class of torchao's it is",
          [](Checkpoint& on) { on.file_metadata.clear(); });
  refuses("torchao", "has no 'model.layers.0.mlp.down_proj._weight_scale'",
          [](Checkpoint& on) { drop(on, "0.mlp.down_proj._weight_scale"); });
  refuses("torchao", "expected i8, one for each scale", [](Checkpoint& on) {
    tensor(on, "model.layers.2.mlp.down_proj._weight_zero_point").shape = {120, 2};
  });
}

TEST(PackedMethods, ExpertsThatBecomeFloatsLoseTheFourBitDeclaration) {
  const std::string before(folder_of("fp8-deepseek-v4").find_document("config.json")->text());
  EXPECT_NE(before.find("expert_dtype"), std::string::npos);
  const auto made = run("dequantize", folder_of("fp8-deepseek-v4"), {});
  EXPECT_EQ(made->find_document("config.json")->text().find("expert_dtype"), std::string::npos);
}

TEST(PackedMethods, SymmetricInt4OfFourBitsKeepsItsCodes) {
  const auto joined = join_packed_weights(folder_of("ct-int4"), all_codecs());
  EXPECT_EQ(tensor(*joined, std::string(kDown) + ".weight").codec->scheme, Scheme::kPackedInt4);
}

TEST(PackedMethods, AnOldGptqFolderSaysItInADocumentOfItsOwn) {
  Checkpoint checkpoint = folder_of("gptq-4");
  checkpoint.set_document("config.json", R"({"model_type": "llama"})");
  checkpoint.set_document("quantize_config.json", R"({"bits": 4, "group_size": 32})");
  std::vector<std::string> notes;
  const auto made = run("dequantize", std::move(checkpoint), {}, &notes);
  ASSERT_TRUE(made.has_value()) << made.error().text();
  for (const std::string& note : notes) EXPECT_EQ(note.find("does not say"), note.npos) << note;
  EXPECT_EQ(made->find_document("quantize_config.json"), nullptr);
}

// GPTQModel writes quantize_config.json for AWQ too.
TEST(PackedMethods, TheMethodInADocumentOfItsOwnCounts) {
  Checkpoint checkpoint = folder_of("awq");
  const auto expected = join_packed_weights(checkpoint, all_codecs());
  ASSERT_TRUE(expected) << expected.error().text();
  checkpoint.set_document("config.json", R"({"model_type": "llama"})");
  checkpoint.set_document("quantize_config.json",
                          R"({"quant_method": "awq", "bits": 4, "group_size": 32})");
  const auto joined = join_packed_weights(std::move(checkpoint), all_codecs());
  ASSERT_TRUE(joined) << joined.error().text();
  const std::string name = std::string(kDown) + ".weight";
  EXPECT_EQ(part_bytes(tensor(*joined, name)), part_bytes(tensor(*expected, name)));
}

TEST(PackedMethods, StackedExpertsOfFp8AreTheirMatricesInARow) {
  const auto joined = [](std::string name, std::vector<uint64_t> shape,
                         std::vector<uint64_t> blocks) {
    Checkpoint on = folder_of("fp8-block");  // blocks of 16 x 64
    std::vector<std::byte> codes(32 * 96), scales(4 * sizeof(float));
    for (size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::byte>(i % 120);
    for (size_t i = 0; i < 4; ++i) {
      const float scale = 0.5f + static_cast<float>(i);
      std::memcpy(&scales[i * sizeof(float)], &scale, sizeof(float));
    }
    const auto codec = [](Dtype dtype) -> const Codec& { return plain_codec(all_codecs(), dtype); };
    on.tensors.push_back(
        make_tensor(name, std::move(shape), codec(Dtype::kF8E4M3), std::move(codes)));
    on.tensors.push_back(
        make_tensor(name + "_scale_inv", std::move(blocks), codec(Dtype::kF32), std::move(scales)));
    return join_packed_weights(std::move(on), all_codecs());
  };
  const std::string stack = "model.layers.0.mlp.experts.down_proj";
  const auto flat = joined("model.layers.0.mlp.up_proj.weight", {32, 96}, {2, 2});
  const auto stacked = joined(stack, {2, 16, 96}, {2, 1, 2});
  ASSERT_TRUE(flat) << flat.error().text();
  ASSERT_TRUE(stacked) << stacked.error().text();
  EXPECT_EQ(tensor(*stacked, stack).shape, (std::vector<uint64_t>{2, 16, 96}));
  EXPECT_EQ(part_bytes(tensor(*stacked, stack)),
            part_bytes(tensor(*flat, "model.layers.0.mlp.up_proj.weight")));
  const auto ragged = joined(stack, {4, 8, 96}, {4, 1, 1});
  ASSERT_FALSE(ragged);
  EXPECT_NE(ragged.error().text().find("expected blocks of whole rows for each expert"),
            std::string::npos);
}

TEST(PackedMethods, SuggestsTheNearestMethodName) {
  Checkpoint checkpoint = folder_of("gptq-4");
  says(checkpoint, "\"quant_method\": \"gptq\"", "\"quant_method\": \"gtpq\"");
  expect_error(run("dequantize", std::move(checkpoint), {}), ErrorCode::kUnsupported,
               "config.json says 'gtpq', which is not known; 'gptq' is");
}

}  // namespace
}  // namespace ckpt

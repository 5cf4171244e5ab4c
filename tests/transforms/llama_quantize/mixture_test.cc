// Decisions of the quantize step against those of llama.cpp, for every run in mixtures.json.
#include "transforms/llama_quantize/mixture.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "quantizers/quantizers.h"
#include "transforms/transforms.h"

namespace ckpt {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson read_json(const std::string& path) {
  std::ifstream file(std::string(CKPT_TESTDATA) + "/" + path);
  return OrderedJson::parse(file, nullptr, false);
}

// Every codec, able to code: the mixture does not depend on how well.
Codecs permissive_codecs() {
  static std::vector<Codec> copies;
  static std::vector<const Codec*> list;
  if (!list.empty()) return list;
  for (const Codec* codec : all_codecs()) {
    copies.push_back(*codec);
    copies.back().encode = [](ConstFloatRows, const EncodeContext&, Parts) {};
    copies.back().decode = [](ConstParts, FloatRows) {};
  }
  for (const Codec& codec : copies) list.push_back(&codec);
  return list;
}

MetaValue to_meta(const OrderedJson& value) {
  if (value.is_number_float()) return MetaValue::f32(value.get<double>());
  if (value.is_array()) return MetaValue::array(make_i32_array(value.get<std::vector<int32_t>>()));
  return MetaValue::u32(value.get<uint32_t>());
}

Tensor empty_tensor(std::string name, std::vector<uint64_t> shape, const std::string& type) {
  const Codec* codec = find_codec(permissive_codecs(), type);
  EXPECT_NE(codec, nullptr) << type;
  Tensor tensor;
  tensor.name = std::move(name);
  tensor.shape = std::move(shape);
  tensor.codec = codec;
  tensor.origin = Stored{std::vector<std::vector<Slice>>(1), {}};
  return tensor;
}

Checkpoint to_checkpoint(const OrderedJson& model, const OrderedJson& codes) {
  Checkpoint out;
  out.format = "gguf";
  const std::string arch = model["arch"];
  out.metadata.append("general.architecture", MetaValue::text(arch));
  for (const auto& [key, value] : model["metadata"].items()) {
    out.metadata.append(arch + "." + key, to_meta(value));
  }
  for (const OrderedJson& row : model["tensors"]) {
    const std::string name = row[0];
    const auto shape = row[1].get<std::vector<uint64_t>>();
    const std::string type = codes[row[2].get<std::string>()];
    if (row.size() == 3) out.tensors.push_back(empty_tensor(name, shape, type));
    for (const OrderedJson& range : row.size() == 3 ? OrderedJson::array() : row[3]) {
      for (int block = range[0]; block <= range[1].get<int>(); ++block) {
        out.tensors.push_back(empty_tensor(fmt::format("blk.{}.{}", block, name), shape, type));
      }
    }
  }
  return out;
}

// Makes the matrix as make_mixtures.py does.
Imatrix make_imatrix(const Checkpoint& checkpoint) {
  Imatrix out;
  for (const Tensor& tensor : checkpoint.tensors) {
    const bool has = tensor.shape.size() >= 2 && tensor.name.ends_with("weight") &&
                     tensor.name != "token_embd.weight";
    const uint64_t matrices = tensor.shape.size() == 3 ? tensor.shape[0] : 1;
    if (has) out.weights[tensor.name].assign(matrices * tensor.row_values(), 1.0F);
  }
  return out;
}

Options to_options(const OrderedJson& run) {
  Options out;
  for (const auto& [key, value] : run.items()) {
    if (key == "imatrix" || key == "types") continue;
    if (key == "tensor-type") {
      for (const OrderedJson& rule : value) out.add(key, rule);
    } else {
      out.add(key, value.is_boolean() ? "yes" : value.get<std::string>());
    }
  }
  return out;
}

void expect_run(const OrderedJson& model, const OrderedJson& run, const Checkpoint& input,
                const OrderedJson& codes) {
  const Imatrix imatrix = make_imatrix(input);
  Context context{permissive_codecs(), run["imatrix"].get<bool>() ? &imatrix : nullptr, nullptr};
  const auto made = find_transform("quantize")->apply(input, to_options(run), context);
  const std::string what = fmt::format("{} {}", model["name"].get<std::string>(), run.dump());
  ASSERT_EQ(made.has_value(), !run["types"].is_null()) << what << (made ? "" : made.error().text());
  if (!made) return;
  const std::string types = model["types"][run["types"].get<size_t>()];
  ASSERT_EQ(made->tensors.size(), types.size()) << what;
  for (size_t i = 0; i < types.size(); ++i) {
    const Tensor& tensor = made->tensors[i];
    const Tensor& old = input.tensors[model["order"][i].get<size_t>()];
    ASSERT_EQ(tensor.name, old.name) << what;
    ASSERT_EQ(tensor.codec->name, codes[types.substr(i, 1)].get<std::string>())
        << what << " " << tensor.name;
    const auto shape = model["shapes"].contains(tensor.name)
                           ? model["shapes"][tensor.name].get<std::vector<uint64_t>>()
                           : old.shape;
    ASSERT_EQ(tensor.shape, shape) << what << " " << tensor.name;
  }
}

TEST(Mixture, EveryRunOfTheReferenceDecidesAlike) {
  const OrderedJson golden = read_json("mixtures/mixtures.json");
  ASSERT_FALSE(golden.is_discarded());
  std::map<std::string, int> runs;
  for (const OrderedJson& model : golden["models"]) {
    const Checkpoint input = to_checkpoint(model, golden["codes"]);
    for (const OrderedJson& run : model["runs"]) {
      expect_run(model, run, input, golden["codes"]);
      if (HasFatalFailure()) return;
      ++runs[run["type"]];
    }
  }
  EXPECT_EQ(runs.size(), 33u);  // every type of ours was compared
  for (const auto& [type, count] : runs) EXPECT_GE(count, 70) << type;
}

TEST(Mixture, NamesAreFoundInEitherCaseAndByAlias) {
  const auto named = [](std::string_view name) -> const Mixture* {
    for (const Choice& choice : kMixtureChoices) {
      if (choice.name == name) return &all_mixtures()[static_cast<size_t>(choice.meaning)];
    }
    return nullptr;
  };
  for (const Mixture& mixture : all_mixtures()) EXPECT_EQ(named(mixture.name), &mixture);
  EXPECT_EQ(named("q3_k"), named("q3_k_m"));
  EXPECT_EQ(named("q4_k"), named("q4_k_m"));
  EXPECT_EQ(named("q5_k"), named("q5_k_m"));
  EXPECT_EQ(named("mxfp4"), named("mxfp4_moe"));
  EXPECT_EQ(named("q2_k")->file_type, FileType::kQ2K);
  EXPECT_EQ(named("q4"), nullptr);
}

TEST(Mixture, MoreBitsGoToBothEndsAndEveryThird) {
  std::set<uint64_t> more;
  for (uint64_t i = 0; i < 33; ++i) {
    if (gets_more_bits(i, 33)) more.insert(i);
  }
  const std::set<uint64_t> expected{0, 1, 2, 3, 6, 9, 12, 15, 18, 21, 24, 27, 28, 29, 30, 31, 32};
  EXPECT_EQ(more, expected);
  EXPECT_TRUE(gets_more_bits(0, 0));
}

TEST(Mixture, RowsThatDoNotFitGetAnotherType) {
  const auto type = [](Dtype target, uint64_t row) { return fitting_type(target, row).value(); };
  EXPECT_EQ(type(Dtype::kQ4K, 512), Dtype::kQ4K);
  EXPECT_EQ(type(Dtype::kQ4K, 160), Dtype::kQ5_0);
  EXPECT_EQ(type(Dtype::kQ5K, 160), Dtype::kQ5_1);
  EXPECT_EQ(type(Dtype::kQ6K, 160), Dtype::kQ8_0);
  EXPECT_EQ(type(Dtype::kQ2K, 160), Dtype::kQ4_0);
  EXPECT_EQ(type(Dtype::kQ3K, 160), Dtype::kQ4_0);
  EXPECT_EQ(type(Dtype::kIq4Xs, 160), Dtype::kIq4Nl);
  EXPECT_EQ(type(Dtype::kQ4K, 100), Dtype::kF16);
  EXPECT_EQ(type(Dtype::kQ8_0, 100), Dtype::kF16);
  EXPECT_EQ(type(Dtype::kBF16, 7), Dtype::kBF16);
  const auto none = fitting_type(Dtype::kNvfp4, 96);
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().code, ErrorCode::kUnsupported);
}

Metadata facts_of(const std::string& arch, uint64_t layers) {
  Metadata out;
  out.append("general.architecture", MetaValue::text(arch));
  out.append(arch + ".block_count", MetaValue::u32(layers));
  return out;
}

TEST(ModelFacts, AreReadFromMetadata) {
  Metadata metadata = facts_of("llama", 80);
  metadata.append("llama.attention.head_count", MetaValue::u32(64));
  EXPECT_FALSE(model_facts(metadata)->is_70b);  // as many key/value heads as heads
  EXPECT_EQ(model_facts(metadata)->heads_per_kv, 1u);
  metadata.append("llama.attention.head_count_kv", MetaValue::u32(8));
  EXPECT_TRUE(model_facts(metadata)->is_70b);
  EXPECT_EQ(model_facts(metadata)->heads_per_kv, 8u);
  metadata.append("llama.expert_count", MetaValue::u32(8));
  EXPECT_FALSE(model_facts(metadata)->is_70b);
  EXPECT_EQ(model_facts(metadata)->experts, 8u);
}

TEST(ModelFacts, MissingOnesAreErrors) {
  EXPECT_EQ(model_facts(Metadata{}).error().code, ErrorCode::kCorrupt);
  Metadata metadata;
  metadata.append("general.architecture", MetaValue::text("qwen3"));
  EXPECT_NE(model_facts(metadata).error().text().find("qwen3.block_count"), std::string::npos);
  EXPECT_FALSE(model_facts(facts_of("qwen3", kMaxLayers + 1)).has_value());
  EXPECT_TRUE(model_facts(facts_of("qwen3", kMaxLayers)).has_value());
}

TEST(ModelFacts, SomeArchitecturesCountLayersTheyDoNotStore) {
  EXPECT_EQ(model_facts(facts_of("graniteswitch", 40))->layers, 41u);
  Metadata metadata = facts_of("nanbeige", 10);
  metadata.append("nanbeige.num_loops", MetaValue::u32(3));
  EXPECT_EQ(model_facts(metadata)->layers, 30u);
}

TEST(ModelFacts, HeadsMayBeGivenByLayer) {
  Metadata metadata = facts_of("deci", 2);
  metadata.append("deci.attention.head_count", MetaValue::array(make_i32_array({32, 32})));
  metadata.append("deci.attention.head_count_kv", MetaValue::array(make_i32_array({4, 8})));
  EXPECT_EQ(model_facts(metadata)->heads_per_kv, 8u);
  metadata.set("deci.attention.head_count_kv", MetaValue::array(make_i32_array({0, 8})));
  EXPECT_EQ(model_facts(metadata)->heads_per_kv, 0u);
}

TEST(Mixture, ExpertsOutsideOfTheLayersAreRefused) {
  ModelFacts facts;
  facts.layers = 2;
  facts.experts = 4;
  const std::vector<uint64_t> shape{4, 2, 256};
  for (const char* name : {"blk.2.ffn_down_exps.weight", "v.ffn_down.weight"}) {
    MixtureChooser chooser(all_mixtures()[16], facts, {}, {name});
    const auto type = chooser.choose({name, shape, Dtype::kBF16, std::nullopt});
    ASSERT_FALSE(type.has_value());
    EXPECT_EQ(type.error().code, ErrorCode::kCorrupt);
    EXPECT_NE(type.error().text().find(name), std::string::npos);
  }
}

}  // namespace
}  // namespace ckpt

// Files of exports: equal to those that ModelOpt wrote, cut where it cuts them, with layers in its
// groups.
#include "tests/support/files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "core/engine/compare.h"
#include "core/model/tensor_names.h"
#include "quantizers/quantizers.h"
#include "tests/transforms/run_step.h"
#include "transforms/modelopt_export/groups.h"
#include "transforms/modelopt_export/tensors.h"

namespace ckpt {
using namespace step_test;
namespace {

using OrderedJson = nlohmann::ordered_json;

// ---- whole files -------------------------------------------------------------------------------

// SHA-256 of every file that the checkpoint is written to.
Result<std::map<std::string, std::string>> written(Checkpoint checkpoint) {
  const TemporaryFolder folder;
  CKPT_TRY(write_folder(std::move(checkpoint), folder / "out"));
  std::map<std::string, std::string> hashes;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "out")) {
    CKPT_ASSIGN(hashes[entry.path().filename().string()], hash_file(entry.path()));
  }
  return hashes;
}

OrderedJson expected_cases() {
  return OrderedJson::parse(read_file(testdata("export/expected.json")), nullptr, false)["cases"];
}

Options options_of(const OrderedJson& row) {
  Options out;
  for (const auto& [key, value] : row["options"].items()) {
    const std::string text = value.get<std::string>();
    out.add(key, key == "amax-from" ? testdata(text).string() : text);
  }
  return out;
}

void expect_files(Result<Checkpoint> made, const OrderedJson& row) {
  ASSERT_TRUE(made.has_value()) << made.error().text();
  const auto hashes = written(std::move(*made));
  ASSERT_TRUE(hashes.has_value()) << hashes.error().text();
  for (const auto& [name, hash] : row["files"].items()) {
    ASSERT_EQ(hashes->count(name), 1u) << name;
    EXPECT_EQ(hashes->at(name), hash.get<std::string>()) << row["reference"] << " " << name;
  }
  EXPECT_EQ(hashes->count("modelopt_state.pth"), 0u);
}

TEST(ExportFiles, EqualThoseOfModelopt) {
  const OrderedJson cases = expected_cases();
  ASSERT_EQ(cases.size(), 20u);
  for (const OrderedJson& row : cases) {
    Checkpoint input = *open(testdata(row["in"].get<std::string>()));
    if (row.contains("first")) {
      input = *run(row["first"].get<std::string>(), std::move(input), Options());
    }
    expect_files(run("export", std::move(input), options_of(row)), row);
  }
}

// The hub's form of this model: all experts of a layer in two tensors.
Result<Checkpoint> stack_experts(Checkpoint checkpoint) {
  std::map<std::string, std::vector<Tensor>> stacks;
  std::vector<Tensor> out;
  for (Tensor& tensor : checkpoint.tensors) {
    if (!is_of_expert(tensor.name)) out.push_back(tensor);
  }
  for (int layer = 0; layer < 4; ++layer) {
    const std::string container = fmt::format("model.layers.{}.mlp.experts", layer);
    std::vector<Tensor> gate_up, down;
    for (int e = 0; e < 8; ++e) {
      for (const char* part : {"gate_proj", "up_proj", "down_proj"}) {
        const Tensor* found =
            checkpoint.find_tensor(fmt::format("{}.{}.{}.weight", container, e, part));
        CKPT_CHECK(found != nullptr);
        (std::string_view(part) == "down_proj" ? down : gate_up).push_back(*found);
      }
    }
    const uint64_t inner = gate_up[0].rows(), outer = down[0].rows();
    CKPT_ASSIGN(Tensor up_stack, concatenate_rows(gate_up));
    CKPT_ASSIGN(Tensor down_stack, concatenate_rows(down));
    CKPT_ASSIGN(up_stack, reshape(std::move(up_stack), {8, 2 * inner, outer}));
    CKPT_ASSIGN(down_stack, reshape(std::move(down_stack), {8, outer, inner}));
    up_stack.name = container + ".gate_up_proj";
    down_stack.name = container + ".down_proj";
    out.push_back(std::move(up_stack));
    out.push_back(std::move(down_stack));
  }
  checkpoint.tensors = std::move(out);
  return checkpoint;
}

TEST(ExportFiles, StackedExpertsGiveTheSameFiles) {
  for (const OrderedJson& row : expected_cases()) {
    if (row["in"] != "qwen35moe-micro") continue;
    auto stacked = stack_experts(*open(testdata("qwen35moe-micro")));
    ASSERT_TRUE(stacked.has_value()) << stacked.error().text();
    expect_files(run("export", std::move(*stacked), options_of(row)), row);
  }
}

// ---- cut ---------------------------------------------------------------------------------------

TEST(ExportFiles, AreCutAtTenGigabytesInTheOrderOfLayers) {
  std::vector<Tensor> tensors;
  const auto add = [&](std::string name, uint64_t gigabytes) {
    Tensor& tensor = tensors.emplace_back();
    tensor.name = std::move(name);
    tensor.shape = {gigabytes * 250'000'000};  // of 4 bytes; never read
    tensor.codec = &plain_codec(all_codecs(), Dtype::kF32);
    tensor.home = "model-00001-of-00001.safetensors";
  };
  add("lm_head.weight", 1);
  add("model.layers.10.a", 2);
  add("model.layers.3.a", 11);
  add("model.layers.2.a", 3);
  add("model.layers.2.b", 1);
  add("model.embed_tokens.weight", 6);
  assign_export_files(tensors);
  std::string files;
  for (const Tensor& tensor : tensors) {
    files += fmt::format("{} {}\n", tensor.home.substr(6, 5), tensor.name);
  }
  EXPECT_EQ(files,
            "00002 model.embed_tokens.weight\n00002 model.layers.2.a\n00002 model.layers.2.b\n"
            "00001 model.layers.3.a\n00003 model.layers.10.a\n00003 lm_head.weight\n");
  tensors.resize(1);
  assign_export_files(tensors);
  EXPECT_EQ(tensors[0].home, "model.safetensors");
}

// ---- groups ------------------------------------------------------------------------------------

TEST(ExportGroups, FollowTheInput) {
  const auto key = [](std::string_view module, std::string_view family = "llama") {
    return find_group(module, family).key;
  };
  EXPECT_EQ(key("a.self_attn.q_proj"), key("a.self_attn.v_proj"));
  EXPECT_NE(key("a.self_attn.q_proj"), key("b.self_attn.q_proj"));
  EXPECT_NE(key("a.self_attn.q_proj"), key("a.self_attn.o_proj"));
  EXPECT_EQ(key("a.linear_attn.in_proj_qkv"), key("a.linear_attn.in_proj_z"));
  EXPECT_NE(key("a.linear_attn.in_proj_qkv"), key("a.linear_attn.out_proj"));
  EXPECT_EQ(key("a.experts.3.w1"), key("a.experts.3.w3"));
  EXPECT_NE(key("a.experts.3.w1"), key("a.experts.4.w1"));
  EXPECT_EQ(key("a.self_attn.q_a_proj"), key("a.self_attn.kv_a_proj_with_mqa"));
  // As ModelOpt's export of a GLM-5 has it: what reads the hidden state, what reads q's latent.
  for (const char* member : {"kv_a_proj_with_mqa", "indexer.wk", "indexer.weights_proj"}) {
    EXPECT_EQ(key("a.self_attn.q_a_proj", "glm_moe_dsa"),
              key(fmt::format("a.self_attn.{}", member), "glm_moe_dsa"))
        << member;
  }
  EXPECT_EQ(key("a.self_attn.q_b_proj", "glm_moe_dsa"),
            key("a.self_attn.indexer.wq_b", "glm_moe_dsa"));
  EXPECT_NE(key("a.cross_attn.q_proj"), key("a.cross_attn.k_proj"));
  EXPECT_NE(key("a.self_attn.q_proj"), key("a.mlp.up_proj"));
  EXPECT_EQ(key("a.self_attn.q_proj", "cohere2"), key("a.mlp.up_proj", "cohere2"));
  EXPECT_EQ(key("a.self_attn.q_proj", "phi"), key("a.mlp.fc1", "phi"));
  EXPECT_EQ(key("a.self_attn.q_proj", "cohere2_vision"), key("a.mlp.up_proj", "cohere2_vision"));
  EXPECT_TRUE(find_group("a.self_attn.q_proj", "phimoe").is_fused);
  EXPECT_EQ(without_expert("a.experts.12.up_proj"), "a.experts.*.up_proj");
  EXPECT_EQ(without_expert("a.shared_experts.up_proj"), "a.shared_experts.up_proj");
}

// Each spelling of q, k and v, of gate and up, and of linear attention.
TEST(ExportGroups, HoldForEverySpelling) {
  for (const ProjectionGroup& group : projection_groups()) {
    const auto parts = group.parts();
    for (size_t i = 0; i < parts.size(); ++i) {
      const std::string module = fmt::format("a.experts.3.{}", parts[i]);
      EXPECT_EQ(group_with(parts[i]), &group) << module;
      const bool is_shared = group.role <= ProjectionRole::kDelta;
      EXPECT_EQ(find_group(module, "llama").is_fused, is_shared) << module;
      const auto place = stack_part(module);
      ASSERT_EQ(place.has_value(), group.role == ProjectionRole::kMlp) << module;
      if (!place) continue;
      EXPECT_EQ(place->stack(), "a.experts.gate_up_proj");
      EXPECT_EQ(place->part, i);
      const std::string down = fmt::format("a.experts.3.{}", group.output);
      EXPECT_EQ(stack_part(down)->stack(), "a.experts.down_proj");
    }
  }
}

}  // namespace
}  // namespace ckpt

// Experts one by one and in stacks: the same bytes in both, and back.
#include "core/engine/compare.h"
#include "tests/transforms/modelopt_export/models.h"
#include "tests/transforms/run_step.h"

namespace ckpt {
using namespace step_test;
using namespace export_test;
namespace {

const Options kToSingle = options({{"to", "single"}});
const Options kToFused = options({{"to", "fused"}});

Result<std::string> hash_when_written(Checkpoint checkpoint) {
  const TemporaryFolder folder;
  CKPT_TRY(write_folder(std::move(checkpoint), folder / "out"));
  return hash_file(folder / "out" / "model.safetensors");
}

Checkpoint expert_model(std::vector<std::string> names) {
  Checkpoint out;
  out.format = "safetensors";
  out.set_document("config.json", R"({"model_type": "qwen3_moe", "num_local_experts": 2})");
  uint64_t rows = 4;
  for (std::string& name : names) {
    const bool is_down = name.find("down_proj") != std::string::npos;
    out.tensors.push_back(weight(std::move(name), is_down ? 32 : rows, is_down ? rows : 32));
  }
  return out;
}

Checkpoint two_experts() {
  std::vector<std::string> names;
  for (int e = 0; e < 2; ++e) {
    for (const char* word : {"down", "gate", "up"}) {
      names.push_back(fmt::format("model.layers.0.mlp.experts.{}.{}_proj.weight", e, word));
    }
  }
  names.push_back("model.layers.0.mlp.gate.weight");
  return expert_model(std::move(names));
}

TEST(Experts, AndBackAreTheSameBytes) {
  for (const char* model : {"qwen35moe-micro", "families/qwen3-moe/hf", "families/qwen3-next/hf"}) {
    const Checkpoint single = *open(testdata(model));
    const Checkpoint fused = settle(run("experts", single, kToFused));
    const auto back = run("experts", fused, kToSingle);
    ASSERT_TRUE(back.has_value()) << back.error().text();
    EXPECT_LT(fused.tensors.size(), single.tensors.size());
    EXPECT_EQ(*hash_when_written(*back), *hash_when_written(single)) << model;
    EXPECT_EQ(*hash_when_written(*run("experts", settle(back), kToFused)),
              *hash_when_written(fused))
        << model;
  }
}

// One run gives what two runs give, the first of which stores the values that the single run
// computes.
TEST(Experts, ThatAreComputedMoveLikeThoseThatAreStored) {
  const Checkpoint single = *open(testdata("qwen35moe-micro"));
  const Options nvfp4 = options({{"type", "nvfp4-w4a16"}});
  const Checkpoint quantized = settle(run("export", single, nvfp4));
  const std::pair<const char*, Options> steps[] = {{"cast", options({{"type", "f16"}})},
                                                   {"dequantize", options({{"type", "f32"}})},
                                                   {"dequantize", options({{"type", "bf16"}})}};
  for (const auto& [step, given] : steps) {
    const Checkpoint& from = step == std::string_view("cast") ? single : quantized;
    const auto computed = run(step, from, given);
    ASSERT_TRUE(computed.has_value()) << computed.error().text();
    const auto fused = run("experts", *computed, kToFused);
    ASSERT_TRUE(fused.has_value()) << fused.error().text();
    const Checkpoint in_two = settle(run("experts", settle(computed), kToFused));
    EXPECT_EQ(*hash_when_written(*fused), *hash_when_written(in_two)) << step;
    EXPECT_EQ(*hash_when_written(*run("experts", *fused, kToSingle)),
              *hash_when_written(*run("experts", in_two, kToSingle)))
        << step;
    EXPECT_EQ(*hash_when_written(*run("export", *fused, nvfp4)),
              *hash_when_written(*run("export", in_two, nvfp4)))
        << step;
  }
  // Experts that stayed F32 are not rounded with those that were BF16 for a while.
  Checkpoint wide = two_experts();
  Tensor& one = tensor(wide, "model.layers.0.mlp.experts.1.up_proj.weight");
  one = *with_op(std::move(one), RoundTo{Dtype::kBF16});
  expect_error(run("experts", std::move(wide), kToFused), ErrorCode::kUnsupported,
               "and others of its stack were rounded to another type before");
  Checkpoint scaled = two_experts();
  for (Tensor& each : scaled.tensors) {
    const auto factors = std::make_shared<const std::vector<float>>(each.row_values(), 2.0f);
    each = *with_op(std::move(each), ScaleColumns{factors});
  }
  expect_error(run("experts", std::move(scaled), kToFused), ErrorCode::kUnsupported,
               "is computed; its rows cannot be cut or joined");
}

TEST(Experts, OfAStackAreGateThenUpThenDown) {
  const auto made = run("experts", two_experts(), kToFused);
  ASSERT_TRUE(made.has_value()) << made.error().text();
  const Tensor& gate_up = tensor(*made, "model.layers.0.mlp.experts.gate_up_proj");
  const Tensor& down = tensor(*made, "model.layers.0.mlp.experts.down_proj");
  EXPECT_EQ(gate_up.shape, (std::vector<uint64_t>{2, 8, 32}));
  EXPECT_EQ(down.shape, (std::vector<uint64_t>{2, 32, 4}));
  const Checkpoint before = two_experts();
  std::vector<float> expected;
  for (const char* word : {"0.gate", "0.up", "1.gate", "1.up"}) {
    const std::string name = fmt::format("model.layers.0.mlp.experts.{}_proj.weight", word);
    const std::vector<float> part = *read_values(tensor(before, name), 1 << 10);
    expected.insert(expected.end(), part.begin(), part.end());
  }
  EXPECT_EQ(*read_values(gate_up, 1 << 10), expected);
}

// Fields that transformers 4.57, and with it vLLM 0.17, reads in config.json.
TEST(Experts, AreCountedWhereOlderReadersLook) {
  const auto made = run("experts", two_experts(), kToFused);
  ASSERT_TRUE(made.has_value()) << made.error().text();
  const std::string_view config = made->find_document("config.json")->text();
  EXPECT_NE(config.find(R"("num_local_experts": 2)"), config.npos);
  EXPECT_NE(config.find(R"("num_experts": 2)"), config.npos);
}

TEST(Experts, ExchangedStacksBecomeSingle) {
  const Checkpoint released = *open(testdata("families/qwen3-vl-moe/hf"));
  const auto made = run("experts", released, kToSingle);
  ASSERT_TRUE(made.has_value()) << made.error().text();
  EXPECT_GT(made->tensors.size(), released.tensors.size());
  expect_error(run("experts", settle(made), kToFused), ErrorCode::kUnsupported,
               "their stacks have rows and columns exchanged");
}

TEST(Experts, ThatHaveNoOtherFormAreRefusedByName) {
  expect_error(run("experts", *open(testdata("families/gpt-oss/hf")), kToSingle),
               ErrorCode::kUnsupported, "model_type gpt_oss: servers read stacks alone");
  expect_error(run("experts", *open(testdata("families/mixtral/hf")), kToFused),
               ErrorCode::kUnsupported,
               "experts.0.w1.weight': [32, 256]; expected gate_proj.weight");
  const Checkpoint nvfp4 =
      settle(run("export", two_experts(),
                 options({{"type", "nvfp4"}, {"preset", "weight-only"}, {"keep", "*down_proj"}})));
  expect_error(run("experts", nvfp4, kToFused), ErrorCode::kUnsupported,
               "each expert has scales of its own, and a stack of them is read by no server");
}

TEST(Experts, ThatDoNotFitEachOtherAreRefusedByName) {
  Checkpoint missing = two_experts();
  drop(missing, "model.layers.0.mlp.experts.1.up_proj.weight");
  expect_error(run("experts", missing, kToFused), ErrorCode::kCorrupt,
               "'model.layers.0.mlp.experts.1.up_proj.weight' is missing; expected one of each of "
               "2 experts, from 0 on");
  Checkpoint other = two_experts();
  tensor(other, "model.layers.0.mlp.experts.1.up_proj.weight") =
      weight("model.layers.0.mlp.experts.1.up_proj.weight", 5, 32);
  expect_error(run("experts", other, kToFused), ErrorCode::kCorrupt,
               "[5, 32]; expected f32 [4, 32]");
}

TEST(Experts, OfOneNumberOrFewerThanConfigSaysAreRefused) {
  Checkpoint twice = two_experts();
  twice.tensors.push_back(weight("model.layers.0.mlp.experts.01.up_proj.weight", 4, 32));
  expect_error(run("experts", twice, kToFused), ErrorCode::kCorrupt,
               "tensors 'model.layers.0.mlp.experts.1.up_proj.weight' and "
               "'model.layers.0.mlp.experts.01.up_proj.weight' are both of expert 1");
  Checkpoint fewer = two_experts();
  for (const char* word : {"down", "gate", "up"}) {
    drop(fewer, fmt::format("model.layers.0.mlp.experts.1.{}_proj.weight", word));
  }
  expect_error(run("experts", fewer, kToFused), ErrorCode::kCorrupt,
               "'model.layers.0.mlp.experts.*': 1 experts; expected 2, as config.json says");
}

// An export's hint, --keep, would change nothing here.
TEST(Experts, InOneOfTwoStacksAreRefusedWithoutAnExportsHint) {
  Checkpoint fused = settle(run("experts", two_experts(), kToFused));
  drop(fused, "model.layers.0.mlp.experts.down_proj");
  const auto made = run("experts", fused, kToSingle);
  expect_error(made, ErrorCode::kUnsupported, "other stacks of experts cannot be taken apart");
  EXPECT_EQ(made.error().hint, "");
}

TEST(Experts, ThatAreSoAlreadyStayAndAreNoted) {
  std::vector<std::string> notes;
  const auto made = run("experts", two_experts(), kToSingle, &notes);
  ASSERT_TRUE(made.has_value()) << made.error().text();
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0], "experts: none is in a stack; the tensors stay as they are");
}

}  // namespace
}  // namespace ckpt

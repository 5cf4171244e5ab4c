// Options, importance matrices and refusals of the quantize step.

#include <gtest/gtest.h>

#include <limits>

#include "tests/transforms/llama_quantize/models.h"

namespace ckpt {
using namespace quantize_test;
using step_test::expect_error;
using step_test::options;
namespace {

// ---- options -----------------------------------------------------------------------------------

TEST(Quantize, TypeIsAskedForAndKnown) {
  expect_error(run(small_float_model(), Options{}), ErrorCode::kUsage, "type is missing");
  expect_error(run(small_float_model(), options({{"type", "q4"}})), ErrorCode::kUsage, "q4_k_m");
  expect_error(run(small_float_model(), options({{"type", "q8_0"}, {"tensor-type", "*=q9"}})),
               ErrorCode::kUsage, "q6_k");
  expect_error(run(small_float_model(), options({{"type", "q8_0"}, {"tensor-type", "*=q8_k"}})),
               ErrorCode::kUsage, "no type is called 'q8_k'");
  expect_error(run(small_float_model(), options({{"type", "q8_0"}, {"tensor-type", "q6_k"}})),
               ErrorCode::kUsage, "GLOB=TYPE");
  expect_error(run(small_float_model(), options({{"type", "q8_0"}, {"output-tensor-type", "x"}})),
               ErrorCode::kUsage, "output-tensor-type");
  expect_error(run(small_float_model(), options({{"type", "q8_0"}, {"pure", "perhaps"}})),
               ErrorCode::kUsage, "yes or no");
}

TEST(Quantize, SearchIsForTypesThatHaveOne) {
  std::vector<std::string> notes;
  const auto made = run(small_float_model(),
                        options({{"type", "q4_k_m"},
                                 {"search", "best"},
                                 {"tensor-type", "*=q8_0"},
                                 {"tensor-type", "*attn_q*=q5_k"}}),
                        nullptr, &notes);
  ASSERT_TRUE(made.has_value()) << made.error().text();
  for (const Tensor& tensor : made->tensors) {
    if (tensor.is_stored()) continue;
    const bool has_one = tensor.codec->name == "q5_k";
    EXPECT_EQ(tensor.recoded().options.search, has_one ? ScaleSearch::kBest : ScaleSearch::kNone)
        << tensor.name;
  }
  EXPECT_TRUE(notes.empty());
  ASSERT_TRUE(
      run(small_float_model(), options({{"type", "q8_0"}, {"search", "best"}}), nullptr, &notes));
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("no effect"), std::string::npos) << notes[0];
  expect_error(run(small_float_model(), options({{"type", "q4_k_m"}, {"search", "sweep"}})),
               ErrorCode::kUsage, "none or best");
}

TEST(Quantize, Mxfp4OfAModelWithoutExpertsSaysThatItIsQ8_0) {
  std::vector<std::string> notes;
  auto made = run(small_float_model(), options({{"type", "mxfp4"}}), nullptr, &notes);
  EXPECT_EQ(codec_of(made, "blk.0.ffn_up_exps.weight"), "mxfp4");
  EXPECT_EQ(codec_of(made, "blk.0.attn_q.weight"), "q8_0");
  EXPECT_TRUE(notes.empty());
  Checkpoint dense = small_float_model();
  std::erase_if(dense.tensors,
                [](const Tensor& tensor) { return tensor.name.find("exps") != std::string::npos; });
  made = run(dense, options({{"type", "mxfp4"}}), nullptr, &notes);
  EXPECT_EQ(codec_of(made, "blk.0.attn_q.weight"), "q8_0");
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("this model has no stacks of experts"), std::string::npos) << notes[0];
}

TEST(Quantize, OnlyGgufIsQuantized) {
  Checkpoint input = small_float_model();
  input.format = "hf";
  expect_error(run(input, options({{"type", "q8_0"}})), ErrorCode::kUsage, "to-gguf");
}

TEST(Quantize, LastRuleThatMatchesCounts) {
  const auto made = run(small_float_model(), options({{"type", "q4_k_m"},
                                                      {"tensor-type", "*=q8_0"},
                                                      {"keep", "blk.1.*"},
                                                      {"tensor-type", "blk.1.attn_q.*=Q5_K"},
                                                      {"keep", "*.0.attn_q.weight"}}));
  EXPECT_EQ(codec_of(made, "token_embd.weight"), "q8_0");
  EXPECT_EQ(codec_of(made, "blk.0.ffn_up_exps.weight"), "q8_0");
  EXPECT_EQ(codec_of(made, "blk.0.attn_q.weight"), "bf16");
  EXPECT_EQ(codec_of(made, "blk.1.attn_q.weight"), "q5_k");
  EXPECT_EQ(codec_of(made, "blk.1.ffn_up_exps.weight"), "bf16");
  EXPECT_EQ(codec_of(made, "blk.0.attn_norm.weight"), "f32");
}

TEST(Quantize, GlobsSeeBothNamesUnlessTheySayOut) {
  Checkpoint input = small_float_model();
  for (Tensor& tensor : input.tensors) {
    if (tensor.name == "blk.0.attn_q.weight") tensor.source_name = "layers.0.q_proj.weight";
  }
  const auto by_source =
      run(input, options({{"type", "q4_k_m"}, {"tensor-type", "*q_proj*=q8_0"}}));
  EXPECT_EQ(codec_of(by_source, "blk.0.attn_q.weight"), "q8_0");
  const auto by_name = run(input, options({{"type", "q4_k_m"}, {"tensor-type", "*attn_q*=q8_0"}}));
  EXPECT_EQ(codec_of(by_name, "blk.0.attn_q.weight"), "q8_0");  // though its source name differs
  EXPECT_EQ(codec_of(by_name, "blk.1.attn_q.weight"), "q8_0");
  const auto by_out_alone =
      run(input, options({{"type", "q4_k_m"}, {"tensor-type", "out:*q_proj*=q8_0"}}));
  ASSERT_FALSE(by_out_alone);
  EXPECT_NE(by_out_alone.error().text().find("matches no tensor"), std::string::npos);
  // llama-quantize takes a part of a GGUF name if no tensor has it as its whole name.
  const auto by_part = run(input, options({{"type", "q4_k_m"}, {"tensor-type", "attn_q=q8_0"}}));
  EXPECT_EQ(codec_of(by_part, "blk.0.attn_q.weight"), "q8_0");
  const auto by_whole =
      run(input, options({{"type", "q4_k_m"}, {"tensor-type", "blk.1.attn_q.weight=q8_0"}}));
  EXPECT_EQ(codec_of(by_whole, "blk.0.attn_q.weight"), "q4_k");
  EXPECT_EQ(codec_of(by_whole, "blk.1.attn_q.weight"), "q8_0");
  const auto by_out =
      run(input, options({{"type", "q4_k_m"}, {"tensor-type", "out:*attn_q*=q8_0"}}));
  EXPECT_EQ(codec_of(by_out, "blk.0.attn_q.weight"), "q8_0");
}

TEST(Quantize, RulesWithoutEffectAreNoted) {
  std::vector<std::string> notes;
  const auto made = run(small_float_model(),
                        options({{"type", "q4_k_m"},
                                 {"tensor-type", "*norm*=q8_0"},
                                 {"keep", "*atn_q*"},
                                 {"keep", "*norm*"}}),
                        nullptr, &notes);
  ASSERT_TRUE(made.has_value());
  ASSERT_EQ(notes.size(), 3u);
  EXPECT_NE(notes[0].find("none of the 2 tensors"), std::string::npos) << notes[0];
  EXPECT_EQ(notes[1], "keep=*atn_q* matches no tensor");
  EXPECT_NE(notes[2].find("keep=*norm* has no effect"), std::string::npos) << notes[2];
}

TEST(Quantize, RejectsTensorTypeThatMatchesNoTensor) {
  const auto made = run(small_float_model(),
                        options({{"type", "q4_k_m"}, {"tensor-type", "*atn_q*=q8_0"}}), nullptr);
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().what, "tensor-type=*atn_q*=q8_0 matches no tensor");
}

TEST(Quantize, FallbacksAreNoted) {
  Checkpoint input = small_float_model();
  input.tensors.push_back(zeros("blk.0.ffn_down.weight", {2, 96}));
  std::vector<std::string> notes;
  const auto made = run(std::move(input), options({{"type", "q4_k_s"}}), nullptr, &notes);
  EXPECT_EQ(codec_of(made, "blk.0.ffn_down.weight"), "q5_0");
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("1 tensor got"), std::string::npos) << notes[0];
  EXPECT_NE(notes[0].find("blk.0.ffn_down.weight"), std::string::npos) << notes[0];
}

// ---- where values come from --------------------------------------------------------------------

TEST(Quantize, QuantizedTensorsNeedLeave) {
  Checkpoint input = small_float_model();
  input.tensors.push_back(zeros("blk.1.ffn_down.weight", {2, 256}, "q8_0"));
  expect_error(run(input, options({{"type", "q4_k_m"}})), ErrorCode::kUsage,
               "tensor 'blk.1.ffn_down.weight': already quantized as q8_0");
  EXPECT_EQ(codec_of(run(input, options({{"type", "q4_k_m"}, {"allow-requantize", "yes"}})),
                     "blk.1.ffn_down.weight"),
            "q4_k");  // the first ffn_down that is counted, though of the last block
  // The same type is a copy, and copies need no leave.
  const auto same = run(input, options({{"type", "q8_0"}}));
  ASSERT_TRUE(same.has_value());
  EXPECT_TRUE(same->find_tensor("blk.1.ffn_down.weight")->is_stored());
  EXPECT_EQ(codec_of(run(input, options({{"type", "q4_k_m"}, {"keep", "*ffn_down*"}})),
                     "blk.1.ffn_down.weight"),
            "q8_0");
}

TEST(Quantize, WhatCannotBeDecodedIsRefusedByName) {
  Checkpoint input = small_float_model();
  input.tensors.push_back(zeros("blk.1.ffn_down.weight", {2, 256}, "q1_0"));
  ASSERT_EQ(codec("q1_0").decode, nullptr);
  expect_error(run(input, options({{"type", "q4_k_m"}, {"allow-requantize", "yes"}})),
               ErrorCode::kUnsupported, "blk.1.ffn_down.weight");
  input.tensors.back() = zeros("blk.1.ffn_down.weight", {2, 256}, "i32");
  expect_error(run(input, options({{"type", "q4_k_m"}})), ErrorCode::kUnsupported,
               "blk.1.ffn_down.weight");
}

// The operations of a tensor of the result.
const std::vector<ValueOp>& ops_of(const Result<Checkpoint>& made, std::string_view name) {
  return made->find_tensor(name)->recoded().ops;
}

TEST(Quantize, TensorsMadeSixteenBitsWideAreRoundedFirst) {
  Checkpoint input = small_float_model();
  const Tensor f32 = zeros("blk.0.ffn_down.weight", {2, 256}, "f32");
  input.tensors.push_back(recode(f32, codec("bf16")).value());
  Tensor f16 = zeros("blk.1.ffn_down.weight", {2, 256}, "bf16");
  input.tensors.push_back(recode(std::move(f16), codec("f16")).value());
  input.tensors.push_back(with_op(zeros("blk.0.a.weight", {2, 256}), AddScalar{1}).value());
  input.tensors.push_back(recode(zeros("blk.0.b.weight", {2, 256}), codec("f32")).value());
  const auto made = run(std::move(input), options({{"type", "q8_0"}}));
  ASSERT_TRUE(made.has_value()) << made.error().text();
  ASSERT_EQ(ops_of(made, "blk.0.ffn_down.weight").size(), 1u);
  EXPECT_EQ(std::get<RoundTo>(ops_of(made, "blk.0.ffn_down.weight")[0]).dtype, Dtype::kBF16);
  ASSERT_EQ(ops_of(made, "blk.1.ffn_down.weight").size(), 1u);
  EXPECT_EQ(std::get<RoundTo>(ops_of(made, "blk.1.ffn_down.weight")[0]).dtype, Dtype::kF16);
  ASSERT_EQ(ops_of(made, "blk.0.a.weight").size(), 2u);
  EXPECT_EQ(std::get<RoundTo>(ops_of(made, "blk.0.a.weight")[1]).dtype, Dtype::kBF16);
  EXPECT_TRUE(ops_of(made, "blk.0.b.weight").empty());
  EXPECT_TRUE(ops_of(made, "blk.0.attn_q.weight").empty());
}

TEST(Quantize, LeadingAxesOfOneAreDropped) {
  Checkpoint input = small_float_model();
  input.tensors.push_back(zeros("blk.0.a.weight", {1, 256}));
  input.tensors.push_back(zeros("blk.0.b.weight", {1, 2, 256}));
  input.tensors.push_back(zeros("blk.0.c.weight", {2, 1, 256}));
  input.tensors.push_back(zeros("blk.0.d", {}, "f32"));
  input.tensors.push_back(zeros("blk.0.e.weight", {1, 1, 1}, "f32"));
  const auto made = run(std::move(input), options({{"type", "q8_0"}}));
  ASSERT_TRUE(made.has_value()) << made.error().text();
  const auto shape = [&](std::string_view name) { return made->find_tensor(name)->shape; };
  EXPECT_EQ(shape("blk.0.a.weight"), (std::vector<uint64_t>{256}));
  EXPECT_EQ(codec_of(made, "blk.0.a.weight"), "bf16");
  EXPECT_EQ(shape("blk.0.b.weight"), (std::vector<uint64_t>{2, 256}));
  EXPECT_EQ(codec_of(made, "blk.0.b.weight"), "q8_0");
  EXPECT_EQ(shape("blk.0.c.weight"), (std::vector<uint64_t>{2, 1, 256}));
  EXPECT_EQ(shape("blk.0.d"), (std::vector<uint64_t>{1}));
  EXPECT_EQ(shape("blk.0.e.weight"), (std::vector<uint64_t>{1}));
}

// ---- importance matrices -----------------------------------------------------------------------

TEST(QuantizeImatrix, EveryMatrixOfAStackHasItsWeights) {
  Imatrix imatrix = matrix_for("blk.0.ffn_up_exps.weight", 512);
  imatrix.weights["blk.0.ffn_up_exps.weight"][300] = 2;
  const auto made = run(small_float_model(), options({{"type", "q4_k_m"}}), &imatrix);
  ASSERT_TRUE(made.has_value()) << made.error().text();
  const auto& weights = made->find_tensor("blk.0.ffn_up_exps.weight")->recoded().weights;
  ASSERT_NE(weights, nullptr);
  EXPECT_EQ(weights->weights, imatrix.weights["blk.0.ffn_up_exps.weight"]);
  EXPECT_EQ(made->find_tensor("blk.1.ffn_up_exps.weight")->recoded().weights, nullptr);
}

TEST(QuantizeImatrix, TypesThatIgnoreWeightsGetNone) {
  const Imatrix imatrix = matrix_for("blk.0.attn_q.weight", 256);
  for (const char* type : {"q8_0", "f16", "f32"}) {
    const auto made = run(small_float_model(), options({{"type", type}}), &imatrix);
    ASSERT_TRUE(made.has_value()) << made.error().text();
    EXPECT_EQ(made->find_tensor("blk.0.attn_q.weight")->recoded().weights, nullptr) << type;
  }
  for (const char* type : {"q4_0", "q5_1", "q6_k", "q2_k", "iq4_nl"}) {
    const auto made = run(small_float_model(), options({{"type", type}}), &imatrix);
    ASSERT_TRUE(made.has_value()) << made.error().text();
    EXPECT_NE(made->find_tensor("blk.0.attn_q.weight")->recoded().weights, nullptr) << type;
  }
}

TEST(QuantizeImatrix, WrongNumberOfWeightsIsAnErrorExceptForTheEmbedding) {
  const Imatrix wrong = matrix_for("blk.0.ffn_up_exps.weight", 256);
  expect_error(run(small_float_model(), options({{"type", "q4_k_m"}}), &wrong), ErrorCode::kCorrupt,
               "tensor 'blk.0.ffn_up_exps.weight': importance matrix 'm.dat' has 256 values; "
               "expected 512");
  const Imatrix embedding = matrix_for("token_embd.weight", 3);
  const auto made = run(small_float_model(), options({{"type", "q4_k_m"}}), &embedding);
  ASSERT_TRUE(made.has_value()) << made.error().text();
  EXPECT_EQ(made->find_tensor("token_embd.weight")->recoded().weights, nullptr);
}

TEST(QuantizeImatrix, ValuesMustBeFinite) {
  Imatrix imatrix = matrix_for("blk.9.not_in_the_model.weight", 4);
  imatrix.weights.begin()->second[2] = std::numeric_limits<float>::infinity();
  expect_error(run(small_float_model(), options({{"type", "q4_k_m"}}), &imatrix),
               ErrorCode::kCorrupt, "value 2 for 'blk.9.not_in_the_model.weight' is inf");
}

TEST(QuantizeImatrix, Q2KSNeedsIt) {
  expect_error(run(small_float_model(), options({{"type", "q2_k_s"}})), ErrorCode::kUsage,
               "no importance matrix was given");
  const Imatrix partial = matrix_for("blk.0.attn_q.weight", 256);
  expect_error(run(small_float_model(), options({{"type", "q2_k_s"}}), &partial), ErrorCode::kUsage,
               "tensor 'blk.0.ffn_up_exps.weight'");
  Imatrix full = partial;
  full.weights["blk.1.attn_q.weight"].assign(256, 1);
  full.weights["blk.0.ffn_up_exps.weight"].assign(512, 1);
  full.weights["blk.1.ffn_up_exps.weight"].assign(512, 1);
  const auto made = run(small_float_model(), options({{"type", "q2_k_s"}}), &full);
  EXPECT_EQ(codec_of(made, "blk.0.attn_q.weight"), "q2_k");
  EXPECT_EQ(codec_of(made, "token_embd.weight"), "q2_k");  // the one that may do without
}

TEST(QuantizeImatrix, MissingEntriesAreNoted) {
  const Imatrix partial = matrix_for("blk.0.attn_q.weight", 256);
  std::vector<std::string> notes;
  ASSERT_TRUE(
      run(small_float_model(), options({{"type", "q4_k_m"}}), &partial, &notes).has_value());
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("5 tensors without column weights"), std::string::npos) << notes[0];
}

}  // namespace
}  // namespace ckpt

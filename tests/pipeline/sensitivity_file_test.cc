// Measured sensitivities: what a file's divergences make of the factors of roles.
#include "plan/size_target/sensitivity_file.h"

#include "plan/size_target/sensitivity.h"
#include "tests/pipeline/pipeline.h"

namespace ckpt {
namespace {

std::vector<RatedTensor> four_tensors() {
  std::vector<RatedTensor> out(4);
  for (size_t i = 0; i < out.size(); ++i)
    out[i].names = {std::string(1, static_cast<char>('a' + i))};
  return out;
}

Result<SensitivityFile> parsed_as(const std::string& name, const std::string& text,
                                  const std::vector<RatedTensor>& tensors = four_tensors()) {
  const TemporaryFolder folder;
  write_file(folder / name, text);
  Observer silent;
  return fitting_sensitivities(folder / name, tensors, silent);
}

// The factors that a file gives to four tensors.
std::vector<double> factors_of(const std::string& text, std::vector<RatedTensor> tensors) {
  const auto file = parsed_as("kld_results.csv", text, tensors);
  EXPECT_TRUE(file) << file.error().text();
  if (file) rate_tensors(*file, tensors);
  std::vector<double> out;
  for (const RatedTensor& tensor : tensors) out.push_back(tensor.factor);
  return out;
}

TEST(SensitivityFile, IsOfTheDivergenceOverTheErrorOfItsType) {
  std::vector<RatedTensor> tensors = four_tensors();
  for (RatedTensor& tensor : tensors) tensor.errors = {{"q4_k", 0.005}};
  tensors[1].errors = {{"q4_k", 0.010}};
  EXPECT_EQ(factors_of("QTYPE,a,b,c,d\nq4_K,0.2,0.2,0.1,0.4\n", tensors),
            (std::vector<double>{1, 0.5, 0.5, 2}));
}

TEST(SensitivityFile, TakesATypeThatIsNotMeasuredForAnEqualErrorOfAll) {
  std::vector<RatedTensor> tensors = four_tensors();
  tensors[0].errors = {{"iq1_m", 0.25}};  // of one alone says nothing about the others
  EXPECT_EQ(factors_of("QTYPE,a,b,c,d\niq1_m_r4,1,2,4,8\n", tensors),
            (std::vector<double>{0.25, 0.5, 1, 2}));
}

TEST(SensitivityFile, TypesCountAlikeWhateverTheirErrors) {
  EXPECT_EQ(factors_of("QTYPE,a,b,c,d\niq1_m,100,200,200,200\nq8_0,0.03,0.01,0.01,0.01\n",
                       four_tensors()),
            (std::vector<double>{1.75, 1, 1, 1}));
}

TEST(SensitivityFile, ATensorWithoutANumberKeepsTheFactorOfItsRoleAtTheLevelOfOthers) {
  std::vector<RatedTensor> tensors = four_tensors();
  for (RatedTensor& tensor : tensors) tensor.factor = 10;
  tensors[3].factor = 40;
  for (const char* nothing : {"0", "-0.1", "NaN", "3%", "", "5e-324"}) {
    EXPECT_EQ(factors_of(fmt::format("QTYPE,a,b,c,d\nq4_K,2,2,2,{}\n", nothing), tensors),
              (std::vector<double>{1, 1, 1, 4}))
        << nothing;
  }
}

TEST(SensitivityFile, AnExpertHasItsPartOfTheStack) {
  std::vector<RatedTensor> tensors = four_tensors();
  tensors[0].stack_name = tensors[1].stack_name = "stack";
  tensors[0].share = tensors[1].share = tensors[2].share = 0.5;
  EXPECT_EQ(factors_of("name,kl\nstack,8\nb,4\nd,4\n", tensors),
            (std::vector<double>{1, 1, 0.5, 1}))
      << "its own line comes first, and one without a line has its part of the role's factor";
}

TEST(SensitivityFile, FindsLayersByTheirNamesInGguf) {
  using Names = std::vector<std::string>;
  for (const auto& [module, names] : std::initializer_list<std::pair<const char*, Names>>{
           {"model.layers.3.mlp.down_proj", {"blk.3.ffn_down.weight"}},
           {"model.language_model.layers.12.self_attn.o_proj", {"blk.12.attn_output.weight"}},
           {"model.layers.3.mlp.experts.17.up_proj", {"blk.3.ffn_up_exps.weight"}},
           {"model.layers.3.mlp.shared_expert.up_proj", {"blk.3.ffn_up_shexp.weight"}},
           {"model.layers.3.block_sparse_moe.experts.1.w1", {"blk.3.ffn_gate_exps.weight"}},
           {"model.layers.0.self_attn.out_proj", {"blk.0.attn_output.weight"}},
           {"model.layers.0.conv.out_proj", {"blk.0.shortconv.out_proj.weight"}},
           {"model.layers.0.linear_attn.out_proj", {"blk.0.ssm_out.weight"}},
           {"model.layers.0.mamba.out_proj", {"blk.0.ssm_out.weight"}},
           {"backbone.layers.7.mixer.out_proj", {"blk.7.ssm_out.weight"}},
           {"model.layers.1.self_attn.kv_b_proj",
            {"blk.1.attn_k_b.weight", "blk.1.attn_v_b.weight"}},
           {"model.layers.1.linear_attn.in_proj_qkvz",
            {"blk.1.attn_qkv.weight", "blk.1.attn_gate.weight"}},
           {"model.layers.2.attn.v_proj", {"blk.2.attn_v.weight"}},
           {"model.layers.2.moe.experts.5.down_proj", {"blk.2.ffn_down_exps.weight"}},
           {"lm_head", {"output.weight"}},
           {"encoder.layer.0.output.dense", {"attn_output.weight"}},
           {"output", {"output.weight"}},
           {"model.layers.2.attn.of_the_future", {"blk.2.of_the_future.weight"}}}) {
    EXPECT_EQ(gguf_names_of_layer(module), names) << module;
  }
}

TEST(SensitivityFile, RefusesWhatSaysNothing) {
  const auto said = [](const std::string& name, const std::string& text) {
    const auto file = parsed_as(name, text);
    return file ? "taken" : file.error().text();
  };
  EXPECT_NE(said("ppl_results.csv", "QTYPE,a,b\nq4_K,9.5,9.1\n").find("perplexities"),
            std::string::npos);
  EXPECT_NE(said("k.csv", "QTYPE,a,b\nbf16,0,0\n").find("no number above 0"), std::string::npos);
  EXPECT_NE(said("k.csv", "name,kl\na,1\na,2\n").find("'a' is there twice"), std::string::npos);
  EXPECT_NE(said("k.csv", "QTYPE,x,y\nq4_K,1,2\n").find("none of its 2 tensors (the first: 'x')"),
            std::string::npos);
  EXPECT_NE(said("kld_results.csv", "QTYPE,group0\nq4_K,0.1\n").find("expected names like 'a'"),
            std::string::npos);
  EXPECT_NE(
      said("k.csv", "name,kl\na,1e300\nb,1\n").find("'a' has 1e+300; expected a KL divergence"),
      std::string::npos)
      << "the prediction was not a number";
  EXPECT_EQ(said("k.csv", "QTYPE,a,y\nq4_K,1,2\n"), "taken");
}

}  // namespace
}  // namespace ckpt

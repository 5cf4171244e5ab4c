// Plans as files: every word of a command comes back, nothing unknown is taken, and what has
// changed since is named.
#include "plan/text/plan_file.h"

#include "core/engine/compare.h"
#include "core/resume/ledger_files.h"
#include "tests/pipeline/pipeline.h"
#include "tools/commands/carry_out.h"

namespace ckpt {
namespace {

namespace fs = std::filesystem;

Console quiet() {
  CommonOptions options;
  options.quiet = options.json = true;
  return Console(options);
}

ExecuteOptions options_of(const PlanFile& file) {
  ExecuteOptions options;
  options.resume.version = file.version;
  return options;
}

PlanFile parsed(const fs::path& path) {
  auto file = parse_plan_file(read_file(path), path.parent_path());
  EXPECT_TRUE(file) << file.error().text();
  return file ? std::move(*file) : PlanFile{};
}

std::string error_of_text(const std::string& text) {
  const auto file = parse_plan_file(text, "/plans");
  return file ? "no error" : file.error().text();
}

constexpr const char* kHead = R"({"ckpt_plan": 1, "version": "x", "digest": "y", "convert": )";

TEST(PlanFile, EveryWordOfACommandComesBack) {
  const std::string text = std::string(kHead) + R"({
    "in": "/a/in", "out": "out", "tokenizer": "/t", "to": "q4_k_m", "output-tensor-type": "q6_k",
    "token-embedding-type": "q8_0", "imatrix": "i.gguf", "tokenizer-pre": "qwen2",
    "model-name": "n", "base": "/b", "mmproj": "p.gguf", "mmproj-only": true,
    "mmproj-type": "f16", "no-mtp": true, "allow-requantize": true, "pure": true,
    "leave-output-tensor": true, "shard-size": 5, "header-slack": 6, "allow-nonfinite": true,
    "for": ["vllm-0.17"], "rules": [["keep", "a*"], ["tensor-type", "b*=q8_0"]],
    "export": [["preset", "mlp-only"], ["amax-from", "amax"]],
    "steps": [{"name": "drop", "options": [["tensors", "x.*"]]}],
    "also": [{"out": "second.gguf", "to": "q8_0"}]},
    "inputs": [{"path": "/a/in/model.safetensors", "size_bytes": 7, "modified_ns": 8}]})";
  const auto file = parse_plan_file(text, "/plans");
  ASSERT_TRUE(file) << file.error().text();
  const Conversion& conversion = file->conversion;
  EXPECT_EQ(conversion.in, "/a/in");
  EXPECT_EQ(conversion.out, "/plans/out");
  EXPECT_EQ(conversion.imatrix, "/plans/i.gguf");
  EXPECT_EQ(conversion.mmproj, "/plans/p.gguf");
  EXPECT_TRUE(conversion.mmproj_only);
  EXPECT_EQ(conversion.flags.get("mmproj-type"), "f16");
  EXPECT_EQ(conversion.shard_bytes, 5u);
  EXPECT_EQ(conversion.flags.all("tensor-type"), std::vector<std::string>{"b*=q8_0"});
  EXPECT_EQ(conversion.flags.get("amax-from"), "/plans/amax");
  EXPECT_EQ(conversion.also[0].out, "/plans/second.gguf");
  ASSERT_EQ(conversion.recipe_steps.size(), 1u);
  EXPECT_EQ(conversion.recipe_steps[0].options.get("tensors"), "x.*");
  EXPECT_FALSE(conversion.force);
  EXPECT_TRUE(file->conversion.allow_nonfinite);
  // Written and read again, nothing is lost.
  const std::string once = render_plan_file(*file, Plan{});
  const auto again = parse_plan_file(once, "/elsewhere");
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(render_plan_file(*again, Plan{}), once);
  for (const char* key : {"tokenizer-pre", "leave-output-tensor", "header-slack", "for", "rules"}) {
    EXPECT_NE(once.find(std::string("\"") + key + "\""), std::string::npos) << key;
  }
}

TEST(PlanFile, NamesUnknownKeys) {
  EXPECT_NE(error_of_text("{}").find("no plan of ckpt"), std::string::npos);
  EXPECT_NE(error_of_text("[").size(), 0u);
  EXPECT_NE(error_of_text(R"({"ckpt_plan": 2})").find("expected \"ckpt_plan\": 1"),
            std::string::npos);
  const auto error_in = [](const std::string& convert) {
    return error_of_text(kHead + convert + "}");
  };
  EXPECT_NE(error_in(R"({"in": "a"})").find("no \"out\""), std::string::npos);
  EXPECT_NE(error_in(R"({"force": true})").find("\"force\" is not known"), std::string::npos);
  EXPECT_NE(error_in(R"({"pure": 1})").find("expected true or false"), std::string::npos);
  EXPECT_NE(error_in(R"({"shard-size": -1})").find("whole number"), std::string::npos);
  EXPECT_NE(error_in(R"({"steps": [{"name": "no such"}]})").find("no step"), std::string::npos);
  EXPECT_NE(error_in(R"({"steps": [{"name": "drop", "options": [["x", "y"]]}]})").find("no option"),
            std::string::npos);
  EXPECT_NE(error_in(R"({"steps": [{"name": "cast", "options": [["type", "y"]]}]})").find("bf16"),
            std::string::npos);
  EXPECT_NE(error_in(R"({"rules": [["preset", "mlp-only"]]})").find("'preset' is not known"),
            std::string::npos);
  EXPECT_NE(error_in(R"({"steps": {}})").find("expected an array"), std::string::npos);
  EXPECT_NE(error_in(R"({"rules": [["keep"]]})").find("expected [\"NAME\""), std::string::npos);
  EXPECT_NE(error_in("[]").find("expected an object"), std::string::npos);
}

struct Written : testing::Test {
  TemporaryFolder folder;
  Conversion conversion;
  void SetUp() override {
    fs::copy(testdata("qwen35-micro"), folder / "in");
    conversion.in = folder / "in";
    conversion.out = folder / "out.gguf";
    conversion.to = "q8_0";
    ASSERT_TRUE(write_plan(conversion, folder / "plan.json", quiet()));
    ASSERT_FALSE(fs::exists(conversion.out));
  }
  std::string error() {
    const PlanFile file = parsed(folder / "plan.json");
    const auto planned = plan_again(file, options_of(file));
    return planned ? "no error" : planned.error().text();
  }
};

TEST_F(Written, IsThePlanOfTheCommand) {
  const PlanFile file = parsed(folder / "plan.json");
  const auto planned = plan_conversion(conversion);
  ASSERT_TRUE(planned);
  EXPECT_EQ(digest_of(planned->plan, options_of(file))->sha256, file.digest);
  EXPECT_EQ(error(), "no error");
}

TEST_F(Written, AChangedInputIsNamed) {
  const fs::path weights = folder / "in" / "model.safetensors";
  fs::last_write_time(weights, fs::last_write_time(weights) + std::chrono::seconds(2));
  EXPECT_NE(error().find("model.safetensors was written to in between"), std::string::npos);
}

TEST_F(Written, AChangedDocumentIsNoticed) {
  std::string config = read_file(folder / "in" / "config.json");
  const size_t at = config.find("\"rms_norm_eps\": 1e-06");
  ASSERT_NE(at, std::string::npos);
  config.replace(at, 21, "\"rms_norm_eps\": 1e-05");
  write_file(folder / "in" / "config.json", config);
  EXPECT_NE(error().find("documents of IN"), std::string::npos) << error();
}

TEST_F(Written, AnEditedWordIsAnotherPlan) {
  std::string text = read_file(folder / "plan.json");
  const size_t at = text.find("\"q8_0\"");
  ASSERT_NE(at, std::string::npos);
  text.replace(at, 6, "\"q4_0\"");
  write_file(folder / "plan.json", text);
  EXPECT_NE(error().find("this is another plan by now"), std::string::npos) << error();
}

}  // namespace
}  // namespace ckpt

// Recipes: what they say, relative to where they lie, and what they refuse.
#include "plan/text/recipe.h"

#include "tests/pipeline/pipeline.h"

namespace ckpt {
namespace {

Result<Recipe> recipe(const std::string& text) {
  const TemporaryFolder folder;
  write_file(folder / "r.json", text);
  auto out = read_recipe(folder / "r.json");
  if (!out) {
    EXPECT_EQ(out.error().code, ErrorCode::kUsage);
    return out;
  }
  // Paths as seen from the recipe.
  for (std::filesystem::path* path : {&out->in, &out->out}) {
    if (!path->empty()) *path = path->lexically_relative(folder.path());
  }
  return out;
}

std::string error_of(const std::string& text) {
  const auto out = recipe(text);
  if (out) return "no error";
  const std::string& where = out.error().where;
  return where.substr(where.find("r.json") + 6) + "|" + out.error().what;
}

// Values of one option, each behind a line.
std::string values_of(std::string_view typed, std::string_view key) {
  const auto step = parse_step(typed);
  if (!step) return step.error().text();
  return fmt::format("{}", fmt::join(step->options.all(key), "\n"));
}

TEST(Steps, CommasInsideJsonDoNotEndAValue) {
  EXPECT_EQ(values_of("config:set=a=[1,2]", "set"), "a=[1,2]");
  EXPECT_EQ(values_of("config:set=a=[1,2],set=b=3,file=x.json", "set"), "a=[1,2]\nb=3");
  EXPECT_EQ(values_of("config:set=a={\"b\":[1,{}],\"c\":\"]},\"},remove=d", "set"),
            "a={\"b\":[1,{}],\"c\":\"]},\"}");
  EXPECT_EQ(values_of("config:set=a=\"x, \\\"y\"", "set"), "a=\"x, \\\"y\"");
  // Spellings that had a meaning before keep it.
  EXPECT_EQ(values_of("config:set=\"a=[1,2]\",remove=b", "set"), "a=[1,2]");
  EXPECT_EQ(values_of("config:set=a=1,", "set"), "a=1");
  EXPECT_EQ(values_of("rename:from=a[0,to=b]", "from"), "a[0");
  EXPECT_EQ(values_of("rename:from=[0-9],to=b", "to"), "b");
  EXPECT_NE(values_of("config:set=a=[1,2", "set").find("has no option '2'"), std::string::npos);
}

TEST(Recipe, EqualsTheCommandLine) {
  const auto out = recipe(
      "{ // where\n \"in\": \"a//b\", \"out\": \"../c\", /* \"to\": \"x\", */ \"to\": \"q8_0\",\n"
      "\"steps\": [\"drop:tensors=a*\",\n"
      "{\"name\": \"drop\", \"tensors\": [\"b*\", \"http://c*\"]},\n"
      "{\"name\": \"config\", \"set\": {\"x.y\": [1, 1e-06], \"t\": \"a\\\"//\"}},\n"
      "{\"name\": \"metadata\", \"set\": {\"k\": \"u32:5\", \"n\": 7}},\n"
      "{\"name\": \"graft\", \"from\": \"/abs\", \"tensors\": \"*\", \"replace\": true}],\n"
      "\"also\": [{\"out\": \"d.gguf\", \"to\": \"f16\"}]} // end");
  ASSERT_TRUE(out) << out.error().text();
  EXPECT_EQ(out->in, "a/b");
  EXPECT_EQ(out->out, "../c");
  EXPECT_EQ(out->to, "q8_0");
  ASSERT_EQ(out->steps.size(), 5u);
  using Texts = std::vector<std::string>;
  EXPECT_EQ(out->steps[0].options.all("tensors"), Texts{"a*"});
  EXPECT_EQ(out->steps[1].options.all("tensors"), (Texts{"b*", "http://c*"}));
  EXPECT_EQ(out->steps[2].options.all("set"), (Texts{"x.y=[1, 1e-06]", "t=\"a\\\"//\""}));
  EXPECT_EQ(out->steps[3].options.all("set"), (Texts{"k=u32:5", "n=7"}));
  EXPECT_EQ(out->steps[4].options.all("from"), Texts{"/abs"});
  EXPECT_EQ(out->steps[4].options.get("replace"), "yes");
  ASSERT_EQ(out->also.size(), 1u);
  EXPECT_TRUE(out->also[0].first.is_absolute());
}

TEST(Recipe, PathsOfStepsAreRelativeToIt) {
  const TemporaryFolder folder;
  write_file(folder / "r.json",
             "{\"steps\": [\"graft:from=b,tensors=*\", {\"name\": \"graft\", \"from\": \"b\"},"
             "{\"name\": \"vl-wrap\", \"with\": \"b\"}]}");
  const auto out = read_recipe(folder / "r.json");
  ASSERT_TRUE(out) << out.error().text();
  ASSERT_EQ(out->steps.size(), 3u);
  for (const Step& step : out->steps) {
    EXPECT_EQ(step.options.pairs()[0].second, (folder / "b").string());
  }
}

TEST(Recipe, KeepsOptionsByNameAndInOrder) {
  const auto out = recipe(
      "{\"keep\": [\"a\", \"b\"], \"tensor-type\": {\"c\": \"q8_0\"}, \"only\": \"d\","
      "\"pure\": true, \"no-mtp\": false, \"shard-size\": \"5GB\", \"preset\": \"mlp-only\"}");
  ASSERT_TRUE(out) << out.error().text();
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(out->options, (Pairs{{"keep", "a"},
                                 {"keep", "b"},
                                 {"tensor-type", "c=q8_0"},
                                 {"only", "d"},
                                 {"pure", "yes"},
                                 {"shard-size", "5GB"},
                                 {"preset", "mlp-only"}}));
  EXPECT_EQ(error_of("{\"pure\": \"yes\"}"), "|\"pure\": \"yes\"; expected true or false");
  EXPECT_EQ(error_of("{\"keep\": 5}"), "|\"keep\": 5; expected text");
}

TEST(Recipe, RefusesWhatItDoesNotKnowByName) {
  EXPECT_TRUE(error_of("{\"inn\": \"a\"}")
                  .starts_with("|key \"inn\"; expected one of in, out, tokenizer, base, "));
  EXPECT_EQ(error_of("{\"steps\": [{\"name\": \"no\"}]}"), ": \"steps\"|step 'no' is not known");
  EXPECT_EQ(error_of("{\"steps\": [{\"name\": \"drop\", \"tensor\": \"a\"}]}"),
            ": \"steps\"|step 'drop' has no option 'tensor'; it takes tensors, layers");
  EXPECT_EQ(error_of("{\"steps\": [{\"name\": \"graft\", \"from\": [\"a\", \"b\"]}]}"),
            ": \"steps\"|step 'graft': \"from\" takes one value");
  EXPECT_EQ(error_of("{\"steps\": [{\"name\": \"drop\", \"tensors\": null}]}"),
            ": \"steps\"|\"tensors\": null; expected text, a number, true or false");
  EXPECT_EQ(error_of("{\"steps\": [{\"name\": \"graft\", \"replace\": \"maybe\"}]}"),
            ": \"steps\"|graft:replace=maybe; expected yes or no");
  EXPECT_EQ(error_of("{\"steps\": [7]}"), ": \"steps\"|7; expected {\"name\": STEP, ...}");
  EXPECT_EQ(error_of("{\"steps\": {}}"), ": \"steps\"|{}; expected {\"name\": STEP, ...}");
  EXPECT_EQ(error_of("{\"to\": 5}"), "|\"to\": 5; expected text");
  EXPECT_EQ(error_of("{\"also\": [{\"out\": \"a\"}]}"),
            ": \"also\"|{\"out\": \"a\"}; expected {\"out\": OUT, \"to\": TYPE}");
  EXPECT_EQ(error_of("[]"), "|no JSON object");
  EXPECT_NE(error_of("{\"in\": \"a\" /* never closed"), "no error");
  EXPECT_NE(error_of(std::string(100'000, '[')), "no error");
}

TEST(Recipe, CommentsBecomeBlanks) {
  EXPECT_EQ(without_comments("1//a\n2/**/3\"/*x\\\"//\"/*\n*/4"),
            "1   \n2    3\"/*x\\\"//\"  \n  4");
  EXPECT_EQ(without_comments("/"), "/");
  EXPECT_EQ(without_comments("\"\\"), "\"\\");
}

}  // namespace
}  // namespace ckpt

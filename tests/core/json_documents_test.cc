#include "core/model/json_documents.h"

#include <gtest/gtest.h>

namespace ckpt {
namespace {

Checkpoint with(std::string path, std::string text) {
  Checkpoint out;
  out.set_document(std::move(path), std::move(text));
  return out;
}

using Paths = std::vector<std::string>;

Paths paths_of(const std::vector<NamedFile>& files) {
  Paths out;
  for (const NamedFile& file : files) out.push_back(file.path);
  return out;
}

TEST(NamedFiles, CodeOfAutoMapComesOnceAndSorted) {
  const auto found = named_code(with(
      "config.json", R"({"auto_map": {"AutoModel": "m.A", "AutoConfig": "c.C", "Auto": "m.B"}})"));
  ASSERT_EQ(paths_of(found), (Paths{"c.py", "m.py"}));
  EXPECT_EQ(found[0].document, "config.json");
}

TEST(NamedFiles, AListNamesASlowAndAFastTokenizer) {
  const auto found = named_code(
      with("tokenizer_config.json", R"({"auto_map": {"AutoTokenizer": ["t.T", "fast.F"]}})"));
  EXPECT_EQ(paths_of(found), (Paths{"fast.py", "t.py"}));
}

TEST(NamedFiles, CodeOfOtherRepositoriesAndOtherKindsDoNotCount) {
  for (const char* text :
       {R"({"auto_map": {"AutoModel": "org/x--m.A"}})", R"({"auto_map": {"Auto": [null]}})",
        R"({"auto_map": 5})", R"({"auto_map": {"AutoModel": "m"}})", R"({"auto_map": ["a"]})",
        R"([])", R"({)", R"({"auto_map": {"AutoModel": ".A"}})"}) {
    EXPECT_TRUE(named_code(with("config.json", text)).empty()) << text;
  }
}

TEST(NamedFiles, ModulesWithOtherClassesNameCode) {
  const auto found = named_code(
      with("modules.json", R"([{"type": "custom_st.Transformer"}, {"type": "torch.nn.Tanh"},
                               {"type": "sentence_transformers.models.Dense"}, 5])"));
  EXPECT_EQ(paths_of(found), Paths{"custom_st.py"});
}

TEST(NamedFiles, ModulesWithoutADocumentAreFound) {
  Checkpoint checkpoint = with("modules.json", R"([{"path": "", "type": "x"},
      {"path": "1_Pooling", "type": "x"}, {"path": "2_Dense/", "type": "x"},
      {"path": "3_N", "type": "sentence_transformers.models.Normalize"}])");
  EXPECT_EQ(paths_of(modules_without_files(checkpoint)), (Paths{"1_Pooling/", "2_Dense/"}));
  checkpoint.set_document("2_Dense/config.json", "{}");
  EXPECT_EQ(paths_of(modules_without_files(checkpoint)), Paths{"1_Pooling/"});
}

}  // namespace
}  // namespace ckpt

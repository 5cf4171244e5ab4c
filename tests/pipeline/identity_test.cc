// Whole files, byte for byte: ours against those of llama.cpp v0.5.0 (testdata/references.txt).
#include <set>
#include <sstream>

#include "core/engine/compare.h"
#include "tests/pipeline/pipeline.h"

namespace ckpt {
namespace {

struct Reference {
  std::string model, type, pre, sha256;
};

std::vector<Reference> references() {
  std::istringstream lines(read_file(testdata("references.txt")));
  std::vector<Reference> out;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    Reference& reference = out.emplace_back();
    words >> reference.model >> reference.type >> reference.pre >> reference.sha256;
    if (reference.pre == "-") reference.pre.clear();
  }
  return out;
}

class Identity : public testing::TestWithParam<Reference> {};

TEST_P(Identity, FolderToGgufEqualsTheReferenceFile) {
  const Reference& reference = GetParam();
  const TemporaryFolder folder;
  Conversion conversion;
  conversion.in = testdata(reference.model);
  conversion.out = folder / "out.gguf";
  conversion.to = reference.type;
  if (!reference.pre.empty()) conversion.flags.add("tokenizer-pre", reference.pre);
  EXPECT_EQ(digest_of(conversion), reference.sha256);
  // The digest was computed on the way; the file must hold those bytes.
  const auto hash = hash_file(conversion.out);
  ASSERT_TRUE(hash) << hash.error().text();
  EXPECT_EQ(*hash, reference.sha256);
}

TEST_P(Identity, GgufToGgufEqualsTheReferenceFile) {
  const Reference& reference = GetParam();
  const TemporaryFolder folder;
  Conversion first;
  first.in = testdata(reference.model);
  first.out = folder / "bf16.gguf";
  first.to = "bf16";
  if (!reference.pre.empty()) first.flags.add("tokenizer-pre", reference.pre);
  ASSERT_TRUE(run(first));
  Conversion second;
  second.in = first.out;
  second.out = folder / "out.gguf";
  if (reference.type != "bf16") second.to = reference.type;  // else: a copy
  EXPECT_EQ(digest_of(second), reference.sha256);
}

INSTANTIATE_TEST_SUITE_P(All, Identity, testing::ValuesIn(references()), [](const auto& tested) {
  std::string name = tested.param.model + "_" + tested.param.type;
  for (char& c : name) {
    if (c == '-') c = '_';
  }
  return name;
});

TEST(IdentityTable, HoldsEveryModelOfTestdata) {
  std::set<std::string> models;
  for (const Reference& reference : references()) models.insert(reference.model);
  EXPECT_EQ(models.size(), 5u);
}

}  // namespace
}  // namespace ckpt

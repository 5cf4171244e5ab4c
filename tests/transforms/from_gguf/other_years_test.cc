// Files that llama.cpp's converters of other years wrote, and what only BASE or the tensors tell.
#include "tests/transforms/run_step.h"

namespace ckpt {
namespace {

std::filesystem::path family_folder(const std::string& family) {
  return testdata("families/" + family + "/hf");
}

Checkpoint file_of(const std::string& family, const std::string& pre) {
  auto made = step_test::run("to-gguf", step_test::open(family_folder(family)).value(),
                             step_test::options({{"tokenizer-pre", pre}}));
  EXPECT_TRUE(made.has_value()) << made.error().text();
  return made.value_or(Checkpoint());
}

Result<Checkpoint> returned(Checkpoint file, const Options& options) {
  std::vector<std::string> notes;
  Context context{all_codecs(), nullptr, &notes, step_test::open};
  context.documents = [](const std::filesystem::path& path) -> Result<std::vector<Document>> {
    CKPT_ASSIGN(const Checkpoint folder, step_test::open(path));
    return folder.documents;
  };
  return find_transform("from-gguf")
      ->apply(step_test::as_gguf_file(std::move(file)), options, context);
}

// All tensors have the bytes of the folder.
void expect_returned(const Result<Checkpoint>& made, const std::string& family) {
  ASSERT_TRUE(made.has_value()) << made.error().text();
  const Checkpoint base = step_test::open(family_folder(family)).value();
  const Checkpoint after = step_test::settle(*made);
  ASSERT_EQ(after.tensors.size(), base.tensors.size());
  for (const Tensor& each : base.tensors) {
    const Tensor* found = after.find_tensor(each.name);
    ASSERT_NE(found, nullptr) << each.name;
    EXPECT_EQ(read_values(*found, 1 << 24).value(), read_values(each, 1 << 24).value())
        << each.name;
  }
}

Options with_base(const std::string& family) {
  return step_test::options({{"base", family_folder(family).string()}});
}

// The architecture mistral3 is of late 2025.
TEST(FilesOfOtherYears, BaseOfMistral3FitsAFileThatSaysLlama) {
  const std::string pre = read_file(testdata("families/mistral3/PRE"));
  Checkpoint file = file_of("mistral3", pre.substr(0, pre.find('\n')));
  constexpr std::string_view kNow = "mistral3.";
  for (MetaEntry& each : file.metadata.entries) {
    if (each.key.starts_with(kNow)) each.key = "llama." + each.key.substr(kNow.size());
  }
  file.metadata.set("general.architecture", MetaValue::text("llama"));
  expect_returned(returned(std::move(file), with_base("mistral3")), "mistral3");
}

// Multiplied weights cannot be divided without rounding.
TEST(FilesOfOtherYears, WeightsWithMultipliersAreThoseOfBase) {
  expect_returned(returned(file_of("falcon-h1", "falcon-h1"), with_base("falcon-h1")),
                  "falcon-h1");
}

// Converters before late 2025 wrote a reranker as a plain language model, without its outputs.
TEST(FilesOfOtherYears, RerankersOutputsAreRowsThatTheFileHasElsewhere) {
  Checkpoint file = file_of("qwen3-reranker", "qwen2");
  expect_returned(returned(file, with_base("qwen3-reranker")), "qwen3-reranker");
  ASSERT_EQ(std::erase_if(file.tensors,
                          [](const Tensor& each) { return each.name == "cls.output.weight"; }),
            1u);
  std::erase_if(file.metadata.entries, [](const MetaEntry& each) {
    return each.key.find("pooling_type") != each.key.npos ||
           each.key.find("output_labels") != each.key.npos ||
           each.key.ends_with("chat_template.rerank");
  });
  expect_returned(returned(std::move(file), with_base("qwen3-reranker")), "qwen3-reranker");
}

TEST(FilesOfOtherYears, EncodersComeBackWithTheirPooling) {
  for (const auto& [family, pre] :
       {std::pair{"nomic-bert", "jina-v2-en"}, {"bert", "jina-v2-en"}}) {
    const auto made = returned(
        file_of(family, pre),
        step_test::options({{"tokenizer", family_folder(family).string()}}));
    ASSERT_TRUE(made.has_value()) << made.error().text();
    ASSERT_NE(made->find_document("modules.json"), nullptr);
    ASSERT_NE(made->find_document("1_Pooling/config.json"), nullptr);
    EXPECT_EQ(made->find_document("1_Pooling/config.json")->text().find("cls_token") ==
                  std::string::npos,
              std::string_view(family) == "nomic-bert");
  }
}

}  // namespace
}  // namespace ckpt

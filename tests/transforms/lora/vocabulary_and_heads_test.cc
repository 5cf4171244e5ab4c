// Adapters with rows for new tokens and with heads of classifiers, as PEFT writes them.
#include <gtest/gtest.h>

#include "tests/transforms/lora/adapters.h"

namespace ckpt {
namespace {

using lora_test::TestTensor;

constexpr const char* kFront = "base_model.model.";

// An adapter of tensors that begin with `kFront`, merged into a model of testdata. `fields` are
// those of its configuration after the first ones.
Checkpoint merged_with(const std::string& model, std::vector<TestTensor> pieces,
                       const std::string& fields) {
  const TemporaryFolder folder;
  for (TestTensor& each : pieces) each.name.insert(0, kFront);
  lora_test::write_adapter(folder.path(), pieces,
                           R"({"peft_type": "LORA", "r": 2, "lora_alpha": 2, )" + fields + "}");
  return lora_test::merged(model, folder.path());
}

JsonValue merged_config(const Checkpoint& model) {
  return *model.find_document("config.json")->values().value();
}

// PEFT stores the rows in F32, and the model's are BF16.
TEST(LoraVocabulary, NewRowsOfTrainedTokensGetTheTypeOfTheModel) {
  const char* rows = "[282, 283, 284]";
  const Checkpoint after = merged_with(
      "lora/models/arcee",
      {{"model.embed_tokens.token_adapter.trainable_tokens_delta", {3, 32}},
       {"lm_head.token_adapter.trainable_tokens_delta", {3, 32}}},
      fmt::format(R"("trainable_token_indices": {{"embed_tokens": {0}, "lm_head": {0}}})", rows));
  for (const char* name : {"model.embed_tokens.weight", "lm_head.weight"}) {
    const Tensor& grown = step_test::tensor(after, name);
    EXPECT_EQ(grown.rows(), 285u);
    EXPECT_EQ(grown.codec->name, "bf16");
    const std::vector<float> values = read_values(grown, 1 << 20).value();
    const size_t tensor = std::string_view(name) == "lm_head.weight" ? 1 : 0;
    EXPECT_EQ(values[size_t{284} * 32 + 5], lora_test::made_value(tensor, 2 * 32 + 5));
  }
  EXPECT_EQ(merged_config(after)["vocab_size"], 285);
}

TEST(LoraVocabulary, BiasOfAHeadGrowsWithItsRows) {
  const std::string saved = R"("modules_to_save": ["embed_tokens", "lm_head"])";
  std::vector<TestTensor> pieces = {{"lm_head.modules_to_save.weight", {292, 64}},
                                    {"lm_head.modules_to_save.bias", {292}},
                                    {"model.embed_tokens.modules_to_save.weight", {292, 64}}};
  const Checkpoint after = merged_with("families/phi2/hf", pieces, saved);
  const Tensor& bias = step_test::tensor(after, "lm_head.bias");
  EXPECT_EQ(bias.values(), 292u);
  EXPECT_EQ(read_values(bias, 1 << 20).value()[291], lora_test::made_value(1, 291));
}

struct ClassifierCase {
  const char* model;
  std::vector<TestTensor> head;  // the last has a row for each label
  const char *saved, *task, *name;
};

// Heads of several layers, and of models that are classifiers already; other saved modules do not
// tell the number of labels.
TEST(LoraClassifier, AllTensorsOfAHeadAreAdded) {
  const ClassifierCase cases[] = {
      {"families/modernbert/hf",
       {{"head.dense.weight", {32, 32}},
        {"head.norm.weight", {32}},
        {"classifier.weight", {3, 32}}},
       R"("head", "classifier")",
       "SEQ_CLS",
       "ModernBertForSequenceClassification"},
      {"families/t5/hf",
       {{"classification_head.dense.weight", {32, 32}},
        {"classification_head.dense.bias", {32}},
        {"classification_head.out_proj.bias", {3}},
        {"classification_head.out_proj.weight", {3, 32}}},
       R"("classification_head")",
       "SEQ_CLS",
       "T5ForSequenceClassification"},
      {"families/xlm-roberta/hf",
       {{"score.weight", {3, 32}}},
       R"("score")",
       "TOKEN_CLS",
       "XLMRobertaForTokenClassification"},
      {"lora/models/arcee",
       {{"model.embed_tokens.weight", {282, 32}}, {"score.weight", {3, 32}}},
       R"("embed_tokens", "score")",
       "SEQ_CLS",
       "ArceeForSequenceClassification"}};
  for (const ClassifierCase& each : cases) {
    const Checkpoint after =
        merged_with(each.model, each.head,
                    fmt::format(R"("task_type": "{}", "modules_to_save": [{}])", each.task,
                                each.saved));
    EXPECT_EQ(merged_config(after)["architectures"], JsonValue({each.name}));
    EXPECT_EQ(merged_config(after)["num_labels"], 3) << each.name;
    for (const TestTensor& tensor : each.head) {
      EXPECT_EQ(step_test::tensor(after, tensor.name).shape, tensor.shape) << tensor.name;
    }
  }
}

TEST(LoraClassifier, GetsNoHeadOfALanguageModel) {
  const Checkpoint after = merged_with(
      "families/xlm-roberta/hf", {{"roberta.embeddings.word_embeddings.weight", {192, 32}}},
      R"("modules_to_save": ["word_embeddings"])");
  EXPECT_EQ(after.find_tensor("lm_head.weight"), nullptr);
}

}  // namespace
}  // namespace ckpt

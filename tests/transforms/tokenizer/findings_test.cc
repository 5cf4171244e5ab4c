// Findings of a GGUF whose tokenizer keys are not those of its source.
#include <gtest/gtest.h>

#include "transforms/to_gguf/tokenizer/tokenizer.h"
#include "transforms/transforms.h"

namespace ckpt {
namespace {

constexpr const char* kPiecesJson = R"({
  "added_tokens": [{"id": 0, "content": "<unk>", "special": true},
                   {"id": 1, "content": "<s>", "special": true}],
  "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
  "decoder": {"type": "Sequence", "decoders": []},
  "model": {"type": "BPE", "byte_fallback": true,
            "merges": [["b", "c"], ["a", "b"], ["a", "bc"], ["ab", "c"]],
            "vocab": {"<unk>": 0, "<s>": 1, "a": 2, "b": 3, "c": 4, "ab": 5, "bc": 6, "abc": 7}}})";

struct Source {
  JsonValue tokenizer = JsonValue::parse(kPiecesJson);
  JsonValue config = {{"bos_token", "<s>"}, {"unk_token", "<unk>"}, {"add_bos_token", true}};

  Checkpoint folder() const {
    Checkpoint out;
    out.format = "safetensors";
    out.set_document("tokenizer.json", tokenizer.dump());
    out.set_document("tokenizer_config.json", config.dump());
    out.set_document("config.json", R"({
      "architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 8,
      "num_hidden_layers": 1, "hidden_size": 64, "num_attention_heads": 2})");
    return out;
  }
  Context context() const {
    Context out;
    out.documents = [documents = folder().documents](const std::filesystem::path&) {
      return Result<std::vector<Document>>(documents);
    };
    return out;
  }
};

Checkpoint gguf_of(const Source& source, bool as_converter = false) {
  Checkpoint out;
  out.format = "gguf";
  out.metadata.set("general.architecture", MetaValue::text("llama"));
  TokenizerOptions options;
  options.vocab_size = 8;
  options.as_converter = as_converter;
  options.rules.piece_file = PieceFile::kPreferred;
  options.rules.byte_fallback = ByteFallback::kAsLlama;
  EXPECT_TRUE(add_tokenizer_keys(source.folder(), options, {}, out.metadata).has_value());
  return out;
}

// The findings if there is a base to compare with.
std::vector<Finding> findings_of(const Checkpoint& checkpoint, const std::string& base,
                                 const Context& context) {
  std::vector<Finding> out;
  const Status compared = find_tokenizer_findings(checkpoint, base, context, out);
  EXPECT_TRUE(compared) << compared.error().text();
  return out;
}

std::vector<std::string> places(const std::vector<Finding>& findings) {
  std::vector<std::string> out;
  for (const Finding& each : findings) out.push_back(each.place);
  return out;
}

using Places = std::vector<std::string>;

TEST(TokenizerFindings, AcceptsTheKeysOfTheSource) {
  const Source source;
  EXPECT_EQ(places(findings_of(gguf_of(source), "", {})), Places());
  EXPECT_EQ(places(findings_of(gguf_of(source), "BASE", source.context())), Places());
}

TEST(TokenizerFindings, EqualScoresAreUnsoundAndTakenFromTheSource) {
  const Source source;
  const auto found = findings_of(gguf_of(source, true), "", {});
  ASSERT_EQ(places(found), Places{"tokenizer.ggml.scores"});
  EXPECT_EQ(found[0].severity, Severity::kUnsound);
  EXPECT_EQ(found[0].fix.step, "tokenizer:from=BASE");
}

TEST(TokenizerFindings, ScoresOfOneOrderAreTheSame) {
  const Source source;
  Checkpoint file = gguf_of(source);
  const auto scored = [&](std::vector<float> scores) {
    file.metadata.set("tokenizer.ggml.scores", MetaValue::array(make_f32_array(std::move(scores))));
    return places(findings_of(file, "BASE", source.context()));
  };
  EXPECT_EQ(scored({0, 0, -9, -9, -9, -2.5, -1.5, -7}), Places());
  EXPECT_EQ(scored({0, 0, -9, -9, -9, -1.5, -2.5, -7}), Places{"tokenizer.ggml.scores"});
  EXPECT_EQ(scored({0, 0, -9, -9, -9, -2.5, -2.5, -7}), Places{"tokenizer.ggml.scores"});
}

TEST(TokenizerFindings, EachKeyThatDiffersIsNamed) {
  const Source source;
  const std::pair<const char*, MetaValue> changes[] = {
      {"tokenizer.ggml.model", MetaValue::text("gpt2")},
      {"tokenizer.ggml.pre", MetaValue::text("qwen2")},
      {"tokenizer.ggml.add_space_prefix", MetaValue::boolean(true)},
      {"tokenizer.ggml.bos_token_id", MetaValue::u32(0)},
      {"tokenizer.ggml.add_bos_token", MetaValue::boolean(false)},
      {"tokenizer.ggml.token_type", MetaValue::array(make_i32_array({3, 1, 1, 1, 1, 1, 1, 1}))},
      {"tokenizer.ggml.tokens",
       MetaValue::array(make_text_array({"<unk>", "<s>", "a", "c", "b", "ab", "bc", "abc"}))},
  };
  for (const auto& [key, value] : changes) {
    Checkpoint file = gguf_of(source);
    file.metadata.set(key, value);
    const Places found = places(findings_of(file, "BASE", source.context()));
    EXPECT_NE(std::find(found.begin(), found.end(), key), found.end()) << key;
  }
}

TEST(TokenizerFindings, DifferencesOfListsNameOneItem) {
  const Source source;
  const auto found_with = [&](std::vector<std::string> tokens) {
    Checkpoint file = gguf_of(source);
    file.metadata.set("tokenizer.ggml.tokens",
                      MetaValue::array(make_text_array(std::move(tokens))));
    const auto found = findings_of(file, "BASE", source.context());
    return found.empty() ? std::string() : found[0].found;
  };
  EXPECT_EQ(found_with({"<unk>", "<s>", "a", "b", "c", "ab", "x", "abc"}),
            "token 6: 'x' here, 'bc' there");
  EXPECT_EQ(found_with({"<unk>", "<s>", "a", "b"}), "4 tokens here, 8 there");
}

TEST(TokenizerFindings, SpacePrefixThatOnlyTheFileNamesIsCompared) {
  Source source;
  source.tokenizer["normalizer"] = {{"type", "Prepend"}, {"prepend", "▁"}};
  Checkpoint file = gguf_of(source);
  EXPECT_EQ(file.metadata.find("tokenizer.ggml.add_space_prefix"), nullptr);
  file.metadata.set("tokenizer.ggml.add_space_prefix", MetaValue::boolean(false));
  EXPECT_EQ(places(findings_of(file, "BASE", source.context())),
            Places{"tokenizer.ggml.add_space_prefix"});
}

// Kimi K2's has ranks; GLM 4.7 Flash, of the same architecture in GGUF, takes none.
TEST(TokenizerFindings, ClassOfTheSourceTellsFamiliesOfOneArchitectureApart) {
  Checkpoint folder;
  folder.format = "safetensors";
  folder.set_document("tiktoken.model", "YQ== 0\nYg== 1\nYWI= 2\n");
  folder.set_document("tokenizer_config.json", "{}");
  folder.set_document("config.json", R"({"architectures": ["DeepseekV3ForCausalLM"]})");
  Context context;
  context.documents = [documents = folder.documents](const std::filesystem::path&) {
    return Result<std::vector<Document>>(documents);
  };
  Checkpoint file;
  file.format = "gguf";
  file.metadata.set("general.architecture", MetaValue::text("deepseek2"));
  TokenizerOptions options;
  options.vocab_size = 3;
  options.rules.ranks = "kimi-k2";
  EXPECT_TRUE(add_tokenizer_keys(folder, options, {}, file.metadata).has_value());
  EXPECT_EQ(places(findings_of(file, "BASE", context)), Places());
}

TEST(TokenizerFindings, FolderNamesRulesAndWhatTheConverterWrites) {
  Source source;
  const auto found = findings_of(source.folder(), "", {});
  ASSERT_EQ(places(found), Places{"tokenizer.json"});
  EXPECT_EQ(found[0].severity, Severity::kWarning);
  source.tokenizer["model"]["byte_fallback"] = false;
  source.tokenizer["normalizer"] = {{"type", "NFC"}};
  const auto rare = findings_of(source.folder(), "", {});
  ASSERT_EQ(places(rare), Places{"tokenizer.json: normalizer"});
  EXPECT_EQ(rare[0].severity, Severity::kInfo);
}

TEST(TokenizerFindings, ReportsNothingForUnreadableFiles) {
  Checkpoint folder;
  folder.set_document("tokenizer.json", "{");
  EXPECT_TRUE(findings_of(folder, "", {}).empty());
}

TEST(TokenizerFindings, BaseThatCannotBeComparedFailsAndKeepsTheOtherFindings) {
  const Source source;
  Source broken;
  broken.tokenizer["model"]["type"] = "WordPiece";
  Context unreadable, empty;
  unreadable.documents = [](const std::filesystem::path&) -> Result<std::vector<Document>> {
    return fail(ErrorCode::kIo, "gone");
  };
  empty.documents = [](const std::filesystem::path&) {
    return Result<std::vector<Document>>(std::vector<Document>());
  };
  const std::pair<Context, Places> cases[] = {
      {unreadable, {"tokenizer.ggml.scores"}},
      {empty, {"tokenizer.ggml.scores"}},
      {broken.context(), {"tokenizer.ggml.scores", "tokenizer.ggml.add_space_prefix"}}};
  for (const auto& [context, expected] : cases) {
    std::vector<Finding> found;
    EXPECT_FALSE(find_tokenizer_findings(gguf_of(source, true), "BASE", context, found));
    EXPECT_EQ(places(found), expected);
  }
}

}  // namespace
}  // namespace ckpt

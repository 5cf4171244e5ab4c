// tokenizer:from=DIR for folders and GGUF, on small tokenizers.
#include <gtest/gtest.h>

#include "quantizers/quantizers.h"
#include "transforms/to_gguf/tokenizer/tokenizer.h"
#include "transforms/transforms.h"

namespace ckpt {
namespace {

constexpr const char* kTokenizer8 = R"({
  "added_tokens": [{"id": 6, "content": "<s>", "special": true},
                   {"id": 7, "content": "</s>", "special": true}],
  "normalizer": {"type": "NFC"},
  "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "use_regex": true},
  "post_processor": null,
  "model": {"type": "BPE", "continuing_subword_prefix": null,
            "vocab": {"a": 0, "b": 1, "c": 2, "ab": 3, "bc": 4, "abc": 5},
            "merges": ["a b", "b c", "ab c"]}})";

Tensor embedding(std::string name, uint64_t rows) {
  const Codec* codec = find_codec(all_codecs(), "f32");
  return make_tensor(std::move(name), {rows, 1}, *codec, std::vector<std::byte>(rows * 4));
}

struct Case {
  JsonValue ours = JsonValue::parse(kTokenizer8), theirs = ours;
  JsonValue our_config = {{"eos_token", "</s>"}, {"tokenizer_class", "TokenizersBackend"}};
  JsonValue their_config = {{"eos_token", "</s>"}, {"tokenizer_class", "PreTrainedTokenizerFast"}};
  JsonValue model = {{"vocab_size", 8}, {"eos_token_id", 7}};
  std::vector<std::pair<std::string, std::string>> options;
  std::vector<Document> our_files, their_files;
  std::optional<uint64_t> rows;

  Checkpoint checkpoint() const {
    Checkpoint out;
    out.format = "safetensors";
    if (!ours.is_null()) out.set_document("tokenizer.json", ours.dump());
    if (!our_config.is_null()) out.set_document("tokenizer_config.json", our_config.dump());
    out.set_document("config.json", model.dump());
    for (const Document& file : our_files) out.set_document(file);
    if (rows) out.tensors.push_back(embedding("model.embed_tokens.weight", *rows));
    return out;
  }
  std::vector<Document> donor() const {
    Checkpoint out;
    if (!theirs.is_null()) out.set_document("tokenizer.json", theirs.dump(1));
    if (!their_config.is_null()) out.set_document("tokenizer_config.json", their_config.dump());
    for (const Document& file : their_files) out.set_document(file);
    return out.documents;
  }
};

struct TakenTokenizer {
  Checkpoint checkpoint;
  std::vector<std::string> notes;
  std::string error;

  std::string text(std::string_view path) const {
    const Document* found = checkpoint.find_document(path);
    return found == nullptr ? "" : found->text();
  }
};

TakenTokenizer take(Checkpoint checkpoint, const Case& input) {
  Options options;
  options.add("from", "D");
  for (const auto& [key, value] : input.options) options.add(key, value);
  TakenTokenizer out;
  Context context;
  context.notes = &out.notes;
  context.documents = [&](const std::filesystem::path& path) -> Result<std::vector<Document>> {
    EXPECT_EQ(path, "D");
    return input.donor();
  };
  auto result = find_transform("tokenizer")->apply(std::move(checkpoint), options, context);
  if (result) out.checkpoint = std::move(*result);
  if (!result) out.error = result.error().text();
  return out;
}

TakenTokenizer take(const Case& input) { return take(input.checkpoint(), input); }

TEST(TokenizerFrom, SameTokenizerIsTaken) {
  Case input;
  input.our_files = {Document("vocab.json", "old"), Document("generation_config.json", "{}")};
  input.their_files = {Document("merges.txt", "new"), Document("README.md", "x")};
  // Spells the merges the other way, and leaves the prefix out instead of null.
  input.theirs["model"]["merges"] = JsonValue::parse(R"([["a","b"],["b","c"],["ab","c"]])");
  input.theirs["model"]["continuing_subword_prefix"] = "";
  const TakenTokenizer out = take(input);
  EXPECT_EQ(out.error, "");
  EXPECT_EQ(out.text("tokenizer_config.json"), input.their_config.dump());
  EXPECT_EQ(out.text("tokenizer.json"), input.theirs.dump(1));
  EXPECT_EQ(out.text("vocab.json"), "");  // of the tokenizer that went
  EXPECT_EQ(out.text("merges.txt"), "new");
  EXPECT_EQ(out.text("generation_config.json"), "{}");
  EXPECT_EQ(out.text("README.md"), "");
  EXPECT_TRUE(out.notes.empty());
}

struct Difference {
  const char* pointer;
  JsonValue value;
  const char* says;
  const char* area;
};

TEST(TokenizerFrom, FirstDifferenceIsShownAndRefused) {
  const Difference differences[] = {
      {"/model/vocab",
       {{"a", 0}, {"b", 1}, {"c", 2}, {"bc", 3}, {"ab", 4}, {"abc", 5}},
       "token 3: 'ab' here, 'bc' there",
       "ids"},
      {"/model/vocab", {{"a", 0}, {"b", 1}}, "6 tokens here, 2 there", "ids"},
      {"/model/merges", {"b c", "a b", "ab c"}, "merge 0: 'a b' here, 'b c' there", "ids"},
      {"/added_tokens/0/special", false, "added token: 6 '<s>' special here, 6 '<s>' there", "ids"},
      {"/added_tokens/1/id", 8, "added token: 7 '</s>' special here, 8 '</s>' special there",
       "ids"},
      {"/normalizer", nullptr, R"(normalizer: {"type":"NFC"} here, none there)", "rules"},
      {"/pre_tokenizer/use_regex", false, "pre_tokenizer: ", "rules"},
      {"/post_processor", {{"type", "ByteLevel"}}, "post_processor: none here", "rules"},
      {"/model/ignore_merges", true, "model.ignore_merges: none here, true there", "rules"},
      {"/model/type", "WordPiece", "model.type: \"BPE\" here, \"WordPiece\" there", "rules"},
  };
  for (const Difference& difference : differences) {
    Case input;
    input.model.erase("vocab_size");
    input.theirs[JsonValue::json_pointer(difference.pointer)] = difference.value;
    const std::string error = take(input).error;
    EXPECT_NE(error.find(difference.says), std::string::npos) << error;
    EXPECT_NE(error.find(fmt::format("accept={}", difference.area)), std::string::npos) << error;
    input.options = {{"accept", difference.area}};
    const TakenTokenizer insisted = take(input);
    EXPECT_EQ(insisted.error, "");
    ASSERT_EQ(insisted.notes.size(), 1u) << difference.says;
    EXPECT_NE(insisted.notes[0].find(difference.says), std::string::npos);
    input.options[0].second = difference.area == std::string("ids") ? "rules" : "ids";
    EXPECT_NE(take(input).error, "");
  }
}

TEST(TokenizerFrom, SpecialTokens) {
  Case input;
  input.their_config["eos_token"] = {{"content", "<s>"}};
  EXPECT_NE(take(input).error.find("eos_token: '</s>' here, '<s>' there"), std::string::npos);
  input.options = {{"accept", "special"}};
  EXPECT_EQ(take(input).error, "");
  input.options = {{"accept", "everything"}};
  EXPECT_NE(take(input).error.find("expected ids, rules or special"), std::string::npos);
}

// tokenizer.json is the same one; files around it decide ids and special tokens too.
TEST(TokenizerFrom, FilesAroundTokenizerJsonAreCompared) {
  constexpr const char* kConfig = "tokenizer_config.json";
  struct ComparedField {
    const char *file, *json, *says, *area;
  };
  for (const ComparedField& row : {
           ComparedField{kConfig, R"({"add_eos_token": true})", "add_eos_token: none here, true",
                         "rules"},
           {kConfig, R"({"add_bos_token": true})", "add_bos_token: none here, true", "rules"},
           {kConfig, R"({"split_special_tokens": true})", "split_special_tokens: none", "rules"},
           {kConfig, R"({"tokenizer_class": "LlamaTokenizer"})", "none here, Llama there", "rules"},
           {kConfig, R"({"add_prefix_space": true})", "add_prefix_space: none here", "rules"},
           {kConfig, R"({"do_lower_case": true})", "do_lower_case: none here, true", "rules"},
           {kConfig, R"({"sep_token": "ab"})", "sep_token: none here, 'ab' there", "special"},
           {kConfig, R"({"mask_token": "ab"})", "mask_token: none here, 'ab' there", "special"},
           {kConfig, R"({"additional_special_tokens": ["ab"]})", "none here, 'ab' there",
            "special"},
           {kConfig, R"({"extra_special_tokens": {"x": "ab"}})", "none here, 'ab' there",
            "special"},
           {kConfig, R"({"added_tokens_decoder": {"6": {"content": "<x>", "special": true}}})",
            "added_tokens_decoder: none here, 6 {", "ids"},
           {"special_tokens_map.json", R"({"eos_token": "<s>"})",
            "special_tokens_map.json: eos_token: none here, '<s>' there", "special"},
           {"added_tokens.json", R"({"<x>": 6})", "added_tokens.json: none here, 6 <x>", "ids"},
       }) {
    Case input;
    if (row.file == std::string_view(kConfig)) {
      input.their_config.update(JsonValue::parse(row.json));
    } else {
      input.their_files = {Document(row.file, row.json)};
    }
    const std::string error = take(input).error;
    EXPECT_NE(error.find(row.says), std::string::npos) << row.json << ": " << error;
    input.options = {{"accept", row.area}};
    EXPECT_EQ(take(input).error, "") << row.json;
  }
}

// Files of other versions of transformers state the same tokenizer in other words.
TEST(TokenizerFrom, RepeatedFactsAreNoDifference) {
  Case input;
  input.their_config.update(JsonValue::parse(R"({
    "add_bos_token": false, "add_prefix_space": false, "split_special_tokens": false,
    "sep_token": null, "additional_special_tokens": ["<s>"],
    "added_tokens_decoder": {"6": {"content": "<s>", "special": true},
                             "7": {"content": "</s>", "special": true, "normalized": false}}})"));
  input.their_files = {Document("special_tokens_map.json", R"({"eos_token": {"content": "</s>"}})"),
                       Document("added_tokens.json", R"({"<s>": 6, "ab": 3})")};
  const TakenTokenizer out = take(input);
  EXPECT_EQ(out.error, "");
  EXPECT_TRUE(out.notes.empty());
}

TEST(TokenizerFrom, FileThatTokenizersDoesNotLoadIsRefused) {
  Case input;
  input.theirs["sampler"] = 1;
  EXPECT_NE(take(input).error.find("member 'sampler' is not known"), std::string::npos);
  input.theirs.erase("sampler");
  input.theirs["version"] = "2.0";
  EXPECT_NE(take(input).error.find(R"(version "2.0"; expected "1.0")"), std::string::npos);
  input.theirs["version"] = "1.0";
  EXPECT_EQ(take(input).error, "");
}

TEST(TokenizerFrom, VocabularyThatContradictsTokenizerJsonIsLeftOut) {
  Case input;
  input.their_files = {Document("vocab.json", R"({"a": 0, "ab": 3})")};
  EXPECT_EQ(take(input).text("vocab.json"), input.their_files[0].text());
  input.their_files = {Document("vocab.json", R"({"a": 0, "bc": 3})")};
  const TakenTokenizer out = take(input);
  EXPECT_EQ(out.error, "");
  EXPECT_EQ(out.checkpoint.find_document("vocab.json"), nullptr);
  ASSERT_EQ(out.notes.size(), 1u);
  EXPECT_NE(out.notes[0].find("token 3 is 'bc' in it, 'ab' in tokenizer.json"), std::string::npos);
}

TEST(TokenizerFrom, MoreTokensThanRowsIsNeverTaken) {
  Case input;
  input.theirs["added_tokens"].push_back({{"id", 8}, {"content", "<x>"}});
  input.options = {{"accept", "ids"}};
  EXPECT_NE(take(input).error.find("ids up to 8; expected less than 8, the vocab_size"),
            std::string::npos);
  input.rows = 16;
  EXPECT_EQ(take(input).error, "");
  input.rows = 7;
  EXPECT_NE(take(input).error.find("the rows of the embedding"), std::string::npos);
}

TEST(TokenizerFrom, WithoutOwnTokenizer) {
  Case input;
  input.ours = input.our_config = JsonValue();
  input.rows = 8;
  TakenTokenizer out = take(input);
  EXPECT_EQ(out.error, "");
  ASSERT_EQ(out.notes.size(), 1u);
  EXPECT_EQ(out.notes[0],
            "tokenizer: no tokenizer.json here to compare with; all that was checked: 8 ids fit an "
            "embedding of 8; ids of eos are tokens");
  input.model["eos_token_id"] = {6, 9};
  EXPECT_NE(take(input).error.find("eos_token_id 9 of the model is not a token there"),
            std::string::npos);
  input.model["eos_token_id"] = 6;
  EXPECT_NE(take(input).error.find("eos_token_id 6 here, 7 ('</s>') there"), std::string::npos);
  input.rows = 5;
  EXPECT_NE(take(input).error.find("expected less than 5"), std::string::npos);
}

TEST(TokenizerFrom, DonorWithoutTokenizer) {
  Case input;
  input.theirs = JsonValue();
  EXPECT_NE(take(input).error.find("D: no tokenizer.json"), std::string::npos);
  input = {};
  input.their_config = JsonValue();
  EXPECT_NE(take(input).error.find("D: no tokenizer_config.json"), std::string::npos);
}

TEST(TokenizerFrom, ModelKeepsItsChatTemplate) {
  Case input;
  input.our_files = {Document("chat_template.jinja", "mine")};
  input.their_files = {Document("chat_template.jinja", "theirs")};
  TakenTokenizer out = take(input);
  EXPECT_EQ(out.text("chat_template.jinja"), "mine");
  ASSERT_EQ(out.notes.size(), 1u);
  EXPECT_NE(out.notes[0].find("keeps its own"), std::string::npos);
  input.options = {{"chat-template", "donor"}};
  EXPECT_EQ(take(input).text("chat_template.jinja"), "theirs");
  std::swap(input.their_files, input.our_files);
  input.their_files = {};
  out = take(input);
  EXPECT_EQ(out.text("chat_template.jinja"), "theirs");
  ASSERT_EQ(out.notes.size(), 1u);
  EXPECT_NE(out.notes[0].find("the donor has no template"), std::string::npos);
  std::swap(input.their_files, input.our_files);
  input.options = {};
  input.our_files = {};
  EXPECT_EQ(take(input).text("chat_template.jinja"), "theirs");
  // Inside tokenizer_config.json, on either side.
  input.our_config["chat_template"] = "mine";
  out = take(input);
  EXPECT_EQ(out.text("chat_template.jinja"), "");
  EXPECT_EQ(JsonValue::parse(out.text("tokenizer_config.json"))["chat_template"], "mine");
  input.our_config.erase("chat_template");
  input.our_files = {Document("chat_template.jinja", "mine")};
  input.their_files = {};
  input.their_config["chat_template"] = "theirs";
  out = take(input);
  EXPECT_EQ(out.text("chat_template.jinja"), "mine");
  EXPECT_FALSE(JsonValue::parse(out.text("tokenizer_config.json")).contains("chat_template"));
}

TEST(TokenizerFrom, ModelKeepsTheChatTemplateOfItsProcessor) {
  constexpr const char* kMine = R"({"chat_template": "mine"})";
  Case input;
  input.our_files = {Document("chat_template.json", kMine)};
  for (const std::vector<Document>& theirs :
       {std::vector<Document>(), {Document("chat_template.jinja", "theirs")}}) {
    input.their_files = theirs;
    const TakenTokenizer out = take(input);
    EXPECT_EQ(out.text("chat_template.json"), kMine);
    EXPECT_EQ(out.text("chat_template.jinja"), "");
    EXPECT_FALSE(JsonValue::parse(out.text("tokenizer_config.json")).contains("chat_template"));
  }
}

TEST(TokenizerFrom, TakenAndMended) {
  Case input;
  input.their_config["tokenizer_class"] = "TokenizersBackend";
  input.options = {{"for", "transformers-4.57"}};
  const TakenTokenizer out = take(input);
  EXPECT_EQ(JsonValue::parse(out.text("tokenizer_config.json"))["tokenizer_class"],
            "PreTrainedTokenizerFast");
}

// ---- GGUF ----

// A file made from `input`'s donor, with keys before and behind the tokenizer's.
Checkpoint gguf(const Case& input) {
  Checkpoint folder, out;
  folder.documents = input.donor();
  out.format = "gguf";
  out.metadata.append("general.architecture", MetaValue::text("llama"));
  TokenizerOptions options;
  options.vocab_size = 10;
  options.pre_name = "gpt-2";
  EXPECT_TRUE(add_tokenizer_keys(folder, options, {}, out.metadata));
  out.metadata.append("split.count", MetaValue::u16(0));
  out.tensors.push_back(embedding("token_embd.weight", 10));
  return out;
}

TEST(TokenizerFrom, GgufOfTheSameTokenizerStays) {
  Case input;
  input.options = {{"pre", "gpt-2"}};
  const Checkpoint before = gguf(input);
  const TakenTokenizer out = take(before, input);
  EXPECT_EQ(out.error, "");
  EXPECT_EQ(out.checkpoint.metadata, before.metadata);
}

TEST(TokenizerFrom, GgufIsMended) {
  Case input;
  input.options = {{"pre", "gpt-2"}};
  const Checkpoint right = gguf(input);
  Checkpoint broken = right;
  broken.metadata.set("tokenizer.ggml.eos_token_id", MetaValue::u32(1));
  broken.metadata.set("tokenizer.ggml.token_type",
                      MetaValue::array(make_i32_array(std::vector<int32_t>(10, 1))));
  broken.metadata.append("tokenizer.ggml.fim_pre_token_id", MetaValue::u32(6));
  broken.metadata.append("tokenizer.chat_template", MetaValue::text("stale"));
  const TakenTokenizer out = take(broken, input);
  EXPECT_EQ(out.error, "");
  Metadata expected = right.metadata;
  const auto last = std::prev(expected.entries.end());
  expected.entries.insert(last, {"tokenizer.ggml.fim_pre_token_id", MetaValue::u32(6)});
  EXPECT_EQ(out.checkpoint.metadata, expected);
}

TEST(TokenizerFrom, GgufOfOtherIdsIsRefused) {
  Case input;
  input.options = {{"pre", "gpt-2"}};
  Checkpoint file = gguf(input);
  file.metadata.append("tokenizer.ggml.fim_pre_token_id", MetaValue::u32(6));
  input.theirs["model"]["vocab"] = {{"a", 1}, {"b", 0}, {"c", 2}, {"ab", 3}, {"bc", 4}, {"abc", 5}};
  EXPECT_NE(take(file, input).error.find("token 0: 'a' here, 'b' there"), std::string::npos);
  input.options.emplace_back("accept", "ids");
  const TakenTokenizer out = take(file, input);
  EXPECT_EQ(out.error, "");
  EXPECT_EQ(out.checkpoint.metadata.find("tokenizer.ggml.fim_pre_token_id"), nullptr);
  EXPECT_EQ(out.notes.size(), 2u);
}

TEST(TokenizerFrom, GgufRulesAndRows) {
  Case input;
  input.options = {{"pre", "llama-bpe"}};
  Checkpoint file = gguf(input);
  EXPECT_NE(take(file, input).error.find("pre-tokenizer: 'gpt-2' here, 'llama-bpe' there"),
            std::string::npos);
  input.options = {{"pre", "gpt-2"}};
  file.tensors[0] = embedding("token_embd.weight", 4);
  EXPECT_NE(take(file, input).error, "");
  // A file that lost its tokenizer: only the size can be compared.
  file = gguf(input);
  std::erase_if(file.metadata.entries,
                [](const MetaEntry& entry) { return entry.key.starts_with("tokenizer."); });
  const TakenTokenizer out = take(file, input);
  EXPECT_EQ(out.error, "");
  EXPECT_NE(out.notes.at(0).find("10 tokens, as many as the embeddings have rows"),
            std::string::npos);
  input.options = {{"for", "transformers-4.57"}};
  EXPECT_NE(take(file, input).error.find("GGUF, which has no files"), std::string::npos);
}

// Kinds that no GGUF is made of, as large as released ones.
Case full_size_case(std::string_view kind) {
  constexpr uint64_t kSize = 151'936;
  JsonValue vocab = kind == "Unigram" ? JsonValue::array() : JsonValue::object();
  for (uint64_t id = 0; id < kSize; ++id) {
    const std::string text = fmt::format("w{}", id * 7919 % kSize);
    if (vocab.is_array()) vocab.push_back({text, -static_cast<double>(id) / 8});
    if (vocab.is_object()) vocab[text] = id;
  }
  Case out;
  out.ours["model"] = {{"type", kind}, {"vocab", std::move(vocab)}};
  out.ours["added_tokens"] = {{{"id", 77}, {"content", "w2019"}, {"special", true}}};
  out.theirs = out.ours;
  out.model = {{"vocab_size", kSize}};
  return out;
}

TEST(TokenizerFrom, OtherModelsOfFullSizeAreCompared) {
  Case words = full_size_case("WordPiece"), pieces = full_size_case("Unigram");
  EXPECT_EQ(take(words).error, "");
  EXPECT_EQ(take(pieces).error, "");
  std::swap(words.theirs["model"]["vocab"]["w0"], words.theirs["model"]["vocab"]["w7919"]);
  EXPECT_NE(take(words).error.find("token 0: 'w0' here, 'w7919' there"), std::string::npos);
  pieces.theirs["model"]["vocab"].back()[1] = -1;
  EXPECT_NE(take(pieces).error.find("scores of tokens differ"), std::string::npos);
  pieces.theirs["model"]["vocab"].erase(151'935);
  EXPECT_NE(take(pieces).error.find("151936 tokens here, 151935 there"), std::string::npos);
}

// As from the first version of Mistral's tokenizer to the third: control tokens in the middle move
// all others, and there are more of them than the embedding has rows.
TEST(TokenizerFrom, TokensThatMoveOthersAreRefused) {
  Case input;
  JsonValue& theirs = input.theirs["model"]["vocab"];
  theirs = {{"a", 0}, {"[INST]", 1}, {"[/INST]", 2}, {"b", 3},
            {"c", 4}, {"ab", 5},     {"bc", 6},      {"abc", 7}};
  input.theirs["added_tokens"] = {{{"id", 1}, {"content", "[INST]"}, {"special", true}},
                                  {{"id", 8}, {"content", "<s>"}, {"special", true}},
                                  {{"id", 9}, {"content", "</s>"}, {"special", true}}};
  input.rows = 8;
  EXPECT_NE(take(input).error.find("token 1: 'b' here, '[INST]' there"), std::string::npos);
  input.options = {{"accept", "ids"}};
  EXPECT_NE(take(input).error.find("ids up to 9; expected less than 8, the rows of the embedding"),
            std::string::npos);
}

// Qwen3 has the tokens of Qwen2.5 and more added ones.
TEST(TokenizerFrom, MoreAddedTokensAreCounted) {
  Case input;
  input.theirs["added_tokens"].push_back({{"id", 8}, {"content", "<think>"}, {"special", false}});
  input.rows = 16;
  EXPECT_NE(take(input).error.find(
                "2 added tokens here, 3 there; the first that is only there: 8 '<think>'"),
            std::string::npos);
  input.options = {{"accept", "ids"}};
  EXPECT_EQ(take(input).error, "");
}

}  // namespace
}  // namespace ckpt

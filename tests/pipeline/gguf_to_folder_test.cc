// A GGUF becomes a folder: every tensor is the source's, the way there gives the same file again.
#include <algorithm>
#include <fstream>
#include <map>
#include <ostream>

#include "core/base/sha256.h"
#include "formats/formats.h"
#include "quantizers/quantizers.h"
#include "tests/pipeline/pipeline.h"
#include "transforms/transforms.h"

namespace ckpt {
namespace {

namespace fs = std::filesystem;

std::string text_sha256(const std::string& text) {
  Sha256 hash;
  hash.add(std::as_bytes(std::span(text)));
  return hash.finish();
}

struct ReturnedModel {
  std::string name;  // of the model
  fs::path folder;
  std::string pre;  // answered when its pre-tokenizer is asked for
};
void PrintTo(const ReturnedModel& row, std::ostream* out) { *out << row.name; }

ReturnedModel micro_model(const std::string& name, const std::string& pre) {
  return {name, testdata(name), pre};
}

// Gemma 4 has tensors that no table names: it comes back with --base only.
std::vector<ReturnedModel> returned_models() {
  std::vector<ReturnedModel> out{
      micro_model("llama-micro", "llama-bpe"), micro_model("qwen3-micro", "qwen2"),
      micro_model("qwen35-micro", "qwen35"), micro_model("qwen35moe-micro", "qwen35")};
  for (const char* name :
       {"gemma", "gemma2", "gemma3", "glm4-moe", "lfm2", "llama-spm", "minimax-m2", "ministral3",
        "mistral3", "mixtral", "olmo2", "phi3", "qwen2-moe", "qwen3-moe", "qwen3-next", "seed-oss",
        "smollm3", "tinyllama"}) {
    std::ifstream answered(testdata(std::string("families/") + name) / "PRE");
    ReturnedModel row{name, testdata(std::string("families/") + name) / "hf", ""};
    answered >> row.pre;
    out.push_back(row);
  }
  return out;
}

Conversion gguf_of(const ReturnedModel& source, const fs::path& in, const fs::path& out,
                   const std::string& type) {
  Conversion conversion;
  conversion.in = in;
  conversion.out = out;
  conversion.to = type;
  conversion.flags.add("model-name", "a model");
  if (!source.pre.empty()) conversion.flags.add("tokenizer-pre", source.pre);
  return conversion;
}

Conversion folder_of(const fs::path& in, const fs::path& out) {
  Conversion conversion;
  conversion.in = in;
  conversion.out = out;
  return conversion;
}

Checkpoint returned_folder(const fs::path& folder) {
  auto read = find_format("safetensors")->read(folder, all_codecs());
  EXPECT_TRUE(read) << read.error().text();
  return read ? std::move(*read) : Checkpoint();
}

// Stacked experts of a source come back as single ones, towers not at all.
void expect_same_tensors(const Checkpoint& source, const Checkpoint& back) {
  std::map<std::string, const Tensor*> ours;
  for (const Tensor& tensor : back.tensors) ours[tensor.name] = &tensor;
  size_t compared = 0;
  for (const Tensor& tensor : source.tensors) {
    const auto found = ours.find(tensor.name);
    if (found == ours.end()) continue;
    EXPECT_EQ(found->second->shape, tensor.shape) << tensor.name;
    EXPECT_EQ(found->second->codec, tensor.codec) << tensor.name;
    EXPECT_TRUE(part_bytes(*found->second) == part_bytes(tensor)) << tensor.name;
    ++compared;
  }
  EXPECT_GT(compared, 10u);
}

class GgufToFolder : public testing::TestWithParam<ReturnedModel> {
 protected:
  const TemporaryFolder folder_;
};

TEST_P(GgufToFolder, TensorsAreTheSourcesAndTheFileComesAgain) {
  const ReturnedModel& source = GetParam();
  const fs::path there = folder_ / "there.gguf", back = folder_ / "back";
  ASSERT_EQ(error_of(gguf_of(source, source.folder, there, "bf16")), "no error");
  ExecuteOptions small;  // many tasks, so that rows are cut
  small.chunk_bytes = 4096;
  ASSERT_EQ(error_of(folder_of(there, back), small), "no error");
  if (source.name != "mistral3") {  // a VL folder comes back as the text model, by other names
    expect_same_tensors(returned_folder(source.folder), returned_folder(back));
  }
  if (source.name == "mistral3") return;  // nor by its architecture
  const fs::path again = folder_ / "again.gguf";
  ASSERT_EQ(error_of(gguf_of(source, back, again, "bf16")), "no error");
  EXPECT_TRUE(read_file(there) == read_file(again));
}

TEST_P(GgufToFolder, QuantizedWeightsGiveTheSameNames) {
  const ReturnedModel& source = GetParam();
  const fs::path file = folder_ / "file.gguf";
  ASSERT_EQ(error_of(gguf_of(source, source.folder, file, "q4_k_m")), "no error");
  ASSERT_EQ(error_of(folder_of(file, folder_ / "keys")), "no error");
  Conversion with_base = folder_of(file, folder_ / "base");
  with_base.base = source.folder.string();
  ASSERT_EQ(error_of(with_base), "no error");
  EXPECT_EQ(read_file(folder_ / "base" / "config.json"), read_file(source.folder / "config.json"));
  const Checkpoint base = returned_folder(folder_ / "base");
  EXPECT_EQ(base.tensors.size(), returned_folder(source.folder).tensors.size());
}

std::string returned_model_name(const testing::TestParamInfo<ReturnedModel>& info) {
  std::string name = info.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Families, GgufToFolder, testing::ValuesIn(returned_models()),
                         returned_model_name);

// testdata/gguf-to-hf: gguf-py's dequantize in F32, the changes undone, one rounding to BF16.
struct TensorHashes {
  std::string model, type;
};
class GgufToFolderReference : public testing::TestWithParam<TensorHashes> {
 protected:
  const TemporaryFolder folder_;
};

TEST_P(GgufToFolderReference, EveryTensorHasItsHash) {
  const auto& [model, type] = GetParam();
  const ReturnedModel source =
      micro_model(model + "-micro", model == "llama"              ? "llama-bpe"
                                    : model.starts_with("qwen35") ? "qwen35"
                                                                  : "qwen2");
  const fs::path file = folder_ / "file.gguf";
  ASSERT_EQ(error_of(gguf_of(source, source.folder, file, type)), "no error");
  ASSERT_EQ(error_of(folder_of(file, folder_ / "back")), "no error");
  const Checkpoint back = returned_folder(folder_ / "back");
  std::ifstream sums(testdata("gguf-to-hf") / (model + "-" + type + ".tensors.sha256"));
  size_t count = 0;
  for (std::string sha256, name; sums >> sha256 >> name; ++count) {
    const Tensor* tensor = back.find_tensor(name);
    ASSERT_NE(tensor, nullptr) << name;
    EXPECT_EQ(text_sha256(part_bytes(*tensor)), sha256) << name;
  }
  EXPECT_EQ(count, back.tensors.size());
}

INSTANTIATE_TEST_SUITE_P(
    Types, GgufToFolderReference,
    testing::Values(TensorHashes{"llama", "bf16"}, TensorHashes{"llama", "q4_k_m"},
                    TensorHashes{"qwen3", "bf16"}, TensorHashes{"qwen3", "q4_k_m"},
                    TensorHashes{"qwen35", "bf16"}, TensorHashes{"qwen35", "q4_k_m"},
                    TensorHashes{"qwen35", "q5_k_m"}, TensorHashes{"qwen35", "q6_k"},
                    TensorHashes{"qwen35", "q8_0"}, TensorHashes{"qwen35moe", "bf16"},
                    TensorHashes{"qwen35moe", "q4_k_m"}),
    [](const auto& row) { return row.param.model + "_" + row.param.type; });

TEST(GgufToFolderRefusals, NamesWhatIsNotKnown) {
  const TemporaryFolder folder;
  const ReturnedModel source = micro_model("qwen3-micro", "qwen2");
  const fs::path file = folder / "file.gguf";
  ASSERT_EQ(error_of(gguf_of(source, source.folder, file, "q8_0")), "no error");
  Conversion conversion = folder_of(file, folder / "back");
  conversion.to = "q4_k_m";
  EXPECT_NE(error_of(conversion).find("comes back as f32, f16 or bf16"), std::string::npos);
  conversion.to.clear();
  conversion.base = testdata("llama-micro").string();
  EXPECT_NE(error_of(conversion).find("BASE is llama"), std::string::npos);
  EXPECT_FALSE(fs::exists(folder / "back"));
}

TEST(GgufToFolderBase, ConfigurationSaysTheChosenType) {
  const TemporaryFolder folder;
  const ReturnedModel source = micro_model("qwen3-micro", "qwen2");
  const fs::path file = folder / "file.gguf";
  ASSERT_EQ(error_of(gguf_of(source, source.folder, file, "q8_0")), "no error");
  Conversion conversion = folder_of(file, folder / "back");
  conversion.base = source.folder.string();
  conversion.to = "f16";
  ASSERT_EQ(error_of(conversion), "no error");
  const std::string config = read_file(folder / "back" / "config.json");
  EXPECT_NE(config.find("\"float16\""), config.npos) << config;
  EXPECT_EQ(config.find("bfloat16"), config.npos) << config;
}

Result<Checkpoint> returned_with(const fs::path& file, const MetaEntry& changed,
                                 std::vector<std::string>& notes) {
  CKPT_ASSIGN(Checkpoint read, find_format("gguf")->read(file, all_codecs()));
  read.metadata.set(changed.key, changed.value);
  return find_transform("from-gguf")->apply(std::move(read), {}, {all_codecs(), nullptr, &notes});
}

TEST(GgufToFolderRefusals, TokenOfAMegabyte) {
  const TemporaryFolder folder;
  const ReturnedModel source = micro_model("qwen3-micro", "qwen2");
  const fs::path file = folder / "file.gguf";
  ASSERT_EQ(error_of(gguf_of(source, source.folder, file, "q8_0")), "no error");
  const auto read = find_format("gguf")->read(file, all_codecs());
  ASSERT_TRUE(read);
  auto tokens = std::get<MetaArray>(read->metadata.find("tokenizer.ggml.tokens")->value);
  tokens.texts[7] = std::string(1 << 20, 'x');
  std::vector<std::string> notes;
  const auto made =
      returned_with(file, {"tokenizer.ggml.tokens", MetaValue::array(std::move(tokens))}, notes);
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().text().find("token 7 has 1048576 bytes; at most 1024"), std::string::npos)
      << made.error().text();
}

TEST(GgufToFolderRefusals, TemplateThatIsNamedAsAPath) {
  const TemporaryFolder folder;
  const ReturnedModel source = micro_model("qwen3-micro", "qwen2");
  const fs::path file = folder / "file.gguf";
  ASSERT_EQ(error_of(gguf_of(source, source.folder, file, "q8_0")), "no error");
  for (const std::string name : {"../../x", "a b", "", "\x1b[2J"}) {
    std::vector<std::string> notes;
    const auto made = returned_with(
        file, {"tokenizer.chat_template." + name, MetaValue::text("{{ messages }}")}, notes);
    ASSERT_TRUE(made) << made.error().text();
    for (const Document& document : made->documents) {
      EXPECT_FALSE(document.path.starts_with("additional_chat_templates")) << document.path;
    }
    EXPECT_TRUE(std::ranges::any_of(notes, [](const std::string& note) {
      return note.find("left out, no name of a template") != note.npos;
    }));
  }
}

// Whatever a key says, the answer is a folder whose keys are the file's, or a sentence.
TEST(GgufToFolderRefusals, AnyKeyMayLie) {
  const TemporaryFolder folder;
  for (const char* name : {"llama-micro", "qwen35-micro"}) {
    const bool is_llama = std::string_view(name).starts_with("llama");
    const ReturnedModel source = micro_model(name, is_llama ? "llama-bpe" : "qwen35");
    const fs::path file = folder / (std::string(name) + ".gguf");
    ASSERT_EQ(error_of(gguf_of(source, source.folder, file, "bf16")), "no error");
    const auto read = find_format("gguf")->read(file, all_codecs());
    ASSERT_TRUE(read);
    for (size_t i = 0; i < read->metadata.entries.size(); ++i) {
      for (const MetaValue& lie :
           {MetaValue::u32(0), MetaValue::u32(3), MetaValue::u32(UINT32_MAX), MetaValue::f32(-1),
            MetaValue::text("a text"), MetaValue::boolean(true),
            MetaValue::array(make_i32_array({-1, 2}))}) {
        Checkpoint changed = *read;
        changed.metadata.entries[i].value = lie;
        const auto made = find_transform("from-gguf")
                              ->apply(std::move(changed), {}, {all_codecs(), nullptr, nullptr});
        EXPECT_TRUE(made || !made.error().text().empty());
      }
    }
  }
}

}  // namespace
}  // namespace ckpt

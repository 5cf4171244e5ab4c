// Fields of config.json that are null, of every family: transformers keeps a null, so the default
// of a field that is absent is not put in its place. Classes that only transformers 5 has (Gemma 4,
// Ministral 3) put theirs in the place of a null rope_parameters, in 5.17.0.
//
// testdata/transforms/nulls.tsv: family, field, and what becomes of it: refused, unchanged, or the
// SHA-256 of the bytes before the weights, which are those of llama.cpp's converter.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "core/base/sha256.h"
#include "formats/formats.h"
#include "quantizers/quantizers.h"
#include "transforms/transforms.h"

namespace ckpt {
namespace {

const std::filesystem::path kFolders = std::filesystem::path(CKPT_TESTDATA) / "families";

// Empty with `why` where it is refused.
std::string sha256_before_weights(const Checkpoint& input, const std::string& pre,
                                  std::string& why) {
  Options options;
  options.add("outtype", "bf16");
  if (!pre.empty()) options.add("tokenizer-pre", pre);
  if (input.name == "gemma4") options.add("tokenizer-as", "converter");  // "<|think|>" is special
  const auto made =
      find_transform("to-gguf")->apply(input, options, {all_codecs(), nullptr, nullptr});
  if (!made) {
    why = made.error().text();
    return {};
  }
  const auto layout = find_format("gguf")->lay_out(*made, {.out_name = "out.gguf"}, all_codecs());
  EXPECT_TRUE(layout) << layout.error().text();
  std::vector<std::byte> header = layout->files.at(0).header;
  header.resize(layout->files[0].extents.at(0).offset_bytes);
  Sha256 sum;
  sum.add(header);
  return sum.finish();
}

struct Folder {
  explicit Folder(const std::string& family) {
    const std::filesystem::path path = kFolders / family;
    std::ifstream(path / "PRE") >> pre;
    auto read = (*recognize(path / "hf"))->read(path / "hf", all_codecs(), {});
    EXPECT_TRUE(read) << read.error().text();
    checkpoint = std::move(*read);
    checkpoint.name = family;
    config = **checkpoint.find_document("config.json")->values();
    std::string why;
    unchanged = sha256_before_weights(checkpoint, pre, why);
    EXPECT_NE(unchanged, "") << family << ": " << why;
  }
  Checkpoint checkpoint;
  JsonValue config;
  std::string pre, unchanged;
};

TEST(NullsOfConfig, AreRefusedOrWrittenAsTheConverterDoes) {
  std::ifstream table(std::filesystem::path(CKPT_TESTDATA) / "transforms" / "nulls.tsv");
  std::unique_ptr<Folder> folder;
  size_t rows = 0;
  for (std::string family, field, outcome; table >> family >> field >> outcome; ++rows) {
    if (!folder || folder->checkpoint.name != family) folder = std::make_unique<Folder>(family);
    JsonValue config = folder->config;
    JsonValue& text = config.contains("text_config") ? config["text_config"] : config;
    text[field] = nullptr;
    Checkpoint changed = folder->checkpoint;
    changed.set_document("config.json", config.dump());
    std::string why;
    const std::string sha256 = sha256_before_weights(changed, folder->pre, why);
    const std::string found = sha256.empty()                ? "refused"
                              : sha256 == folder->unchanged ? "unchanged"
                                                            : sha256;
    EXPECT_EQ(found, outcome) << family << " " << field << ": " << why;
  }
  EXPECT_GT(rows, 700u);
}

}  // namespace
}  // namespace ckpt

// What the doctor says of GGUF files: a small sound one, and changes of it.
#include <gtest/gtest.h>

#include <algorithm>

#include "checks/checks.h"
#include "quantizers/quantizers.h"

namespace ckpt {
namespace {

Tensor gguf_tensor(std::string name, std::vector<uint64_t> shape, std::string_view type) {
  Tensor out;
  out.name = std::move(name);
  out.shape = std::move(shape);
  out.codec = find_codec(all_codecs(), type);
  Stored stored;
  for (size_t part = 0; part < out.codec->parts.size(); ++part) {
    const uint64_t size = part_size_bytes(out, part);
    stored.parts.push_back({{make_blob(out.name, std::vector<std::byte>(size)), 0, size}});
  }
  out.origin = std::move(stored);
  return out;
}

Checkpoint sound() {
  Checkpoint out;
  out.format = "gguf";
  Metadata& keys = out.metadata;
  keys.set("general.architecture", MetaValue::text("llama"));
  keys.set("llama.context_length", MetaValue::u32(4096));
  keys.set("llama.embedding_length", MetaValue::u32(64));
  keys.set("llama.block_count", MetaValue::u32(2));
  keys.set("tokenizer.ggml.model", MetaValue::text("gpt2"));
  keys.set("tokenizer.ggml.pre", MetaValue::text("llama-bpe"));
  keys.set("tokenizer.ggml.tokens", MetaValue::array(make_text_array({"a", "b", "c", "d"})));
  keys.set("tokenizer.ggml.token_type", MetaValue::array(make_i32_array({1, 1, 1, 3})));
  keys.set("tokenizer.ggml.merges", MetaValue::array(make_text_array({"a b"})));
  keys.set("tokenizer.ggml.eos_token_id", MetaValue::u32(3));
  out.tensors.push_back(gguf_tensor("token_embd.weight", {4, 64}, "f32"));
  for (const char* block : {"blk.0", "blk.1"}) {
    out.tensors.push_back(gguf_tensor(fmt::format("{}.ffn_up.weight", block), {2, 64}, "nvfp4"));
    out.tensors.push_back(gguf_tensor(fmt::format("{}.ffn_up.scale", block), {1}, "f32"));
  }
  return out;
}

// "ID place: found" of every finding, one a line; the verdict in front.
std::string told_of_gguf(const Checkpoint& checkpoint) {
  const auto diagnosis = diagnose(checkpoint, {{"llama.cpp"}, false, {}, nullptr});
  if (!diagnosis) return diagnosis.error().text();
  const Verdict& verdict = diagnosis->verdicts.at(0);
  std::string out = fmt::format("{}{}", verdict.loads ? "loads" : "does not load",
                                verdict.sound ? "" : ", unsound");
  for (const Finding& finding : diagnosis->findings) {
    out += fmt::format("\n{} {}: {}", finding.check, finding.place, finding.found);
  }
  return out;
}

template <class Change>
std::string told_after(const Change& change) {
  Checkpoint checkpoint = sound();
  change(checkpoint);
  return told_of_gguf(checkpoint);
}

TEST(DoctorGguf, ASoundFileIsSound) { EXPECT_EQ(told_of_gguf(sound()), "loads"); }

TEST(DoctorGguf, ArchitectureAndSizes) {
  EXPECT_EQ(told_after([](Checkpoint& c) { c.metadata.remove("general.architecture"); }),
            "does not load\nG01 general.architecture: missing");
  for (const char* name : {"llama99", "", "llama llama4"}) {
    const std::string said = told_after(
        [&](Checkpoint& c) { c.metadata.set("general.architecture", MetaValue::text(name)); });
    EXPECT_NE(said.find("G01 general.architecture: "), std::string::npos) << name;
  }
  EXPECT_EQ(told_after([](Checkpoint& c) { c.metadata.remove("llama.context_length"); }),
            "does not load\nG02 llama.context_length: missing");
  EXPECT_EQ(told_after([](Checkpoint& c) {
              c.metadata.set("llama.embedding_length", MetaValue::text("64"));
            }),
            "does not load\nG02 llama.embedding_length: no whole number");
}

TEST(DoctorGguf, Tokenizer) {
  EXPECT_EQ(told_after([](Checkpoint& c) {
              c.metadata.set("tokenizer.ggml.pre", MetaValue::text("mine"));
            }),
            "does not load\nG04 tokenizer.ggml.pre: 'mine'");
  EXPECT_EQ(told_after([](Checkpoint& c) { c.metadata.remove("tokenizer.ggml.pre"); }),
            "loads, unsound\nG04 tokenizer.ggml.pre: missing");
  EXPECT_EQ(told_after([](Checkpoint& c) { c.metadata.remove("tokenizer.ggml.merges"); }),
            "does not load\nG03 tokenizer.ggml.merges: missing");
  EXPECT_EQ(told_after([](Checkpoint& c) {
              c.metadata.set("tokenizer.ggml.model", MetaValue::text("sentence"));
            }),
            "does not load\nG03 tokenizer.ggml.model: 'sentence'");
  EXPECT_EQ(told_after([](Checkpoint& c) {
              c.metadata.set("tokenizer.ggml.token_type", MetaValue::array(make_i32_array({1})));
            }),
            "does not load\nG03 tokenizer.ggml.token_type: 1 for 4 tokens");
  EXPECT_EQ(told_after([](Checkpoint& c) {
              c.tensors[0] = gguf_tensor("token_embd.weight", {5, 64}, "f32");
            }),
            "does not load\nG03 tokenizer.ggml.tokens: 4 tokens; token_embd.weight has 5 rows");
  EXPECT_EQ(told_after([](Checkpoint& c) {
              c.metadata.set("tokenizer.ggml.eos_token_id", MetaValue::u32(4));
            }),
            "loads\nG05 tokenizer.ggml.eos_token_id: 4 of 4 tokens");
}

TEST(DoctorGguf, Blocks) {
  EXPECT_EQ(
      told_after([](Checkpoint& c) { c.metadata.set("llama.block_count", MetaValue::u32(3)); }),
      "does not load\nG06 blk.2: no tensor; block_count is 3");
  EXPECT_EQ(
      told_after([](Checkpoint& c) { c.metadata.set("llama.block_count", MetaValue::u32(1)); }),
      "does not load\nG06 blk.1.ffn_up.weight: block_count is 1");
}

TEST(DoctorGguf, ScalesOfNvfp4) {
  EXPECT_EQ(told_after([](Checkpoint& c) { c.tensors.pop_back(); }),
            "loads, unsound\nG07 .scale: 'blk.1.ffn_up.weight' without one; 1 weights have theirs");
  // As llama-quantize writes them: none has one.
  EXPECT_EQ(told_after([](Checkpoint& c) {
              std::erase_if(c.tensors, [](const Tensor& t) { return t.name.ends_with(".scale"); });
            }),
            "loads");
  EXPECT_EQ(told_after([](Checkpoint& c) {
              c.tensors[4] = gguf_tensor("blk.1.ffn_up.scale", {2}, "f32");
            }),
            "does not load\nG07 blk.1.ffn_up.scale: 2 values; expected 1");
  EXPECT_EQ(told_after([](Checkpoint& c) {
              c.tensors[3] = gguf_tensor("blk.1.ffn_up.weight", {2, 64}, "q8_0");
            }),
            "loads, unsound\nG07 blk.1.ffn_up.scale: beside a weight in q8_0");
}

// Projectors are read by other code.
TEST(DoctorGguf, ProjectorsAreNotAskedForVocabularies) {
  Checkpoint out;
  out.format = "gguf";
  out.metadata.set("general.architecture", MetaValue::text("clip"));
  out.tensors.push_back(gguf_tensor("v.patch_embd.weight", {4, 64}, "f32"));
  EXPECT_EQ(told_of_gguf(out), "loads");
}

}  // namespace
}  // namespace ckpt

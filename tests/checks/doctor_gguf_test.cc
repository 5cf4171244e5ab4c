// Findings of the doctor for GGUF files: a small sound one, and changes of it.
#include <gtest/gtest.h>

#include <algorithm>

#include "checks/checks.h"
#include "core/base/words.h"
#include "models/models.h"
#include "tests/checks/tensors.h"

namespace ckpt {
namespace {

Checkpoint sound() {
  Checkpoint out;
  out.format = "gguf";
  Metadata& keys = out.metadata;
  keys.set("general.architecture", MetaValue::text("llama"));
  keys.set("llama.context_length", MetaValue::u32(4096));
  keys.set("llama.embedding_length", MetaValue::u32(64));
  keys.set("llama.block_count", MetaValue::u32(2));
  keys.set("llama.feed_forward_length", MetaValue::u32(2));
  keys.set("llama.attention.head_count", MetaValue::u32(2));
  keys.set("llama.attention.head_count_kv", MetaValue::u32(1));
  keys.set("llama.attention.layer_norm_rms_epsilon", MetaValue::f32(1e-5));
  keys.set("tokenizer.ggml.model", MetaValue::text("gpt2"));
  keys.set("tokenizer.ggml.pre", MetaValue::text("llama-bpe"));
  keys.set("tokenizer.ggml.tokens", MetaValue::array(make_text_array({"a", "b", "c", "d"})));
  keys.set("tokenizer.ggml.token_type", MetaValue::array(make_i32_array({1, 1, 1, 3})));
  keys.set("tokenizer.ggml.merges", MetaValue::array(make_text_array({"a b"})));
  keys.set("tokenizer.ggml.eos_token_id", MetaValue::u32(3));
  out.tensors.push_back(made_tensor("token_embd.weight", {4, 64}, "f32"));
  for (const char* block : {"blk.0", "blk.1"}) {
    out.tensors.push_back(made_tensor(fmt::format("{}.ffn_up.weight", block), {2, 64}, "nvfp4"));
    out.tensors.push_back(made_tensor(fmt::format("{}.ffn_up.scale", block), {1}, "f32"));
  }
  out.tensors.push_back(made_tensor("output_norm.weight", {64}, "f32"));
  for (const char* block : {"blk.0", "blk.1"}) {
    const auto add = [&](std::string_view name, std::vector<uint64_t> shape) {
      out.tensors.push_back(
          made_tensor(fmt::format("{}.{}.weight", block, name), std::move(shape), "f32"));
    };
    add("attn_norm", {64});
    add("attn_q", {64, 64});
    add("attn_k", {32, 64});
    add("attn_v", {32, 64});
    add("attn_output", {64, 64});
    add("ffn_norm", {64});
    add("ffn_gate", {2, 64});
    add("ffn_down", {64, 2});
  }
  return out;
}

// "ID place: found" of every finding, one a line; the verdict in front.
std::string gguf_findings(const Checkpoint& checkpoint) {
  const auto diagnosis = diagnose(checkpoint, {{"llama.cpp"}, false, {}, nullptr});
  if (!diagnosis) return diagnosis.error().text();
  const Verdict& verdict = diagnosis->verdicts.at(0);
  std::string out = fmt::format("{}{}", verdict.loads ? "loads" : "does not load",
                                verdict.sound || !verdict.loads ? "" : ", unsound");
  for (const Finding& finding : diagnosis->findings) {
    out += fmt::format("\n{} {}: {}", finding.check, finding.place, finding.found);
  }
  return out;
}

template <class Change>
std::string findings_after(const Change& change) {
  Checkpoint checkpoint = sound();
  change(checkpoint);
  return gguf_findings(checkpoint);
}

TEST(DoctorGguf, AcceptsAValidFile) { EXPECT_EQ(gguf_findings(sound()), "loads"); }

TEST(DoctorGguf, ArchitectureAndSizes) {
  EXPECT_EQ(findings_after([](Checkpoint& c) { c.metadata.remove("general.architecture"); }),
            "does not load\nG01 general.architecture: missing");
  for (const char* name : {"llama99", "", "llama llama4"}) {
    const std::string said = findings_after(
        [&](Checkpoint& c) { c.metadata.set("general.architecture", MetaValue::text(name)); });
    EXPECT_NE(said.find("G01 general.architecture: "), std::string::npos) << name;
  }
  EXPECT_EQ(findings_after([](Checkpoint& c) { c.metadata.remove("llama.context_length"); }),
            "does not load\nG02 llama.context_length: missing");
  EXPECT_EQ(findings_after([](Checkpoint& c) {
              c.metadata.set("llama.embedding_length", MetaValue::text("64"));
            }),
            "does not load\nG02 llama.embedding_length: text; expected u32");
}

TEST(DoctorGguf, RotationHasABaseAboveZero) {
  const auto with = [](float base) {
    return findings_after(
        [&](Checkpoint& c) { c.metadata.set("llama.rope.freq_base", MetaValue::f32(base)); });
  };
  EXPECT_EQ(with(1e4F), "loads");
  for (const float base : {0.0F, -1.0F}) {
    EXPECT_EQ(with(base), fmt::format("loads, unsound\nG02 llama.rope.freq_base: {}; expected a "
                                      "number above zero",
                                      base));
  }
}

TEST(DoctorGguf, NumbersThatStopTheLibraryAreRefused) {
  const auto with = [](std::string_view key, MetaValue value) {
    return findings_after(
        [&](Checkpoint& c) { c.metadata.set(fmt::format("llama.{}", key), std::move(value)); });
  };
  EXPECT_EQ(with("attention.layer_norm_rms_epsilon", MetaValue::f32(-1)),
            "does not load\nG02 llama: attention.layer_norm_rms_epsilon is -1");
  EXPECT_EQ(with("attention.layer_norm_rms_epsilon", MetaValue::u32(0)),
            "does not load\nG02 llama.attention.layer_norm_rms_epsilon: u32; expected f32");
  EXPECT_EQ(with("attention.value_length", MetaValue::u32(0)),
            "does not load\nG02 llama: attention.key_length is 32 and value_length 0");
  EXPECT_EQ(with("attention.head_count_kv", MetaValue::array(make_i32_array({1, 0}))),
            "does not load\n"
            "G02 llama: attention.head_count_kv is 1 in block 0 and 0 in block 1");
}

// Of the sound file under the name of another architecture, with further keys.
std::string told_as(std::string_view name, const std::vector<MetaEntry>& further) {
  return findings_after([&](Checkpoint& c) {
    c.metadata.set("general.architecture", MetaValue::text(std::string(name)));
    for (MetaEntry& entry : c.metadata.entries) {
      if (entry.key.starts_with("llama.")) entry.key.replace(0, 5, name);
    }
    for (const auto& [key, value] : further) c.metadata.set(fmt::format("{}.{}", name, key), value);
  });
}

TEST(DoctorGguf, NumbersThatStopGraphsOfSomeArchitecturesAreRefused) {
  const MetaValue one = MetaValue::u32(1);
  const MetaValue two_and_one = MetaValue::array(make_i32_array({2, 1}));
  EXPECT_EQ(told_as("granite", {{"logit_scale", MetaValue::f32(1)},
                                {"attention.head_count", two_and_one}}),
            "does not load\nG02 granite: attention.head_count is 2 in block 0 and 1 in block 1");
  EXPECT_EQ(told_as("gemma2", {{"attention.sliding_window_pattern", one}}),
            "does not load\nG02 gemma2: no layer has sliding attention");
  const std::vector<MetaEntry> experts = {{"expert_feed_forward_length", one},
                                          {"expert_shared_count", one},
                                          {"expert_gating_func", one}};
  EXPECT_EQ(told_as("afmoe", experts), "does not load\nG02 afmoe: no attention.sliding_window");
  EXPECT_EQ(told_as("dots1", experts),
            "does not load\nG02 dots1: attention.head_count_kv is 1; expected 2");
  EXPECT_EQ(told_as("apertus", {}),
            "does not load\nG02 xielu.alpha_n: missing\nG02 xielu.alpha_p: missing\n"
            "G02 xielu.beta: missing\nG02 xielu.eps: missing");
  EXPECT_NE(told_as("llama", {{"expert_count", one}}).find("none of 1 experts"), std::string::npos);
  EXPECT_EQ(told_as("hunyuan-dense", {{"expert_count", one}}).find("G02"), std::string::npos);
}

// The first fault that `told_as` reports, without those of keys that are missing.
std::string fault_as(const char* architecture, std::vector<MetaEntry> keys) {
  for (const MetaEntry& each : std::vector<MetaEntry>(keys)) {
    EXPECT_TRUE(find_gguf_key(architecture, fmt::format("{}.{}", architecture, each.key)))
        << each.key;
  }
  const GgufArchitecture* rules = find_gguf_architecture(architecture);
  for (const std::string_view word : split_words(rules->keys)) {
    const std::string name(word.substr(0, word.find_first_of(":!")));
    const bool is_set = std::ranges::any_of(keys, [&](const auto& key) { return key.key == name; });
    const auto known = find_gguf_key(architecture, fmt::format("{}.{}", architecture, name));
    if (is_set || !word.ends_with('!') || !known) continue;
    const bool is_list = word.find(":A") != word.npos || known->type == MetaType::kI32;
    keys.push_back({std::string(name), is_list ? MetaValue::array(make_i32_array({1, 0, 0, 0}))
                          : known->type == MetaType::kF32  ? MetaValue::f32(1)
                          : known->type == MetaType::kBool ? MetaValue::boolean(true)
                                                           : MetaValue::u32(1)});
  }
  return told_as(architecture, keys);
}

TEST(DoctorGguf, NumbersOfSeveralResidualStreamsAreHeldToTheirGraphs) {
  const MetaValue two = MetaValue::u32(2), four = MetaValue::u32(4);
  EXPECT_EQ(fault_as("deepseek4", {{"hyper_connection.count", two}}),
            "does not load\nG02 deepseek4: hyper_connection.count is 2; expected 4");
  EXPECT_EQ(fault_as("deepseek4", {{"hyper_connection.count", four},
                                   {"attention.output_group_count", MetaValue::u32(3)}}),
            "does not load\nG02 deepseek4: 2 heads in 3 groups");
  const auto ratios = [&](std::vector<int32_t> list) {
    return fault_as("deepseek4",
                    {{"hyper_connection.count", four},
                     {"expert_gating_func", four},
                     {"attention.compress_ratios", MetaValue::array(make_i32_array(list))}});
  };
  EXPECT_EQ(ratios({4}), "does not load\nG02 deepseek4: attention.compress_ratios has 1 values for "
                         "2 blocks");
  EXPECT_EQ(ratios({0, 8}), "does not load\nG02 deepseek4: attention.compress_ratios has 8 for "
                            "block 1; expected 0, 4 or 128");
  EXPECT_NE(ratios({0, 4}).find("attention.indexer.key_length is 1; expected a power of two"),
            std::string::npos);
  const MetaEntry every_second{"full_attention_interval", two};
  EXPECT_EQ(fault_as("qwen4exp", {every_second}),
            "does not load\nG02 qwen4exp: hyper_connection.count is 1; expected 2 or more");
  EXPECT_EQ(fault_as("qwen4exp", {every_second, {"hyper_connection.low_rank", MetaValue::u32(0)}}),
            "does not load\nG02 qwen4exp: hyper_connection.low_rank is 0");
}

TEST(DoctorGguf, ADecoderHasAtMostAsManyBlocksAsItsEncoder) {
  EXPECT_EQ(fault_as("t5", {{"decoder_block_count", MetaValue::u32(3)},
                            {"attention.head_count_kv", MetaValue::u32(2)}}),
            "does not load\nG02 t5: decoder_block_count is 3; expected at most block_count, 2");
}

TEST(DoctorGguf, TokensOfOtherModelsAreNotChecked) {
  Checkpoint checkpoint = sound();
  checkpoint.metadata.set("tokenizer.ggml.model", MetaValue::text("rwkv"));
  const auto diagnosis = diagnose(checkpoint, {{"llama.cpp"}, false, {}, nullptr});
  ASSERT_TRUE(diagnosis) << diagnosis.error().text();
  EXPECT_NE(diagnosis->verdicts.at(0).not_checked, "");
  EXPECT_EQ(findings_after([](Checkpoint& c) {
              c.metadata.set("tokenizer.ggml.model", MetaValue::text("no_vocab"));
            }).substr(0, 13),
            "does not load");
}

TEST(DoctorGguf, Tokenizer) {
  EXPECT_EQ(findings_after([](Checkpoint& c) {
              c.metadata.set("tokenizer.ggml.pre", MetaValue::text("mine"));
            }),
            "does not load\nG04 tokenizer.ggml.pre: 'mine'");
  EXPECT_EQ(findings_after([](Checkpoint& c) { c.metadata.remove("tokenizer.ggml.pre"); }),
            "loads, unsound\nG04 tokenizer.ggml.pre: missing");
  EXPECT_EQ(findings_after([](Checkpoint& c) { c.metadata.remove("tokenizer.ggml.merges"); }),
            "does not load\nG03 tokenizer.ggml.merges: missing");
  EXPECT_EQ(findings_after([](Checkpoint& c) {
              c.metadata.set("tokenizer.ggml.model", MetaValue::text("sentence"));
            }),
            "does not load\nG03 tokenizer.ggml.model: 'sentence'");
  EXPECT_EQ(findings_after([](Checkpoint& c) {
              c.metadata.set("tokenizer.ggml.token_type", MetaValue::array(make_i32_array({1})));
            }),
            "does not load\nG03 tokenizer.ggml.token_type: 1 for 4 tokens");
  EXPECT_EQ(findings_after([](Checkpoint& c) {
              c.tensors[0] = made_tensor("token_embd.weight", {5, 64}, "f32");
            }),
            "does not load\nG03 tokenizer.ggml.tokens: 4 tokens; token_embd.weight has 5 rows\n"
            "G06 token_embd.weight: [5, 64]; expected [4, 64]");
  EXPECT_EQ(findings_after([](Checkpoint& c) {
              c.metadata.set("tokenizer.ggml.eos_token_id", MetaValue::u32(4));
            }),
            "loads\nG05 tokenizer.ggml.eos_token_id: 4 of 4 tokens");
}

Tensor& tensor_of(Checkpoint& checkpoint, std::string_view name) {
  return *std::find_if(checkpoint.tensors.begin(), checkpoint.tensors.end(),
                       [&](const Tensor& tensor) { return tensor.name == name; });
}

// Tensors that stop llama.cpp v0.5.0: missing ones, extra ones, other shapes or types.
TEST(DoctorGguf, TensorsAreThoseOfTheArchitecture) {
  EXPECT_EQ(findings_after([](Checkpoint& c) { tensor_of(c, "blk.1.attn_k.weight").name += "2"; }),
            "does not load\nG06 blk.1.attn_k.weight: missing\n"
            "G06 blk.1.attn_k.weight2: no tensor of this architecture");
  EXPECT_EQ(
      findings_after([](Checkpoint& c) { tensor_of(c, "blk.0.ffn_gate.weight").shape[0] = 1; }),
      "does not load\nG06 blk.0.ffn_gate.weight: [1, 64]; expected [2, 64]");
  EXPECT_EQ(findings_after([](Checkpoint& c) {
              tensor_of(c, "blk.0.attn_norm.weight") =
                  made_tensor("blk.0.attn_norm.weight", {64}, "f16");
            }),
            "does not load\nG06 blk.0.attn_norm.weight: in f16; expected f32");
  EXPECT_EQ(findings_after([](Checkpoint& c) {
              c.tensors.push_back(made_tensor("blk.1.attn_q.bias", {64}, "f32"));
            }),
            "loads, unsound\nG06 blk.0.attn_q.bias: missing; 'blk.1.attn_q.bias' is there");
  EXPECT_EQ(findings_after([](Checkpoint& c) {
              c.metadata.set("llama.block_count", MetaValue::u32(1));
            }).substr(0, 48),
            "does not load\nG06 blk.1.ffn_up.weight: no tensor");
}

TEST(DoctorGguf, KeysHaveTheirTypes) {
  const auto told = [](std::string_view key, MetaValue value) {
    return findings_after(
        [&](Checkpoint& c) { c.metadata.set(std::string(key), std::move(value)); });
  };
  EXPECT_EQ(told("llama.attention.head_count", MetaValue::i32(2)).substr(0, 45),
            "does not load\nG02 llama.attention.head_count:");
  EXPECT_NE(told("llama.attention.head_count_kv", MetaValue::array(make_i32_array({1})))
                .find("1 values; expected 2"),
            std::string::npos);
  EXPECT_EQ(told("llama.attention.head_count_kv", MetaValue::array(make_i32_array({1, 1}))),
            "loads");
  EXPECT_NE(told("llama.rope.dimension_count", MetaValue::u32(16)).find("heads have 32 values"),
            std::string::npos);
  EXPECT_NE(told("llama.expert_used_count", MetaValue::u32(2)).find("2 of 0 experts are used"),
            std::string::npos);
  EXPECT_NE(told("tokenizer.ggml.tokens", MetaValue::array(make_text_array({"a", "b", "c", "a"})))
                .find("the same text as an earlier token"),
            std::string::npos);
}

TEST(DoctorGguf, NamesWithHyphensAreFound) {
  for (const char* name : {"gemma-embedding", "nomic-bert-moe", "ernie4_5-moe"}) {
    const std::string said = findings_after(
        [&](Checkpoint& c) { c.metadata.set("general.architecture", MetaValue::text(name)); });
    EXPECT_EQ(said.find("G01"), std::string::npos) << name;
  }
  EXPECT_EQ(findings_after([](Checkpoint& c) {
              c.metadata.set("tokenizer.ggml.pre", MetaValue::text("llada-moe"));
            }),
            "loads");
}

// An architecture without a table is not reported as sound.
TEST(DoctorGguf, OtherArchitecturesAreNotChecked) {
  Checkpoint other = sound();
  other.metadata.set("general.architecture", MetaValue::text("gpt2"));
  const auto diagnosis = diagnose(other, {{"llama.cpp"}, false, {}, nullptr});
  ASSERT_TRUE(diagnosis);
  EXPECT_NE(diagnosis->verdicts.at(0).not_checked.find("'gpt2'"), std::string::npos);
  EXPECT_FALSE(diagnosis->is_checked());
}

TEST(DoctorGguf, ScalesOfNvfp4) {
  EXPECT_EQ(findings_after([](Checkpoint& c) { c.tensors.erase(c.tensors.begin() + 4); }),
            "loads, unsound\nG07 .scale: 'blk.1.ffn_up.weight' without one; 1 weights have theirs");
  // llama-quantize writes none of these.
  EXPECT_EQ(findings_after([](Checkpoint& c) {
              std::erase_if(c.tensors, [](const Tensor& t) { return t.name.ends_with(".scale"); });
            }),
            "loads");
  EXPECT_EQ(findings_after([](Checkpoint& c) {
              c.tensors[4] = made_tensor("blk.1.ffn_up.scale", {2}, "f32");
            }),
            "does not load\nG07 blk.1.ffn_up.scale: 2 values; expected 1");
  EXPECT_EQ(findings_after([](Checkpoint& c) {
              c.tensors[3] = made_tensor("blk.1.ffn_up.weight", {2, 64}, "q8_0");
            }),
            "loads, unsound\nG07 blk.1.ffn_up.scale: next to a weight in q8_0");
}

// Projectors are read by other code.
TEST(DoctorGguf, ProjectorsAreNotAskedForVocabularies) {
  Checkpoint out;
  out.format = "gguf";
  out.metadata.set("general.architecture", MetaValue::text("clip"));
  out.tensors.push_back(made_tensor("v.patch_embd.weight", {4, 64}, "f32"));
  EXPECT_EQ(gguf_findings(out), "loads");
}

}  // namespace
}  // namespace ckpt

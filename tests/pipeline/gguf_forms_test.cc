// Forms of a family that its fixture does not have, made of the fixture's GGUF: they come back too.
#include <algorithm>
#include <fstream>

#include "formats/formats.h"
#include "quantizers/quantizers.h"
#include "tests/pipeline/pipeline.h"
#include "transforms/transforms.h"

namespace ckpt {
namespace {

namespace fs = std::filesystem;

Checkpoint bf16_file_of(const std::string& family, const fs::path& scratch) {
  Conversion conversion;
  conversion.in = testdata("families/" + family) / "hf";
  conversion.out = scratch / "file.gguf";
  conversion.to = "bf16";
  std::ifstream answered(testdata("families/" + family) / "PRE");
  std::string pre;
  if (answered >> pre) conversion.flags.add("tokenizer-pre", pre);
  EXPECT_EQ(error_of(conversion), "no error");
  auto read = find_format("gguf")->read(conversion.out, all_codecs(), {});
  EXPECT_TRUE(read);
  return read ? std::move(*read) : Checkpoint();
}

Result<Checkpoint> round_trip(Checkpoint file, std::vector<std::string>* notes = nullptr) {
  return find_transform("from-gguf")->apply(std::move(file), {}, {all_codecs(), nullptr, notes});
}

void drop_key(Checkpoint& file, const std::string& key) {
  std::erase_if(file.metadata.entries, [&](const MetaEntry& entry) { return entry.key == key; });
}

JsonValue config_of(const Checkpoint& folder) {
  const auto values = folder.find_document("config.json")->values();
  EXPECT_TRUE(values);
  return values ? **values : JsonValue();
}

TEST(GgufForms, QueriesWithoutALatent) {
  const TemporaryFolder scratch;
  Checkpoint file = bf16_file_of("deepseek-v3", scratch.path());
  drop_key(file, "deepseek2.attention.q_lora_rank");
  std::erase_if(file.tensors, [](const Tensor& tensor) {
    return tensor.name.find(".attn_q_a") != tensor.name.npos;
  });
  for (Tensor& tensor : file.tensors) {  // the latent was as wide as the model
    const size_t at = tensor.name.find(".attn_q_b.");
    if (at != tensor.name.npos) tensor.name.replace(at, 10, ".attn_q.");
  }
  const auto folder = round_trip(std::move(file));
  ASSERT_TRUE(folder) << folder.error().text();
  EXPECT_NE(folder->find_tensor("model.layers.1.self_attn.q_proj.weight"), nullptr);
  EXPECT_EQ(folder->find_tensor("model.layers.1.self_attn.q_a_proj.weight"), nullptr);
  EXPECT_TRUE(config_of(*folder)["q_lora_rank"].is_null());
}

// Converters before April 2025 wrote both in one tensor, with the sizes of heads that are not
// latent.
TEST(GgufForms, KeysAndValuesOfALatentInOneTensor) {
  for (const std::string family : {"deepseek-v2", "deepseek-v3", "kimi-k2"}) {
    const TemporaryFolder scratch;
    const fs::path hf = testdata("families/" + family) / "hf";
    const auto base = find_format("safetensors")->read(hf, all_codecs(), {});
    ASSERT_TRUE(base);
    Checkpoint file = bf16_file_of(family, scratch.path());
    const std::string front = "deepseek2.attention.";
    for (const std::string name : {"key_length", "value_length"}) {
      file.metadata.set(front + name, *file.metadata.find(front + name + "_mla"));
      drop_key(file, front + name + "_mla");
    }
    file.metadata.set(front + "head_count_kv", *file.metadata.find(front + "head_count"));
    std::erase_if(file.tensors, [](const Tensor& tensor) {
      return tensor.name.find(".attn_v_b.") != tensor.name.npos;
    });
    for (Tensor& tensor : file.tensors) {
      if (tensor.name.find(".attn_k_b.") == tensor.name.npos) continue;
      const std::string layer = tensor.name.substr(4, tensor.name.find('.', 4) - 4);
      tensor = *base->find_tensor("model.layers." + layer + ".self_attn.kv_b_proj.weight");
      tensor.name = "blk." + layer + ".attn_kv_b.weight";
    }
    const auto folder = round_trip(std::move(file));
    ASSERT_TRUE(folder) << family << ": " << folder.error().text();
    const std::string name = "model.layers.1.self_attn.kv_b_proj.weight";
    const Tensor* made = folder->find_tensor(name);
    ASSERT_NE(made, nullptr);
    EXPECT_EQ(read_values(*made, 1 << 20).value(),
              read_values(*base->find_tensor(name), 1 << 20).value());
  }
}

// llama-quantize drops axes of length 1 in front.
TEST(GgufForms, SingleExpertWithoutItsAxis) {
  const TemporaryFolder scratch;
  Checkpoint file = bf16_file_of("llama4", scratch.path());
  file.metadata.set("llama4.expert_count", MetaValue::u32(1));
  for (Tensor& tensor : file.tensors) {
    const bool is_router = tensor.name.ends_with("ffn_gate_inp.weight");
    if (!is_router && !tensor.name.ends_with("_exps.weight")) continue;
    auto first = take_rows(tensor, 0, tensor.rows() / 3);
    ASSERT_TRUE(first);
    tensor = std::move(*first);
  }
  const auto folder = round_trip(std::move(file));
  ASSERT_TRUE(folder) << folder.error().text();
  const Tensor* experts = folder->find_tensor("model.layers.0.feed_forward.experts.gate_up_proj");
  ASSERT_NE(experts, nullptr);
  EXPECT_EQ(experts->shape, (std::vector<uint64_t>{1, 128, 64}));
}

TEST(GgufForms, NotesFactsThatTheFileLacks) {
  const TemporaryFolder scratch;
  std::vector<std::string> notes;
  ASSERT_TRUE(round_trip(bf16_file_of("llama4", scratch.path()), &notes));
  EXPECT_TRUE(std::ranges::any_of(notes, [](const std::string& note) {
    return note.starts_with("not in the file") && note.find("attention_chunk_size") != note.npos;
  }));
  fs::create_directories(scratch / "2");
  const auto text = round_trip(bf16_file_of("qwen3-vl", scratch / "2"));
  ASSERT_TRUE(text) << text.error().text();
  const JsonValue config = config_of(*text);
  EXPECT_EQ(config["architectures"][0], "Qwen3ForCausalLM");
  EXPECT_EQ(config["model_type"], "qwen3");
  EXPECT_FALSE(config.contains("vision_config"));
  EXPECT_FALSE(config["rope_parameters"].contains("mrope_section"));
}

// Whatever a key says, the answer is a folder whose keys are the file's, or a sentence.
TEST(GgufForms, RejectsFalseValuesOfAnyKey) {
  const TemporaryFolder scratch;
  for (const char* family : {"deepseek-v3", "gemma4", "nemotron-h"}) {
    const fs::path folder = scratch.path() / family;
    fs::create_directories(folder);
    const Checkpoint file = bf16_file_of(family, folder);
    for (size_t i = 0; i < file.metadata.entries.size(); ++i) {
      if (file.metadata.entries[i].key.find('.') == std::string::npos ||
          file.metadata.entries[i].key.starts_with("tokenizer.")) {
        continue;
      }
      for (const MetaValue& lie : {MetaValue::u32(0), MetaValue::u32(UINT32_MAX),
                                   MetaValue::f32(-1), MetaValue::array(make_i32_array({-1, 2}))}) {
        Checkpoint changed = file;
        changed.metadata.entries[i].value = lie;
        const auto made = round_trip(std::move(changed));
        EXPECT_TRUE(made || !made.error().text().empty());
      }
    }
  }
}

}  // namespace
}  // namespace ckpt

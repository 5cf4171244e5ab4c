// Checkpoints of trainers: every tensor is the one that the trainer's own program puts together,
// and whatever a reader could take for a smaller or another model is refused.
#include "formats/trainer.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "core/base/sha256.h"
#include "core/base/utf8.h"
#include "core/json/json_read.h"
#include "formats/dcp.h"
#include "formats/formats.h"
#include "formats/safetensors.h"
#include "quantizers/quantizers.h"
#include "tests/support/files.h"

namespace ckpt {
namespace {

namespace fs = std::filesystem;

Result<Checkpoint> opened_trainer(const fs::path& path, const ReadOptions& options = {}) {
  CKPT_ASSIGN(const Format* format, recognize(path));
  return format->read(path, all_codecs(), options);
}

// Type, shape and SHA-256 of each tensor.
using Digests = std::map<std::string, std::string>;

Digests digests_of(const Checkpoint& checkpoint) {
  Digests out;
  for (const Tensor& tensor : checkpoint.tensors) {
    const std::string bytes = part_bytes(tensor);
    out[tensor.name] =
        fmt::format("{} [{}] {}", *safetensors_name(tensor.codec->parts[0].dtype),
                    fmt::join(tensor.shape, ", "), sha256_of(std::as_bytes(std::span(bytes))));
  }
  return out;
}

Digests expected_digests(const fs::path& file, const char* part = "tensors") {
  const auto json = parse_json("expected.json", read_file(file));
  EXPECT_TRUE(json.has_value());
  Digests out;
  for (const auto& [name, tensor] : object_in(*json, part).items()) {
    std::vector<uint64_t> shape;
    for (const JsonValue& size : list_in(tensor, "shape")) shape.push_back(whole(size).value());
    out[name] = fmt::format("{} [{}] {}", text_in(tensor, "dtype"), fmt::join(shape, ", "),
                            text_in(tensor, "sha256"));
  }
  return out;
}

TEST(Trainer, TensorsAreThoseOfTheTrainersOwnProgram) {
  for (const auto& entry : fs::directory_iterator(testdata("trainers"))) {
    if (!entry.is_directory()) continue;
    const auto checkpoint = opened_trainer(entry.path() / "ckpt");
    ASSERT_TRUE(checkpoint.has_value()) << checkpoint.error().text();
    EXPECT_EQ(digests_of(*checkpoint), expected_digests(entry.path() / "expected.json"))
        << entry.path();
    EXPECT_FALSE(checkpoint->layout.empty()) << entry.path();
  }
}

// The values that are not the usual ones of the layout, as the trainer holds them.
TEST(Trainer, OtherValuesOfWeightsAreThoseOfTheTrainer) {
  const std::pair<const char*, WeightValues> kOthers[] = {
      {"dcp-master", WeightValues::kMaster}, {"ds-z2-frozen-aligned", WeightValues::kModel}};
  for (const auto& [name, values] : kOthers) {
    const fs::path folder = testdata(fmt::format("trainers/{}", name));
    const auto checkpoint = opened_trainer(folder / "ckpt", {.weights = values});
    ASSERT_TRUE(checkpoint.has_value()) << checkpoint.error().text();
    EXPECT_EQ(digests_of(*checkpoint), expected_digests(folder / "expected.json", "other"));
  }
}

// Facts of the model and of the training that only the trainer's own files have.
TEST(Trainer, ArgsOfMegatronBecomeConfigJson) {
  const auto whole = opened_trainer(testdata("trainers/mcore-dist/ckpt"));
  ASSERT_TRUE(whole.has_value()) << whole.error().text();
  EXPECT_NE(whole->layout.find(", step 100, 1 rank"), std::string::npos) << whole->layout;
  const Document* config = whole->find_document("config.json");
  ASSERT_NE(config, nullptr);
  EXPECT_EQ(config->text(), read_file(testdata("trainers/mcore-dist/config.json")));
}

TEST(Trainer, ConfigJsonIsNotMadeOfIncompleteArgs) {
  const TemporaryFolder folder;
  fs::copy(testdata("trainers/mcore-legacy-tp2/ckpt"), folder / "ckpt",
           fs::copy_options::recursive);
  fs::remove(folder / "ckpt/iter_0000001/config.json");
  const auto partial = opened_trainer(folder / "ckpt");
  ASSERT_TRUE(partial.has_value()) << partial.error().text();
  EXPECT_EQ(partial->find_document("config.json"), nullptr);
  EXPECT_EQ(partial->not_read.back(),
            "config.json (args without max_position_embeddings, norm_epsilon) and a tokenizer "
            "(missing; --base MODEL)");
}

// A number that args lack is that of config.json, if there is one.
TEST(Trainer, ArgsOfMegatronMayLackWhatTheModelHas) {
  const TemporaryFolder folder;
  const fs::path run = folder / "run/iter_0000100";
  fs::copy(testdata("trainers/mcore-dist/ckpt"), folder / "run", fs::copy_options::recursive);
  std::string common = read_file(run / "common.pt");
  const std::string key("\x0A\0\0\0vocab_size", 14), other("\x0A\0\0\0vocab_none", 14);
  common.replace(common.find(key), key.size(), other);
  write_file(run / "common.pt", common);
  const auto alone = opened_trainer(folder / "run");
  ASSERT_FALSE(alone.has_value());
  EXPECT_NE(alone.error().text().find("args of the run without a usable vocab_size"),
            std::string::npos)
      << alone.error().text();
  fs::copy_file(testdata("trainers/mcore-dist/config.json"), run / "config.json");
  EXPECT_TRUE(opened_trainer(folder / "run").has_value());
}

TEST(Trainer, NewestFolderOfVerlHasItsWeights) {
  const TemporaryFolder folder;
  fs::create_directories(folder / "run/global_step_40");
  fs::copy(testdata("trainers/ranks-fsdp1-sharded/ckpt"), folder / "run/global_step_40/actor",
           fs::copy_options::recursive);
  write_file(folder / "run/latest_checkpointed_iteration.txt", "40");
  const auto read = opened_trainer(folder / "run");
  ASSERT_TRUE(read.has_value()) << read.error().text();
  EXPECT_NE(read->layout.find(", step 40, 2 ranks"), std::string::npos) << read->layout;
}

TEST(Trainer, OneFileOfARankIsRefused) {
  for (const char* file :
       {"dcp-misc/ckpt/__0_0.distcp", "hf-plain/ckpt/shard-00001-model-00001-of-00001.safetensors",
        "ranks-tp-fsdp/ckpt/model_world_size_4_rank_1.pt"}) {
    const auto alone = opened_trainer(testdata(fmt::format("trainers/{}", file)));
    ASSERT_FALSE(alone.has_value()) << file;
    EXPECT_NE(alone.error().text().find("it holds parts of tensors"), std::string::npos)
        << alone.error().text();
  }
}

// A change of one file of a checkpoint, and what the refusal says.
struct Damage {
  const char *checkpoint, *file;
  std::string from, to;  // the file is removed if there is nothing to replace
  const char* sentence;
};

std::string refusal_after(const Damage& damage) {
  const TemporaryFolder folder;
  const fs::path copy = folder / "ckpt";
  fs::copy(testdata(fmt::format("trainers/{}/ckpt", damage.checkpoint)), copy,
           fs::copy_options::recursive);
  if (damage.from.empty()) {
    fs::remove(copy / damage.file);
  } else {
    std::string bytes = read_file(copy / damage.file);
    const size_t at = bytes.find(damage.from);
    EXPECT_NE(at, std::string::npos) << damage.sentence;
    if (at != std::string::npos) bytes.replace(at, damage.from.size(), damage.to);
    write_file(copy / damage.file, bytes);
  }
  const auto read = opened_trainer(copy);
  return read ? "read" : read.error().text();
}

TEST(Trainer, DamageIsRefused) {
  const std::string size = "K\x07K\x10\x86", larger = "K\x08K\x10\x86";
  const std::string one("\0\0\x80\x3F", 4), two("\0\0\0\x40", 4);
  const Damage kCases[] = {
      {"dcp-misc", ".metadata", "", "", "the save did not end"},
      {"dcp-misc", "__1_0.distcp", "", "", "names the file '__1_0.distcp', which is missing"},
      {"dcp-misc", ".metadata", "__1_0.distcp", "../../x_dist", "expected a file of this folder"},
      {"dcp-misc", ".metadata",
       "\x07"
       "float16",
       "\x07"
       "float32",
       "'.metadata' says f32 [3, "},
      {"dcp-misc", ".metadata", size, larger, "no chunk has rows 7 to 7"},
      {"dcp-misc", ".metadata", size, std::string("\x8a\x09\0\0\0\0\0\0\0\0\1K\x10\x86", 14),
       "is not a list of up to 16 whole numbers of 60 bits"},
      {"hf-grid", "shard-00004-model-00001-of-00001.safetensors", "[10, 0]", "[ 9, 0]",
       "chunks [3, 4] at [7, 0] and [3, 4] at [9, 0] overlap"},
      {"dcp-misc", ".metadata", "BytesStorageMetadata", "BytesStorageMetadat\n", "read"},
      {"dcp-nocollectives", "__0.metadata", "", "", "no chunk has rows 0 to "},
      {"hf-grid", "shard-00004-model-00001-of-00001.safetensors", "", "", "no chunk has "},
      {"hf-plain", "shard-00002-model-00001-of-00001.safetensors", "", "",
       "files of ranks are missing"},
      {"hf-plain", "config.json", "model_type", "model_typo", "read"},
      {"ranks-tp-fsdp", "model_world_size_4_rank_3.pt", "", "", "the file of rank 3 is missing"},
      {"ranks-fsdp1-sharded", "model_world_size_2_rank_0.pt", "", "",
       "the file of rank 0 is missing"},
      {"ds-z3-frozen", "global_step1/bf16_zero_pp_rank_2_mp_rank_00_optim_states.pt", "", "",
       "of 3 ranks; 2 files are there"},
      {"ds-z3-frozen", "global_step1/zero_pp_rank_1_mp_rank_00_model_states.pt", "", "",
       "the file of rank 1 is missing"},
      {"ds-z3-frozen", "global_step1/bf16_zero_pp_rank_2_mp_rank_00_optim_states.pt", one, two,
       "its optimizer has made 2 steps, and that of another rank 1"},
      {"ds-z3-frozen", "global_step1/zero_pp_rank_1_mp_rank_00_model_states.pt",
       "global_stepsq\x88K\x01", "global_stepsq\x88K\x02", "of step 2; "},
      {"mcore-legacy-tp2", "iter_0000001/mp_rank_01/model_optim_rng.pt", "iterationq\x1dK\x01",
       "iterationq\x1dK\x02", "of iteration 2; another rank has 1"},
      {"mcore-legacy-tp2", "latest_checkpointed_iteration.txt", "1", "7",
       "names the folder 'iter_0000007', which is missing"},
  };
  for (const Damage& damage : kCases) {
    const std::string found = refusal_after(damage);
    EXPECT_NE(found.find(damage.sentence), std::string::npos) << found;
  }
}

// A pickle is read as data: what a call in it would do does not happen, and the call is named.
TEST(Trainer, NothingInAPickleOfARankIsRun) {
  const std::pair<const char*, const char*> kFiles[] = {
      {"dcp-misc", "__0_0.distcp"},
      {"ranks-fsdp1-sharded", "model_world_size_2_rank_1.pt"},
      {"ds-z3-frozen", "global_step1/zero_pp_rank_1_mp_rank_00_model_states.pt"},
      {"mcore-legacy-tp2", "iter_0000001/mp_rank_01/model_optim_rng.pt"}};
  for (const auto& [checkpoint, file] : kFiles) {
    const std::string found = refusal_after({checkpoint, file, "torch._utils\n_rebuild_tensor_v2",
                                             "shutil.tools\nremove_the_tree_v2", ""});
    EXPECT_NE(found.find("made by 'shutil.tools remove_the_tree_v2'"), std::string::npos) << found;
  }
}

std::string short_text(std::string_view text) {
  return std::string("\x8c") + static_cast<char>(text.size()) + std::string(text);
}

TEST(Trainer, NothingInAnIndexIsRun) {
  const std::string call =
      short_text("os") + short_text("mkdir") + "\x93" + short_text("evil") + "\x85R";
  const std::string index =
      "\x80\x04" + short_text("torch.distributed.checkpoint.metadata") + short_text("Metadata") +
      "\x93)\x81}(" + short_text("state_dict_metadata") + "}" + short_text("storage_data") + "}" +
      short_text("planner_data") + "}" + short_text("norm.weight") + call + "sub.";
  const auto raw = std::as_bytes(std::span(index));
  const auto read = read_dcp_metadata(make_blob("index", {raw.begin(), raw.end()}));
  ASSERT_FALSE(read.has_value());
  EXPECT_NE(read.error().text().find("'planner_data' calls 'os mkdir'"), std::string::npos)
      << read.error().text();
}

TEST(Trainer, ACutFileIsRefusedByItsName) {
  const std::pair<const char*, const char*> kFiles[] = {
      {"dcp-misc", "__1_0.distcp"},
      {"dcp-misc", ".metadata"},
      {"dcp-zstd", "__0_0.distcp"},
      {"hf-plain", "shard-00002-model-00001-of-00001.safetensors"},
      {"ranks-tp-fsdp", "model_world_size_4_rank_3.pt"},
      {"ds-z3-frozen", "global_step1/bf16_zero_pp_rank_2_mp_rank_00_optim_states.pt"},
      {"mcore-legacy-tp2", "iter_0000001/mp_rank_01/model_optim_rng.pt"}};
  for (const auto& [checkpoint, file] : kFiles) {
    const TemporaryFolder folder;
    fs::copy(testdata(fmt::format("trainers/{}/ckpt", checkpoint)), folder / "ckpt",
             fs::copy_options::recursive);
    fs::resize_file(folder / "ckpt" / file, fs::file_size(folder / "ckpt" / file) * 2 / 3);
    const auto read = opened_trainer(folder / "ckpt");
    ASSERT_FALSE(read.has_value()) << file;
    EXPECT_NE(read.error().text().find(file), std::string::npos) << read.error().text();
  }
}

// DeepSpeed's "latest" only chooses among several folders.
TEST(Trainer, ACheckpointWithoutTheNameOfTheNewestIsTheOnlyOne) {
  const TemporaryFolder folder;
  fs::copy(testdata("trainers/ds-z3-frozen/ckpt"), folder / "ckpt", fs::copy_options::recursive);
  fs::remove(folder / "ckpt/latest");
  EXPECT_TRUE(opened_trainer(folder / "ckpt").has_value());
  fs::copy(folder / "ckpt/global_step1", folder / "ckpt/global_step2");
  const auto read = opened_trainer(folder / "ckpt");
  ASSERT_FALSE(read.has_value());
  EXPECT_NE(read.error().text().find("weights in 2 folders"), std::string::npos)
      << read.error().text();
}

// Every text and list of an index is bounded, whatever its bytes are.
void expect_bounded(const std::string& bytes) {
  const auto raw = std::as_bytes(std::span(bytes));
  const auto read = read_dcp_metadata(make_blob("mutated", {raw.begin(), raw.end()}));
  if (!read) return;
  for (const DcpTensor& tensor : read->tensors) {
    ASSERT_TRUE(is_utf8(tensor.key) && tensor.key.size() <= kMaxNameBytes);
    ASSERT_LE(tensor.shape.size(), kMaxDimensions);
    for (const DcpChunk& chunk : tensor.chunks) {
      ASSERT_LE(chunk.offsets.size(), kMaxDimensions);
      ASSERT_FALSE(chunk.file.empty());
    }
  }
}

TEST(Trainer, AnyChangedByteOfAnIndexIsAnErrorOrAnotherIndex) {
  const std::string sound = read_file(testdata("trainers/dcp-misc/ckpt/.metadata"));
  for (size_t at = 0; at < sound.size(); at += 3) {
    if (at % 16 == 1) expect_bounded(sound.substr(0, at));
    std::string bytes = sound;
    bytes[at] = static_cast<char>(bytes[at] ^ (at % 2 == 0 ? 0x01 : 0xFF));
    expect_bounded(bytes);
  }
}

TEST(Trainer, WrappersAreWholeComponents) {
  const auto names = names_of_weights(
      {{"model", "module.model.norm.weight"}, {"model", "_orig_mod.score.original_module.weight"}});
  ASSERT_TRUE(names.has_value());
  EXPECT_EQ(names->front(), "model.norm.weight");
  EXPECT_EQ(names->back(), "score.original_module.weight");
  EXPECT_FALSE(names_of_weights({{"module.a"}, {"_orig_mod.a"}}).has_value());
  EXPECT_TRUE(is_beside_weights({"app", "optim", "state.x"}));
  EXPECT_TRUE(is_beside_weights({"optimizer.state.x.exp_avg"}));
  EXPECT_FALSE(is_beside_weights({"model", "optimizer_like.weight"}));
}

// A tensor in memory, and what files of a model of this type have of it.
struct SavedCase {
  const char *model_type, *name;
  std::vector<uint64_t> shape;
  std::vector<std::string> in_files;
};

TEST(Trainer, NamesInMemoryBecomeThoseThatTransformersSaves) {
  const std::string layer = "model.layers.0.", experts = layer + "block_sparse_moe.experts.";
  const SavedCase kCases[] = {
      {"mixtral",
       "model.layers.0.mlp.experts.gate_up_proj",
       {2, 4, 3},
       {experts + "0.w1.weight", experts + "0.w3.weight", experts + "1.w1.weight",
        experts + "1.w3.weight"}},
      {"mixtral",
       "model.layers.0.mlp.gate.weight",
       {2, 3},
       {layer + "block_sparse_moe.gate.weight"}},
      {"mixtral",
       "model.layers.0.self_attn.q_proj.weight",
       {2, 3},
       {layer + "self_attn.q_proj.weight"}},
      {"phimoe",
       "model.layers.0.mlp.router.weight",
       {2, 3},
       {layer + "block_sparse_moe.gate.weight"}},
      {"granitemoe",
       "model.layers.0.block_sparse_moe.experts.gate_up_proj",
       {2, 4, 3},
       {layer + "block_sparse_moe.input_linear.weight"}},
      {"gemma3", "model.language_model.norm.weight", {3}, {"language_model.model.norm.weight"}},
      {"gemma3", "lm_head.weight", {2, 3}, {"language_model.lm_head.weight"}},
      {"gemma3", "language_model.lm_head.weight", {2, 3}, {"language_model.lm_head.weight"}},
      {"qwen2_5_vl", "model.visual.blocks.0.norm1.weight", {3}, {"visual.blocks.0.norm1.weight"}},
      {"unknown",
       "model.layers.0.mlp.experts.gate_up_proj",
       {2, 4, 3},
       {layer + "mlp.experts.gate_up_proj"}},
  };
  for (const SavedCase& each : kCases) {
    Checkpoint model;
    model.set_document("config.json", fmt::format(R"({{"model_type": "{}"}})", each.model_type));
    Tensor tensor;
    tensor.name = each.name;
    tensor.shape = each.shape;
    tensor.codec = &plain_codec(all_codecs(), Dtype::kF32);
    std::vector<std::byte> values(tensor.values() * sizeof(float));
    tensor.origin = Stored{{{entire(make_blob("values", std::move(values)))}}};
    const auto saved = as_saved({tensor}, model.documents);
    ASSERT_TRUE(saved.has_value()) << saved.error().text();
    std::vector<std::string> names;
    for (const Tensor& one : *saved) names.push_back(one.name);
    EXPECT_EQ(names, each.in_files) << each.model_type;
  }
}

TEST(Trainer, OnlyTheLevelOfTheModelIsDropped) {
  const auto own = names_of_weights({{"model.model.norm.weight"}, {"model.lm_head.weight"}});
  EXPECT_EQ(own.value().front(), "model.norm.weight");
  const auto plain = names_of_weights({{"model.norm.weight"}, {"lm_head.weight"}});
  EXPECT_EQ(plain.value().front(), "model.norm.weight");
  const auto mixed = names_of_weights({{"model", "rows.weight"}, {"list", "0"}});
  EXPECT_EQ(mixed.value().front(), "model.rows.weight");
}

}  // namespace
}  // namespace ckpt

// A model has one description. A folder and the GGUF made from it agree, and removing a field of
// config.json whose value is the default of the class changes nothing.
#include <filesystem>
#include <fstream>
#include <map>

#include "checks/checks.h"
#include "core/base/numbers.h"
#include "core/resume/plan_digest.h"
#include "formats/formats.h"
#include "models/models.h"
#include "quantizers/quantizers.h"
#include "tests/pipeline/pipeline.h"

namespace ckpt {
namespace {

struct TestModel {
  std::string name;
  Checkpoint folder;
  JsonValue config;
};

// The converter makes only a projector of some models: it does not convert their text part.
bool has_only_projectors(const std::filesystem::path& folder) {
  std::ifstream sums(folder / "SHA256SUMS");
  bool is_any = false, is_text = false;
  for (std::string sha256, name; sums >> sha256 >> name; is_any = true) {
    is_text |= !name.starts_with("mmproj");
  }
  return is_any && !is_text;
}

std::vector<TestModel> test_models() {
  std::vector<TestModel> out;
  for (const auto& entry : std::filesystem::directory_iterator(testdata("families"))) {
    if (has_only_projectors(entry.path())) continue;
    const auto folder = (*find_format("safetensors")).read(entry.path() / "hf", all_codecs(), {});
    EXPECT_TRUE(folder) << entry.path() << folder.error().text();
    TestModel& model = out.emplace_back();
    model.name = entry.path().filename().string();
    model.folder = *folder;
    model.config = JsonValue::parse(model.folder.find_document("config.json")->text());
  }
  std::ranges::sort(out, {}, &TestModel::name);
  return out;
}

Checkpoint with_config(Checkpoint folder, const JsonValue& config) {
  folder.set_document("config.json", config.dump());
  return folder;
}

// The configuration of the text part within `config`.
JsonValue& text_level(JsonValue& config) {
  return config.contains("text_config") ? config["text_config"] : config;
}

Result<PlannedConversion> planned_gguf(const TestModel& model, const Checkpoint& folder) {
  Conversion conversion;
  conversion.in = testdata("families/" + model.name + "/hf");
  conversion.out = "model.gguf";
  conversion.to = "bf16";
  std::ifstream pre(testdata("families/" + model.name + "/PRE"));
  if (std::string word; pre >> word) conversion.flags.add("tokenizer-pre", word);
  return plan_conversion(conversion, {folder, {}});
}

// "full_attention 64 (2), sliding_attention 64 (1), window 128"
std::string layers_of(const Checkpoint& checkpoint) {
  const auto model = resolve(checkpoint);
  if (!model) return "not known";
  std::map<std::pair<LayerMemory, uint64_t>, size_t> counts;
  for (const ResolvedLayer& layer : model->layers) ++counts[{layer.memory(), layer.kept_values}];
  std::string out;
  for (const auto& [kind, count] : counts) {
    out += fmt::format("{} layers of {} that keep {}, ", count, static_cast<int>(kind.first),
                       kind.second);
    if (kind.first == LayerMemory::kWindow) out += fmt::format("window {}, ", model->window);
  }
  return out;
}

std::string verdicts_of(const Checkpoint& checkpoint, std::vector<std::string> profiles) {
  const auto diagnosis = diagnose(checkpoint, {std::move(profiles), false, {}, nullptr});
  EXPECT_TRUE(diagnosis);
  std::string out;
  for (const Verdict& verdict : diagnosis->verdicts) {
    out += fmt::format("{} {} {}, ", verdict.profile, verdict.loads, verdict.sound);
  }
  return out;
}

// ---- two views of one model ---------------------------------------------------------------------

// llama.cpp computes full attention for these, whatever window config.json sets.
constexpr std::string_view kFullInLlamaCpp = " dots1 mistral3 phi3 phimoe pixtral starcoder2 ";
// The saved test models have other windows than their class. llama.cpp only has those of the class.
constexpr std::string_view kOtherWindows =
    " afmoe cohere2 embeddinggemma gemma3 gemma3-vl laguna llama4 ";

void expect_one_view(const TestModel& model, const JsonValue& config, const char* form) {
  const Checkpoint folder = with_config(model.folder, config);
  const auto planned = planned_gguf(model, folder);
  ASSERT_TRUE(planned) << model.name << form << planned.error().text();
  const Checkpoint& gguf = planned->plan.outputs[0].checkpoint;
  EXPECT_NE(layers_of(folder), "not known") << model.name << form;
  EXPECT_EQ(layers_of(folder), layers_of(gguf)) << model.name << form;
}

TEST(ResolvedModel, NamesTellTheTensorsOfTowers) {
  size_t seen = 0;
  for (const TestModel& model : test_models()) {
    const TowerTable* tower = tower_of(text_in(model.config, "model_type"), model.config);
    for (const Tensor& tensor : model.folder.tensors) {
      const bool is_known = tower != nullptr && find_tower_rule(*tower, tensor.name).has_value();
      if (!is_known) continue;
      EXPECT_TRUE(is_of_tower(tensor.name)) << model.name << " " << tensor.name;
      ++seen;
    }
    if (model.config.contains("vision_config") || model.config.contains("audio_config")) continue;
    const auto found = std::ranges::find_if(
        model.folder.tensors, [](const Tensor& tensor) { return is_of_tower(tensor.name); });
    EXPECT_TRUE(found == model.folder.tensors.end()) << model.name << " " << found->name;
  }
  EXPECT_GT(seen, 500u);
}

TEST(ResolvedModel, IsTheSameForAFolderAndItsGguf) {
  for (const TestModel& model : test_models()) {
    JsonValue config = model.config;
    JsonValue& text = text_level(config);
    if (has_word(kFullInLlamaCpp, model.name)) text["sliding_window"] = nullptr;
    if (!has_word(kOtherWindows, model.name)) expect_one_view(model, config, " as saved ");
    // Released configurations omit these fields, so the class fills them in.
    for (const char* field : {"sliding_window_pattern", "_sliding_window_pattern",
                              "attention_chunk_size", "full_attention_interval"}) {
      text.erase(field);
    }
    text.erase("layer_types");
    const bool needs_types = !planned_gguf(model, with_config(model.folder, config));
    if (!needs_types) expect_one_view(model, config, " as released ");
  }
}

TEST(ResolvedModel, IsNotGuessed) {
  for (const char* config :
       {"{}", "[]", "no JSON", R"({"num_hidden_layers": 2})",
        R"({"num_hidden_layers": 1, "num_key_value_heads": 2, "head_dim": 64,
             "layer_types": ["of the future"]})",
        R"({"num_hidden_layers": 3, "num_key_value_heads": 2, "head_dim": 64,
             "layer_types": ["full_attention"]})",
        R"({"num_hidden_layers": 1, "layer_types": ["linear_attention"]})",
        R"({"num_hidden_layers": 18446744073709551615, "num_key_value_heads": 2, "head_dim": 64})",
        R"({"num_hidden_layers": -1, "num_key_value_heads": 2, "head_dim": 64})",
        R"({"num_hidden_layers": "4", "num_key_value_heads": 2, "head_dim": 64})"}) {
    Checkpoint folder;
    folder.set_document("config.json", config);
    EXPECT_FALSE(resolve(folder)) << config;
  }
}

TEST(ResolvedModel, OfAnUnknownClassIsWhatItsFieldsSay) {
  Checkpoint folder;
  folder.set_document("config.json",
                      R"({"num_hidden_layers": 4, "num_attention_heads": 8, "head_dim": 64,
          "num_key_value_heads": 2, "sliding_window": 512, "max_position_embeddings": 4096,
          "layer_types": ["sliding_attention", "full_attention", "sliding_attention",
                          "sliding_attention"]})");
  EXPECT_EQ(layers_of(folder),
            "1 layers of 0 that keep 256, 3 layers of 1 that keep 256, window 512, ");
  EXPECT_EQ(resolve(folder)->max_context, 4096U);
}

// Gemma 2 and gpt-oss were released without layer_types, so their classes fill it in.
TEST(ResolvedModel, HasTheWindowsOfItsClass) {
  const std::vector<TestModel> models = test_models();
  for (const auto& [name, full, windows] :
       std::initializer_list<std::tuple<const char*, int, int>>{
           {"gemma2", 1, 2}, {"gemma3", 0, 3}, {"exaone4", 0, 2}, {"gpt-oss", 1, 1},
           {"olmo3", 1, 3}, {"cohere2", 0, 2}, {"llama4", 0, 2}}) {
    for (const TestModel& model : models) {
      if (model.name != name) continue;
      JsonValue config = model.config;
      for (const char* field : {"layer_types", "sliding_window_pattern"}) {
        text_level(config).erase(field);
      }
      const auto made = resolve(with_config(model.folder, config));
      ASSERT_TRUE(made) << name;
      const auto count = [&](LayerMemory memory) {
        return std::ranges::count(made->layers, memory, &ResolvedLayer::memory);
      };
      EXPECT_EQ(count(LayerMemory::kFull), full) << name;
      EXPECT_EQ(count(LayerMemory::kWindow), windows) << name;
    }
  }
}

// ---- defaults -----------------------------------------------------------------------------------

// A field of the text part whose value is the default of its class.
struct DefaultField {
  std::string name;
  bool is_key;  // false: the converter writes a key only if config.json has it
};

std::vector<DefaultField> default_fields(const TestModel& model) {
  JsonValue config = model.config;
  JsonValue& text = text_level(config);
  const Family* table = nullptr;
  for (const Family* family : families()) {
    const std::string name = model.config["architectures"][0].get<std::string>();
    const bool is_bare = has_word(family->traits.bare_types, text_in(text, "model_type"));
    if (has_word(family->architectures, name) && !is_bare && table == nullptr) table = family;
  }
  std::vector<DefaultField> out;
  const auto rows = table == nullptr ? std::span<const ClassDefault>() : table->defaults;
  for (const ClassDefault& row : rows) {
    const std::string field(row.field);
    const auto said = number(known(text, field));
    if (!said || row.compute != nullptr) continue;
    JsonValue without = text;
    without.erase(field);
    auto value = number_from<double>(row.value);
    if (!value) {
      const auto made = number_of_fields(*table, without, row.value);
      if (made) value = static_cast<double>(*made);
    }
    if (value == said) out.push_back({field, row.read_by != ReadBy::kShapes});
  }
  const JsonValue types = text.contains("layer_types") ? text["layer_types"] : JsonValue();
  text.erase("layer_types");
  const auto layers = table == nullptr ? Result<std::vector<ResolvedLayer>>(corrupt("no class"))
                                       : resolve_layers(*table, text, types.size());
  bool is_usual = layers && !layers->empty();
  for (size_t i = 0; is_usual && i < layers->size(); ++i) is_usual = types[i] == (*layers)[i].type;
  if (is_usual) out.push_back({"layer_types", true});
  return out;
}

std::string bytes_of(const TestModel& model, const Checkpoint& folder) {
  const auto planned = planned_gguf(model, folder);
  if (!planned) return planned.error().text();
  const auto digest = digest_of(planned->plan, "");
  return digest ? digest->sha256 : digest.error().text();
}

std::string answers_of(const Checkpoint& folder) {
  return layers_of(folder) + verdicts_of(folder, {"transformers-5", "llama.cpp"});
}

TEST(ResolvedModel, IsTheSameWithoutFieldsThatTheClassFillsIn) {
  size_t removed = 0;
  for (const TestModel& model : test_models()) {
    const std::string bytes = bytes_of(model, model.folder), answers = answers_of(model.folder);
    JsonValue without_keys = model.config, bare = model.config;
    for (const auto& [field, is_key] : default_fields(model)) {
      JsonValue config = model.config;
      for (JsonValue* each : {&config, &bare}) text_level(*each).erase(field);
      const Checkpoint folder = with_config(model.folder, config);
      EXPECT_EQ(answers_of(folder), answers) << model.name << ' ' << field;
      ++removed;
      if (!is_key) continue;
      text_level(without_keys).erase(field);
      EXPECT_EQ(bytes_of(model, folder), bytes) << model.name << ' ' << field;
    }
    EXPECT_EQ(answers_of(with_config(model.folder, bare)), answers) << model.name;
    EXPECT_EQ(bytes_of(model, with_config(model.folder, without_keys)), bytes) << model.name;
  }
  EXPECT_GT(removed, 60u);
}

// Ling 3.0: the last layer of each group has full attention, and so have the layers behind the last
// whole group; a layer for multi-token prediction does not begin a group.
TEST(ResolvedLayers, BehindTheLastWholeGroupAllAreFull) {
  const Family* table = table_of_model_type("bailing_moe_v3");
  ASSERT_NE(table, nullptr);
  const auto kinds = [&](uint64_t layers, uint64_t group, uint64_t drafts) {
    const JsonValue text = {{"num_hidden_layers", layers}, {"layer_group_size", group}};
    const auto found = resolve_layers(*table, text, layers + drafts);
    std::string out;
    if (!found) return found.error().text();
    for (const ResolvedLayer& layer : *found) out += layer.is_recurrent() ? 'L' : 'F';
    return out;
  };
  EXPECT_EQ(kinds(4, 2, 1), "LFLFF");
  EXPECT_EQ(kinds(5, 2, 1), "LFLFFF");
  EXPECT_EQ(kinds(7, 3, 0), "LLFLLFF");
}

}  // namespace
}  // namespace ckpt

// mixed-to-nvfp4: what stays bit for bit, what equals an export, what is refused.
#include "transforms/mixed_to_nvfp4.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>

#include "core/evaluate.h"
#include "core/execute.h"
#include "formats/formats.h"
#include "quantizers/quantizers.h"
#include "tests/support/files.h"
#include "transforms/transforms.h"

namespace ckpt {
namespace {

namespace fs = std::filesystem;

Result<Checkpoint> open(const fs::path& path) {
  CKPT_ASSIGN(const Format* format, recognise(path));
  return format->read(path, all_codecs());
}

Options options(std::initializer_list<std::pair<std::string, std::string>> pairs) {
  Options out;
  for (const auto& [key, value] : pairs) out.add(key, value);
  return out;
}

std::vector<std::string> notes;

Result<Checkpoint> run(std::string_view step, Checkpoint input, const Options& given) {
  notes.clear();
  return find_transform(step)->apply(std::move(input), given,
                                     Context{all_codecs(), nullptr, &notes, open});
}

// Written and read again, so that every tensor is Stored.
Checkpoint settle(Result<Checkpoint> made) {
  if (!made) ADD_FAILURE() << made.error().text();
  CKPT_CHECK(made.has_value());
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "out";
  auto layout = find_format("safetensors")->lay_out(*made, {.out_name = "out"}, all_codecs());
  CKPT_CHECK(layout.has_value());
  Plan plan;
  plan.outputs.push_back({out, std::move(*made), std::move(*layout)});
  const auto report = execute(plan, {});
  if (!report) ADD_FAILURE() << report.error().text();
  auto read = open(out);
  CKPT_CHECK(read.has_value());
  return std::move(*read);
}

Checkpoint converted(Checkpoint input, const Options& given = {}) {
  return settle(run("mixed-to-nvfp4", std::move(input), given));
}

Checkpoint exported(const std::string& model, const std::string& type) {
  const std::string amax = testdata("export/modelopt/" + model + "/nvfp4").string();
  return settle(
      run("export", *open(testdata(model)), options({{"type", type}, {"amax-from", amax}})));
}

bool in_attention(std::string_view name) { return name.find("_attn.") != name.npos; }

Tensor& tensor(Checkpoint& checkpoint, std::string_view name) {
  for (Tensor& each : checkpoint.tensors) {
    if (each.name == name) return each;
  }
  ADD_FAILURE() << name;
  std::abort();
}
const Tensor& tensor(const Checkpoint& checkpoint, std::string_view name) {
  return tensor(const_cast<Checkpoint&>(checkpoint), name);
}
float number(const Checkpoint& checkpoint, std::string_view name) {
  return read_values(tensor(checkpoint, name), 1)->at(0);
}
float tensor_scale(const Checkpoint& checkpoint, std::string_view name) {
  float out;
  std::memcpy(&out, part_bytes(tensor(checkpoint, name), 2).data(), sizeof out);
  return out;
}
std::vector<float> values(const Tensor& each) { return *read_values(each, uint64_t{1} << 24); }

void expect_same(const Checkpoint& a, const Checkpoint& b, std::string_view name) {
  const Tensor &left = tensor(a, name), &right = tensor(b, name);
  ASSERT_EQ(left.codec, right.codec) << name;
  for (size_t part = 0; part < left.codec->parts.size(); ++part) {
    EXPECT_EQ(part_bytes(left, part), part_bytes(right, part)) << name << " part " << part;
  }
}

// Layers for which `takes` holds from `other`, with a configuration that lists all.
Checkpoint mix(Checkpoint first, const Checkpoint& other,
               const std::function<bool(std::string_view)>& takes) {
  for (Tensor& each : first.tensors) {
    const Tensor* found = other.find_tensor(each.name);
    if (found != nullptr && takes(each.name)) each = *found;
  }
  nlohmann::ordered_json layers;
  for (const Tensor& each : first.tensors) {
    if (each.codec->parts.size() < 2) continue;
    auto& row = layers[each.name.substr(0, each.name.size() - 7)];
    const bool is_fp8 = each.codec->name.starts_with("fp8");
    row["quant_algo"] = is_fp8 ? "FP8" : "NVFP4";
    if (!is_fp8) row["group_size"] = 16;
  }
  nlohmann::ordered_json config;
  config["producer"] = {{"name", "modelopt"}, {"version", "0.47.0"}};
  config["quantization"]["quant_algo"] = "MIXED_PRECISION";
  config["quantization"]["kv_cache_quant_algo"] = nullptr;
  config["quantization"]["quantized_layers"] = layers;
  first.set_document("hf_quant_config.json", config.dump(4));
  return first;
}

Checkpoint mixed(const std::string& model) {
  return mix(exported(model, "nvfp4"), exported(model, "fp8"), in_attention);
}

void expect_error(const Result<Checkpoint>& made, ErrorCode code, std::string_view part) {
  ASSERT_FALSE(made.has_value()) << part;
  EXPECT_EQ(made.error().code, code) << made.error().text();
  EXPECT_NE(made.error().text().find(part), std::string::npos) << made.error().text();
}

// ---- FP8 and NVFP4 -----------------------------------------------------------------------------

TEST(MixedToNvfp4, LayersThatAreNvfp4StayBitForBit) {
  for (const char* model : {"qwen3-micro", "qwen35-micro"}) {
    const Checkpoint source = mixed(model);
    for (const Options& given :
         {Options(), options({{"base", testdata(model).string()}}), options({{"fp8", "bf16"}})}) {
      const Checkpoint made = converted(source, given);
      uint64_t compared = 0;
      for (const Tensor& each : source.tensors) {
        if (in_attention(each.name)) continue;
        expect_same(made, source, each.name);
        ++compared;
      }
      EXPECT_GT(compared, 20u);
    }
  }
}

TEST(MixedToNvfp4, FromTheBaseEqualsAnExportOfTheBase) {
  for (const std::string model : {"qwen3-micro", "qwen35-micro"}) {
    const Checkpoint expected = exported(model, "nvfp4");
    const Checkpoint made =
        converted(mixed(model), options({{"base", testdata(model).string()}, {"search", "none"}}));
    ASSERT_EQ(made.tensors.size(), expected.tensors.size());
    for (const Tensor& each : expected.tensors) {
      if (each.name.ends_with("input_scale")) {
        EXPECT_NEAR(number(made, each.name) / number(expected, each.name), 1, 1e-6) << each.name;
      } else {
        expect_same(made, expected, each.name);
      }
    }
    for (const char* path : {"hf_quant_config.json", "config.json"}) {
      EXPECT_EQ(*made.find_document(path)->content, *expected.find_document(path)->content) << path;
    }
  }
}

TEST(MixedToNvfp4, LayersJoinedByServersShareTheirScales) {
  const Checkpoint made = converted(mixed("qwen3-micro"));
  for (const char* layer : {"0", "1", "2"}) {
    const auto name = [&](const char* which, const char* what) {
      return fmt::format("model.layers.{}.self_attn.{}_proj.{}", layer, which, what);
    };
    for (const char* other : {"k", "v"}) {
      EXPECT_EQ(tensor_scale(made, name("q", "weight")), tensor_scale(made, name(other, "weight")));
      EXPECT_EQ(number(made, name("q", "input_scale")), number(made, name(other, "input_scale")));
    }
  }
}

TEST(MixedToNvfp4, Fp8StaysPlainAndIsExcluded) {
  const Checkpoint source = mixed("qwen3-micro"), base = *open(testdata("qwen3-micro"));
  const std::string folder = testdata("qwen3-micro").string();
  for (const char* word : {"bf16", "exclude"}) {
    const Checkpoint made = converted(source, options({{"fp8", word}, {"base", folder}}));
    expect_same(made, base, "model.layers.1.self_attn.q_proj.weight");
    EXPECT_EQ(made.find_tensor("model.layers.1.self_attn.q_proj.input_scale"), nullptr);
    const auto config =
        nlohmann::json::parse(*made.find_document("hf_quant_config.json")->content, nullptr, false);
    EXPECT_EQ(config["quantization"]["quant_algo"], "NVFP4");
    const auto excluded = config["quantization"]["exclude_modules"];
    EXPECT_NE(std::find(excluded.begin(), excluded.end(), "model.layers.1.self_attn*"),
              excluded.end());
    const auto flat =
        nlohmann::json::parse(*made.find_document("config.json")->content, nullptr, false);
    EXPECT_EQ(flat["quantization_config"]["ignore"], excluded);
    EXPECT_EQ(flat["quantization_config"]["quant_algo"], "NVFP4");
  }
  // Without the base the FP8 values themselves.
  const Checkpoint made = converted(source, options({{"fp8", "bf16"}}));
  const char* name = "model.layers.1.self_attn.q_proj.weight";
  const auto error = measure_error(tensor(made, name), tensor(source, name));
  ASSERT_TRUE(error.has_value());
  EXPECT_GT(error->sqnr_db(), 45);
}

// ---- groups of two kinds -----------------------------------------------------------------------

bool is_query(std::string_view name) { return name.find("q_proj.") != name.npos; }

TEST(MixedToNvfp4, AnFp8PartnerAdoptsTheScaleThatIsThere) {
  const Checkpoint source =
      mix(exported("qwen3-micro", "nvfp4"), exported("qwen3-micro", "fp8"), is_query);
  const Checkpoint made = converted(source);
  for (const char* which : {"k", "v"}) {
    expect_same(made, source, fmt::format("model.layers.0.self_attn.{}_proj.weight", which));
  }
  EXPECT_EQ(tensor_scale(made, "model.layers.0.self_attn.q_proj.weight"),
            tensor_scale(source, "model.layers.0.self_attn.k_proj.weight"));
}

// k and v with a weight_scale_2 that is too small for q: theirs doubles until it fits, and their
// values are the same as before.
TEST(MixedToNvfp4, AScaleThatIsTooSmallIsRaisedExactly) {
  Checkpoint source =
      mix(exported("qwen3-micro", "nvfp4"), exported("qwen3-micro", "fp8"), is_query);
  const std::string k = "model.layers.0.self_attn.k_proj.weight";
  const float before = tensor_scale(source, k), small = before / 8;
  for (const char* which : {"k", "v"}) {
    Tensor& weight = tensor(source, fmt::format("model.layers.0.self_attn.{}_proj.weight", which));
    std::vector<std::byte> bytes(sizeof small);
    std::memcpy(bytes.data(), &small, sizeof small);
    std::get<Stored>(weight.origin).parts[2] = {{make_blob("scale", bytes), 0, sizeof small}};
  }
  const Checkpoint made = converted(source);
  const float shared = tensor_scale(made, "model.layers.0.self_attn.q_proj.weight");
  EXPECT_EQ(tensor_scale(made, k), shared);
  EXPECT_GT(shared, small);
  EXPECT_EQ(std::exp2(std::round(std::log2(shared / small))), shared / small);
  EXPECT_EQ(values(tensor(made, k)), values(tensor(source, k)));
}

TEST(MixedToNvfp4, APlainLayerAmongNvfp4OnesJoinsThem) {
  const Checkpoint plain = *open(testdata("qwen3-micro"));
  Checkpoint source = mix(exported("qwen3-micro", "nvfp4"), plain, [](std::string_view name) {
    return name == "model.layers.0.mlp.up_proj.weight";
  });
  std::erase_if(source.tensors, [](const Tensor& each) {
    return each.name == "model.layers.0.mlp.up_proj.input_scale";
  });
  const Checkpoint made = converted(source);
  const char* up = "model.layers.0.mlp.up_proj.weight";
  EXPECT_EQ(tensor(made, up).codec->name, "nvfp4_modelopt");
  EXPECT_EQ(tensor_scale(made, up), tensor_scale(source, "model.layers.0.mlp.gate_proj.weight"));
  EXPECT_EQ(number(made, "model.layers.0.mlp.up_proj.input_scale"),
            number(source, "model.layers.0.mlp.gate_proj.input_scale"));
  // With FP8 left plain nothing changes there: it is quantised all the same.
  const Checkpoint other = converted(source, options({{"fp8", "bf16"}}));
  EXPECT_EQ(tensor(other, up).codec->name, "nvfp4_modelopt");
}

TEST(MixedToNvfp4, ExpertsOfALayerAreOneKind) {
  const auto takes = [](std::string_view name) {
    return name.find("layers.1.mlp.experts.3.") != name.npos;
  };
  const Checkpoint source =
      mix(exported("qwen35moe-micro", "nvfp4"), exported("qwen35moe-micro", "fp8"), takes);
  const Checkpoint made = converted(source);
  const std::string expert = "model.layers.1.mlp.experts.3.";
  EXPECT_EQ(tensor(made, expert + "up_proj.weight").codec->name, "nvfp4_modelopt");
  EXPECT_EQ(tensor_scale(made, expert + "up_proj.weight"),
            tensor_scale(made, expert + "gate_proj.weight"));
  EXPECT_EQ(number(made, expert + "up_proj.input_scale"),
            number(made, "model.layers.1.mlp.experts.0.gate_proj.input_scale"));
  expect_same(made, source, "model.layers.1.mlp.experts.2.up_proj.weight");
  const Checkpoint plain = converted(source, options({{"fp8", "bf16"}}));
  EXPECT_EQ(tensor(plain, "model.layers.1.mlp.experts.0.up_proj.weight").codec->name, "bf16");
  EXPECT_EQ(tensor(plain, "model.layers.2.mlp.experts.0.up_proj.weight").codec->name,
            "nvfp4_modelopt");
}

// ---- pre_quant_scale ---------------------------------------------------------------------------

Tensor column_scale(const std::string& module, const std::vector<float>& factors) {
  std::vector<std::byte> bytes(factors.size() * sizeof(float));
  std::memcpy(bytes.data(), factors.data(), bytes.size());
  return make_tensor(module + ".pre_quant_scale", {factors.size()},
                     *find_codec(all_codecs(), "f32"), std::move(bytes));
}

std::vector<float> powers_of_two(size_t count) {
  std::vector<float> out;
  for (size_t i = 0; i < count; ++i) out.push_back(std::exp2(static_cast<float>(i * 7 % 5) - 2));
  return out;
}

TEST(MixedToNvfp4, AScaleOfAllReadersGoesIntoTheNorm) {
  Checkpoint source = exported("qwen3-micro", "nvfp4");
  const std::vector<float> scale = powers_of_two(256);
  for (const char* which : {"q", "k", "v"}) {
    source.tensors.push_back(
        column_scale(fmt::format("model.layers.1.self_attn.{}_proj", which), scale));
  }
  const Checkpoint made = converted(source);
  for (const char* which : {"q", "k", "v"}) {
    const std::string module = fmt::format("model.layers.1.self_attn.{}_proj", which);
    expect_same(made, source, module + ".weight");
    expect_same(made, source, module + ".input_scale");
    EXPECT_EQ(made.find_tensor(module + ".pre_quant_scale"), nullptr);
  }
  const char* norm = "model.layers.1.input_layernorm.weight";
  const auto before = values(tensor(source, norm)), after = values(tensor(made, norm));
  for (size_t i = 0; i < 256; ++i) ASSERT_EQ(after[i], before[i] * scale[i]);
}

TEST(MixedToNvfp4, ANormThatAddsOneTakesItWithTheOne) {
  Checkpoint source = exported("qwen35-micro", "nvfp4");
  const std::vector<float> scale = powers_of_two(256);
  for (const char* which : {"in_proj_qkv", "in_proj_z"}) {
    source.tensors.push_back(
        column_scale(fmt::format("model.layers.1.linear_attn.{}", which), scale));
  }
  const Checkpoint made = converted(source);
  expect_same(made, source, "model.layers.1.linear_attn.in_proj_qkv.weight");
  const char* norm = "model.layers.1.input_layernorm.weight";
  const char* plain = "model.layers.1.linear_attn.in_proj_a.weight";
  const auto before = values(tensor(source, norm)), after = values(tensor(made, norm));
  const auto w = values(tensor(source, plain)), w_made = values(tensor(made, plain));
  for (size_t i = 0; i < 256; ++i) {
    ASSERT_NEAR(after[i], (1 + before[i]) * scale[i] - 1, 0.01 * scale[i]);
    ASSERT_EQ(w_made[i], w[i] / scale[i]);
  }
}

TEST(MixedToNvfp4, AScaleOfTheLastLayerOfAnMlpGoesIntoRows) {
  Checkpoint source = exported("qwen3-micro", "nvfp4");
  const std::vector<float> scale = powers_of_two(512);
  source.tensors.push_back(column_scale("model.layers.2.mlp.down_proj", scale));
  const Checkpoint made = converted(source);
  expect_same(made, source, "model.layers.2.mlp.down_proj.weight");
  expect_same(made, source, "model.layers.2.mlp.down_proj.input_scale");
  const char *up = "model.layers.2.mlp.up_proj.weight",
             *gate = "model.layers.2.mlp.gate_proj.weight";
  const auto before = values(tensor(source, up)), after = values(tensor(made, up));
  for (size_t i = 0; i < before.size(); ++i) {
    ASSERT_EQ(after[i], before[i] * scale[i / 256]) << i;  // powers of two: exact
  }
  EXPECT_EQ(values(tensor(made, gate)), values(tensor(source, gate)));
  EXPECT_EQ(tensor_scale(made, up), tensor_scale(made, gate));
  EXPECT_EQ(part_bytes(tensor(made, up), 0), part_bytes(tensor(source, up), 0));
}

// Heads that share a value head differ: what they have in common goes to v, the rest is encoded.
TEST(MixedToNvfp4, GroupedHeadsShareWhatTheyCan) {
  Checkpoint source = exported("qwen3-micro", "nvfp4");
  std::vector<float> scale(256);
  for (size_t i = 0; i < 256; ++i) {
    scale[i] = std::exp2(std::sin(static_cast<float>(i % 64)) * 3) * (i / 64 % 2 == 0 ? 1 : 1.25f);
  }
  const std::string module = "model.layers.0.self_attn.o_proj";
  source.tensors.push_back(column_scale(module, scale));
  const Checkpoint made = converted(source);
  EXPECT_EQ(made.find_tensor(module + ".pre_quant_scale"), nullptr);
  EXPECT_NE(notes[0].find("1 quantised anew"), std::string::npos) << notes[0];
  // o v before and after: the product over a value head's columns.
  const auto o = values(tensor(source, module + ".weight"));
  const auto o_made = values(tensor(made, module + ".weight"));
  const auto v = values(tensor(source, "model.layers.0.self_attn.v_proj.weight"));
  const auto v_made = values(tensor(made, "model.layers.0.self_attn.v_proj.weight"));
  double noise = 0, signal = 0;
  for (size_t row = 0; row < 256; row += 5) {
    for (size_t j = 0; j < 256; ++j) {
      const size_t value_row = j / 128 * 64 + j % 64;
      for (size_t column = 0; column < 256; column += 17) {
        const double expected = double{o[row * 256 + j]} * scale[j] * v[value_row * 256 + column];
        const double found = double{o_made[row * 256 + j]} * v_made[value_row * 256 + column];
        signal += expected * expected;
        noise += (found - expected) * (found - expected);
      }
    }
  }
  EXPECT_GT(10 * std::log10(signal / noise), 16);
}

TEST(MixedToNvfp4, AScaleOfWholeBlocksGoesIntoBlockScales) {
  Checkpoint source = exported("qwen35moe-micro", "nvfp4");
  nlohmann::ordered_json config =
      nlohmann::ordered_json::parse(*source.find_document("config.json")->content, nullptr, false);
  config["model_type"] = "somebody_elses";
  source.set_document("config.json", config.dump(4));
  const std::string module = "model.layers.3.self_attn.o_proj";
  const size_t columns = tensor(source, module + ".weight").row_values();
  std::vector<float> scale(columns);
  for (size_t i = 0; i < columns; ++i) scale[i] = i / 16 % 2 == 0 ? 0.5f : 2;
  source.tensors.push_back(column_scale(module, scale));
  const Checkpoint made = converted(source);
  const auto before = values(tensor(source, module + ".weight"));
  const auto after = values(tensor(made, module + ".weight"));
  for (size_t i = 0; i < before.size(); ++i) ASSERT_EQ(after[i], before[i] * scale[i % columns]);
  EXPECT_EQ(number(made, module + ".input_scale"), number(source, module + ".input_scale") * 2);
}

// ---- refusals ----------------------------------------------------------------------------------

Result<Checkpoint> refused(Checkpoint source, const Options& given = {}) {
  return run("mixed-to-nvfp4", std::move(source), given);
}

void replace_text(Checkpoint& checkpoint, std::string_view from, std::string_view to) {
  std::string text = *checkpoint.find_document("hf_quant_config.json")->content;
  const size_t at = text.find(from);
  ASSERT_NE(at, text.npos) << from;
  text.replace(at, from.size(), to);
  checkpoint.set_document("hf_quant_config.json", text);
}

TEST(MixedToNvfp4, RefusesWhatContradictsItself) {
  const Checkpoint source = mixed("qwen3-micro");
  Checkpoint bad = source;
  replace_text(bad, R"("FP8")", R"("INT3_NEW")");
  expect_error(refused(bad), ErrorCode::kUnsupported, "INT3_NEW");

  bad = source;
  replace_text(bad, "model.layers.0.self_attn.q_proj", "model.layers.9.self_attn.q_proj");
  expect_error(refused(bad), ErrorCode::kCorrupt, "model.layers.9.self_attn.q_proj");

  bad = source;
  std::erase_if(bad.tensors, [](const Tensor& each) {
    return each.name.starts_with("model.layers.1.mlp.up_proj.");
  });
  replace_text(bad, "model.layers.1.mlp.up_proj", "model.layers.1.mlp.gate_proj");
  expect_error(refused(bad), ErrorCode::kCorrupt, "'model.layers.1.mlp.up_proj'");

  bad = source;
  bad.tensors.push_back(column_scale("model.layers.0.mlp.down_proj", powers_of_two(16)));
  expect_error(refused(bad), ErrorCode::kCorrupt, "its weight has 512 columns");

  bad = source;
  std::vector<float> scale = powers_of_two(512);
  scale[7] = 0;
  bad.tensors.push_back(column_scale("model.layers.0.mlp.down_proj", scale));
  expect_error(refused(bad), ErrorCode::kCorrupt, "value 7 is 0");

  // Block scales of another shape: the reader leaves the parts apart.
  bad = source;
  Tensor& weight = tensor(bad, "model.layers.0.mlp.down_proj.weight");
  weight = make_tensor(weight.name, {256, 256}, *find_codec(all_codecs(), "u8"),
                       std::vector<std::byte>(256 * 256));
  expect_error(refused(bad), ErrorCode::kCorrupt, "model.layers.0.mlp.down_proj.weight");

  bad = source;
  std::erase_if(bad.documents, [](const Document&) { return true; });
  expect_error(refused(bad), ErrorCode::kUnsupported, "hf_quant_config.json");
}

TEST(MixedToNvfp4, RefusesOptionsAndBases) {
  const Checkpoint source = mixed("qwen3-micro");
  expect_error(refused(source, options({{"fp8", "int8"}})), ErrorCode::kUsage, "int8");
  expect_error(refused(source, options({{"search", "hard"}})), ErrorCode::kUsage, "hard");
  expect_error(refused(source, options({{"fail-below", "x"}})), ErrorCode::kUsage, "fail-below");
  expect_error(refused(source, options({{"base", "nowhere"}})), ErrorCode::kUsage, "nowhere");
  expect_error(refused(source, options({{"fail-below", "60"}})), ErrorCode::kUnsupported, "60 dB");
  // Another model's weights are no base, and are noticed layer by layer.
  const Checkpoint made =
      settle(refused(source, options({{"base", testdata("llama-micro").string()}})));
  EXPECT_TRUE(std::any_of(notes.begin(), notes.end(), [](const std::string& note) {
    return note.find("have other weights there") != note.npos ||
           note.find("not there in this shape") != note.npos;
  })) << testing::PrintToString(notes);
  EXPECT_EQ(made.tensors.size(), exported("qwen3-micro", "nvfp4").tensors.size());
}

TEST(MixedToNvfp4, RefusesWhatAStepBeforeEncodes) {
  const std::string amax = testdata("export/modelopt/qwen3-micro/nvfp4").string();
  auto made = run("export", *open(testdata("qwen3-micro")),
                  options({{"type", "fp8"}, {"amax-from", amax}}));
  ASSERT_TRUE(made.has_value());
  expect_error(refused(std::move(*made)), ErrorCode::kUnsupported, "encoded by a step before");
}

TEST(MixedToNvfp4, PlainNvfp4StaysAsItIs) {
  const Checkpoint source = exported("qwen3-micro", "nvfp4");
  const auto made = refused(source);
  ASSERT_TRUE(made.has_value());
  for (const Tensor& each : source.tensors) expect_same(*made, source, each.name);
  EXPECT_EQ(*made->find_document("config.json")->content,
            *source.find_document("config.json")->content);
}

}  // namespace
}  // namespace ckpt

// Writes a Hugging Face folder of any size with the names and shapes of Qwen3.5 dense and random
// BF16 weights: for throughput, not for meaning.
//
//   make_checkpoint OUT --from testdata/qwen35-micro [--layers 4 --hidden 4096 --inter 12288
//                       --vocab 248320 --shard-gb 5 --qat]
//
// --qat adds what ModelOpt's quantizers leave in a checkpoint of quantization-aware training: one
// maximum of its weight and one of its input for each layer that would be NVFP4.
//
// With the defaults: 5.8 GB, 2.9 G weights. Values are Student-t (4 degrees of freedom) times 0.02,
// drawn once as 8 Mi values and laid out at shifting offsets. The tokenizer is the small model's.
#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

struct Shape {
  uint64_t layers = 4, hidden = 4096, inter = 12288, vocab = 248320;
  uint64_t heads = 16, kv_heads = 4, head = 256;
  uint64_t key_heads = 16, value_heads = 32, linear_head = 128;
};

struct Entry {
  std::string name;
  std::vector<uint64_t> shape;
  uint16_t value = 0;  // of a scalar, as BF16
  uint64_t values() const {
    uint64_t out = 1;
    for (const uint64_t n : shape) out *= n;
    return out;
  }
};

void add_layer(const Shape& s, uint64_t layer, std::vector<Entry>& out) {
  const std::string at = "model.layers." + std::to_string(layer) + ".";
  const auto add = [&](const char* name, std::vector<uint64_t> shape) {
    out.push_back({at + name, std::move(shape), 0});
  };
  add("input_layernorm.weight", {s.hidden});
  add("post_attention_layernorm.weight", {s.hidden});
  add("mlp.gate_proj.weight", {s.inter, s.hidden});
  add("mlp.up_proj.weight", {s.inter, s.hidden});
  add("mlp.down_proj.weight", {s.hidden, s.inter});
  if (layer % 4 == 3) {
    add("self_attn.q_proj.weight", {2 * s.heads * s.head, s.hidden});
    add("self_attn.k_proj.weight", {s.kv_heads * s.head, s.hidden});
    add("self_attn.v_proj.weight", {s.kv_heads * s.head, s.hidden});
    add("self_attn.o_proj.weight", {s.hidden, s.heads * s.head});
    add("self_attn.q_norm.weight", {s.head});
    add("self_attn.k_norm.weight", {s.head});
    return;
  }
  const uint64_t values = s.value_heads * s.linear_head;
  const uint64_t channels = 2 * s.key_heads * s.linear_head + values;
  add("linear_attn.A_log", {s.value_heads});
  add("linear_attn.dt_bias", {s.value_heads});
  add("linear_attn.conv1d.weight", {channels, 1, 4});
  add("linear_attn.in_proj_qkv.weight", {channels, s.hidden});
  add("linear_attn.in_proj_z.weight", {values, s.hidden});
  add("linear_attn.in_proj_a.weight", {s.value_heads, s.hidden});
  add("linear_attn.in_proj_b.weight", {s.value_heads, s.hidden});
  add("linear_attn.norm.weight", {s.linear_head});
  add("linear_attn.out_proj.weight", {s.hidden, values});
}

constexpr uint16_t kInputAmax = 0x4150;   // 13
constexpr uint16_t kWeightAmax = 0x3F40;  // 0.75: some of the values lie beyond it

// Maxima behind the weights that they belong to, as a state_dict has them.
std::vector<Entry> with_maxima(const std::vector<Entry>& entries) {
  constexpr std::string_view kWeight = ".weight";
  std::vector<Entry> out;
  for (const Entry& entry : entries) {
    const std::string_view name = entry.name;
    out.push_back(entry);
    const bool is_layer = name.find("_proj") != std::string_view::npos && entry.shape.size() == 2 &&
                          name.find("in_proj_a.") == std::string_view::npos &&
                          name.find("in_proj_b.") == std::string_view::npos;
    if (!is_layer) continue;
    const std::string module(name.substr(0, name.size() - kWeight.size()));
    out.push_back({module + ".input_quantizer._amax", {}, kInputAmax});
    out.push_back({module + ".weight_quantizer._amax", {}, kWeightAmax});
  }
  return out;
}

std::vector<uint16_t> random_values() {
  std::mt19937_64 engine(1);
  std::student_t_distribution<float> draw(4.0f);
  std::vector<uint16_t> out(size_t{8} << 20);
  for (uint16_t& value : out) {
    const float x = 0.02f * draw(engine);
    uint32_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    value = static_cast<uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
  }
  return out;
}

void write_shard(const fs::path& path, const std::vector<Entry>& entries,
                 const std::vector<uint16_t>& values) {
  Json header = {{"__metadata__", {{"format", "pt"}}}};
  uint64_t at = 0;
  for (const Entry& entry : entries) {
    const uint64_t end = at + 2 * entry.values();
    header[entry.name] = {{"dtype", "BF16"}, {"shape", entry.shape}, {"data_offsets", {at, end}}};
    at = end;
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  const uint64_t size = text.size();
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(&size), 8);
  out << text;
  uint64_t shift = 0;
  for (const Entry& entry : entries) {
    if (entry.value != 0) {
      out.write(reinterpret_cast<const char*>(&entry.value), sizeof entry.value);
      continue;
    }
    for (uint64_t left = entry.values(); left > 0;) {
      const uint64_t here = std::min<uint64_t>(left, values.size() - 4096);
      shift = (shift + 257) % 4096;
      out.write(reinterpret_cast<const char*>(values.data() + shift),
                static_cast<std::streamsize>(2 * here));
      left -= here;
    }
  }
}

void write_config(const fs::path& from, const fs::path& to, const Shape& s) {
  std::ifstream in(from / "config.json");
  Json config = Json::parse(in);
  config["hidden_size"] = s.hidden;
  config["intermediate_size"] = s.inter;
  config["num_hidden_layers"] = s.layers;
  config["vocab_size"] = s.vocab;
  config["num_attention_heads"] = s.heads;
  config["num_key_value_heads"] = s.kv_heads;
  config["head_dim"] = s.head;
  config["linear_num_key_heads"] = s.key_heads;
  config["linear_num_value_heads"] = s.value_heads;
  config["linear_key_head_dim"] = config["linear_value_head_dim"] = s.linear_head;
  config["layer_types"] = Json::array();
  for (uint64_t i = 0; i < s.layers; ++i) {
    config["layer_types"].push_back(i % 4 == 3 ? "full_attention" : "linear_attention");
  }
  config["rope_parameters"]["mrope_section"] = {11, 11, 10};
  std::ofstream(to / "config.json") << config.dump(2) << "\n";
  for (const char* name : {"tokenizer.json", "tokenizer_config.json", "chat_template.jinja",
                           "generation_config.json"}) {
    fs::copy_file(from / name, to / name, fs::copy_options::overwrite_existing);
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"writes a large checkpoint of random weights"};
  std::string out, from;
  Shape shape;
  double shard_gb = 5;
  bool qat = false;
  app.add_option("OUT", out)->required();
  app.add_option("--from", from, "a small Qwen3.5 folder")->required();
  app.add_option("--layers", shape.layers);
  app.add_option("--hidden", shape.hidden);
  app.add_option("--inter", shape.inter);
  app.add_option("--vocab", shape.vocab);
  app.add_option("--shard-gb", shard_gb);
  app.add_flag("--qat", qat, "maxima as quantization-aware training leaves them");
  CLI11_PARSE(app, argc, argv);
  fs::create_directories(out);

  std::vector<Entry> entries = {{"model.embed_tokens.weight", {shape.vocab, shape.hidden}, 0},
                                {"lm_head.weight", {shape.vocab, shape.hidden}, 0},
                                {"model.norm.weight", {shape.hidden}, 0}};
  for (uint64_t i = 0; i < shape.layers; ++i) add_layer(shape, i, entries);
  if (qat) entries = with_maxima(entries);
  std::vector<std::vector<Entry>> shards(1);
  uint64_t total = 0, in_shard = 0;
  for (Entry& entry : entries) {
    const uint64_t bytes = 2 * entry.values();
    if (in_shard > 0 && static_cast<double>(in_shard + bytes) > shard_gb * 1e9) {
      shards.emplace_back();
      in_shard = 0;
    }
    in_shard += bytes;
    total += bytes;
    shards.back().push_back(std::move(entry));
  }
  const std::vector<uint16_t> values = random_values();
  Json index = {{"metadata", {{"total_size", total}}}, {"weight_map", Json::object()}};
  for (size_t i = 0; i < shards.size(); ++i) {
    char name[64];
    std::snprintf(name, sizeof name, "model-%05zu-of-%05zu.safetensors", i + 1, shards.size());
    const std::string file = shards.size() == 1 ? "model.safetensors" : name;
    for (const Entry& entry : shards[i]) index["weight_map"][entry.name] = file;
    write_shard(fs::path(out) / file, shards[i], values);
  }
  if (shards.size() > 1) {
    std::ofstream(fs::path(out) / "model.safetensors.index.json") << index.dump(2) << "\n";
  }
  write_config(from, out, shape);
  std::cout << static_cast<double>(total) / 1e9 << " GB in " << shards.size() << " shard(s)\n";
  return 0;
}

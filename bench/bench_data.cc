#include "bench/bench_data.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "core/model/float_convert.h"

namespace ckpt {
namespace {

Result<std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), {});
  if (!file) return fail(ErrorCode::kIo, "{} cannot be read", path);
  return bytes;
}

void append_bf16(const std::string& bytes, uint64_t begin, uint64_t end, std::vector<float>& out) {
  for (uint64_t at = begin; at + 2 <= end && at + 2 <= bytes.size(); at += 2) {
    uint16_t code = 0;
    std::memcpy(&code, bytes.data() + at, sizeof(code));
    out.push_back(float_from_bf16(code));
  }
}

}  // namespace

Result<std::vector<float>> weights_of(const std::string& safetensors_path, size_t count) {
  CKPT_ASSIGN(const auto bytes, read_file(safetensors_path));
  uint64_t header_bytes = 0;
  if (bytes.size() < 8) return corrupt("{} is too short", safetensors_path);
  std::memcpy(&header_bytes, bytes.data(), 8);
  if (header_bytes > bytes.size() - 8) return corrupt("header leaves the file");
  const auto header =
      nlohmann::json::parse(bytes.data() + 8, bytes.data() + 8 + header_bytes, nullptr, false);
  if (!header.is_object()) return corrupt("{}: no header", safetensors_path);
  std::vector<float> found;
  for (const auto& [name, tensor] : header.items()) {
    if (tensor.value("dtype", "") != "BF16" || tensor["shape"].size() != 2) continue;
    const uint64_t begin = tensor["data_offsets"][0];
    const uint64_t end = tensor["data_offsets"][1];
    append_bf16(bytes, 8 + header_bytes + begin, 8 + header_bytes + end, found);
  }
  if (found.empty()) return unsupported("{}: no BF16 matrix", safetensors_path);
  std::vector<float> out(count);
  for (size_t i = 0; i < count; ++i) out[i] = found[i % found.size()];
  return out;
}

Result<std::vector<float>> made_weights(std::string_view kind, size_t count) {
  constexpr std::string_view kKinds[] = {"normal", "zero", "one_inf", "tiny", "all_tiny"};
  if (std::find(std::begin(kKinds), std::end(kKinds), kind) == std::end(kKinds)) {
    return misuse("'{}' is not a kind of weights; see bench/bench_data.h", kind);
  }
  std::mt19937 bits(1);
  std::normal_distribution<float> normal(0, 0.02f);
  std::vector<float> out(count);
  if (kind == "zero") return out;
  for (size_t i = 0; i < count; ++i) {
    out[i] = float_from_bf16(bf16_from_float(normal(bits)));
    const bool is_tiny = kind == "all_tiny" || (kind == "tiny" && i / 256 % 16 == 7);
    if (is_tiny) out[i] *= 0x1p-125f;
    if (kind == "one_inf" && i % 4096 == 1000) out[i] = std::numeric_limits<float>::infinity();
  }
  return out;
}

}  // namespace ckpt

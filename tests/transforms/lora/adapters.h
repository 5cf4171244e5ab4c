// Shared by tests of the step lora: adapters that PEFT merged, and adapters made by a test.
#pragma once

#include <map>
#include <sstream>

#include "core/base/sha256.h"
#include "tests/transforms/run_step.h"

namespace ckpt::lora_test {

namespace fs = std::filesystem;

inline fs::path adapter_of(const std::string& name) { return testdata("lora/" + name); }

inline std::string hash_of(const Tensor& tensor) { return sha256_of(part_bytes(tensor)); }

// SHA-256 of the tensors that PEFT's merge changes.
inline std::map<std::string, std::string> merged_hashes(const std::string& name) {
  std::istringstream lines(read_file(adapter_of(name) / "merged.sha256"));
  std::map<std::string, std::string> out;
  for (std::string hash, tensor; lines >> hash;) {
    if (hash != "[bf16]" && lines >> tensor) out[tensor] = hash;
  }
  EXPECT_FALSE(out.empty());
  return out;
}

inline Checkpoint merged(const std::string& base, const fs::path& adapter) {
  return step_test::settle(step_test::run("lora", step_test::open(testdata(base)).value(),
                                          step_test::options({{"from", adapter.string()}})));
}

// Tensors that `expected` names have its hashes, and all others the bytes of the base.
inline void expect_hashes(const std::string& base, const fs::path& adapter,
                          const std::map<std::string, std::string>& expected) {
  const Checkpoint before = step_test::open(testdata(base)).value();
  const Checkpoint after = merged(base, adapter);
  ASSERT_EQ(after.tensors.size(), before.tensors.size());
  size_t found_names = 0;
  for (const Tensor& each : after.tensors) {
    const auto found = expected.find(each.name);
    if (found != expected.end()) ++found_names;
    EXPECT_EQ(hash_of(each), found != expected.end()
                                 ? found->second
                                 : hash_of(step_test::tensor(before, each.name)))
        << each.name;
  }
  EXPECT_EQ(found_names, expected.size());
}

inline void expect_merged(const std::string& base, const fs::path& adapter,
                          const std::string& hashes) {
  expect_hashes(base, adapter, merged_hashes(hashes));
}

// ---- adapters made by a test --------------------------------------------------------------------

struct TestTensor {
  std::string name;
  std::vector<uint64_t> shape;
};

// Small multiples of 1/64, other ones for each tensor.
inline float made_value(size_t tensor, size_t at) {
  return static_cast<float>(static_cast<int>((at * 7 + tensor * 5) % 23) - 11) / 64;
}

struct RawTensor {
  std::string name, dtype;
  std::vector<uint64_t> shape;
  std::string bytes;
};

inline void write_safetensors(const fs::path& path, const std::vector<RawTensor>& tensors) {
  std::string header = "{", data;
  for (const RawTensor& each : tensors) {
    header += fmt::format("{}\"{}\":{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}}",
                          data.empty() && header.size() == 1 ? "" : ",", each.name, each.dtype,
                          fmt::join(each.shape, ","), data.size(), data.size() + each.bytes.size());
    data += each.bytes;
  }
  header += "}";
  const uint64_t size = header.size();
  write_file(path, std::string(reinterpret_cast<const char*>(&size), 8) + header + data);
}

inline void write_pieces(const fs::path& path, const std::vector<TestTensor>& pieces) {
  std::vector<RawTensor> tensors;
  for (size_t i = 0; i < pieces.size(); ++i) {
    RawTensor& made = tensors.emplace_back(RawTensor{pieces[i].name, "F32", pieces[i].shape, {}});
    uint64_t count = 1;
    for (const uint64_t axis : pieces[i].shape) count *= axis;
    for (size_t k = 0; k < count; ++k) {
      const float value = made_value(i, k);
      made.bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
  }
  write_safetensors(path, tensors);
}

inline void write_adapter(const fs::path& folder, const std::vector<TestTensor>& pieces,
                          const std::string& config) {
  fs::create_directories(folder);
  write_pieces(folder / "adapter_model.safetensors", pieces);
  write_file(folder / "adapter_config.json", config);
}

}  // namespace ckpt::lora_test

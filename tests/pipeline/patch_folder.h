// Shared by tests of patches: a small sharded checkpoint, patches of it, and checks of what
// they left in the folder.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/patch/patch.h"
#include "formats/formats.h"
#include "plan/conversion/patching.h"
#include "quantizers/quantizers.h"
#include "tests/support/files.h"

namespace ckpt::patch_test {

namespace fs = std::filesystem;

inline const std::string kShard1 = "model-00001-of-00002.safetensors";
inline const std::string kShard2 = "model-00002-of-00002.safetensors";
inline const std::string kIndex = "model.safetensors.index.json";

inline std::string safetensors(const std::string& metadata,
                               const std::vector<std::pair<std::string, uint8_t>>& tensors,
                               size_t spaces = 0) {
  std::string json = "{\"__metadata__\":{" + metadata + "}";
  std::string data;
  for (const auto& [name, fill] : tensors) {
    const size_t begin = data.size();
    data.append(64, static_cast<char>(fill));
    json += fmt::format(",\"{}\":{{\"dtype\":\"BF16\",\"shape\":[4,8],\"data_offsets\":[{},{}]}}",
                        name, begin, data.size());
  }
  json += '}';
  json.resize((json.size() + 7) / 8 * 8 + spaces, ' ');
  const uint64_t length = json.size();
  std::string out(sizeof length, '\0');
  std::memcpy(out.data(), &length, sizeof length);
  return out + json + data;
}

inline void make_checkpoint(const fs::path& folder, size_t spaces = 0) {
  fs::create_directories(folder);
  const std::string format = "\"format\":\"pt\"";
  write_file(folder / "model-00001-of-00002.safetensors",
             safetensors(format, {{"model.b.weight", 1}, {"model.a.weight", 2}}, spaces));
  write_file(folder / "model-00002-of-00002.safetensors",
             safetensors(format, {{"lm_head.weight", 3}}, spaces));
  write_file(folder / "model.safetensors.index.json",
             "{\"metadata\":{\"total_size\":192},\"weight_map\":{"
             "\"model.a.weight\":\"model-00001-of-00002.safetensors\","
             "\"model.b.weight\":\"model-00001-of-00002.safetensors\","
             "\"lm_head.weight\":\"model-00002-of-00002.safetensors\"}}");
  write_file(folder / "config.json", "{\n    \"eps\": 1e-06,\n    \"layers\": 2\n}\n");
  write_file(folder / "notes.txt", "not ours");
  std::string sums;
  for (const char* name :
       {"config.json", "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors",
        "model.safetensors.index.json", "notes.txt"}) {
    sums += std::string(64, '0') + "  " + name + "\n";
  }
  write_file(folder / "SHA256SUMS", sums);
}

// Content of every file, targets of links, by relative path.
inline std::map<std::string, std::string> snapshot(const fs::path& folder) {
  std::map<std::string, std::string> out;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string name = entry.path().lexically_relative(folder).string();
    if (entry.is_symlink()) {
      out[name] = "-> " + fs::read_symlink(entry.path()).string();
    } else {
      out[name] = entry.is_directory() ? "folder" : read_file(entry.path());
    }
  }
  return out;
}

// Identity of a file: the same before and after means that nobody wrote it.
struct Stamp {
  uint64_t inode = 0;
  int64_t seconds = 0, nanoseconds = 0;
  bool operator==(const Stamp&) const = default;
};
inline Stamp stamp(const fs::path& path) {
  struct stat status {};
  EXPECT_EQ(::lstat(path.c_str(), &status), 0) << path;
  return {status.st_ino, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
}

inline Result<PlannedPatch> plan(const fs::path& path, const std::vector<std::string>& steps,
                                 bool rewrite_weights = false) {
  PatchRequest patching;
  patching.path = path;
  patching.rewrite_weights = rewrite_weights;
  CKPT_ASSIGN(patching.steps, parse_steps(steps));
  return plan_patching(patching);
}

inline Status run_patch(const fs::path& path, const std::vector<std::string>& steps,
                        bool rewrite_weights = false, const StepHook& hook = {}) {
  CKPT_TRY(finish_earlier_patch(path, hook));
  CKPT_ASSIGN(const PlannedPatch planned, plan(path, steps, rewrite_weights));
  PatchOptions options;
  options.execute.threads = 1;
  options.hook = hook;
  CKPT_TRY(apply_patch(planned.patch, options));
  return {};
}

inline std::string error_of(const Status& status) {
  return status ? "no error" : status.error().text();
}

inline Checkpoint read(const fs::path& path) {
  const auto format = recognize(path);
  EXPECT_TRUE(format) << (format ? "" : format.error().text());
  auto checkpoint = (*format)->read(path, all_codecs(), {});
  EXPECT_TRUE(checkpoint) << (checkpoint ? "" : checkpoint.error().text());
  return std::move(*checkpoint);
}

// First byte of each tensor, by name.
inline std::map<std::string, int> fills(const fs::path& path) {
  std::map<std::string, int> out;
  for (const Tensor& tensor : read(path).tensors) {
    const Slice& slice = tensor.stored().parts[0][0];
    std::byte first{};
    EXPECT_TRUE(slice.source->read(slice.offset_bytes, std::span(&first, 1)));
    out[tensor.name] = static_cast<int>(first);
  }
  return out;
}

}  // namespace ckpt::patch_test

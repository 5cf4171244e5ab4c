// Ranges that are read twice and have no room in memory until then, in a file without a name: it
// is gone when the program ends, however it ends. For sources that are far away; a disk is read
// again as fast. Thread-safe.
#pragma once

#include <compare>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <span>

#include "core/base/result.h"
#include "core/io/bytes.h"
#include "core/io/descriptor.h"

namespace ckpt {

class DiskCache {
 public:
  // In `folder`, which exists. Fails: kIo where files cannot be written there.
  static Result<std::unique_ptr<DiskCache>> open(const std::filesystem::path& folder,
                                                 uint64_t capacity_bytes);

  // Keeps a range, if there is room for it and the disk takes it.
  void keep(const ByteSource& source, uint64_t offset_bytes, std::span<const std::byte> bytes);
  // Whether exactly this range was kept: then it fills `out`, and gives its room back.
  bool take(const ByteSource& source, uint64_t offset_bytes, std::span<std::byte> out);

 private:
  struct Key {
    const ByteSource* source;
    uint64_t offset_bytes, size_bytes;
    auto operator<=>(const Key&) const = default;
  };
  DiskCache(Descriptor file, uint64_t capacity_bytes)
      : file_(std::move(file)), capacity_bytes_(capacity_bytes) {}
  void release(uint64_t place, uint64_t size_bytes);

  const Descriptor file_;
  const uint64_t capacity_bytes_;
  std::mutex mutex_;
  std::map<Key, uint64_t> places_;  // in the file
  uint64_t used_bytes_ = 0;
  uint64_t end_ = 0;  // where the next range goes: freed ones are holes of the file
};

}  // namespace ckpt

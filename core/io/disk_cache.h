// Stores ranges that are read twice and do not fit in memory until then, in a file without a name,
// which disappears however the program ends. Only for remote sources, because a local disk is as
// fast as this cache. Thread-safe.
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
  // Creates the file in `folder`, which must exist. Fails: kIo if no file can be written there.
  static Result<std::unique_ptr<DiskCache>> open(const std::filesystem::path& folder,
                                                 uint64_t capacity_bytes);

  // Stores a range if there is room and the write succeeds.
  void keep(const ByteSource& source, uint64_t offset_bytes, std::span<const std::byte> bytes);
  // If exactly this range was stored, fills `out`, frees its room and returns true.
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
  std::map<Key, uint64_t> places_;  // offsets in the file
  uint64_t used_bytes_ = 0;
  uint64_t end_ = 0;  // end of the file; freed ranges become holes
};

}  // namespace ckpt

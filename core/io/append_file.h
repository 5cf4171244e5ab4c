// A file whose size is not known before: written from front to end, hashed on the way, and given
// its name when it is whole.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "core/base/result.h"
#include "core/base/sha256.h"

namespace ckpt {

class AppendFile {
 public:
  // Makes ".ckpt-NAME.partial" next to it, replacing a stale one. Fails: kUsage when `path` exists
  // and `force` is not set, or there is no folder to write into; kIo.
  static Result<AppendFile> create(const std::filesystem::path& path, bool force);
  AppendFile(AppendFile&& other) noexcept;
  AppendFile& operator=(AppendFile&&) = delete;
  ~AppendFile();  // removes the file unless it was published

  // Fails: kIo, naming the space that is left when the disk is full.
  Status add(std::span<const std::byte> bytes);
  uint64_t size_bytes() const { return size_bytes_; }
  // Syncs and renames. Returns the SHA-256, lower-case hex. Fails: kIo.
  Result<std::string> publish();

 private:
  AppendFile(std::filesystem::path path, int descriptor);
  std::filesystem::path temporary() const;

  std::filesystem::path path_;
  int descriptor_ = -1;
  bool is_published_ = false;
  uint64_t size_bytes_ = 0;
  Sha256 sha256_;
};

}  // namespace ckpt

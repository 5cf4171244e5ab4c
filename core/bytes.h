// Where bytes come from: files and blobs, read at any offset from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"

namespace ckpt {

// A run of bytes of known size. Thread-safe: read() may be called from many threads at once.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Fills `out` from `offset_bytes` on. Fails: kCorrupt when the range passes the end; kIo.
  virtual Status read(uint64_t offset_bytes, std::span<std::byte> out) const = 0;
  virtual uint64_t size_bytes() const = 0;
  // For error messages: the file's path, or what the blob is.
  virtual const std::string& name() const = 0;
  // The same bytes in memory, or empty when they are not in memory.
  virtual std::span<const std::byte> memory() const { return {}; }
};

using SharedSource = std::shared_ptr<const ByteSource>;

// Opens a regular file (links are followed) for reading. Fails: kIo; kUsage for a folder.
Result<SharedSource> open_file(const std::filesystem::path& path);

// Bytes made while planning: a header, a computed tensor.
SharedSource make_blob(std::string name, std::vector<std::byte> bytes);

// A run of bytes inside a source.
struct Slice {
  SharedSource source;
  uint64_t offset_bytes = 0;
  uint64_t size_bytes = 0;
};

// The whole of a source, as text. Fails: kUnsupported above `limit_bytes`; kIo.
Result<std::string> read_text(const ByteSource& source, uint64_t limit_bytes);

}  // namespace ckpt

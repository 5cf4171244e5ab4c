// Where bytes come from: files and blobs, read at any offset from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/io/buffers.h"
#include "core/io/descriptor.h"

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
  // Bytes [offset, offset + size) without a copy where that is possible: in the source's own
  // memory, or read into `scratch` at whatever alignment suits the device. Good until `scratch` is
  // used again. Fails as read() does.
  virtual Result<std::span<const std::byte>> fetch(uint64_t offset_bytes, uint64_t size_bytes,
                                                   AlignedBuffer& scratch) const;
  // Memory that read() takes beside `out` for so many bytes, about.
  virtual uint64_t scratch_bytes(uint64_t /*size_bytes*/) const { return 0; }
  // What the file is to the system, so that an output can be kept from being its own input.
  struct Identity {
    uint64_t device = 0, inode = 0;
    bool operator==(const Identity&) const = default;
  };
  virtual std::optional<Identity> identity() const { return std::nullopt; }
};

using SharedSource = std::shared_ptr<const ByteSource>;

// Opens a regular file (links are followed) for reading. Fails: kIo; kUsage for a folder.
Result<SharedSource> open_file(const std::filesystem::path& path);
// The same of a file that was opened at `path`.
Result<SharedSource> open_file(Descriptor descriptor, const std::filesystem::path& path);

// Bytes made while planning: a header, a computed tensor.
SharedSource make_blob(std::string name, std::vector<std::byte> bytes);

// A run of bytes inside a source.
struct Slice {
  SharedSource source;
  uint64_t offset_bytes = 0;
  uint64_t size_bytes = 0;
  bool operator==(const Slice&) const = default;
};

// The whole of a source, as text. Fails: kUnsupported above `limit_bytes`; kIo.
Result<std::string> read_text(const ByteSource& source, uint64_t limit_bytes);

}  // namespace ckpt

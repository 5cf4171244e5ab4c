// Sources of bytes: files and blobs, readable at any offset from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/io/buffers.h"
#include "core/io/descriptor.h"
#include "core/io/files_read.h"

namespace ckpt {

class ComputedSource;

// A source of known size. Thread-safe: many threads may call read() at the same time.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Fills `out` from `offset_bytes` on. Fails: kCorrupt if the range exceeds the source; kIo.
  virtual Status read(uint64_t offset_bytes, std::span<std::byte> out) const = 0;
  virtual uint64_t size_bytes() const = 0;
  // The name in error messages: the path of the file, or a description of the blob.
  virtual const std::string& name() const = 0;
  // The bytes in memory; empty if they are not in memory.
  virtual std::span<const std::byte> memory() const { return {}; }
  // Returns bytes [offset, offset + size), without a copy if possible: in the source's own memory,
  // or read into `scratch` with an alignment that suits the device. Valid until `scratch` is used
  // again. Fails as read() does.
  virtual Result<std::span<const std::byte>> fetch(uint64_t offset_bytes, uint64_t size_bytes,
                                                   AlignedBuffer& scratch) const;
  // Whether read() is as fast as fetch().
  virtual bool reads_in_place() const { return true; }
  // The approximate memory that read() needs in addition to `out` for this many bytes.
  virtual uint64_t scratch_bytes(uint64_t /*size_bytes*/) const { return 0; }
  // The state of the file when it was opened; nullptr for sources other than files.
  virtual const FileState* file_state() const { return nullptr; }
  // Returns this source if it computes bytes (core/computed/computed_source.h); nullptr if they are
  // stored.
  virtual const ComputedSource* computed() const { return nullptr; }

 protected:
  // Fails: kCorrupt if the range exceeds the source.
  Status check_range(uint64_t offset_bytes, uint64_t wanted_bytes) const;
};

using SharedSource = std::shared_ptr<const ByteSource>;

// kOwn marks a file that this program created and may write or remove before it ends;
// check_files_read() skips it.
enum class ReadAs : uint8_t { kInput, kOwn };
// Opens a regular file for reading, following links. Fails: kIo; kUsage for a folder.
Result<SharedSource> open_file(const std::filesystem::path& path, ReadAs what = ReadAs::kInput);
// Does the same with a descriptor that was opened at `path`.
Result<SharedSource> open_file(Descriptor descriptor, const std::filesystem::path& path,
                               ReadAs what = ReadAs::kInput);

// A source of bytes made while planning: a header, a computed tensor.
SharedSource make_blob(std::string name, std::vector<std::byte> bytes);

// A range of bytes in a source.
struct Slice {
  SharedSource source;
  uint64_t offset_bytes = 0;
  uint64_t size_bytes = 0;
  bool operator==(const Slice&) const = default;
};
// A slice with all bytes of `source`.
Slice entire(const SharedSource& source);

// Reads an entire source as text. Fails: kUnsupported above `limit_bytes`; kIo.
Result<std::string> read_text(const ByteSource& source, uint64_t limit_bytes);
// Does the same with the file at `path`, such as a key or a recipe. Fails also: as open_file().
Result<std::string> read_small(const std::filesystem::path& path, uint64_t limit_bytes);

}  // namespace ckpt

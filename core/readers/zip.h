// Reads the directory of a zip, and finds the bytes of uncompressed entries.
//
//   local header (30 + name + extra) | bytes | ... | central directory (46 + name + extra + comment
//   each) | [zip64 end | zip64 locator] | end of central directory (22 + comment)
//
// The local header determines where the bytes of an entry begin, because its extra field may have a
// different length from the directory's. Source: PKWARE APPNOTE.TXT 6.3.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/io/bytes.h"

namespace ckpt {

// An archive is a range of bytes: a file, or a part of one. Positions in it count from its start,
// while errors name positions in the file.
inline constexpr uint64_t kMaxZipDirectoryBytes = uint64_t{256} << 20;

struct ZipEntry {
  std::string name;
  uint64_t size_bytes = 0;
  uint64_t header_bytes = 0;  // position of its local header
  bool is_stored = true;      // neither compressed nor encrypted
  uint32_t sum = 0;           // CRC-32 of its bytes; 0: none was written
};

// Fails: kCorrupt: not a zip, truncated, an entry beyond the end; kUnsupported: a directory above
// kMaxZipDirectoryBytes; kIo.
Result<std::vector<ZipEntry>> read_zip_directory(const Slice& archive);
// Reads the entries at the start of an archive, by their local headers, up to the first with `last`
// in its name. It has `last_bytes` bytes; the others end where their data descriptor begins.
// Fails: kCorrupt: `start` does not contain them.
Result<std::vector<ZipEntry>> read_zip_start(std::span<const std::byte> start,
                                             std::string_view last, uint64_t last_bytes);
// Finds the bytes of `entry`. Fails: kUnsupported: not stored; kCorrupt: beyond the end; kIo.
Result<Slice> find_zip_entry(const Slice& archive, const ZipEntry& entry);
// Reads the bytes of `entry` and compares their CRC-32. Returns false if none was written. Fails:
// kCorrupt: it differs; kIo.
Result<bool> check_zip_sum(const Slice& bytes, const ZipEntry& entry);

}  // namespace ckpt

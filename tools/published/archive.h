// Writes archives from a folder, and reads archives into a sink (publish/archive.h).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/io/bytes.h"
#include "publish/publish.h"
#include "tools/say/console.h"

namespace ckpt {

struct ArchiveOptions {
  unsigned threads = 0;                // 0 = all cores
  uint64_t memory_bytes = 0;           // limit for frames being compressed
  bool force = false;                  // overwrite an existing file
  std::string_view doing = "reading";  // word for reading in the progress line
};

struct ArchiveWritten {
  std::string sha256;
  uint64_t size_bytes = 0;
  uint64_t tar_bytes = 0;  // before compression
};
// Writes `files` of `folder`, and their folders, to the archive `out`; equal files give equal
// bytes. Fails: kUsage; kIo, also when a file no longer has the given size and digest.
Result<ArchiveWritten> write_archive(const std::filesystem::path& folder,
                                     const std::vector<FileDigest>& files,
                                     const std::filesystem::path& out, const Console& console,
                                     const ArchiveOptions& options);

// The temporary name of an archive until it is complete.
std::filesystem::path archive_temporary(const std::filesystem::path& path);

// Whether the file begins with the magic number of zstd.
bool is_archive(const std::filesystem::path& path);

// Reads an archive, ours or a tar in any other zstd frames, and passes its members to `sink` in
// order. Memory is bounded whatever the archive declares. Fails: kCorrupt; kUnsupported; kIo; as
// the sink does.
Status read_archive(const ByteSource& source, TarSink& sink, const Console& console,
                    const ArchiveOptions& options);

}  // namespace ckpt

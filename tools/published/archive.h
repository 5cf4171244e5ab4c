// Archives on disk: written from a folder, read into whoever wants to know (publish/archive.h).
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
  uint64_t memory_bytes = 0;           // what frames in the making may take
  bool force = false;                  // replace what is there
  std::string_view doing = "reading";  // what the line of progress calls a reading
};

struct ArchiveWritten {
  std::string sha256;
  uint64_t size_bytes = 0;
  uint64_t tar_bytes = 0;  // before compression
};
// Writes `files` of `folder`, and their folders, to the archive `out`; equal files
// give equal bytes. Fails: kUsage; kIo, also when a file no longer has the size and the digest that
// are given.
Result<ArchiveWritten> write_archive(const std::filesystem::path& folder,
                                     const std::vector<FileDigest>& files,
                                     const std::filesystem::path& out, const Console& console,
                                     const ArchiveOptions& options);

// Where an archive is until it is complete.
std::filesystem::path archive_temporary(const std::filesystem::path& path);

// True when the file starts as zstd does.
bool is_archive(const std::filesystem::path& path);

// Reads all of an archive, ours or a tar in any other zstd frames, and tells `sink` in order. Takes
// bounded memory whatever the archive says. Fails: kCorrupt; kUnsupported; kIo; as the sink does.
Status read_archive(const ByteSource& source, TarSink& sink, const Console& console,
                    const ArchiveOptions& options);

}  // namespace ckpt

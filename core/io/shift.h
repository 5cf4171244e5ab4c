// Makes room at the start of a large file without copying it, if the file system can.
//
//   kClone   a new file shares the old file's blocks, from a later block on (btrfs, xfs, bcachefs);
//            the old file is unchanged until the new one gets its name
//   kInsert  blocks are inserted at the start of the file itself (ext4, xfs) by one system call,
//   which
//            a killed process cannot leave half done
//   kNone    neither; the bytes have to be copied
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "core/base/result.h"
#include "core/io/open_folder.h"

namespace ckpt {

enum class ShiftWay : uint8_t { kNone, kClone, kInsert };

struct ShiftAbility {
  ShiftWay way = ShiftWay::kNone;
  uint64_t block_bytes = 0;  // shifts are multiples of it; 0 with kNone
};

// Tests what the file system can with unnamed files in `folder`, which must exist. Leaves nothing
// behind and changes no time stamp.
ShiftAbility probe_shift(const std::filesystem::path& folder);

// A file below a folder that is held open.
struct FileBelow {
  const OpenFolder& folder;
  std::string name;
};

// Creates the file `to`: `shift_bytes` of room, then all of `from` in shared blocks; writes
// `header` at the start and syncs. Fails: kIo; `to` then does not exist.
Status clone_with_header(const std::filesystem::path& from, const FileBelow& to,
                         uint64_t shift_bytes, std::span<const std::byte> header);

// How an entire file gets a second name or is copied.
enum class LinkWay : uint8_t { kReflink, kHard, kCopy };
// Makes `to` the same file as `from` (kHard), or a synced new file with its bytes; kReflink copies
// if blocks cannot be shared. Follows links. Fails: kIo; kUsage for kHard across disks.
Status link_file(const std::filesystem::path& from, const FileBelow& to, LinkWay way);

// Adds `shift_bytes` of zeros at the start of a file: inserts them or, if the file system refuses,
// makes a copy at `spare` that takes the file's name. Atomic. Fails: kIo.
Status insert_in_front(const FileBelow& file, const std::string& spare, uint64_t shift_bytes);

// Reads all bytes of a regular file. Fails: kCorrupt above `limit_bytes`; kIo.
Result<std::string> read_whole(const FileBelow& file, uint64_t limit_bytes);

// Writes a new file with these bytes, or into the open file `shown`, and syncs it. Fails: kIo.
Status write_synced(const FileBelow& file, std::span<const std::byte> bytes);
Status write_synced(int descriptor, const std::filesystem::path& shown,
                    std::span<const std::byte> bytes);

// Overwrites the start of an existing file, never through a link, and syncs it. Fails: kIo.
Status overwrite_start(const FileBelow& file, std::span<const std::byte> bytes);

}  // namespace ckpt

// The ledger of a run: the finished bytes of its outputs, stored so that the next run can resume a
// killed one.
//
//   OUT.partial.ledger           of the run that makes OUT   (-I-of-N behind it: of a share)
//
//     ckpt-ledger 2              ╮
//     plan 5f3a...               │ the head: of which plan, from which files (size, time in ns,
//     command ckpt convert ...   │ inode, last change of the inode in ns, path)
//     folder /models             │ where the command was typed
//     input 4096 17... 12 17...  │
//     boot 0e6b...               │ which boot of which machine wrote what follows
//     = 9c1d2e3f4a5b6c7d         ╯ a batch ends with 64 bits of its SHA-256; a torn one counts for
//     file 0 1 77 17326...         nothing, nor what follows it
//     wrote 0 1 4096 8192        inode, birth of the partial file 1 of output 0, for what follows
//     scan 3 0 512 3f800000      8192 bytes of it; rows of a scan: their largest magnitude
//     = ...
//     hashed 0 1 4160 6a09e6...  SHA-256 of its first 4160 bytes, as far as it has come
//     synced                     what stands above has reached the disk
//     digest 0 1 71c4...         SHA-256 of a whole file, which has too
//     publish 0 0 1234           output 0 gets its first final name: inode of what gets it
//     complete                   a share has nothing left to do
//
// Bytes that a file gets last (FileWriter::hold_head) count as written before. Versions that write
// "ckpt-ledger 1" would never write them; they cannot read a 2, and this one does not read a 1.
//
// Lines that no "synced" follows are true after kill -9, because the system keeps written data, but
// may be false after a power cut. They count only for the boot that wrote them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/base/sha256.h"
#include "core/io/descriptor.h"
#include "core/resume/plan_digest.h"

namespace ckpt {

struct LedgerHead {
  std::string plan;     // PlanDigest::sha256
  std::string command;  // as typed; for messages
  std::vector<InputFile> inputs;
  std::string folder = {};  // where it was typed; empty if unknown
};

// The command of a ledger as it can be typed in this folder, or in any folder.
std::string command_from_here(const LedgerHead& head);
// The folder of this process; empty if it is unknown or a line of a ledger cannot hold it.
std::string command_folder();

struct LedgerEntry {
  enum class Kind : uint8_t { kFile, kWrote, kScan, kHashed, kDigest, kPublish, kComplete };
  Kind kind;
  // kFile: output, file, inode, birth in ns (0: not known). kWrote: output, file, first byte,
  // bytes. kScan: scan, first row, rows, bits of the magnitude. kHashed: output, file, bytes.
  // kDigest: output, file. kPublish: output, number of the name, inode.
  uint64_t numbers[4] = {};
  std::string sha256 = {};  // kDigest: lower-case hex; kHashed: Sha256State::text
};

struct LedgerContent {
  LedgerHead head;
  std::vector<LedgerEntry> entries;  // those that count
  uint64_t sound_bytes = 0;          // of whole batches
};

// Reads the bytes of a ledger. `boot`: the current one. Fails: kCorrupt if the first batch is
// incomplete or not a head.
Result<LedgerContent> parse_ledger(std::string_view bytes, std::string_view boot);

// Identifies this boot of this machine.
const std::string& boot_id();

// The file, locked against other programs as long as the object exists.
class Ledger {
 public:
  // Creates the file if it does not exist, with mode 0600. Fails: kUsage if another program holds
  // it, it belongs to another user or others may write to it; kIo.
  static Result<Ledger> open(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  bool was_made() const { return was_made_; }    // by open()
  bool was_empty() const { return was_empty_; }  // when it was opened
  // nullopt if it cannot be read.
  Result<std::optional<LedgerContent>> read() const;
  // Starts over.
  Status begin(const LedgerHead& head);
  // Continues after the entries that were read.
  Status continue_after(const LedgerContent& content);
  // One batch: lines, each with its '\n'. Fails: kIo; the file stays readable.
  Status append(std::string_view lines);
  Status sync();
  // Leaves an empty file, which says of no byte that it is finished; removes it if that fails.
  void clear();
  void remove();

 private:
  Ledger(std::filesystem::path path, Descriptor descriptor)
      : path_(std::move(path)), descriptor_(std::move(descriptor)) {}
  Status write_at_end(std::string_view batch);

  std::filesystem::path path_;
  Descriptor descriptor_;
  bool was_made_ = false, was_empty_ = false;
  uint64_t end_bytes_ = 0;
};

// Reads the ledger of another process, without a lock; nullopt if it does not exist or cannot be
// read. Fails: kUsage if it belongs to another user; kIo.
Result<std::optional<LedgerContent>> peek_ledger(const std::filesystem::path& path);

}  // namespace ckpt

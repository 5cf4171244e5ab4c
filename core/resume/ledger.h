// The ledger of a run: the finished bytes of its outputs, stored so that the next run can resume a
// killed one.
//
//   OUT.partial.ledger           of the run that makes OUT   (followed by -I-of-N: of a share)
//
//     ckpt-ledger 2              ╮
//     plan 5f3a...               │ the head: the plan, the input files (size, time in ns,
//     command ckpt convert ...   │ inode, last change of the inode in ns, path)
//     folder /models             │ folder in which the command was typed
//     input 4096 17... 12 17...  │
//     boot 0e6b...               │ the boot of the machine that wrote the following lines
//     = 9c1d2e3f4a5b6c7d         ╯ a batch ends with 64 bits of its SHA-256; a torn batch and
//     file 0 1 77 17326...         all following ones are ignored
//     wrote 0 1 4096 8192        inode, birth of the partial file 1 of output 0, then 8192 written
//     scan 3 0 512 3f800000      bytes of it; rows of a scan: their largest magnitude
//     = ...
//     hashed 0 1 4160 6a09e6...  SHA-256 of its first 4160 bytes, in progress
//     synced                     everything above has reached the disk
//     digest 0 1 71c4...         SHA-256 of an entire file, which has too
//     publish 0 0 1234           output 0 gets its first final name: inode of the renamed file
//     complete                   a share has nothing left to do
//
// Bytes that a file gets last (FileWriter::hold_head) count as written before. Versions that write
// "ckpt-ledger 1" would never write them; they cannot read a 2, and this one does not read a 1.
//
// Lines without a following "synced" are true after kill -9, because the system keeps written data,
// but may be false after a power cut. They only count during the boot that wrote them.
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

// The command of a ledger in a form that can be typed in this folder, or in any folder.
std::string command_from_here(const LedgerHead& head);
// The folder of this process; empty if it is unknown or a line of a ledger cannot hold it.
std::string command_folder();

struct LedgerEntry {
  enum class Kind : uint8_t { kFile, kWrote, kScan, kHashed, kDigest, kPublish, kComplete };
  Kind kind;
  // kFile: output, file, inode, birth in ns (0: unknown). kWrote: output, file, first byte, bytes.
  // kScan: scan, first row, rows, bits of the magnitude. kHashed: output, file, bytes. kDigest:
  // output, file. kPublish: output, index of the name, inode.
  uint64_t numbers[4] = {};
  std::string sha256 = {};  // kDigest: lower-case hex; kHashed: Sha256State::text
};

struct LedgerContent {
  LedgerHead head;
  std::vector<LedgerEntry> entries;  // valid entries
  uint64_t sound_bytes = 0;          // size of complete batches
};

// Parses a ledger. `boot` is the current boot. Fails: kCorrupt if the first batch is incomplete or
// not a head.
Result<LedgerContent> parse_ledger(std::string_view bytes, std::string_view boot);

// Identifies this boot of this machine.
const std::string& boot_id();

// The file, locked against other programs while the object exists.
class Ledger {
 public:
  // Creates the file if it does not exist, with mode 0600. Fails: kUsage if another program holds
  // it, it belongs to another user or others may write to it; kIo.
  static Result<Ledger> open(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  bool was_made() const { return was_made_; }    // created by open()
  bool was_empty() const { return was_empty_; }  // when opened
  // Returns nullopt if the ledger cannot be read.
  Result<std::optional<LedgerContent>> read() const;
  // Starts over with a new head.
  Status begin(const LedgerHead& head);
  // Continues after the entries that were read.
  Status continue_after(const LedgerContent& content);
  // Appends one batch of lines, each with its '\n'. Fails: kIo; the file stays readable.
  Status append(std::string_view lines);
  Status sync();
  // Leaves an empty file, which lists no finished bytes; removes it if that fails.
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

// Reads another process's ledger without a lock; nullopt if it does not exist or cannot be read.
// Fails: kUsage if it belongs to another user; kIo.
Result<std::optional<LedgerContent>> peek_ledger(const std::filesystem::path& path);

}  // namespace ckpt

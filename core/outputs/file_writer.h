// One output file under construction: pieces arrive from any thread in any order, are written at
// their place and hashed in file order.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/base/sha256.h"
#include "core/io/buffers.h"
#include "core/io/open_files.h"
#include "core/outputs/place.h"

namespace ckpt {

// Bytes of pieces that wait for the hashes of all files of a run. Thread-safe.
struct WaitingRoom {
  std::atomic<uint64_t> limit_bytes{uint64_t{64} << 20};
  std::atomic<uint64_t> used_bytes{0};
};

// First bytes of a file of weights that are written last: the magic number and version of a GGUF,
// the size of a safetensors header.
inline constexpr size_t kHeadBytes = 8;

struct FileMode {
  bool may_exist = false;  // existing content of the file stays
  bool hashes = true;      // if not, finish() returns no digest and nothing is read back
  const std::atomic<bool>* interrupted = nullptr;  // ends long reading back
  WaitingRoom* room = nullptr;                     // shared with other files; null: none is
  int open_flags() const;                          // as Place::make_file() takes them
};

class FileWriter {
 public:
  // Gives the file its final size. Fails: kIo, naming the needed space if the disk is too small.
  // The pool must outlive the writer. `reopen` opens the file again with these flags, so the file
  // need not stay open all the time.
  using Reopen = std::function<Result<Descriptor>(int flags)>;
  static Result<std::unique_ptr<FileWriter>> create(NewFile file, uint64_t size_bytes,
                                                    BufferPool& pool, const FileMode& mode = {},
                                                    Reopen reopen = {});
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  // Whether other threads already have the bytes before a piece, or they come only after it was
  // put.
  enum class Turn { kNext, kLater };
  // Writes the piece and hashes it and the pieces that waited for it, or keeps it until the bytes
  // before it arrive. Without room to keep it, waits for the hash as long as that advances.
  // Otherwise, and for kLater immediately, the piece is dropped and read back when its turn comes.
  // Thread-safe. Pieces never overlap and together fill the file.
  Status put(Piece piece, Turn turn = Turn::kNext);
  // The same for bytes that an earlier run has written: they are read back when their turn comes.
  Status put_written(uint64_t offset_bytes, uint64_t size_bytes);
  // How many bytes are hashed, perhaps slightly outdated. Thread-safe.
  Sha256State hashed();
  // Resumes the hash of an earlier run: the bytes that it covers are not read back. Call before
  // anything is put. Has no effect if `state` does not fit this file.
  void resume_hash(const Sha256State& state);
  // finish() writes these first bytes of the file, put() does not: without them an unfinished file
  // is not a model, even if it was copied or its ledger is lost. A writer that does not hash leaves
  // them to the run that finishes the file. Call before anything is put.
  void hold_head(std::span<const std::byte> head);
  // Bytes put so far survive power loss.
  Status sync_data();
  // Writes the head and syncs. Requires: every byte was put, if the writer hashes. The digest is
  // then ready.
  Result<std::string> finish();

 private:
  FileWriter(std::filesystem::path path, uint64_t size_bytes, BufferPool& pool, FileMode mode);
  Status refuse_other_files(const Descriptor& file) const;
  Status claim_space(const Descriptor& file) const;
  Result<OpenOnDemand::Lease> use();
  void leave_out_head(std::span<const std::byte>& bytes, uint64_t& offset_bytes) const;
  Status write(std::span<const std::byte> bytes, uint64_t offset_bytes);
  Status write_all(const OpenOnDemand::OpenedFile& file, bool is_direct,
                   std::span<const std::byte> bytes, uint64_t offset_bytes) const;
  bool fits(uint64_t offset_bytes, uint64_t size_bytes, Turn turn) const;
  bool make_room(const Piece& piece, Turn turn);
  void admit_waiters();
  void keep(uint64_t size_bytes);
  void release_bytes(uint64_t size_bytes);
  uint64_t hashed_before(uint64_t offset_bytes, uint64_t size_bytes) const;
  struct SharedPiece;
  Status put_kept(Piece piece);
  Status hash_waiting(std::unique_lock<std::mutex>& lock);
  Status read_back(uint64_t offset_bytes, uint64_t size_bytes);
  Status write_head(const OpenOnDemand::OpenedFile& file) const;

  std::filesystem::path path_;
  uint64_t size_bytes_;
  BufferPool& pool_;
  FileMode mode_;
  std::vector<std::byte> head_;            // see hold_head()
  OpenOnDemand::Lease always_open_;        // where it cannot be opened again
  std::optional<OpenOnDemand> on_demand_;  // else

  // Bytes that are not yet hashed; without memory: only on disk.
  struct UnhashedBytes {
    uint64_t size_bytes;
    std::span<const std::byte> bytes;
    std::shared_ptr<SharedPiece> memory;  // also of the thread that writes it
  };
  // A thread that waits for room for its piece.
  struct Waiter {
    uint64_t size_bytes;
    bool is_admitted = false;
    std::condition_variable changed;
  };
  void join_written(uint64_t start_bytes, UnhashedBytes& run);
  std::mutex mutex_;
  std::map<uint64_t, UnhashedBytes> waiting_;  // by offset
  uint64_t kept_bytes_ = 0;                    // in buffers of waiting_, or about to be
  uint64_t hashed_bytes_ = 0;                  // from the start of the file
  std::map<uint64_t, Waiter*> waiters_;        // by the offset of their pieces
  bool hashing_ = false;  // a thread is at it; it takes what others leave in waiting_
  std::condition_variable hash_stopped_;
  Sha256 sha256_;               // of the thread that is hashing_
  Sha256State state_;           // of a moment ago
  uint64_t resumed_bytes_ = 0;  // hashed by an earlier run
};

}  // namespace ckpt

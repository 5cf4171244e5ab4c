// Writes one output file: pieces arrive from any thread in any order, are written at their
// position, and are hashed in file order.
#pragma once

#include <atomic>
#include <chrono>
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
#include "core/outputs/waiting_room.h"

namespace ckpt {

// The size of the head, the first bytes of a weight file, which are written last: the magic number
// and version of a GGUF, the size of a safetensors header.
inline constexpr size_t kHeadBytes = 8;

struct FileMode {
  bool may_exist = false;  // keep existing content of the file
  bool hashes = true;      // false: finish() returns no digest and nothing is read back
  const std::atomic<bool>* interrupted = nullptr;  // stops long reading back
  // The room of the run, in which files are hashed together; null: each is hashed alone. After the
  // last piece, somebody must call room->hash_all().
  WaitingRoom* room = nullptr;
  int open_flags() const;                          // flags for Place::make_file()
};

class FileWriter : private WaitingRoom::File {
 public:
  // Gives the file its final size. Fails: kIo, naming the needed space if the disk is too small.
  // The pool must outlive the writer. `reopen` opens the file again with these flags, so that it
  // need not stay open.
  using Reopen = std::function<Result<Descriptor>(int flags)>;
  static Result<std::unique_ptr<FileWriter>> create(NewFile file, uint64_t size_bytes,
                                                    BufferPool& pool, const FileMode& mode = {},
                                                    Reopen reopen = {});
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  // Whether other threads already have the bytes before a piece, or make them only after the piece
  // is put.
  enum class Turn { kNext, kLater };
  // Writes the piece and hashes it and the pieces that waited for it, or keeps it until the
  // preceding bytes arrive. Without room to keep it, waits for the hash as long as that advances.
  // Otherwise, and for kLater immediately, drops the piece and reads it back in its turn.
  // Thread-safe. Pieces never overlap and together fill the file.
  Status put(Piece piece, Turn turn = Turn::kNext);
  // Does the same for bytes that an earlier run has written: they are read back in their turn.
  Status put_written(uint64_t offset_bytes, uint64_t size_bytes);
  // The state of the hash, perhaps slightly outdated. Thread-safe.
  Sha256State hashed();
  // Resumes the hash of an earlier run, so that bytes which it covers are not read back. Must
  // precede all pieces. Has no effect if `state` does not fit this file.
  void resume_hash(const Sha256State& state);
  // finish() writes these first bytes of the file, put() does not: without them an unfinished file
  // is not a model, even if it was copied or its ledger is lost. A writer that does not hash leaves
  // them to the run that finishes the file. Must precede all pieces.
  void hold_head(std::span<const std::byte> head);
  // Makes the bytes that were put so far survive power loss.
  Status sync_data();
  // Writes the head and syncs. Requires: every byte was put, if the writer hashes. Returns the
  // digest.
  Result<std::string> finish();
  // The time that a thread hashed or read back. Requires: finish() has returned.
  double hash_seconds() const { return std::chrono::duration<double>(hash_time_).count(); }

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
  Status hash_now(std::unique_lock<std::mutex>& lock);
  Status hash_waiting(std::unique_lock<std::mutex>& lock);
  Status hashed(WaitingRoom::Duration time) override;
  void end_hashing(WaitingRoom::Duration time);
  Status read_back(uint64_t offset_bytes, uint64_t size_bytes);
  Status write_head(const OpenOnDemand::OpenedFile& file) const;

  std::filesystem::path path_;
  uint64_t size_bytes_;
  BufferPool& pool_;
  FileMode mode_;
  std::vector<std::byte> head_;            // see hold_head()
  OpenOnDemand::Lease always_open_;        // if it cannot be opened again
  std::optional<OpenOnDemand> on_demand_;  // otherwise

  // Bytes that are not yet hashed; without `memory`, they are only on disk.
  struct UnhashedBytes {
    uint64_t size_bytes;
    std::span<const std::byte> bytes;
    std::shared_ptr<SharedPiece> memory;  // shared with the thread that writes it
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
  uint64_t kept_bytes_ = 0;                    // in buffers of waiting_, also reserved
  uint64_t hashed_bytes_ = 0;                  // from the start of the file
  std::map<uint64_t, Waiter*> waiters_;        // by offset of their pieces
  // A thread hashes next_, or it waits in the room: what others add to waiting_ is hashed as well.
  bool hashing_ = false;
  UnhashedBytes next_{};  // what is hashed
  std::condition_variable hash_stopped_;
  Sha256 sha256_;               // used by the thread that hashes
  WaitingRoom::Duration hash_time_{0};
  Sha256State state_;           // slightly outdated
  uint64_t resumed_bytes_ = 0;  // hashed by an earlier run
};

}  // namespace ckpt

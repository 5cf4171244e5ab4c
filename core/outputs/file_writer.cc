#include "core/outputs/file_writer.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "core/base/arithmetic.h"
#include "core/base/counted.h"
#include "core/base/printable.h"
#include "core/base/threads.h"
#include "core/base/trace.h"
#include "core/io/folder.h"
#include "core/outputs/place.h"

namespace ckpt {
namespace {

// The limit for written but not hashed bytes of a file in memory; half of it for pieces that are
// far too early, so that they leave room for pieces whose turn is near.
constexpr uint64_t kMaxKeptBytes = 48 << 20;
// How long a hash may wait for the next piece.
constexpr std::chrono::milliseconds kMaxStandstill{200};
constexpr uint64_t kReadBackBytes = 4 << 20;
// The largest number of bytes that a resumed run only hashes again, without writing them.
constexpr uint64_t kStateEveryBytes = 1 << 20;

Failure file_failure(const std::filesystem::path& path, uint64_t size_bytes, int error) {
  return write_failure(path, error, fmt::format("the file needs {}", human_bytes(size_bytes)));
}

}  // namespace

// Memory that one thread hashes while another writes it to the file.
struct FileWriter::SharedPiece {
  BufferPool& pool;
  Piece piece;
  SharedPiece(BufferPool& of, Piece held) : pool(of), piece(std::move(held)) {}
  SharedPiece(const SharedPiece&) = delete;
  SharedPiece& operator=(const SharedPiece&) = delete;
  ~SharedPiece() { pool.give(std::move(piece.buffer)); }
};

FileWriter::FileWriter(std::filesystem::path path, uint64_t size_bytes, BufferPool& pool,
                       FileMode mode)
    : path_(std::move(path)), size_bytes_(size_bytes), pool_(pool), mode_(mode) {}

// Whether claiming space clears every page on one thread, as memory file systems do, which takes a
// third of a conversion's time. check_space() has checked the room already.
bool claims_by_clearing(const Descriptor& file) {
  struct statfs status{};
  return ::fstatfs(file.get(), &status) == 0 && status.f_type == TMPFS_MAGIC;
}

// Claims space at the start, so that a full disk is reported before the work and not after it.
Status FileWriter::claim_space(const Descriptor& file) const {
  if (size_bytes_ == 0) return {};
  const auto size = static_cast<off_t>(size_bytes_);
  struct stat status{};
  if (mode_.may_exist && ::fstat(file.get(), &status) == 0 && status.st_size > size &&
      ::ftruncate(file.get(), size) != 0) {
    return file_failure(path_, size_bytes_, errno);
  }
  const auto claim = [&] { return ::fallocate(file.get(), 0, 0, size); };
  const bool is_cleared = claims_by_clearing(file);
  if (!is_cleared && retried(claim) == 0) return {};
  if (const int error = is_cleared ? 0 : errno;
      error == ENOSPC || error == EFBIG || error == EDQUOT) {
    // Release the claimed space of a full disk, so that the reported free space is correct.
    if (!mode_.may_exist) (void)!::ftruncate(file.get(), 0);
    return file_failure(path_, size_bytes_, error);
  }
  if (retried([&] { return ::ftruncate(file.get(), size); }) == 0) return {};
  return file_failure(path_, size_bytes_, errno);
}

int FileMode::open_flags() const {
  // Without read access, a network file system cannot fill a page that two machines write to.
  return (hashes ? O_RDWR : O_WRONLY) | O_CREAT | (may_exist ? O_NONBLOCK : O_EXCL);
}

Result<std::unique_ptr<FileWriter>> FileWriter::create(NewFile file, uint64_t size_bytes,
                                                       BufferPool& pool, const FileMode& mode,
                                                       Reopen reopen) {
  std::unique_ptr<FileWriter> writer(new FileWriter(std::move(file.path), size_bytes, pool, mode));
  CKPT_TRY(writer->refuse_other_files(file.descriptor));
  CKPT_TRY(writer->claim_space(file.descriptor));
  const auto with_direct = [size_bytes](Descriptor plain) {
    Descriptor direct;
    if (size_bytes >= kMinDirectBytes) direct = open_direct(plain, O_WRONLY);
    return OpenOnDemand::OpenedFile{std::move(plain), std::move(direct)};
  };
  struct stat status{};
  const bool is_known = ::fstat(file.descriptor.get(), &status) == 0;
  OpenOnDemand::OpenedFile opened = with_direct(std::move(file.descriptor));
  if (!reopen || !is_known) {
    writer->always_open_ = std::make_shared<const OpenOnDemand::OpenedFile>(std::move(opened));
    return writer;
  }
  const auto again = [reopen = std::move(reopen), with_direct, status,
                      flags = mode.open_flags() & ~(O_CREAT | O_EXCL),
                      path = writer->path_.string()]() -> Result<OpenOnDemand::OpenedFile> {
    CKPT_ASSIGN(Descriptor plain, reopen(flags | O_NONBLOCK));
    CKPT_TRY(in(path, check_same_file(plain, status)));
    return with_direct(std::move(plain));
  };
  writer->on_demand_.emplace(std::move(opened), again);
  return writer;
}

Result<OpenOnDemand::Lease> FileWriter::use() {
  if (on_demand_) return on_demand_->use();
  return always_open_;
}

// Rejects other files: leftovers of an earlier run have one hard link, and writing to anything else
// would change a file that somebody put in its place.
Status FileWriter::refuse_other_files(const Descriptor& file) const {
  if (!mode_.may_exist) return {};
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return file_failure(path_, size_bytes_, errno);
  if (S_ISREG(status.st_mode) && status.st_nlink == 1) return {};
  return misuse_hint(fmt::format("rm {}", shell_path(path_.string())),
                     "{}: no file of its own, as an earlier run would have left it",
                     path_.string());
}

Status FileWriter::write_all(const OpenOnDemand::OpenedFile& file, bool is_direct,
                             std::span<const std::byte> bytes, uint64_t offset_bytes) const {
  const TraceSpan span("write");
  while (!bytes.empty()) {
    const int descriptor = (is_direct ? file.direct : file.plain).get();
    const ssize_t written =
        ::pwrite(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(offset_bytes));
    if (written < 0 && errno == EINTR) continue;
    // Some file systems open files for direct I/O and then refuse it.
    const bool is_refused = written < 0 && errno == EINVAL && is_direct;
    if (written < 0 && !is_refused) return file_failure(path_, size_bytes_, errno);
    if (written == 0) return file_failure(path_, size_bytes_, EIO);
    const auto done = static_cast<uint64_t>(is_refused ? 0 : written);
    bytes = bytes.subspan(done);
    offset_bytes += done;
    // After a short direct write the rest may be unaligned.
    is_direct = is_direct && !is_refused && offset_bytes % kPageBytes == 0;
  }
  return {};
}

// Leaves out the head, which finish() writes.
void FileWriter::leave_out_head(std::span<const std::byte>& bytes, uint64_t& offset_bytes) const {
  const uint64_t left = head_.size() - std::min<uint64_t>(head_.size(), offset_bytes);
  const uint64_t skipped = std::min<uint64_t>(left, bytes.size());
  bytes = bytes.subspan(skipped);
  offset_bytes += skipped;
}

// Writes entire pages directly and the ragged ends through the page cache. The two never touch the
// same page: a page that a piece does not fill is written buffered by every piece in it.
Status FileWriter::write(std::span<const std::byte> bytes, uint64_t offset_bytes) {
  CKPT_ASSIGN(const OpenOnDemand::Lease file, use());
  leave_out_head(bytes, offset_bytes);
  const uint64_t first_page = round_up(offset_bytes, kPageBytes);
  const uint64_t end = offset_bytes + bytes.size();
  const uint64_t end_page = end / kPageBytes * kPageBytes;
  if (!file->direct.is_open() || end_page <= first_page ||
      end_page - first_page < kMinDirectBytes) {
    return write_all(*file, false, bytes, offset_bytes);
  }
  const uint64_t lead = first_page - offset_bytes;
  const uint64_t middle = end_page - first_page;
  CKPT_TRY(write_all(*file, false, bytes.first(lead), offset_bytes));
  CKPT_TRY(write_all(*file, true, bytes.subspan(lead, middle), first_page));
  return write_all(*file, false, bytes.subspan(lead + middle), end_page);
}

Status FileWriter::read_back(uint64_t offset_bytes, uint64_t size_bytes) {
  const TraceSpan span("read back and hash");
  CKPT_ASSIGN(const OpenOnDemand::Lease file, use());
  AlignedBuffer buffer = pool_.take(kReadBackBytes);
  while (size_bytes > 0) {
    CKPT_TRY(check_not_interrupted(mode_.interrupted));
    const uint64_t here = std::min(size_bytes, kReadBackBytes);
    std::byte* memory = buffer.reserve(here);
    if (size_bytes > here) {  // the disk works while this step is hashed
      const uint64_t next = std::min(size_bytes - here, 2 * kReadBackBytes);
      (void)::posix_fadvise(file->plain.get(), static_cast<off_t>(offset_bytes + here),
                            static_cast<off_t>(next), POSIX_FADV_WILLNEED);
    }
    const ssize_t got = ::pread(file->plain.get(), memory, here, static_cast<off_t>(offset_bytes));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return file_failure(path_, size_bytes_, got < 0 ? errno : EIO);
    // The head is not on disk yet.
    const uint64_t known = std::min<uint64_t>(head_.size(), offset_bytes);
    const uint64_t missing = std::min<uint64_t>(head_.size() - known, static_cast<uint64_t>(got));
    std::copy_n(head_.data() + known, missing, memory);
    sha256_.add({memory, static_cast<size_t>(got)});
    offset_bytes += static_cast<uint64_t>(got);
    size_bytes -= static_cast<uint64_t>(got);
  }
  pool_.give(std::move(buffer));
  return {};
}

Sha256State FileWriter::hashed() {
  const std::lock_guard lock(mutex_);
  return state_;
}

void FileWriter::resume_hash(const Sha256State& state) {
  const std::lock_guard lock(mutex_);
  if (!mode_.hashes || state.size_bytes > size_bytes_) return;
  auto sha256 = Sha256::from(state);
  if (!sha256) return;
  sha256_ = std::move(*sha256);
  state_ = state;
  hashed_bytes_ = resumed_bytes_ = state.size_bytes;
}

void FileWriter::hold_head(std::span<const std::byte> head) {
  const std::lock_guard lock(mutex_);
  head_.assign(head.begin(), head.end());
}

// How many of these bytes, from the first on, an earlier run has hashed. Bytes that it did not
// record are made again, identically.
uint64_t FileWriter::hashed_before(uint64_t offset_bytes, uint64_t size_bytes) const {
  return std::min(size_bytes, resumed_bytes_ - std::min(resumed_bytes_, offset_bytes));
}

// Any free thread hashes the piece while this one writes it, so that hashing does not wait for the
// file system.
Status FileWriter::put_kept(Piece piece) {
  const auto held = std::make_shared<SharedPiece>(pool_, std::move(piece));
  const std::span<const std::byte> bytes = held->piece.bytes;
  const uint64_t offset = held->piece.offset_bytes;
  std::unique_lock lock(mutex_);
  const uint64_t known = hashed_before(offset, bytes.size());
  release_bytes(known);
  if (known < bytes.size()) {
    waiting_.emplace(offset + known,
                     UnhashedBytes{bytes.size() - known, bytes.subspan(known), held});
  }
  lock.unlock();
  CKPT_TRY(write(bytes, offset));
  lock.lock();
  return hash_now(lock);
}

Status FileWriter::put_written(uint64_t offset_bytes, uint64_t size_bytes) {
  if (!mode_.hashes) return {};
  std::unique_lock lock(mutex_);
  const uint64_t known = hashed_before(offset_bytes, size_bytes);
  if (known == size_bytes) return {};
  waiting_.emplace(offset_bytes + known, UnhashedBytes{size_bytes - known, {}, {}});
  return hash_now(lock);
}

// Adds bytes after `run` that are only on disk, to read them back in large steps.
void FileWriter::join_written(uint64_t start_bytes, UnhashedBytes& run) {
  for (auto next = waiting_.begin(); next != waiting_.end() && run.size_bytes < kMaxKeptBytes;
       next = waiting_.erase(next)) {
    if (next->first != start_bytes + run.size_bytes || !next->second.bytes.empty()) return;
    run.size_bytes += next->second.size_bytes;
  }
}

Status FileWriter::hash_now(std::unique_lock<std::mutex>& lock) {
  Status status = hash_waiting(lock);
  lock.unlock();
  if (mode_.room != nullptr) mode_.room->hash_if_enough();
  return status;
}

// Hashes the bytes that follow, or gives them to the room. Does nothing if one of these is under
// way.
Status FileWriter::hash_waiting(std::unique_lock<std::mutex>& lock) {
  if (hashing_) return {};
  hashing_ = true;
  Status status;
  while (status && !waiting_.empty() && waiting_.begin()->first == hashed_bytes_) {
    next_ = std::move(waiting_.begin()->second);
    waiting_.erase(waiting_.begin());
    const uint64_t start = hashed_bytes_;
    const bool kept = next_.memory != nullptr;
    if (kept && mode_.room != nullptr) {
      mode_.room->add(*this, sha256_, next_.bytes);
      return {};
    }
    if (!kept) join_written(start, next_);
    lock.unlock();
    const auto begun = std::chrono::steady_clock::now();
    if (kept) {
      const TraceSpan span("hash");
      sha256_.add(next_.bytes);
    } else {
      status = read_back(start, next_.size_bytes);
    }
    lock.lock();
    if (status) end_hashing(std::chrono::steady_clock::now() - begun);
  }
  hashing_ = false;
  hash_stopped_.notify_all();
  return status;
}

Status FileWriter::hashed(WaitingRoom::Duration time) {
  std::unique_lock lock(mutex_);
  end_hashing(time);
  hashing_ = false;
  return hash_waiting(lock);
}

// Counts what was hashed, and frees its memory.
void FileWriter::end_hashing(WaitingRoom::Duration time) {
  hash_time_ += time;
  hashed_bytes_ += next_.size_bytes;
  if (next_.memory != nullptr) release_bytes(next_.size_bytes);
  next_.memory.reset();
  admit_waiters();
  if (hashed_bytes_ - state_.size_bytes >= kStateEveryBytes) state_ = sha256_.state();
}

void FileWriter::keep(uint64_t size_bytes) {
  kept_bytes_ += size_bytes;
  if (mode_.room != nullptr) mode_.room->keep(size_bytes);
}

void FileWriter::release_bytes(uint64_t size_bytes) {
  kept_bytes_ -= size_bytes;
  if (mode_.room != nullptr) mode_.room->release(size_bytes);
}

bool FileWriter::fits(uint64_t offset_bytes, uint64_t size_bytes, Turn turn) const {
  const uint64_t share = turn == Turn::kNext ? 1 : 2;
  const bool has_room = mode_.room == nullptr ||
                        mode_.room->used_bytes() + size_bytes <= mode_.room->limit_bytes() / share;
  return offset_bytes <= hashed_bytes_ ||
         (kept_bytes_ + size_bytes <= kMaxKeptBytes / share && has_room);
}

// Wakes waiting threads in file order, and only those whose pieces fit: waking all for each piece
// would delay the thread that hashes.
void FileWriter::admit_waiters() {
  while (!waiters_.empty()) {
    const auto first = waiters_.begin();
    Waiter& waiter = *first->second;
    if (!fits(first->first, waiter.size_bytes, Turn::kNext)) return;
    keep(waiter.size_bytes);
    waiter.is_admitted = true;
    waiters_.erase(first);
    waiter.changed.notify_one();
  }
}

// Delays a thread that writes faster than its file is hashed: otherwise all following bytes would
// be read back, which slows hashing further. Returns false if the piece cannot be kept.
bool FileWriter::make_room(const Piece& piece, Turn turn) {
  std::unique_lock lock(mutex_);
  const uint64_t size_bytes = piece.bytes.size();
  if (fits(piece.offset_bytes, size_bytes, turn)) {
    keep(size_bytes);
    return true;
  }
  if (turn == Turn::kLater) return false;
  const TraceSpan span("wait for the hash");
  Waiter waiter{size_bytes, false, {}};
  waiters_.emplace(piece.offset_bytes, &waiter);
  for (bool moves = true; moves && !waiter.is_admitted;) {
    const uint64_t before = hashed_bytes_;
    lock.unlock();
    const bool hashes = mode_.room != nullptr && mode_.room->hash_some();
    lock.lock();
    if (!hashes && !waiter.is_admitted) waiter.changed.wait_for(lock, kMaxStandstill);
    admit_waiters();  // another file may have freed room
    if (hashes) continue;
    moves = hashing_ || hashed_bytes_ > before;
  }
  if (!waiter.is_admitted) waiters_.erase(piece.offset_bytes);
  return waiter.is_admitted;
}

Status FileWriter::put(Piece piece, Turn turn) {
  if (piece.bytes.empty()) {
    pool_.give(std::move(piece.buffer));
    return {};
  }
  if (!mode_.hashes) {
    CKPT_TRY(write(piece.bytes, piece.offset_bytes));
    pool_.give(std::move(piece.buffer));
    return {};
  }
  if (make_room(piece, turn)) return put_kept(std::move(piece));
  {
    // Use the page cache: if memory is free, bytes are read back from it instead of the disk.
    CKPT_ASSIGN(const OpenOnDemand::Lease file, use());
    std::span<const std::byte> bytes = piece.bytes;
    uint64_t offset_bytes = piece.offset_bytes;
    leave_out_head(bytes, offset_bytes);
    CKPT_TRY(write_all(*file, false, bytes, offset_bytes));
  }
  const uint64_t offset_bytes = piece.offset_bytes, size_bytes = piece.bytes.size();
  pool_.give(std::move(piece.buffer));
  return put_written(offset_bytes, size_bytes);
}

// A failed write-back is reported by the next sync, also through another descriptor.
Status FileWriter::sync_data() {
  CKPT_ASSIGN(const OpenOnDemand::Lease file, use());
  if (retried([&] { return ::fdatasync(file->plain.get()); }) == 0) return {};
  return file_failure(path_, size_bytes_, errno);
}

// Writes the head after the rest is on disk, so that a power cut cannot leave the head alone.
Status FileWriter::write_head(const OpenOnDemand::OpenedFile& file) const {
  if (head_.empty() || !mode_.hashes) return {};
  if (retried([&] { return ::fdatasync(file.plain.get()); }) != 0) {
    return file_failure(path_, size_bytes_, errno);
  }
  return write_all(file, false, head_, 0);
}

Result<std::string> FileWriter::finish() {
  if (mode_.hashes) {
    std::unique_lock lock(mutex_);
    hash_stopped_.wait(lock, [this] { return !hashing_; });
    CKPT_CHECK(waiting_.empty() && hashed_bytes_ == size_bytes_);
  }
  CKPT_ASSIGN(const OpenOnDemand::Lease file, use());
  CKPT_TRY(write_head(*file));
  if (retried([&] { return ::fsync(file->plain.get()); }) != 0) {
    return file_failure(path_, size_bytes_, errno);
  }
  return mode_.hashes ? sha256_.finish() : std::string();
}

}  // namespace ckpt

// Groups files into chains of hashes: the sizes of the pieces, the threads, and the order of files.
#include "core/engine/hash_files.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "core/base/arithmetic.h"
#include "core/base/threads.h"
#include "core/io/bytes.h"
#include "core/io/open_files.h"
#include "core/simd/sha256_each.h"

namespace ckpt {
namespace {

using Clock = std::chrono::steady_clock;

// The size of a piece of a file that is hashed alone; and of a file that is hashed together with
// others, so that the pieces of all fit in the cache of a core.
constexpr uint64_t kAloneBytes = 4 << 20, kTogetherBytes = kMinDirectBytes;

// A file from its first byte to its digest.
struct FileChain {
  size_t index;  // in the list of files
  uint64_t size_bytes;
  SharedSource source = nullptr;  // null: not begun
  uint64_t hashed_bytes = 0;
  Sha256 sha256 = {};
};
using FileChains = std::vector<std::unique_ptr<FileChain>>;

uint64_t left_bytes(const std::unique_ptr<FileChain>& chain) {
  return chain->size_bytes - chain->hashed_bytes;
}

// The one place that decides which files a core hashes together: each thread takes its share of
// those that are left, adds a piece to each and puts them back, so that all threads end together.
class FileHasher {
 public:
  using Done = std::function<Status(size_t, Result<std::string>)>;
  FileHasher(const std::vector<std::filesystem::path>& files, const HashOptions& options,
             const Done& done)
      : files_(files),
        options_(options),
        done_(done),
        threads_(std::min<size_t>(cores_or(options.threads), files.size())) {
    for (size_t i = 0; i < files.size(); ++i) {
      std::error_code error;  // a file that cannot be read is reported when it is opened
      const uintmax_t size_bytes = std::filesystem::file_size(files[i], error);
      waiting_.push_back(std::make_unique<FileChain>(i, error ? 0 : size_bytes));
    }
    std::ranges::stable_sort(waiting_, std::greater(), left_bytes);
  }

  Status run() {
    run_on_threads(threads_, [this] {
      std::vector<AlignedBuffer> buffers(sha256_chains());
      for (FileChains held = take(); !held.empty(); held = take()) {
        hash_pieces(held, buffers);
        put_back(std::move(held));
      }
    });
    if (error_) return Failure(std::move(*error_));
    return {};
  }

 private:
  // Empty when all files are hashed. Files that were begun come first, the one with most left
  // first; then the longest. While reading takes longer than hashing, each thread reads one file,
  // in large pieces.
  FileChains take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !waiting_.empty() || held_ == 0; });
    const size_t share = divide_up(waiting_.size() + held_, threads_);
    const size_t most = read_time_ > hash_time_ ? 1 : std::min(share, sha256_chains());
    const auto end = waiting_.begin() + static_cast<ptrdiff_t>(std::min(most, waiting_.size()));
    FileChains out(std::make_move_iterator(waiting_.begin()), std::make_move_iterator(end));
    waiting_.erase(waiting_.begin(), end);
    held_ += out.size();
    return out;
  }

  void put_back(FileChains held) {
    const std::lock_guard lock(mutex_);
    held_ -= held.size();
    std::erase(held, nullptr);
    waiting_.insert(waiting_.begin(), std::make_move_iterator(held.begin()),
                    std::make_move_iterator(held.end()));
    const auto begun_end = std::ranges::find_if(
        waiting_, [](const auto& chain) { return chain->source == nullptr; });
    std::ranges::sort(waiting_.begin(), begun_end, std::greater(), left_bytes);
    std::erase_if(waiting_, [this](const auto& chain) { return chain->index >= error_index_; });
    changed_.notify_all();
  }

  // A piece of each; null then stands for those that are done.
  void hash_pieces(FileChains& held, std::vector<AlignedBuffer>& buffers) {
    const auto start = Clock::now();
    const uint64_t most_bytes = held.size() == 1 ? kAloneBytes : kTogetherBytes;
    std::vector<Sha256Piece> pieces;
    for (size_t i = 0; i < held.size(); ++i) {
      const auto bytes = read(*held[i], most_bytes, buffers[i]);
      if (bytes) {
        pieces.push_back({&held[i]->sha256, *bytes});
      } else {
        end(held[i], Failure(bytes.error()));
      }
    }
    const auto middle = Clock::now();
    add_to_each(pieces);
    read_time_ += (middle - start).count();
    hash_time_ += (Clock::now() - middle).count();
    if (options_.advanced) {
      for (const Sha256Piece& piece : pieces) options_.advanced(piece.bytes.size());
    }
    for (std::unique_ptr<FileChain>& chain : held) {
      if (chain && left_bytes(chain) == 0) {
        end(chain, chain->sha256.finish());
      }
    }
  }

  Result<std::span<const std::byte>> read(FileChain& chain, uint64_t most_bytes,
                                          AlignedBuffer& buffer) const {
    CKPT_TRY(check_not_interrupted(options_.interrupted));
    if (!chain.source) {
      CKPT_SET(chain.source, open_file(files_[chain.index]));
      chain.size_bytes = chain.source->size_bytes();
    }
    const uint64_t at = chain.hashed_bytes, here = std::min(most_bytes, chain.size_bytes - at);
    chain.hashed_bytes += here;
    return chain.source->fetch(at, here, buffer);
  }

  void end(std::unique_ptr<FileChain>& chain, Result<std::string> sha256) {
    Status status = done_(chain->index, std::move(sha256));
    const std::lock_guard lock(mutex_);
    if (!status && chain->index < error_index_) {
      error_index_ = chain->index;
      error_ = std::move(status.error());
    }
    chain.reset();
  }

  const std::vector<std::filesystem::path>& files_;
  const HashOptions& options_;
  const Done& done_;
  const size_t threads_;
  std::atomic<Clock::rep> read_time_{0}, hash_time_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  FileChains waiting_;
  size_t held_ = 0;
  size_t error_index_ = SIZE_MAX;
  std::optional<Error> error_;
};

}  // namespace

Status hash_files(const std::vector<std::filesystem::path>& files, const HashOptions& options,
                  const std::function<Status(size_t, Result<std::string>)>& done) {
  return files.empty() ? Status() : FileHasher(files, options, done).run();
}

}  // namespace ckpt

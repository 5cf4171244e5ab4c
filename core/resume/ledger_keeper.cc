// One thread appends finished ranges to the ledger in batches. They count after the next "synced"
// line, which the thread appends when it has synced their files to disk.
#include <algorithm>
#include <bit>
#include <tuple>

#include "core/base/threads.h"
#include "core/resume/resume.h"

namespace ckpt {
namespace {

using std::chrono::steady_clock;
constexpr std::chrono::milliseconds kBatchEvery{100}, kSyncEvery{500};

std::string render(std::vector<OutputRange> ranges) {
  std::ranges::sort(ranges, [](const OutputRange& a, const OutputRange& b) {
    return std::tie(a.output, a.file, a.offset_bytes) < std::tie(b.output, b.file, b.offset_bytes);
  });
  std::string out;
  for (size_t i = 0; i < ranges.size();) {
    OutputRange run = ranges[i];
    for (++i; i < ranges.size() && ranges[i].output == run.output && ranges[i].file == run.file &&
              ranges[i].offset_bytes == run.offset_bytes + run.size_bytes;
         ++i) {
      run.size_bytes += ranges[i].size_bytes;
    }
    out +=
        fmt::format("wrote {} {} {} {}\n", run.output, run.file, run.offset_bytes, run.size_bytes);
  }
  return out;
}

}  // namespace

LedgerKeeper::LedgerKeeper(Ledger& ledger, std::set<FileNumber> written, SyncFile sync,
                           Failed failed)
    : ledger_(ledger),
      sync_(std::move(sync)),
      failed_(std::move(failed)),
      dirty_(std::move(written)),
      synced_(steady_clock::now()),
      threads_(start_threads(1, [this] { run(); })) {}

void LedgerKeeper::wrote(const std::vector<OutputRange>& ranges) {
  const std::lock_guard lock(mutex_);
  ranges_.insert(ranges_.end(), ranges.begin(), ranges.end());
}

void LedgerKeeper::scanned(const Task& scan, float amax) {
  const std::lock_guard lock(mutex_);
  scans_ += fmt::format("scan {} {} {} {:x}\n", scan.job, scan.first, scan.count,
                        std::bit_cast<uint32_t>(amax));
}

void LedgerKeeper::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
  if (threads_.empty()) write_down();
}

void LedgerKeeper::write_down() {
  std::vector<OutputRange> ranges;
  std::string scans;
  {
    const std::lock_guard lock(mutex_);
    ranges.swap(ranges_);
    scans.swap(scans_);
  }
  for (const OutputRange& range : ranges) dirty_.emplace(range.output, range.file);
  const std::string lines = scans + render(std::move(ranges));
  if (lines.empty() || is_broken_) return;
  is_broken_ = !ledger_.append(lines);
  wrote_anything_ = wrote_anything_ || !is_broken_;
}

void LedgerKeeper::sync_all() {
  if (dirty_.empty() || steady_clock::now() - synced_ < kSyncEvery) return;
  std::string lines;
  for (const FileNumber& file : dirty_) {
    auto hashed = sync_(file);
    if (!hashed) {
      is_broken_ = true;  // the ledger may no longer be correct
      failed_(std::move(hashed.error()));
      return;
    }
    if (hashed->size_bytes == 0) continue;
    lines += fmt::format("hashed {} {} {} {}\n", file.first, file.second, hashed->size_bytes,
                         hashed->text);
  }
  dirty_.clear();
  if (!is_broken_) is_broken_ = !ledger_.append(lines + "synced\n") || !ledger_.sync();
  synced_ = steady_clock::now();
}

void LedgerKeeper::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    wake_.wait_for(lock, kBatchEvery);
    lock.unlock();
    write_down();
    if (!is_broken_) sync_all();
    lock.lock();
  }
  lock.unlock();
  write_down();
}

}  // namespace ckpt

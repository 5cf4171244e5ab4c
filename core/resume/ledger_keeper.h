// Keeps a ledger while a run is at work: collects what threads have finished, and writes it down
// from a thread of its own.
//
//   every 0.1 s    what was finished since, runs joined: one batch
//   every 0.5 s    the data of the files written to, then "synced", both to the disk
//
// A ledger that cannot be written (a disk that is full to the last byte) ends no run; the next one
// then does more again. Data that cannot be synced does.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "core/chunks/tasks.h"
#include "core/resume/ledger.h"

namespace ckpt {

class LedgerKeeper {
 public:
  using FileNumber = std::pair<uint32_t, uint32_t>;  // output, file
  // Brings a file's data to the disk. Gives how far its hash had come before.
  using SyncFile = std::function<Result<Sha256State>(FileNumber)>;
  using Failed = std::function<void(Error)>;

  // `written`: files with bytes of earlier runs. The ledger has a head and must outlive the keeper.
  LedgerKeeper(Ledger& ledger, std::set<FileNumber> written, SyncFile sync, Failed failed);
  LedgerKeeper(const LedgerKeeper&) = delete;
  LedgerKeeper& operator=(const LedgerKeeper&) = delete;
  ~LedgerKeeper() { stop(); }

  // Requires: the bytes are with the system. Thread-safe.
  void wrote(const std::vector<OutputRange>& ranges);
  void scanned(const Task& scan, float amax);
  // Writes down what is left and ends the thread. Nothing may come after.
  void stop();
  bool wrote_anything() const { return wrote_anything_; }

 private:
  void run();
  void write_down();
  void sync_all();

  Ledger& ledger_;
  const SyncFile sync_;
  const Failed failed_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::vector<OutputRange> ranges_;  // since the last batch
  std::string scans_;
  // Of the thread alone.
  std::set<FileNumber> dirty_;
  bool is_broken_ = false;
  bool wrote_anything_ = false;
  std::chrono::steady_clock::time_point synced_;
  std::vector<std::thread> threads_;  // one, or none where there is none to be had
};

}  // namespace ckpt

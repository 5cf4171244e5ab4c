// Resumes a killed run: finds its finished work, and records new finished work
// (core/resume/ledger.h).
//
//   no readable ledger                    start; the content of OUT.partial is removed
//   a ledger of this plan                 resume: tasks whose bytes all exist are skipped
//   ... with digests of entire files      only final names are missing
//   a ledger of another plan or inputs    reject, or start over if OUT may be replaced
//   ledgers of shares of this plan        their work counts too
//
// A share (core/engine/share.cc) keeps everything in OUT.partial and writes its own ledger.
//
// The ledger records bytes, not tasks, so a run with other threads and memory, whose tasks are
// split differently, can resume too.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "core/chunks/tasks.h"
#include "core/model/codec.h"
#include "core/outputs/execute_options.h"
#include "core/outputs/output_files.h"
#include "core/resume/ledger.h"
#include "core/resume/ledger_files.h"
#include "core/resume/range_set.h"

namespace ckpt {

// Maintains the ledger of a run: collects finished work from all threads, and writes it in a
// separate thread.
//
//   every 0.1 s    appends new finished work, with joined runs, as one batch
//   every 0.5 s    syncs the data of written files, then "synced", to the disk
//
// If the ledger cannot be written (a full disk), the run continues, and a resumed run repeats more
// work. If data cannot be synced, the run ends.

class LedgerKeeper {
 public:
  using FileNumber = std::pair<uint32_t, uint32_t>;  // output, file
  // Syncs the data of a file to the disk. Returns the earlier state of its hash.
  using SyncFile = std::function<Result<Sha256State>(FileNumber)>;
  using Failed = std::function<void(Error)>;

  // `written` are files with bytes of earlier runs. The ledger has a head and must outlive
  // the keeper.
  LedgerKeeper(Ledger& ledger, std::set<FileNumber> written, SyncFile sync, Failed failed);
  LedgerKeeper(const LedgerKeeper&) = delete;
  LedgerKeeper& operator=(const LedgerKeeper&) = delete;
  ~LedgerKeeper() { stop(); }

  // Requires: the bytes were written to the system. Thread-safe.
  void wrote(const std::vector<OutputRange>& ranges);
  void scanned(const Task& scan, float amax);
  // Writes the remaining entries and ends the thread. Must be the last call.
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
  // Used by the thread alone.
  std::set<FileNumber> dirty_;
  bool is_broken_ = false;
  bool wrote_anything_ = false;
  std::chrono::steady_clock::time_point synced_;
  std::vector<std::thread> threads_;  // one, or none if none could start
};

class Resume {
 public:
  // Locks the ledger of every output or of the share, and reads all ledgers. Fails: kUsage: a
  // ledger of another plan, or one in use; kIo.
  static Result<std::unique_ptr<Resume>> begin(const Plan& plan, const ExecuteOptions& options);
  Resume(const Resume&) = delete;
  Resume& operator=(const Resume&) = delete;
  ~Resume();

  // How the temporary files of the outputs can be used.
  Leftovers leftovers() const { return leftovers_; }
  // The reports of all files, if leftovers() is kPublish.
  const std::vector<FileReport>& reports() const { return reports_; }

  bool is_done(const Jobs& jobs, const Task& task) const;
  // Results of earlier runs for rows of a scan.
  Stats known(uint32_t scan) const;

  // Starts recording the calls of finished(); calls `failed` if data cannot be synced.
  void start(OutputFiles& files, LedgerKeeper::Failed failed);
  // Records a finished task. Thread-safe. `stats` are those of a scan.
  void finished(const Jobs& jobs, const Task& task, const Stats& stats);
  void stop() {
    if (keeper_) keeper_->stop();
  }
  // Records that all files are complete and about to get their names. Requires: stopped; synced.
  Status ready(const std::vector<FileReport>& reports);
  // Records that the share is done. Requires: stopped; synced.
  Status complete();
  // Keeps the ledgers. Returns false if they contain nothing that another run could use; they are
  // then removed with this object, unless temporary files remain, whose origin they prove.
  // Requires: the owner removes its files before this object.
  bool keep();
  // Empties the ledgers, because inputs of their bytes have changed.
  void forget();

 private:
  Resume(const Plan& plan, const ExecuteOptions& options) : plan_(plan), options_(options) {}
  bool is_share() const { return options_.resume.share_count > 0; }
  Status decide(const LedgerHead& head);
  Status open_all(const LedgerHead& head);
  Status open_share();
  Status refuse(const std::filesystem::path& ledger, const LedgerHead& found,
                const LedgerHead& head) const;
  Status read_shares(const LedgerHead& head);
  Status begin_ledgers(const LedgerHead& head);
  Status add(const LedgerContent& content);
  void take_reports(const LedgerContent& content);
  Result<bool> is_ready(const LedgerContent& content) const;
  Status clear_replaced(const Output& output) const;
  void note(const std::string& text) const;

  const Plan& plan_;
  const ExecuteOptions& options_;
  std::vector<Ledger> ledgers_;       // by output, entries in the first; or one, of a share
  std::optional<LedgerContent> own_;  // content of the first ledger, if it is of this plan
  std::vector<std::filesystem::path> shares_;  // ledgers of shares
  Leftovers leftovers_ = Leftovers::kRemove;
  bool kept_ = false;
  std::map<LedgerKeeper::FileNumber, RangeSet> written_;
  std::map<LedgerKeeper::FileNumber, Sha256State> hashed_;
  std::map<uint32_t, RangeSet> scanned_rows_;
  std::map<uint32_t, float> amax_;  // by scan
  std::vector<FileReport> reports_;
  std::unique_ptr<LedgerKeeper> keeper_;
};

}  // namespace ckpt

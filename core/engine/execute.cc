#include "core/engine/execute.h"

#include <algorithm>
#include <cfenv>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/base/threads.h"
#include "core/base/trace.h"
#include "core/chunks/error_feedback.h"
#include "core/chunks/tasks.h"
#include "core/computed/computed_source.h"
#include "core/engine/task_memory.h"
#include "core/io/block_cache.h"
#include "core/io/disk_cache.h"
#include "core/io/page_cache.h"
#include "core/io/remembered.h"
#include "core/io/remote_files.h"
#include "core/model/codec.h"
#include "core/outputs/output_files.h"
#include "core/resume/resume.h"
#include "core/simd/sha256_each.h"

namespace ckpt {
namespace {

// Results of scans, for the tasks that wait for them. Thread-safe.
class ScanBoard {
 public:
  explicit ScanBoard(size_t scans) : scanned_(scans) {}

  // Numbers of some rows; the same rows may come twice.
  void add(uint32_t scan, const Stats& stats) {
    const std::lock_guard lock(mutex_);
    combine(scanned_[scan].stats, stats);
  }

  // Counts a task of a scan as over, done or failed, so that nobody waits for it for ever.
  void ended(const Jobs& jobs, const Task& task, const Status& status) {
    if (task.kind != Task::Kind::kScan) return;
    const std::lock_guard lock(mutex_);
    if (!status && !scanned_[task.job].error) scanned_[task.job].error = status.error();
    if (++scanned_[task.job].ended == jobs.scans[task.job].tasks) changed_.notify_all();
  }

  // The numbers that a tensor shares with its peers. Waits until all were scanned; the scans stand
  // before in the list of tasks, so somebody is at work on them. Fails: as the first of them that
  // failed; a task with the numbers of the others would write other bytes, and be done.
  Result<Stats> wait_for(const Jobs& jobs, const TensorJob& job) {
    const Recoded& recoded = job.tensor->recoded();
    Stats stats = recoded.stats.value_or(Stats{});
    stats.own_amax = stats.amax;
    std::unique_lock lock(mutex_);
    for (const uint32_t scan : job.scans) {
      changed_.wait(lock, [&] { return scanned_[scan].ended == jobs.scans[scan].tasks; });
      if (scanned_[scan].error) return Failure(*scanned_[scan].error);
      combine(stats, scanned_[scan].stats);
      if (scan == job.scans.front()) stats.own_amax = scanned_[scan].stats.amax;
    }
    return stats;
  }

 private:
  struct ScanResult {
    Stats stats;
    uint32_t ended = 0;
    std::optional<Error> error = {};
  };
  std::vector<ScanResult> scanned_;  // by Jobs::scans
  std::mutex mutex_;
  std::condition_variable changed_;
};

// Lets so many threads at a time compute, or read. Locked by each of them. Thread-safe. Not the
// semaphore of the standard library: that of GCC 12 and 13 can let a thread sleep for ever, as a
// release between its two looks at the count wakes nobody (libstdc++ 104928).
class Slots {
 public:
  explicit Slots(unsigned count) : free_(count) {}
  void lock() {
    std::unique_lock lock(mutex_);
    freed_.wait(lock, [this] { return free_ > 0; });
    --free_;
  }
  void unlock() {
    {
      const std::lock_guard lock(mutex_);
      ++free_;
    }
    freed_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable freed_;
  unsigned free_;
};

// How the files of an output are written.
struct FilesAtWork {
  uint64_t hashed_together;  // by one core
  uint64_t parallel;         // written in parallel
  uint64_t piece_bytes;      // at most
};

bool is_read_from_memory(const Plan& plan) {
  std::set<std::string> names;
  each_source(plan, [&](const ByteSource& source) { names.insert(source.name()); });
  return std::ranges::all_of(names, is_in_page_cache);
}

// If the inputs are in memory, a core hashes so many files together that half of the cores would
// suffice for all files at work, while the others read and write. Their pieces are small, to be in
// the cache still when they are hashed. Disks and servers give few large pieces faster than many
// small ones, so each file is hashed alone.
FilesAtWork choose_files(const Plan& plan, uint64_t room_bytes, uint64_t cores) {
  constexpr uint64_t kPieceBytes = 2 << 20;
  uint64_t files = 1;
  for (const Output& output : plan.outputs) {
    const auto has_weights = [](const OutputFile& file) { return !file.extents.empty(); };
    const auto count = std::ranges::count_if(output.layout.files, has_weights);
    files = std::max(files, static_cast<uint64_t>(count));
  }
  const uint64_t waiting = std::clamp<uint64_t>(room_bytes / (2 * kPieceBytes), 1, files);
  const uint64_t together = std::clamp<uint64_t>(2 * waiting / cores, 1, sha256_chains());
  if (together == 1 || !is_read_from_memory(plan)) return {1, std::min(waiting, cores), UINT64_MAX};
  return {together, std::min(waiting, cores * together), kPieceBytes};
}

// Memory of one thread.
struct Worker {
  std::vector<GatherBuffers> buffers;
  RecodeScratch scratch;
  uint64_t read_bytes = 0;
  Stats found;  // by the last scan
  bool is_scanning = false;
};

bool is_read_far(const Plan& plan) {
  bool is_far = false;
  each_source(plan, [&](const ByteSource& source) { is_far |= is_url(source.name()); });
  return is_far;
}

// More threads than cores: while some wait for the disk or a server, others compute.
unsigned reading_threads(bool is_far, unsigned cores) {
  return cores + std::max(is_far ? kReadsOfServer : 2, cores / 2);
}

// More threads than may read from a server: each connection gets its next request while threads
// write what the previous ones brought.
constexpr unsigned kThreadsAfterReads = 8;

// Whether something is read twice: for statistics first, or for several outputs.
bool reads_twice(const Plan& plan) {
  return plan.outputs.size() > 1 ||
         std::ranges::any_of(plan.outputs[0].checkpoint.tensors, needs_scan);
}

class Engine {
 public:
  Engine(const Plan& plan, const ExecuteOptions& options)
      : plan_(plan),
        options_(options),
        threads_(options.threads != 0 ? options.threads
                                      : std::max(1u, std::thread::hardware_concurrency())),
        is_far_(is_read_far(plan)),
        readers_(reading_threads(is_far_, threads_)),
        workers_(readers_ + (is_far_ ? kThreadsAfterReads : 0)),
        files_(plan),
        cores_(threads_),
        reading_(readers_) {}

  Result<ExecuteReport> run() {
    const auto start = std::chrono::steady_clock::now();
    Status status = open().and_then([this] { return end(); });
    if (!status) return ended_by(std::move(status.error()));
    ExecuteReport report;
    if (!is_share()) report.files = std::move(reports_);
    for (const FileReport& file : report.files) {
      remember_digest(file.path, file.sha256);
      report.written_bytes += file.size_bytes;
    }
    if (is_share()) report.written_bytes = jobs_.output_bytes;
    report.read_bytes = read_bytes_ + (cache_ ? cache_->read_bytes() : 0);
    report.resumed_bytes = resumed_bytes_;
    report.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return report;
  }

 private:
  bool is_share() const { return options_.resume.share_count > 0; }

  Status open() {
    CKPT_TRY(check(plan_));
    CKPT_TRY(check_inputs());
    if (!options_.cache_folder.empty()) {
      CKPT_ASSIGN(disk_, DiskCache::open(options_.cache_folder, options_.cache_bytes));
    }
    if (options_.resume.enabled) CKPT_SET(resume_, Resume::begin(plan_, options_));
    const Leftovers leftovers = resume_ != nullptr ? resume_->leftovers() : Leftovers::kRemove;
    // An output that an earlier run was about to rename may have its final name already.
    const bool force = options_.force || leftovers == Leftovers::kPublish;
    const FileMode mode{leftovers == Leftovers::kKeep, !is_share(), options_.interrupted};
    return files_.open(force, leftovers, mode);
  }

  // Every byte of every file.
  Status make() {
    const bool reads_again = reads_twice(plan_);
    MemoryShares shares =
        share_memory(options_.memory_bytes, resident_bytes(), workers_, reads_again);
    const FilesAtWork files = choose_files(plan_, shares.pieces_bytes, threads_);
    const uint64_t wanted_bytes = std::min(options_.chunk_bytes, files.piece_bytes);
    jobs_ = cut(plan_, {chunk_bytes(shares, readers_, wanted_bytes),
                        static_cast<unsigned>(files.parallel)});
    // The jobs are there as well.
    shares = share_memory(options_.memory_bytes, resident_bytes(), workers_, reads_again);
    files_.set_limits(shares.buffers_bytes, shares.pieces_bytes, files.hashed_together);
    gate_.emplace(shares.tasks_bytes);
    if (is_share()) {
      take_share(jobs_, plan_, options_.resume.share_number, options_.resume.share_count);
    }
    scans_.emplace(jobs_.scans.size());
    if (reads_again) {
      const auto use = plan_.outputs.size() > 1 ? BlockCache::Use::kOften : BlockCache::Use::kTwice;
      cache_.emplace(shares.blocks_bytes, use, pool_, disk_.get());
    }
    if (resume_ != nullptr) {
      for (uint32_t i = 0; i < jobs_.scans.size(); ++i) scans_->add(i, resume_->known(i));
      resume_->start(files_, [this](Error error) { failed(0, std::move(error)); });
    }
    std::vector<std::thread> threads = start_threads(workers_, [this] { work(); });
    if (threads.empty()) work();
    for (std::thread& thread : threads) thread.join();
    if (resume_ != nullptr) resume_->stop();
    if (error_) return Failure(std::move(*error_));
    return {};
  }

  Status end() {
    const bool is_made = resume_ != nullptr && resume_->leftovers() == Leftovers::kPublish;
    if (is_made) {
      reports_ = resume_->reports();
    } else {
      CKPT_TRY(make());
      CKPT_ASSIGN(reports_, files_.finish());
    }
    CKPT_TRY(check_inputs());
    if (is_share()) {
      files_.keep();
      return resume_->complete();
    }
    if (resume_ != nullptr && !is_made) CKPT_TRY(resume_->ready(reports_));
    return files_.publish(options_.progress);
  }

  Status check_inputs() {
    Status found = check_inputs_unchanged(plan_);
    inputs_changed_ = !found && found.error().code == ErrorCode::kCorrupt;
    return found;
  }

  // After a temporary error the next run resumes finished work. Work made from inputs that changed
  // is useless, what a share's ledger says included.
  Failure ended_by(Error error) {
    const bool is_data = error.code == ErrorCode::kCorrupt || error.code == ErrorCode::kUnsupported;
    if (is_share()) files_.keep();  // it is never alone
    if (resume_ != nullptr && inputs_changed_) resume_->forget();
    const bool may_pass = !inputs_changed_ && (!is_data || is_share());
    if (resume_ == nullptr || !may_pass || !resume_->keep()) return Failure(std::move(error));
    files_.keep();
    if (error.code == ErrorCode::kIo || error.code == ErrorCode::kInterrupted) {
      error.hint +=
          fmt::format("{}rerun the same command to resume", error.hint.empty() ? "" : "; then ");
    }
    return Failure(std::move(error));
  }

  TaskGate::Turn next_turn() {
    const TraceSpan span("wait for memory");
    return gate_->begin(jobs_);
  }

  void work() {
    // Output bytes are those of IEEE arithmetic: a caller that flushes denormals must not change
    // them.
    std::fesetenv(FE_DFL_ENV);
    Worker worker;
    for (;;) {
      const TaskGate::Turn turn = next_turn();
      if (turn.index >= jobs_.tasks.size()) break;
      do_task(turn.index, worker);
      for (GatherBuffers& each : worker.buffers) each.give_back();
      pool_.give(std::move(worker.scratch.values));
      gate_->end(turn);
    }
    read_bytes_ += worker.read_bytes;
    if (Status status = files_.hash_waiting(); !status) {
      failed(jobs_.tasks.size(), std::move(status.error()));
    }
  }

  void do_task(size_t index, Worker& worker) {
    const Task& task = jobs_.tasks[index];
    // Tasks before a failed one still run, so that the error told is always the first in the plan.
    if (task.order > error_order_) {
      scans_->ended(jobs_, task, first_error());
      return;
    }
    const bool is_done = resume_ != nullptr && resume_->is_done(jobs_, task);
    worker.is_scanning = task.kind == Task::Kind::kScan;
    Status status = check_not_interrupted(options_.interrupted);
    if (status) status = is_done ? skip_task(task) : run_task(task, worker);
    scans_->ended(jobs_, task, status);
    if (!status) {
      failed(task.order, std::move(status.error()));
      return;
    }
    if (resume_ != nullptr && !is_done) resume_->finished(jobs_, task, worker.found);
    for (const OutputRange& range : ranges_of(jobs_, task)) advanced(range.size_bytes);
  }

  Status run_task(const Task& task, Worker& worker) {
    switch (task.kind) {
      case Task::Kind::kHeader: return write_bytes(task);
      case Task::Kind::kCopy: return copy_part(task, worker);
      case Task::Kind::kSameAs: return copy_file(task, worker);
      case Task::Kind::kRecode: return recode(task, worker);
      case Task::Kind::kScan: return scan(task, worker);
    }
    return {};
  }

  // An earlier run has done it; what it wrote is still to be hashed.
  Status skip_task(const Task& task) {
    for (const OutputRange& range : ranges_of(jobs_, task)) {
      resumed_bytes_ += range.size_bytes;
      CKPT_TRY(writer(task, range.file).put_written(range.offset_bytes, range.size_bytes));
    }
    return {};
  }

  // Returns at least `count` buffers of the worker. What is read only once goes around the cache.
  std::vector<GatherBuffers>& buffers(Worker& worker, size_t count, bool is_scanned) {
    const bool is_read_again = is_scanned || plan_.outputs.size() > 1;
    if (worker.buffers.size() < count) worker.buffers.resize(count);
    for (GatherBuffers& each : worker.buffers) {
      each.pool = &pool_;
      each.cache = cache_ && is_read_again ? &*cache_ : nullptr;
      each.reading = worker.is_scanning ? BlockCache::Reading::kFirst : BlockCache::Reading::kLast;
    }
    return worker.buffers;
  }

  Status write_bytes(const Task& task) {
    Piece piece = make_piece(pool_, task.offset_bytes, task.count);
    const std::vector<std::byte>& header =
        plan_.outputs[task.output].layout.files[task.file].header;
    const uint64_t end = std::min<uint64_t>(header.size(), task.first + task.count);
    const uint64_t copied = end > task.first ? end - task.first : 0;
    if (copied > 0) std::memcpy(piece.bytes.data(), header.data() + task.first, copied);
    std::memset(piece.bytes.data() + copied, 0, task.count - copied);
    return writer(task, task.file).put(std::move(piece));
  }

  Status copy_part(const Task& task, Worker& worker) {
    const TensorJob& job = jobs_.tensors[task.output][task.job];
    Piece piece = make_piece(pool_, task.offset_bytes, task.count);
    GatherBuffers& memory = buffers(worker, 1, false)[0];
    {
      const std::lock_guard slot(reading_);
      const TraceSpan span("read");
      CKPT_TRY(gather_into(job.slices[task.part], task.first, piece.bytes, memory));
    }
    if (memory.cache == nullptr) worker.read_bytes += task.count;
    if (!options_.allow_nonfinite) {
      const Codec& codec = *job.tensor->codec;
      const uint64_t element = size_bytes(codec.parts[task.part].dtype);
      CKPT_TRY(check_finite(*job.tensor, codec, task.first / element, piece.bytes));
    }
    return writer(task, task.file).put(std::move(piece));
  }

  Status copy_file(const Task& task, Worker& worker) {
    const Slice& source = plan_.outputs[task.output].layout.files[task.file].same_as;
    Piece piece = make_piece(pool_, task.offset_bytes, task.count);
    {
      const std::lock_guard slot(reading_);
      const TraceSpan span("read");
      CKPT_TRY(source.source->read(source.offset_bytes + task.first, piece.bytes));
    }
    worker.read_bytes += task.count;
    return writer(task, task.file).put(std::move(piece));
  }

  using Source = std::vector<std::span<const std::byte>>;
  struct Stored {
    const Tensor& tensor;
    const std::vector<SliceIndex>& slices;
    const Grain& grain;
    bool is_scanned;
  };

  // Input of tasks from a Stored tensor: the bytes of each part for some rows.
  Result<Source> load(const Stored& stored, const Task& task, Worker& worker) {
    const std::span<const PartRule> rules = stored.tensor.codec->parts;
    std::vector<GatherBuffers>& memory = buffers(worker, rules.size(), stored.is_scanned);
    Source source;
    for (size_t i = 0; i < rules.size(); ++i) {
      const PartRange range = part_range(rules[i], stored.grain, task.first, task.count);
      const std::lock_guard slot(reading_);
      const TraceSpan span("read");
      CKPT_ASSIGN(const auto bytes,
                  gather(stored.slices[i], range.first_bytes, range.size_bytes, memory[i]));
      if (memory[i].cache == nullptr) worker.read_bytes += range.size_bytes;
      source.push_back(bytes);
    }
    return source;
  }

  template <class Work>
  Status compute(const char* name, const Work& work) {
    std::unique_lock core(cores_, std::defer_lock);
    {
      const TraceSpan span("wait for a core");
      core.lock();
    }
    const TraceSpan span(name);
    return work();
  }

  Result<Stats> wait_for_scans(const TensorJob& job) {
    const TraceSpan span("wait for scans");
    return scans_->wait_for(jobs_, job);
  }

  Status recode(const Task& task, Worker& worker) {
    const TensorJob& job = jobs_.tensors[task.output][task.job];
    const Tensor& tensor = *job.tensor;
    CKPT_ASSIGN(const Stats stats, wait_for_scans(job));
    const Stored stored{*tensor.recoded().from, job.slices, job.grain, !job.scans.empty()};
    CKPT_ASSIGN(const Source source, load(stored, task, worker));
    CKPT_ASSIGN(const std::vector<float> block_amax, load_block_amax(job, task));
    CKPT_ASSIGN(const FeedbackCache::Shared feedback,
                feedback_.get(tensor.recoded().moments.get()));
    const std::span<const PartRule> rules = tensor.codec->parts;
    std::vector<Piece> pieces;
    std::vector<std::span<std::byte>> out;
    for (size_t i = 0; i < rules.size(); ++i) {
      const PartRange range = part_range(rules[i], job.grain, task.first, task.count);
      pieces.push_back(
          make_piece(pool_, job.places[i].offset_bytes + range.first_bytes, range.size_bytes));
      out.push_back(pieces.back().bytes);
    }
    worker.scratch.values = pool_.take(strip_bytes(tensor, job.grain));
    CKPT_TRY(compute("recode", [&] {
      return recode_chunk({tensor, job.grain, task.first, task.count, source, stats,
                           options_.allow_nonfinite, block_amax, feedback.get()},
                          worker.scratch, out);
    }));
    for (size_t i = 0; i < pieces.size(); ++i) {
      // A part of the whole tensor is the same in every chunk: the first one writes it.
      if (rules[i].tile_rows == 0 && task.first > 0) {
        pool_.give(std::move(pieces[i].buffer));
      } else {
        const auto turn = pieces.size() > 1 || task.output > 0 ? Turn::kLater : Turn::kNext;
        CKPT_TRY(writer(task, job.places[i].file).put(std::move(pieces[i]), turn));
      }
    }
    return {};
  }

  Status scan(const Task& task, Worker& worker) {
    const ScanJob& job = jobs_.scans[task.job];
    CKPT_ASSIGN(const Source source,
                load({*job.tensor->recoded().from, job.slices, job.grain, true}, task, worker));
    Stats stats;
    worker.scratch.values = pool_.take(strip_bytes(*job.tensor, job.grain));
    CKPT_TRY(compute("scan", [&] {
      return scan_chunk(
          {*job.tensor, job.grain, task.first, task.count, source, {}, options_.allow_nonfinite},
          worker.scratch, stats);
    }));
    worker.found = stats;
    scans_->add(task.job, stats);
    return {};
  }

  void failed(size_t order, Error error) {
    const std::lock_guard lock(mutex_);
    if (order >= error_order_) return;
    error_order_ = order;
    error_ = std::move(error);
  }

  Status first_error() {
    const std::lock_guard lock(mutex_);
    return Failure(*error_);
  }

  void advanced(uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    done_bytes_ += bytes;
    if (options_.progress != nullptr) options_.progress->advanced(done_bytes_, jobs_.output_bytes);
  }

  using Turn = FileWriter::Turn;
  FileWriter& writer(const Task& task, uint32_t file) { return files_.writer(task.output, file); }

  const Plan& plan_;
  const ExecuteOptions& options_;
  unsigned threads_;
  const bool is_far_;
  const unsigned readers_, workers_;
  std::unique_ptr<Resume> resume_;  // may be null; its ledgers are removed after files_
  OutputFiles files_;
  BufferPool& pool_ = files_.pool();
  std::unique_ptr<DiskCache> disk_;  // may be null
  std::optional<BlockCache> cache_;  // where something is read twice
  Jobs jobs_;
  FeedbackCache feedback_;
  Slots cores_, reading_;

  std::optional<ScanBoard> scans_;
  std::optional<TaskGate> gate_;

  std::atomic<uint64_t> read_bytes_{0};
  std::mutex mutex_;
  std::atomic<size_t> error_order_{SIZE_MAX};
  std::optional<Error> error_;
  uint64_t done_bytes_ = 0;
  std::atomic<uint64_t> resumed_bytes_{0};
  std::vector<FileReport> reports_;
  bool inputs_changed_ = false;
};

}  // namespace

Result<ExecuteReport> execute(const Plan& plan, const ExecuteOptions& options) {
  return Engine(plan, options).run();
}

}  // namespace ckpt

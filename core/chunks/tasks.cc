#include "core/chunks/tasks.h"

#include <algorithm>
#include <compare>
#include <map>
#include <span>
#include <tuple>

namespace ckpt {
namespace {

TensorJob make_job(const Tensor& tensor) {
  TensorJob job;
  job.tensor = &tensor;
  job.places.resize(tensor.codec->parts.size());
  const Tensor& source = tensor.stored_tensor();
  for (const auto& slices : source.stored().parts) job.slices.emplace_back(slices);
  if (tensor.is_stored()) return job;
  job.grain = grain(tensor);
  const Recoded& recoded = tensor.recoded();
  if (recoded.block_amax != nullptr) {
    job.block_amax.emplace(recoded.block_amax->stored().parts[0]);
  }
  return job;
}

// The rows of a task: complete bands and, if they are short enough, entire rows of the tensor
// itself, so that tensors from the same source are split at the same places whatever their grain.
uint64_t task_rows(const Tensor& tensor, const Grain& grain, uint64_t values) {
  const uint64_t own_rows = values / std::max<uint64_t>(1, tensor.row_values());
  const uint64_t target = own_rows > 0 ? own_rows * tensor.row_values() : values;
  const uint64_t rows = target / std::max<uint64_t>(1, grain.row_values);
  return std::max(grain.band_rows, rows / grain.band_rows * grain.band_rows);
}

struct SourcePlace {
  const ByteSource* source = nullptr;
  uint64_t offset_bytes = 0;
  auto operator<=>(const SourcePlace&) const = default;
};

class Cutter {
 public:
  Cutter(const Plan& plan, const Cut& how)
      : plan_(plan), chunk_bytes_(how.chunk_bytes), parallel_files_(how.parallel_files) {}

  Jobs run() {
    for (uint32_t output = 0; output < plan_.outputs.size(); ++output) cut_output(output);
    order_by_first_byte();
    if (plan_.outputs.size() > 1) order_by_first_output();
    cut_scans();
    put_scans_before_their_use();
    number();
    if (plan_.outputs.size() == 1 && parallel_files_ > 1) {
      interleave_files();
      put_scans_before_their_use();
    }
    return std::move(jobs_);
  }

 private:
  void cut_output(uint32_t output) {
    const Output& out = plan_.outputs[output];
    auto& tensors = jobs_.tensors.emplace_back();
    tensors.reserve(out.checkpoint.tensors.size());
    for (const Tensor& tensor : out.checkpoint.tensors) tensors.push_back(make_job(tensor));
    for (uint32_t file = 0; file < out.layout.files.size(); ++file) {
      const OutputFile& layout = out.layout.files[file];
      jobs_.output_bytes += layout.size_bytes;
      for (const Extent& extent : layout.extents) {
        tensors[extent.tensor].places[extent.part] = {file, extent.offset_bytes};
      }
      cut_bytes(output, file, layout);
    }
    for (uint32_t i = 0; i < tensors.size(); ++i) {
      const bool placed = tensors[i].places[0].file != kNoFile;
      if (!placed || tensors[i].tensor->values() == 0) continue;
      if (tensors[i].tensor->is_stored()) {
        cut_copies(output, i, tensors[i]);
      } else {
        find_scans(tensors[i]);
        cut_recodes(output, i, tensors[i]);
      }
    }
  }

  // The index of the scan of `tensor`'s source. Tensors with the same source share one.
  uint32_t scan_of(const Tensor& tensor) {
    const Tensor* from = tensor.recoded().from.get();
    const auto [found, is_new] = scan_by_source_.try_emplace(from, jobs_.scans.size());
    if (is_new) {
      ScanJob& job = jobs_.scans.emplace_back();
      job.tensor = &tensor;
      for (const auto& slices : from->stored().parts) job.slices.emplace_back(slices);
      job.grain = grain(tensor);
    }
    return found->second;
  }

  void find_scans(TensorJob& job) {
    if (!needs_scan(*job.tensor)) return;
    const Recoded& recoded = job.tensor->recoded();
    job.scans.push_back(scan_of(*job.tensor));
    for (const auto& peer : recoded.peers) job.scans.push_back(scan_of(*peer));
  }

  // The position of the first byte that a task reads; no source if it reads nothing.
  SourcePlace source_of(const Task& task) const {
    if (task.kind != Task::Kind::kCopy && task.kind != Task::Kind::kRecode) return {};
    const TensorJob& job = jobs_.tensors[task.output][task.job];
    uint64_t first = task.first;
    if (task.kind == Task::Kind::kRecode) {
      const PartRule& rule = job.tensor->recoded().from->codec->parts[0];
      first = part_shape(rule, task.first, job.grain.row_values).size_bytes;
    }
    const SliceIndex& slices = job.slices[task.kind == Task::Kind::kCopy ? task.part : 0];
    if (first >= slices.size_bytes()) return {};
    const SliceIndex::Piece piece = slices.pieces(first, 1)[0];
    return {piece.source, piece.offset_bytes};
  }

  // Orders tasks by the first byte of their tensor in any part: a file often begins with scales of
  // tensors whose codes end it, and its hash waits for them.
  void order_by_first_byte() {
    std::vector<std::pair<PartPlace, Task>> ordered;
    for (const Task& task : jobs_.tasks) {
      PartPlace first{task.file, task.offset_bytes};
      if (task.kind == Task::Kind::kRecode) {
        const auto& places = jobs_.tensors[task.output][task.job].places;
        first = *std::ranges::min_element(places);
      }
      ordered.emplace_back(first, task);
    }
    std::ranges::stable_sort(ordered, [](const auto& a, const auto& b) {
      return std::tie(a.second.output, a.first, a.second.file, a.second.offset_bytes) <
             std::tie(b.second.output, b.first, b.second.file, b.second.offset_bytes);
    });
    for (size_t i = 0; i < ordered.size(); ++i) jobs_.tasks[i] = ordered[i].second;
  }

  // Writes the first output in order. Tasks of the others follow when the first reads the same
  // place of the source, so that it is read once.
  void order_by_first_output() {
    std::vector<std::pair<SourcePlace, size_t>> places;
    for (size_t i = 0; i < jobs_.tasks.size() && jobs_.tasks[i].output == 0; ++i) {
      places.emplace_back(source_of(jobs_.tasks[i]), i);
    }
    std::ranges::sort(places);
    std::vector<std::pair<size_t, Task>> ordered;
    for (size_t i = 0; i < jobs_.tasks.size(); ++i) {
      const Task& task = jobs_.tasks[i];
      size_t turn = i;
      if (task.output > 0) {
        const SourcePlace place = source_of(task);
        const auto next = std::ranges::upper_bound(places, std::make_pair(place, SIZE_MAX));
        const bool found = place.source != nullptr && next != places.begin() &&
                           std::prev(next)->first.source == place.source;
        turn = found ? std::prev(next)->second : 0;
      }
      ordered.emplace_back(turn, task);
    }
    std::ranges::stable_sort(ordered,
                             [](const auto& a, const auto& b) { return a.first < b.first; });
    for (size_t i = 0; i < ordered.size(); ++i) jobs_.tasks[i] = ordered[i].second;
  }

  void cut_scans() {
    for (uint32_t i = 0; i < jobs_.scans.size(); ++i) {
      ScanJob& job = jobs_.scans[i];
      auto& tasks = scan_tasks_.emplace_back();
      const uint64_t step = task_rows(*job.tensor, job.grain, chunk_bytes_ / sizeof(float));
      for (uint64_t row = 0; row < job.grain.rows; row += step) {
        tasks.push_back(
            {Task::Kind::kScan, 0, 0, i, 0, 0, row, std::min(step, job.grain.rows - row)});
      }
      job.tasks = static_cast<uint32_t>(tasks.size());
    }
  }

  // A task may wait for scans that have begun, but never for others.
  void put_scans_before_their_use() {
    std::vector<bool> is_put(scan_tasks_.size());
    std::vector<Task> ordered;
    for (const Task& task : jobs_.tasks) {
      if (task.kind == Task::Kind::kRecode) {
        for (const uint32_t scan : jobs_.tensors[task.output][task.job].scans) {
          if (is_put[scan]) continue;
          is_put[scan] = true;
          ordered.insert(ordered.end(), scan_tasks_[scan].begin(), scan_tasks_[scan].end());
        }
      }
      ordered.push_back(task);
    }
    jobs_.tasks = std::move(ordered);
  }

  // Numbers scans too, so that they keep their numbers wherever they are moved.
  void number() {
    for (auto& tasks : scan_tasks_) tasks.clear();
    for (size_t i = 0; i < jobs_.tasks.size(); ++i) {
      Task& task = jobs_.tasks[i];
      task.order = i;
      if (task.kind == Task::Kind::kScan) scan_tasks_[task.job].push_back(task);
    }
  }

  // One of the files that are written in parallel.
  struct Lane {
    std::span<const Task> tasks;  // remaining tasks
    uint64_t written_bytes = 0;
  };

  // Picks the next task from the file that has progressed least. When a file ends, the next begins.
  void interleave_files() {
    std::vector<Task> tasks = std::move(jobs_.tasks);
    std::erase_if(tasks, [](const Task& task) { return task.kind == Task::Kind::kScan; });
    std::vector<std::span<const Task>> files;
    for (size_t first = 0, end = 0; first < tasks.size(); first = end) {
      while (end < tasks.size() && tasks[end].file == tasks[first].file) ++end;
      files.push_back(std::span(tasks).subspan(first, end - first));
    }
    const size_t lane_count = std::min<size_t>(parallel_files_, files.size());
    std::vector<Lane> lanes(lane_count);
    for (size_t i = 0; i < lane_count; ++i) lanes[i].tasks = files[i];
    size_t next_file = lane_count;
    jobs_.tasks.clear();
    while (!lanes.empty()) {
      const auto lane = std::ranges::min_element(lanes, {}, &Lane::written_bytes);
      jobs_.tasks.push_back(lane->tasks.front());
      for (const OutputRange& range : ranges_of(jobs_, lane->tasks.front())) {
        lane->written_bytes += range.size_bytes;
      }
      lane->tasks = lane->tasks.subspan(1);
      if (!lane->tasks.empty()) continue;
      if (next_file < files.size()) {
        lane->tasks = files[next_file++];
      } else {
        lanes.erase(lane);
      }
    }
  }

  // Splits into ranges that keep `element` bytes together, even if this splits pages of the file.
  void add_ranges(Task task, uint64_t end, uint64_t element = 1) {
    const uint64_t step = std::max(element, chunk_bytes_ / element * element);
    for (; task.first < end; task.first += task.count) {
      const uint64_t ragged = (task.offset_bytes + step) % kPageBytes;
      const bool can_align = ragged % element == 0 && ragged < step;
      task.count = std::min(can_align ? step - ragged : step, end - task.first);
      jobs_.tasks.push_back(task);
      task.offset_bytes += task.count;
    }
  }

  // Adds the header and the zeros between extents.
  void cut_bytes(uint32_t output, uint32_t file, const OutputFile& layout) {
    if (layout.same_as.source != nullptr && layout.extents.empty()) {
      add_ranges({Task::Kind::kSameAs, output, file, 0, 0, 0, 0, 0}, layout.size_bytes);
      return;
    }
    uint64_t at = 0;
    const auto fill_to = [&](uint64_t end) {
      add_ranges({Task::Kind::kHeader, output, file, 0, 0, at, at, 0}, end);
    };
    for (const Extent& extent : layout.extents) {
      fill_to(extent.offset_bytes);
      at = extent.offset_bytes + extent.size_bytes;
    }
    fill_to(layout.size_bytes);
  }

  void cut_copies(uint32_t output, uint32_t index, const TensorJob& job) {
    for (uint32_t part = 0; part < job.places.size(); ++part) {
      // Splits between elements, so that a check of values never sees half a number.
      const uint64_t element = size_bytes(job.tensor->codec->parts[part].dtype);
      const PartPlace& place = job.places[part];
      add_ranges({Task::Kind::kCopy, output, place.file, index, part, place.offset_bytes, 0, 0},
                 job.slices[part].size_bytes(), element);
    }
  }

  void cut_recodes(uint32_t output, uint32_t index, const TensorJob& job) {
    const uint64_t step = task_rows(*job.tensor, job.grain, chunk_bytes_ / sizeof(float));
    const PartRule& rule = job.tensor->codec->parts[0];
    for (uint64_t row = 0; row < job.grain.rows; row += step) {
      const uint64_t rows = std::min(step, job.grain.rows - row);
      const uint64_t before = part_shape(rule, row, job.grain.row_values).size_bytes;
      jobs_.tasks.push_back({Task::Kind::kRecode, output, job.places[0].file, index, 0,
                             job.places[0].offset_bytes + before, row, rows});
    }
  }

  const Plan& plan_;
  uint64_t chunk_bytes_;
  unsigned parallel_files_;
  Jobs jobs_;
  std::map<const Tensor*, uint32_t> scan_by_source_;
  std::vector<std::vector<Task>> scan_tasks_;  // parallel to Jobs::scans
};

// Returns `size_bytes` times number / count without overflow.
uint64_t border(uint64_t size_bytes, uint32_t number, uint32_t count) {
  return size_bytes / count * number + size_bytes % count * number / count;
}

class ShareAssigner {
 public:
  explicit ShareAssigner(const Plan& plan) {
    for (const Output& output : plan.outputs) {
      auto& starts = starts_.emplace_back();
      for (const OutputFile& file : output.layout.files) {
        starts.push_back(size_bytes_);
        size_bytes_ += file.size_bytes;
      }
    }
  }
  bool holds(const Jobs& jobs, const Task& task, uint32_t number, uint32_t count) const {
    const uint64_t begin = border(size_bytes_, number - 1, count);
    const uint64_t end = border(size_bytes_, number, count);
    const OutputRange range = ranges_of(jobs, task)[0];
    const uint64_t first = starts_[range.output][range.file] + range.offset_bytes;
    return first < end && first + range.size_bytes > begin;
  }

 private:
  std::vector<std::vector<uint64_t>> starts_;
  uint64_t size_bytes_ = 0;
};

}  // namespace

bool needs_scan(const Tensor& tensor) {
  return !tensor.is_stored() && tensor.codec->needs_stats &&
         !tensor.recoded().stats.has_value();
}

Jobs cut(const Plan& plan, const Cut& how) { return Cutter(plan, how).run(); }

Result<std::vector<float>> load_block_amax(const Tensor& tensor, const SliceIndex& slices,
                                           uint64_t first, uint64_t rows) {
  const Tensor& amax = *tensor.recoded().block_amax;
  const uint64_t row_blocks = amax.values() / grain(tensor).rows;
  const uint64_t element = size_bytes(amax.codec->parts[0].dtype);
  GatherBuffers buffers;
  CKPT_ASSIGN(const auto bytes,
              gather(slices, first * row_blocks * element, rows * row_blocks * element, buffers));
  std::vector<float> values(rows * row_blocks);
  const std::span<const std::byte> part = bytes;
  amax.codec->decode(std::span(&part, 1), {values, row_blocks});
  return values;
}

Result<std::vector<float>> load_block_amax(const TensorJob& job, const Task& task) {
  if (!job.block_amax) return std::vector<float>();
  return load_block_amax(*job.tensor, *job.block_amax, task.first, task.count);
}

std::vector<OutputRange> ranges_of(const Jobs& jobs, const Task& task) {
  if (task.kind == Task::Kind::kScan) return {};
  if (task.kind != Task::Kind::kRecode) {
    return {{task.output, task.file, task.offset_bytes, task.count}};
  }
  const TensorJob& job = jobs.tensors[task.output][task.job];
  const std::span<const PartRule> rules = job.tensor->codec->parts;
  std::vector<OutputRange> out;
  for (size_t i = 0; i < rules.size(); ++i) {
    // A part of the entire tensor is the same in every chunk, so only the first chunk writes it.
    if (rules[i].tile_rows == 0 && task.first > 0) continue;
    const PartRange range = part_range(rules[i], job.grain, task.first, task.count);
    out.push_back({task.output, job.places[i].file, job.places[i].offset_bytes + range.first_bytes,
                   range.size_bytes});
  }
  return out;
}

void take_share(Jobs& jobs, const Plan& plan, uint32_t number, uint32_t count) {
  const ShareAssigner assigner(plan);
  std::vector<bool> scans(jobs.scans.size());
  std::vector<bool> taken(jobs.tasks.size());
  for (size_t i = 0; i < jobs.tasks.size(); ++i) {
    const Task& task = jobs.tasks[i];
    if (task.kind == Task::Kind::kScan) continue;
    taken[i] = assigner.holds(jobs, task, number, count);
    if (!taken[i] || task.kind != Task::Kind::kRecode) continue;
    for (const uint32_t scan : jobs.tensors[task.output][task.job].scans) scans[scan] = true;
  }
  size_t next = 0;
  jobs.output_bytes = 0;
  for (size_t i = 0; i < jobs.tasks.size(); ++i) {
    const Task task = jobs.tasks[i];
    const bool is_scan = task.kind == Task::Kind::kScan;
    if (is_scan ? !scans[task.job] : !taken[i]) continue;
    for (const OutputRange& range : ranges_of(jobs, task)) jobs.output_bytes += range.size_bytes;
    jobs.tasks[next++] = task;
  }
  jobs.tasks.resize(next);
}

}  // namespace ckpt

#include "core/tasks.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "core/arithmetic.h"

namespace ckpt {
namespace {

TensorJob make_job(const Tensor& tensor) {
  TensorJob job;
  job.tensor = &tensor;
  job.places.resize(tensor.codec->parts.size());
  const Tensor& source = tensor.is_stored() ? tensor : *tensor.recoded().from;
  for (const auto& slices : source.stored().parts) job.slices.emplace_back(slices);
  if (tensor.is_stored()) return job;
  job.grain = grain(tensor);
  const Recoded& recoded = tensor.recoded();
  if (recoded.block_amax != nullptr) {
    job.block_amax.emplace(recoded.block_amax->stored().parts[0]);
  }
  return job;
}

// Rows of a task: whole bands, about `values` values.
uint64_t task_rows(const Grain& grain, uint64_t values) {
  const uint64_t rows = values / std::max<uint64_t>(1, grain.row_values);
  return std::max(grain.band_rows, rows / grain.band_rows * grain.band_rows);
}

class Cutter {
 public:
  Cutter(const Plan& plan, uint64_t chunk_bytes) : plan_(plan), chunk_bytes_(chunk_bytes) {}

  Jobs run() {
    for (uint32_t output = 0; output < plan_.outputs.size(); ++output) cut_output(output);
    std::stable_sort(jobs_.tasks.begin(), jobs_.tasks.end(), [](const Task& a, const Task& b) {
      return std::tie(a.output, a.file, a.offset_bytes) <
             std::tie(b.output, b.file, b.offset_bytes);
    });
    put_scans_before_their_use();
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

  // The scan of what `tensor` is made from; one for all that are made from the same.
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
    const Recoded& recoded = job.tensor->recoded();
    if (!job.tensor->codec->needs_stats || recoded.stats.has_value()) return;
    job.scans.push_back(scan_of(*job.tensor));
    for (const auto& peer : recoded.peers) job.scans.push_back(scan_of(*peer));
  }

  void emit_scan(uint32_t index, std::vector<Task>& out) {
    ScanJob& job = jobs_.scans[index];
    if (job.tasks > 0) return;
    const uint64_t step = task_rows(job.grain, chunk_bytes_ / sizeof(float));
    for (uint64_t row = 0; row < job.grain.rows; row += step) {
      out.push_back(
          {Task::Kind::kScan, 0, 0, index, 0, 0, row, std::min(step, job.grain.rows - row)});
      ++job.tasks;
    }
  }

  // A task may wait for scans, and never for one that nobody has begun.
  void put_scans_before_their_use() {
    if (jobs_.scans.empty()) return;
    std::vector<Task> ordered;
    for (const Task& task : jobs_.tasks) {
      if (task.kind == Task::Kind::kRecode) {
        for (const uint32_t scan : jobs_.tensors[task.output][task.job].scans) {
          emit_scan(scan, ordered);
        }
      }
      ordered.push_back(task);
    }
    jobs_.tasks = std::move(ordered);
  }

  void add_ranges(Task task, uint64_t end, uint64_t step) {
    for (; task.first < end; task.first += task.count) {
      task.count = std::min(step, end - task.first);
      jobs_.tasks.push_back(task);
      task.offset_bytes += task.count;
    }
  }

  // The header and the zeros between extents.
  void cut_bytes(uint32_t output, uint32_t file, const OutputFile& layout) {
    if (layout.same_as.source != nullptr && layout.extents.empty()) {
      add_ranges({Task::Kind::kSameAs, output, file, 0, 0, 0, 0, 0}, layout.size_bytes,
                 chunk_bytes_);
      return;
    }
    uint64_t at = 0;
    const auto fill_to = [&](uint64_t end) {
      add_ranges({Task::Kind::kHeader, output, file, 0, 0, at, at, 0}, end, chunk_bytes_);
    };
    for (const Extent& extent : layout.extents) {
      fill_to(extent.offset_bytes);
      at = extent.offset_bytes + extent.size_bytes;
    }
    fill_to(layout.size_bytes);
  }

  void cut_copies(uint32_t output, uint32_t index, const TensorJob& job) {
    for (uint32_t part = 0; part < job.places.size(); ++part) {
      // Cuts between elements, so that a check of values never meets half a number.
      const uint64_t element = size_bytes(job.tensor->codec->parts[part].dtype);
      const uint64_t step = std::max(element, chunk_bytes_ / element * element);
      const PartPlace& place = job.places[part];
      add_ranges({Task::Kind::kCopy, output, place.file, index, part, place.offset_bytes, 0, 0},
                 job.slices[part].size_bytes(), step);
    }
  }

  void cut_recodes(uint32_t output, uint32_t index, const TensorJob& job) {
    const uint64_t step = task_rows(job.grain, chunk_bytes_ / sizeof(float));
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
  Jobs jobs_;
  std::map<const Tensor*, uint32_t> scan_by_source_;
};

}  // namespace

Jobs cut(const Plan& plan, uint64_t chunk_bytes) { return Cutter(plan, chunk_bytes).run(); }

}  // namespace ckpt

#include "transforms/from_gguf/rows.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace ckpt {
namespace {

// In a tensor with one axis, each value is a row.
uint64_t folder_rows(const Tensor& tensor) {
  return tensor.shape.size() <= 1 ? tensor.values() : tensor.rows();
}

Failure no_rows(const Tensor& made) {
  return unsupported("tensor '{}': its rows are not those of one tensor of the folder", made.name);
}

// Maps one tensor of the GGUF, from its first row to its last.
Status map_tensor(const std::vector<Tensor>& folder, const FolderBytes& places, const Tensor& made,
                  size_t number, RowMap& map) {
  uint64_t row = 0;
  for (Slice slice : made.stored_tensor().stored().parts[0]) {
    while (slice.size_bytes > 0) {
      const FolderBytes::Place* place = places.find(slice);
      if (place == nullptr) return no_rows(made);
      const Tensor& from = folder[place->tensor];
      const uint64_t row_bytes = (place->end_byte - place->first_byte) / folder_rows(from);
      const uint64_t bytes = std::min(slice.size_bytes, place->end_byte - slice.offset_bytes);
      const uint64_t at = slice.offset_bytes - place->first_byte;
      const bool whole_rows = row_bytes > 0 && at % row_bytes == 0 && bytes % row_bytes == 0;
      const bool by_value = from.shape.size() <= 1;
      if (!whole_rows || (!by_value && from.row_values() != made.row_values())) {
        return no_rows(made);
      }
      map[place->tensor].push_back({at / row_bytes, bytes / row_bytes, number, row});
      row += bytes / row_bytes;
      slice.offset_bytes += bytes;
      slice.size_bytes -= bytes;
    }
  }
  const bool is_whole = row == made.rows() || row == made.values();
  return is_whole ? Status() : Status(no_rows(made));
}

}  // namespace

FolderBytes::FolderBytes(const std::vector<Tensor>& folder) {
  for (size_t i = 0; i < folder.size(); ++i) {
    if (!folder[i].is_stored() || folder[i].stored().parts.empty()) continue;
    const std::vector<Slice>& slices = folder[i].stored().parts[0];
    if (slices.size() != 1 || slices[0].size_bytes == 0) continue;
    places_.push_back({slices[0].source.get(), slices[0].offset_bytes,
                       slices[0].offset_bytes + slices[0].size_bytes, i});
  }
  std::sort(places_.begin(), places_.end());
}

const FolderBytes::Place* FolderBytes::find(const Slice& slice) const {
  const Place wanted{slice.source.get(), slice.offset_bytes, 0, 0};
  auto after = std::upper_bound(places_.begin(), places_.end(), wanted);
  if (after == places_.begin()) return nullptr;
  const Place& place = *--after;
  const bool holds = place.source == wanted.source && slice.offset_bytes < place.end_byte;
  return holds ? &place : nullptr;
}

Result<RowMap> find_rows_of(const std::vector<Tensor>& folder, const std::vector<Tensor>& made,
                            const std::vector<size_t>& wanted) {
  const FolderBytes places(folder);
  RowMap map;
  for (const size_t i : wanted) CKPT_TRY(map_tensor(folder, places, made[i], i, map));
  for (auto& [tensor, runs] : map) {
    std::ranges::sort(runs, [](const MovedRows& a, const MovedRows& b) {
      return std::tie(a.first, b.count) < std::tie(b.first, a.count);
    });
    // A reranker's outputs are rows of the embeddings, which the file holds twice.
    uint64_t end = 0;
    std::erase_if(runs, [&](const MovedRows& run) {
      const bool is_there = run.first + run.count <= end;
      end = std::max(end, run.first + run.count);
      return is_there;
    });
  }
  return map;
}

Result<RowMap> find_moved_rows(const std::vector<Tensor>& folder, const std::vector<Tensor>& made,
                               const std::vector<size_t>& wanted) {
  CKPT_ASSIGN(RowMap map, find_rows_of(folder, made, wanted));
  for (const auto& [tensor, runs] : map) {
    uint64_t next = 0;
    for (const MovedRows& run : runs) {
      if (run.first != next) break;
      next += run.count;
    }
    const Tensor& whole = folder[tensor];
    if (next == folder_rows(whole)) continue;
    return misuse("tensor '{}': only some of its rows become '{}'", whole.name,
                  made[runs[0].gguf].name);
  }
  return map;
}

Result<std::optional<std::vector<uint32_t>>> returned_columns(const Tensor& made) {
  if (made.ops().empty()) return std::nullopt;
  std::vector<uint32_t> columns(made.row_values());
  std::iota(columns.begin(), columns.end(), 0u);
  for (const ValueOp& op : made.ops()) {
    const auto* permute = std::get_if<PermuteColumns>(&op);
    if (permute == nullptr) {
      return unsupported("tensor '{}': its values are not those of BASE", made.name);
    }
    std::vector<uint32_t> next(columns.size());
    for (size_t i = 0; i < next.size(); ++i) next[i] = columns[(*permute->index)[i]];
    columns = std::move(next);
  }
  std::vector<uint32_t> back(columns.size());
  for (size_t i = 0; i < columns.size(); ++i) back[columns[i]] = static_cast<uint32_t>(i);
  return back;
}

}  // namespace ckpt

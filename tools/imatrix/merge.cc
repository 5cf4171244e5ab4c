#include "tools/imatrix/merge.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "plan/conversion/imatrix_fit.h"

namespace ckpt {
namespace {

// As many as a file may say: their sums stay far from the end of 64 bits.
constexpr int64_t kMaxMergedCount = int64_t{1} << 53;

// The default of llama-imatrix: a legacy file does not say what its chunks were.
constexpr uint64_t kUsualChunkTokens = 512;

Result<uint64_t> common_chunk_size(const std::vector<ImatrixSums>& files) {
  const ImatrixSums* first = nullptr;
  for (const ImatrixSums& file : files) {
    if (file.is_legacy) continue;
    if (file.chunk_size == 0) {
      return fail_with_hint(ErrorCode::kUsage, "--chunk-size 512", "{}: imatrix.chunk_size is 0",
                            file.file);
    }
    if (first == nullptr) first = &file;
    if (file.chunk_size == first->chunk_size) continue;
    return fail_with_hint(ErrorCode::kUsage, fmt::format("--chunk-size {}", first->chunk_size),
                          "{}: chunks of {} tokens; {} has chunks of {}", file.file,
                          file.chunk_size, first->file, first->chunk_size);
  }
  return first == nullptr ? kUsualChunkTokens : first->chunk_size;
}

// Sums and counts of inputs, from those of chunks.
Status of_inputs(ImatrixEntry& entry, uint64_t chunk_size) {
  if (entry.counts[0] <= 0) {
    return fail(ErrorCode::kUnsupported,
                "{} calls; without their number its values cannot be added to others",
                entry.counts[0]);
  }
  if (chunk_size > static_cast<uint64_t>(kMaxMergedCount / entry.counts[0])) {
    return fail(ErrorCode::kUnsupported, "{} calls of {} tokens; expected at most {} in all",
                entry.counts[0], chunk_size, kMaxMergedCount);
  }
  for (float& sum : entry.sums) sum *= static_cast<float>(chunk_size);
  entry.counts[0] *= static_cast<int64_t>(chunk_size);
  return {};
}

// A single count is one for all matrices; it becomes one of each where another file tells them
// apart.
Status add_counts(const std::vector<int64_t>& added, bool is_legacy, ImatrixEntry& into) {
  if (into.counts.size() == 1) into.counts.resize(added.size(), into.counts[0]);
  const bool is_of_all = is_legacy && added.size() == 1;
  if (added.size() != into.counts.size() && !is_of_all) {
    return fail(ErrorCode::kUnsupported, "{} counts; the files before it have {}", added.size(),
                into.counts.size());
  }
  for (size_t i = 0; i < into.counts.size(); ++i) {
    into.counts[i] += added[is_of_all ? 0 : i];
    if (std::abs(into.counts[i]) <= kMaxMergedCount) continue;
    return fail(ErrorCode::kUnsupported, "a count of {}; expected at most {}", into.counts[i],
                kMaxMergedCount);
  }
  return {};
}

Status add_floats(const std::vector<float>& added, std::vector<float>& into) {
  for (size_t i = 0; i < added.size(); ++i) {
    into[i] += added[i];
    if (!std::isfinite(into[i])) {
      return fail(ErrorCode::kUnsupported, "value {}: the sum is past the range of a float", i);
    }
  }
  return {};
}

// Sums of inputs are kept where all files have them: their counts are those of all files.
Status add_entry(ImatrixEntry added, bool is_legacy, ImatrixEntry& into, bool& loses_inputs) {
  if (into.sums.empty()) {
    into = std::move(added);
    for (float& sum : into.sums) sum += 0.0f;  // as when they are added to zeros: no -0
    return {};
  }
  if (added.sums.size() != into.sums.size()) {
    return fail(ErrorCode::kUnsupported, "{} values; the files before it have {}",
                added.sums.size(), into.sums.size());
  }
  CKPT_TRY(add_counts(added.counts, is_legacy, into));
  if (added.input_sums.empty() != into.input_sums.empty()) {
    loses_inputs = true;
    into.input_sums.clear();
  } else {
    CKPT_TRY(add_floats(added.input_sums, into.input_sums));
  }
  return add_floats(added.sums, into.sums);
}

// Keys that all files have alike. A file names each of its keys once.
Metadata common_keys(const std::vector<ImatrixSums>& files, std::vector<std::string>& notes) {
  struct Found {
    const MetaValue* value;
    size_t files;
  };
  std::map<std::string_view, Found> found;
  std::vector<std::string_view> order;
  for (const ImatrixSums& file : files) {
    for (const MetaEntry& entry : file.other_keys.entries) {
      const auto [at, is_new] = found.try_emplace(entry.key, Found{&entry.value, 0});
      if (is_new) order.push_back(entry.key);
      if (*at->second.value == entry.value) ++at->second.files;
    }
  }
  Metadata out;
  std::vector<std::string> dropped;
  for (const std::string_view key : order) {
    const Found& one = found.at(key);
    if (one.files == files.size()) {
      out.entries.push_back({std::string(key), *one.value});
    } else {
      dropped.emplace_back(key);
    }
  }
  if (!dropped.empty()) {
    notes.push_back(
        fmt::format("keys that not all files have alike are left out: {}", first_names(dropped)));
  }
  return out;
}

Status refuse_filled(const ImatrixSums& file) {
  const auto filled = file.other_keys.find_unsigned(kFilledKey);
  if (!filled || *filled == 0) return {};
  return fail_with_hint(ErrorCode::kUsage, "merging the files as they were, then ckpt imatrix fill",
                        "{}: holds statistics that ckpt imatrix fill made up, of {} expert{}",
                        file.file, *filled, *filled == 1 ? "" : "s");
}

}  // namespace

Result<ImatrixSums> merge_imatrices(std::vector<ImatrixSums> files, uint64_t chunk_size,
                                    std::vector<std::string>& notes) {
  for (const ImatrixSums& file : files) CKPT_TRY(refuse_filled(file));
  ImatrixSums out;
  out.chunk_size = chunk_size;
  if (chunk_size == 0) {
    CKPT_ASSIGN(out.chunk_size, common_chunk_size(files));
  }
  out.other_keys = common_keys(files, notes);
  bool loses_inputs = false;
  for (ImatrixSums& file : files) {
    for (auto& [name, entry] : file.entries) {
      const std::string place = fmt::format("{}: '{}'", file.file, name);
      if (file.is_legacy) CKPT_TRY(in(place, of_inputs(entry, out.chunk_size)));
      CKPT_TRY(
          in(place, add_entry(std::move(entry), file.is_legacy, out.entries[name], loses_inputs)));
    }
    out.datasets.insert(out.datasets.end(), file.datasets.begin(), file.datasets.end());
    if (file.other_tensors.empty()) continue;
    notes.push_back(fmt::format("{}: left out, as they belong to no weight: {}", file.file,
                                first_names(file.other_tensors)));
  }
  if (loses_inputs)
    notes.push_back("sums of inputs (.in_sum) are left out: not all files have them");
  int64_t most = 0;
  for (const auto& [name, entry] : out.entries) {
    most = std::max(most, *std::max_element(entry.counts.begin(), entry.counts.end()));
  }
  out.chunk_count = static_cast<uint64_t>(most) / out.chunk_size;
  return out;
}

}  // namespace ckpt

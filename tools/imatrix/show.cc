#include "tools/imatrix/show.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/imatrix/merge.h"

namespace ckpt {
namespace {

constexpr size_t kShownExperts = 16;

// Of all entries that have experts.
struct ExpertTotals {
  uint64_t tensors = 0, experts = 0, unseen = 0;
};

ExpertTotals experts_in(const ImatrixSums& imatrix) {
  ExpertTotals out;
  for (const auto& [name, entry] : imatrix.entries) {
    if (entry.counts.size() == 1) continue;
    ++out.tensors;
    out.experts += entry.counts.size();
    out.unseen += entry.unseen();
  }
  return out;
}

// A legacy count of 0 says that the values were not divided, not that there are none.
std::vector<size_t> unseen_in(const ImatrixEntry& entry, bool is_legacy) {
  std::vector<size_t> out;
  if (is_legacy) return out;
  for (size_t i = 0; i < entry.counts.size(); ++i) {
    if (entry.counts[i] <= 0) out.push_back(i);
  }
  return out;
}

std::string chunks_text(const ImatrixSums& imatrix) {
  std::string out =
      fmt::format("{} chunk{}", imatrix.chunk_count, imatrix.chunk_count == 1 ? "" : "s");
  if (imatrix.chunk_size > 0) out += fmt::format(" of {} tokens", imatrix.chunk_size);
  return out;
}

void show_head(const ImatrixSums& imatrix, uint64_t filled, const Console& console) {
  uint64_t values = 0;
  for (const auto& [name, entry] : imatrix.entries) values += entry.sums.size();
  console.answer_headed(imatrix.file, fmt::format("  {}, {}", imatrix.is_legacy ? "legacy" : "gguf",
                                                  chunks_text(imatrix)));
  console.answer(
      fmt::format("  data sets: {}", imatrix.datasets.empty()
                                         ? "not named"
                                         : fmt::format("{}", fmt::join(imatrix.datasets, ", "))));
  console.answer(fmt::format("  {} tensor{}, {} values", imatrix.entries.size(),
                             imatrix.entries.size() == 1 ? "" : "s", human_count(values)));
  const ExpertTotals experts = experts_in(imatrix);
  if (experts.tensors > 0) {
    console.answer(fmt::format("  {} of them with experts: {} of {} saw no input", experts.tensors,
                               experts.unseen, experts.experts));
  }
  if (imatrix.is_legacy) console.answer("  what each expert saw is not in a legacy file");
  if (filled > 0) {
    console.answer(fmt::format("  statistics of {} {} made up (ckpt imatrix fill)", filled,
                               filled == 1 ? "expert were" : "experts were"));
  }
  for (const MetaEntry& entry : imatrix.other_keys.entries) {
    if (entry.key != kFilledKey) console.answer(fmt::format("  also has the key '{}'", entry.key));
  }
  for (const std::string& name : imatrix.other_tensors) {
    console.answer(fmt::format("  also has '{}', which belongs to no weight", name));
  }
}

void show_counts(const ImatrixSums& imatrix, bool all_tensors, const Console& console) {
  Table table({"tensor", "columns", "experts", "unseen", "fewest", "median", "most"});
  for (const auto& [name, entry] : imatrix.entries) {
    const bool has_experts = entry.counts.size() > 1;
    if (!has_experts && !all_tensors) continue;
    std::vector<int64_t> sorted = entry.counts;
    std::sort(sorted.begin(), sorted.end());
    table.add(
        {name, fmt::format("{}", entry.columns()),
         has_experts ? fmt::format("{}", sorted.size()) : "-",
         has_experts ? fmt::format("{}", entry.unseen()) : "-", fmt::format("{}", sorted.front()),
         fmt::format("{}", sorted[(sorted.size() - 1) / 2]), fmt::format("{}", sorted.back())});
  }
  if (table.size() == 1) return;
  for (const std::string& line : table.lines({false, true, true, true, true, true, true})) {
    console.answer(line);
  }
}

void show_unseen(const std::string& name, const std::vector<size_t>& unseen, size_t experts,
                 const Console& console) {
  if (unseen.empty()) return;
  const size_t shown = std::min(unseen.size(), kShownExperts);
  const std::vector<size_t> first(unseen.begin(),
                                  unseen.begin() + static_cast<std::ptrdiff_t>(shown));
  console.answer(
      fmt::format("unseen: {}: {}{}", name,
                  experts == 1 ? "all of it" : fmt::format("{}", fmt::join(first, ", ")),
                  shown < unseen.size() ? fmt::format(" and {} more", unseen.size() - shown) : ""));
}

}  // namespace

void show_imatrix(const ImatrixSums& imatrix, bool all_tensors, const Console& console) {
  const uint64_t filled = imatrix.other_keys.find_unsigned(kFilledKey).value_or(0);
  const ExpertTotals experts = experts_in(imatrix);
  show_head(imatrix, filled, console);
  show_counts(imatrix, all_tensors, console);
  console.object("imatrix",
                 {{"file", imatrix.file},
                  {"kind", imatrix.is_legacy ? "legacy" : "gguf"},
                  {"chunks", imatrix.chunk_count},
                  {"chunk_size", imatrix.chunk_size == 0 ? Json() : Json(imatrix.chunk_size)},
                  {"datasets", imatrix.datasets},
                  {"tensors", imatrix.entries.size()},
                  {"experts", experts.experts},
                  {"unseen", experts.unseen},
                  {"filled", filled}});
  for (const auto& [name, entry] : imatrix.entries) {
    const std::vector<size_t> unseen = unseen_in(entry, imatrix.is_legacy);
    show_unseen(name, unseen, entry.counts.size(), console);
    console.object("imatrix-tensor", {{"name", name},
                                      {"columns", entry.columns()},
                                      {"counts", entry.counts},
                                      {"unseen", unseen}});
  }
}

}  // namespace ckpt

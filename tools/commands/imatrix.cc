// ckpt imatrix show|merge|fill FILE...: shows, adds and completes importance matrices.
#include "core/model/imatrix.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/counted.h"
#include "core/base/nearest.h"
#include "core/base/result.h"
#include "core/io/files_read.h"
#include "formats/formats.h"
#include "plan/conversion/targets.h"
#include "publish/publish.h"
#include "quantizers/quantizers.h"
#include "tools/commands/carry_out.h"
#include "tools/line/commands.h"
#include "tools/published/send.h"
#include "tools/say/console.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

// This key marks a file for which fill_imatrix() made up statistics. It holds their number.
inline constexpr std::string_view kFilledKey = "ckpt.imatrix.filled";

// The largest count that a file may have. Sums of such counts stay far from the 64-bit limit.
constexpr int64_t kMaxMergedCount = int64_t{1} << 53;

// The default of llama-imatrix; legacy files do not store their chunk size.
constexpr uint64_t kUsualChunkTokens = 512;

Result<uint64_t> common_chunk_size(const std::vector<ImatrixSums>& files) {
  const ImatrixSums* first = nullptr;
  for (const ImatrixSums& file : files) {
    if (file.is_legacy) continue;
    if (file.chunk_size == 0) {
      return misuse_hint("--chunk-size 512", "{}: imatrix.chunk_size is 0", file.file);
    }
    if (first == nullptr) first = &file;
    if (file.chunk_size == first->chunk_size) continue;
    return misuse_hint(fmt::format("--chunk-size {}", first->chunk_size),
                       "{}: chunks of {} tokens; {} has chunks of {}", file.file, file.chunk_size,
                       first->file, first->chunk_size);
  }
  return first == nullptr ? kUsualChunkTokens : first->chunk_size;
}

// Converts sums and counts of chunks to sums and counts of inputs (tokens).
Status of_inputs(ImatrixEntry& entry, uint64_t chunk_size) {
  if (entry.counts[0] <= 0) {
    return unsupported("{} calls; without their number its values cannot be added to others",
                       entry.counts[0]);
  }
  if (chunk_size > static_cast<uint64_t>(kMaxMergedCount / entry.counts[0])) {
    return unsupported("{} calls of {} tokens; expected at most {} in all", entry.counts[0],
                       chunk_size, kMaxMergedCount);
  }
  for (float& sum : entry.sums) sum *= static_cast<float>(chunk_size);
  entry.counts[0] *= static_cast<int64_t>(chunk_size);
  return {};
}

// Adds counts. A single count holds for all matrices; it is expanded to one per matrix if another
// file has separate counts.
Status add_counts(const std::vector<int64_t>& added, bool is_legacy, ImatrixEntry& into) {
  if (into.counts.size() == 1) into.counts.resize(added.size(), into.counts[0]);
  const bool is_of_all = is_legacy && added.size() == 1;
  if (added.size() != into.counts.size() && !is_of_all) {
    return unsupported("{} counts; the files before it have {}", added.size(), into.counts.size());
  }
  for (size_t i = 0; i < into.counts.size(); ++i) {
    into.counts[i] += added[is_of_all ? 0 : i];
    if (std::abs(into.counts[i]) <= kMaxMergedCount) continue;
    return unsupported("a count of {}; expected at most {}", into.counts[i], kMaxMergedCount);
  }
  return {};
}

Status add_floats(const std::vector<float>& added, std::vector<float>& into) {
  for (size_t i = 0; i < added.size(); ++i) {
    into[i] += added[i];
    if (!std::isfinite(into[i])) {
      return unsupported("value {}: the sum is past the range of a float", i);
    }
  }
  return {};
}

// Adds an entry. Sums of inputs survive only if all files have them, because counts cover all
// files.
Status add_entry(ImatrixEntry added, bool is_legacy, ImatrixEntry& into, bool& loses_inputs) {
  if (into.sums.empty()) {
    into = std::move(added);
    for (float& sum : into.sums) sum += 0.0f;  // turns -0 into 0, as adding to zeros does
    return {};
  }
  if (added.sums.size() != into.sums.size()) {
    return unsupported("{} values; the files before it have {}", added.sums.size(),
                       into.sums.size());
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

// Returns the keys that are equal in all files. Keys within a file are unique.
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
  return misuse_hint("merging the files as they were, then ckpt imatrix fill",
                     "{}: holds statistics that ckpt imatrix fill made up, of {}", file.file,
                     counted(*filled, "expert"));
}

// Adds sums and counts in the order of `files`, as floats. Legacy sums count chunks, so they are
// multiplied by `chunk_size`; 0 means that of the files, or 512 if none has one. The result is not
// legacy. `notes` lists what was omitted. Fails: kUsage for different chunk sizes and filled files;
// kUnsupported for counts of two kinds, different sizes, and sums beyond a float's range.
Result<ImatrixSums> merge_imatrices(std::vector<ImatrixSums> files, uint64_t chunk_size,
                                    std::vector<std::string>& notes) {
  for (const ImatrixSums& file : files) CKPT_TRY(refuse_filled(file));
  ImatrixSums out;
  out.chunk_size = chunk_size;
  if (chunk_size == 0) CKPT_SET(out.chunk_size, common_chunk_size(files));
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
    most = std::max(most, *std::ranges::max_element(entry.counts));
  }
  out.chunk_count = static_cast<uint64_t>(most) / out.chunk_size;
  return out;
}

constexpr size_t kShownExperts = 16;

// Totals over all entries that have experts.
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

// Returns the matrices without inputs. Legacy files have none: there, count 0 has another meaning.
std::vector<size_t> unseen_in(const ImatrixEntry& entry, bool is_legacy) {
  std::vector<size_t> out;
  if (is_legacy) return out;
  for (size_t i = 0; i < entry.counts.size(); ++i) {
    if (entry.counts[i] <= 0) out.push_back(i);
  }
  return out;
}

std::string chunks_text(const ImatrixSums& imatrix) {
  std::string out = counted(imatrix.chunk_count, "chunk");
  if (imatrix.chunk_size > 0) out += fmt::format(" of {} tokens", imatrix.chunk_size);
  return out;
}

// The keys that the output has no separate field for.
std::vector<std::string> other_keys(const ImatrixSums& imatrix) {
  std::vector<std::string> out;
  for (const MetaEntry& entry : imatrix.other_keys.entries) {
    if (entry.key != kFilledKey) out.push_back(entry.key);
  }
  return out;
}

void show_head(const ImatrixSums& imatrix, uint64_t filled, const Console& console) {
  uint64_t values = 0;
  for (const auto& [name, entry] : imatrix.entries) values += entry.sums.size();
  console.answer_headed(imatrix.file, fmt::format("  {}, {}", imatrix.is_legacy ? "legacy" : "gguf",
                                                  chunks_text(imatrix)));
  console.answer("  data sets: {}", imatrix.datasets.empty()
                                        ? "not named"
                                        : fmt::format("{}", fmt::join(imatrix.datasets, ", ")));
  console.answer("  {}, {} values", counted(imatrix.entries.size(), "tensor"), human_count(values));
  const ExpertTotals experts = experts_in(imatrix);
  if (experts.tensors > 0) {
    console.answer("  {} of them with experts: {} of {} saw no input", experts.tensors,
                   experts.unseen, experts.experts);
  }
  if (imatrix.is_legacy) console.answer("  what each expert saw is not in a legacy file");
  if (filled > 0) {
    console.answer("  statistics of {} {} made up (ckpt imatrix fill)", filled,
                   filled == 1 ? "expert were" : "experts were");
  }
  for (const std::string& key : other_keys(imatrix)) {
    console.answer("  also has the key '{}'", key);
  }
  for (const std::string& name : imatrix.other_tensors) {
    console.answer("  also has '{}', which belongs to no weight", name);
  }
}

void show_counts(const ImatrixSums& imatrix, bool all_tensors, const Console& console) {
  Table table({"tensor", "columns", "experts", "unseen", "fewest", "median", "most"});
  for (const auto& [name, entry] : imatrix.entries) {
    const bool has_experts = entry.counts.size() > 1;
    if (!has_experts && !all_tensors) continue;
    std::vector<int64_t> sorted = entry.counts;
    std::ranges::sort(sorted);
    table.add(
        {name, fmt::format("{}", entry.columns()),
         has_experts ? fmt::format("{}", sorted.size()) : "-",
         has_experts ? fmt::format("{}", entry.unseen()) : "-", fmt::format("{}", sorted.front()),
         fmt::format("{}", sorted[(sorted.size() - 1) / 2]), fmt::format("{}", sorted.back())});
  }
  if (table.size() == 1) return;
  console.answer_table(table, {false, true, true, true, true, true, true});
}

void show_unseen(const std::string& name, const std::vector<size_t>& unseen, size_t experts,
                 const Console& console) {
  if (unseen.empty()) return;
  const size_t shown = std::min(unseen.size(), kShownExperts);
  const std::vector<size_t> first(unseen.begin(),
                                  unseen.begin() + static_cast<std::ptrdiff_t>(shown));
  console.answer("unseen: {}: {}{}", name,
                 experts == 1 ? "all of it" : fmt::format("{}", fmt::join(first, ", ")),
                 shown < unseen.size() ? fmt::format(" and {} more", unseen.size() - shown) : "");
}

// Prints data sets, chunks and how many inputs experts saw; `all_tensors` adds those without
// experts.
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
                  {"filled", filled},
                  {"other_keys", other_keys(imatrix)},
                  {"other_tensors", imatrix.other_tensors}});
  for (const auto& [name, entry] : imatrix.entries) {
    const std::vector<size_t> unseen = unseen_in(entry, imatrix.is_legacy);
    show_unseen(name, unseen, entry.counts.size(), console);
    console.object("imatrix-tensor", {{"name", name},
                                      {"columns", entry.columns()},
                                      {"counts", entry.counts},
                                      {"unseen", unseen}});
  }
}

// The values for an expert without statistics: 1 in each column, or the mean over all inputs that
// the tensor's other experts saw.
enum class FillWith : uint8_t { kOnes, kMean };

// Per column, the sum over all matrices with enough inputs divided by their counts; empty if none.
std::vector<float> seen_mean(const ImatrixEntry& entry, const std::vector<float>& sums,
                             int64_t least) {
  const uint64_t columns = entry.columns();
  std::vector<double> total(columns, 0);
  double count = 0;
  for (size_t m = 0; m < entry.counts.size(); ++m) {
    if (entry.counts[m] < least) continue;
    count += static_cast<double>(entry.counts[m]);
    for (size_t c = 0; c < columns; ++c) total[c] += static_cast<double>(sums[m * columns + c]);
  }
  std::vector<float> out;
  if (count <= 0) return out;
  for (const double sum : total) out.push_back(static_cast<float>(sum / count));
  return out;
}

uint64_t fill_entry(ImatrixEntry& entry, FillWith with, int64_t least) {
  const uint64_t columns = entry.columns();
  std::vector<float> squares, inputs;
  if (with == FillWith::kMean) {
    squares = seen_mean(entry, entry.sums, least);
    if (!entry.input_sums.empty()) inputs = seen_mean(entry, entry.input_sums, least);
  }
  if (squares.empty()) squares.assign(columns, 1.0f);
  if (inputs.empty()) inputs.assign(columns, 0.0f);
  uint64_t filled = 0;
  for (size_t m = 0; m < entry.counts.size(); ++m) {
    if (entry.counts[m] >= least) continue;
    const auto begin = static_cast<std::ptrdiff_t>(m * columns);
    std::ranges::copy(squares, entry.sums.begin() + begin);
    if (!entry.input_sums.empty()) {
      std::ranges::copy(inputs, entry.input_sums.begin() + begin);
    }
    entry.counts[m] = 1;
    ++filled;
  }
  return filled;
}

// Fills statistics, with a count of 1, for each expert that saw fewer than `least` inputs and each
// other matrix that saw none; kMean becomes ones if no other expert saw any input. Returns the
// number of filled matrices and stores it as kFilledKey. Fails: kUnsupported for a legacy file,
// which has no counts per expert.
Result<uint64_t> fill_imatrix(ImatrixSums& imatrix, FillWith with, int64_t least) {
  if (imatrix.is_legacy) {
    return unsupported_hint("the .gguf that llama-imatrix writes",
                            "{}: a legacy file has one count for all experts of a tensor; nothing "
                            "says which of them saw no input",
                            imatrix.file);
  }
  uint64_t filled = 0;
  for (auto& [name, entry] : imatrix.entries) {
    const bool is_of_experts = entry.counts.size() > 1;
    filled += fill_entry(entry, with, is_of_experts ? least : 1);
  }
  const uint64_t before = imatrix.other_keys.find_unsigned(kFilledKey).value_or(0);
  if (filled > 0) {
    imatrix.other_keys.set(std::string(kFilledKey),
                           MetaValue::u32(std::min<uint64_t>(before + filled, UINT32_MAX)));
  }
  return filled;
}

struct TypedImatrix {
  std::string what;
  std::vector<std::string> files;
  fs::path out;
  std::string with;
  unsigned chunk_size = 0, min_count = 0;  // 0: not typed
  bool force = false, tensors = false;
};

// Rejects options that the subcommand does not use.
Status check_imatrix_options(const TypedImatrix& typed) {
  struct OwnedOption {
    std::string_view option, owners;
    bool is_typed;
  };
  const OwnedOption all[] = {
      {"--out", "merge or fill", !typed.out.empty()},  {"--force", "merge or fill", typed.force},
      {"--chunk-size", "merge", typed.chunk_size > 0}, {"--with", "fill", !typed.with.empty()},
      {"--min-count", "fill", typed.min_count > 0},    {"--tensors", "show", typed.tensors}};
  for (const OwnedOption& each : all) {
    if (!each.is_typed || each.owners.find(typed.what) != each.owners.npos) continue;
    return misuse("{} is an option of ckpt imatrix {}", each.option, each.owners);
  }
  if (typed.what != "merge" && typed.files.size() > 1) {
    std::string merge = "ckpt imatrix merge";
    for (const std::string& file : typed.files) merge += " " + shell_path(file);
    return misuse_hint(merge + " -o all.gguf", "imatrix {}: {} files; expected one", typed.what,
                       typed.files.size());
  }
  if (typed.what == "show" || !typed.out.empty()) return {};
  return misuse_hint("-o imatrix.gguf", "imatrix {} without --out", typed.what);
}

// Rejects two names of one file, whose statistics would count twice.
Status check_imatrix_files(const TypedImatrix& typed) {
  std::error_code error;
  std::map<std::pair<uint64_t, uint64_t>, std::string> known;  // by device and inode
  for (const std::string& file : typed.files) {
    if (const auto state = state_now(file)) {
      const auto [first, is_new] = known.try_emplace({state->device, state->inode}, file);
      if (!is_new) {
        return misuse("{}: is the same file as {}, and would count twice", file, first->second);
      }
    }
    if (typed.out.empty() || !fs::equivalent(file, typed.out, error)) continue;
    return misuse_hint("another name", "--out {}: is read for it", typed.out.string());
  }
  return typed.out.empty() ? Status() : check_imatrix_target(typed.out, typed.force);
}

Status write_imatrix(const TypedImatrix& typed, const ImatrixSums& sums, const Console& console,
                     const CommonOptions& common) {
  Plan plan;
  CKPT_ASSIGN(plan.outputs.emplace_back(),
              in(typed.out.string(), lay_out_imatrix(sums, typed.out, all_codecs())));
  std::vector<InputPath> inputs;
  for (const std::string& file : typed.files) inputs.push_back({"FILE", file});
  CKPT_TRY(check_targets(plan, inputs, {}));
  // The ledger lets the next run recognize what a killed run left.
  ExecuteOptions options = with_common({}, common);
  options.force = typed.force;
  ProgressLine progress(console, typed.out.filename().string());
  options.progress = &progress;
  CKPT_ASSIGN(const ExecuteReport report, execute(plan, options));
  progress.clear();
  for (const FileReport& file : report.files) show_file(console, file);
  console.next("ckpt imatrix show " + shell_path(typed.out.string()));
  return {};
}

Status merge(const TypedImatrix& typed, const Console& console, const CommonOptions& common) {
  std::vector<ImatrixSums> files;
  for (const std::string& file : typed.files) {
    CKPT_ASSIGN(files.emplace_back(), read_imatrix_sums(file));
  }
  std::vector<std::string> notes;
  CKPT_ASSIGN(const ImatrixSums merged, merge_imatrices(std::move(files), typed.chunk_size, notes));
  for (const std::string& note : notes) console.warn(note);
  return write_imatrix(typed, merged, console, common);
}

Status fill(const TypedImatrix& typed, const Console& console, const CommonOptions& common) {
  CKPT_ASSIGN(ImatrixSums sums, read_imatrix_sums(typed.files[0]));
  const FillWith with = typed.with == "mean" ? FillWith::kMean : FillWith::kOnes;
  const int64_t least = typed.min_count == 0 ? 1 : typed.min_count;
  CKPT_ASSIGN(const uint64_t filled, fill_imatrix(sums, with, least));
  if (sums.chunk_size == 0) {
    return corrupt("{}: imatrix.chunk_size is 0", typed.files[0]);
  }
  if (!sums.other_tensors.empty()) {
    console.warn("left out, as they belong to no weight: {}", fmt::join(sums.other_tensors, ", "));
  }
  const std::string count = filled == 1 ? "one expert" : fmt::format("{} experts", filled);
  console.talk(filled == 0  ? "nothing to fill: the output says what the input does"
               : least == 1 ? fmt::format("filled {} that saw no input", count)
                            : fmt::format("filled {} that saw fewer than {} inputs", count, least));
  return write_imatrix(typed, sums, console, common);
}

Result<int> imatrix(const TypedImatrix& typed, const Console& console,
                    const CommonOptions& common) {
  CKPT_TRY(check_imatrix_options(typed));
  CKPT_TRY(check_imatrix_files(typed));
  if (typed.what == "show") {
    CKPT_ASSIGN(const ImatrixSums sums, read_imatrix_sums(typed.files[0]));
    CKPT_TRY(check_files_read());
    show_imatrix(sums, typed.tensors, console);
  } else {
    CKPT_TRY(typed.what == "merge" ? merge(typed, console, common) : fill(typed, console, common));
  }
  return 0;
}

Run declare_imatrix(CommandOptions& options) {
  auto typed = std::make_shared<TypedImatrix>();
  options.add("WHAT", &typed->what, "show, merge or fill",
              {.choices = {"show", "merge", "fill"}, .is_required = true});
  options.add("FILE", &typed->files, "importance matrices, GGUF or .dat", {.is_required = true});
  options.add("--tensors", &typed->tensors, "show: tensors without experts too");
  options.add("--out,-o FILE", &typed->out,
              "merge, fill: the file to write, GGUF, or legacy if it ends in .dat",
              {.place = OptionPlace::kWritten});
  options.add("--chunk-size", &typed->chunk_size,
              "merge: tokens of a chunk (default: the files'; 512 where all are .dat)",
              {.bounds = std::pair(1, 1 << 30)});
  options.add(
      "--with", &typed->with,
      "fill: statistics of an expert without any (default: ones); mean: of those that have some",
      {.choices = {"ones", "mean"}});
  options.add("--min-count", &typed->min_count,
              "fill: also experts that saw fewer than N inputs (default: 1)",
              {.bounds = std::pair(1, 1 << 30)});
  options.add("--force", &typed->force, "merge, fill: replace an older importance matrix");
  return run_with(std::move(typed), imatrix);
}

}  // namespace

extern const Command kImatrixCommand{"imatrix", "Shows, merges and fills importance matrices.",
                                     "  ckpt imatrix show imatrix.gguf\n"
                                     "  ckpt imatrix merge prose.gguf code.dat -o all.gguf\n"
                                     "  ckpt imatrix fill imatrix.gguf --with mean -o filled.gguf",
                                     declare_imatrix};

}  // namespace ckpt

#include "tools/published/verify_structure.h"

#include <functional>
#include <set>
#include <utility>

#include "core/base/counted.h"
#include "core/base/numbered_name.h"
#include "core/base/words.h"
#include "core/io/folder.h"
#include "core/io/paths.h"
#include "core/io/remote_files.h"
#include "core/model/adapter.h"
#include "formats/formats.h"
#include "quantizers/quantizers.h"
#include "tools/published/listing.h"
#include "tools/published/published_files.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

using StructureVerdict = StructureFinding::Verdict;

void add_bad(std::vector<StructureFinding>& found, const std::string& path, Error error) {
  const StructureVerdict verdict =
      error.code == ErrorCode::kCorrupt ? StructureVerdict::kBad : StructureVerdict::kUnsupported;
  std::string hint = std::exchange(error.hint, {});
  std::string text = error.text();
  const std::string where = path + ": ";
  if (text.starts_with(where)) text.erase(0, where.size());
  found.push_back({path, std::move(text), verdict, std::move(hint)});
}

// The checks of a checkpoint's weights, and what was not checked.
std::pair<std::string, std::string> told_checks(const Checkpoint& checkpoint,
                                                const WeightChecks& checks) {
  std::string done;
  if (checks.sums != 0) done = fmt::format(", {} are right", counted(checks.sums, "CRC-32"));
  std::vector<std::string> rest;
  if (std::string extra = bytes_after_tensors(checkpoint); !extra.empty()) rest.push_back(extra);
  const bool is_trained = !checkpoint.layout.empty();
  if (is_trained && checks.sums == 0) {
    rest.emplace_back("bytes of weights (without checksums)");
  } else if (checks.without_sums != 0) {
    rest.push_back(fmt::format("{} without a CRC-32", counted(checks.without_sums, "storage")));
  }
  if (is_trained && !checks.has_one_step) rest.emplace_back("that all files are of one step");
  std::ranges::copy(checkpoint.not_read, std::back_inserter(rest));
  return {done, fmt::format("{}", fmt::join(rest, ", "))};
}

// Judges a checkpoint. Returns the names of its files if it is sound.
Result<std::set<std::string>> judge(const Format& format, const fs::path& path,
                                    std::vector<StructureFinding>& found) {
  FileMisfit misfit;
  WeightChecks checks;
  ReadOptions options{.follow_links = true};  // the comparison of files reports links
  if (!is_url(path)) options.checks = &checks;
  auto checkpoint = is_folder(path) ? read_despite_misfit(path, all_codecs(), options, misfit)
                                    : format.read(path, all_codecs(), options);
  if (checkpoint) tell_repeated_keys(path, *checkpoint, misfit);
  std::set<std::string> files;
  if (checkpoint && misfit.is_fault) {
    add_bad(found, path.string(), misfit.error());
    return files;
  }
  if (checkpoint) {
    const std::string adapter = adapter_words(*checkpoint);
    std::string text = fmt::format("{} structure is sound, {}{}{}", format.name,
                                   counted(checkpoint->tensors.size(), "tensor"),
                                   adapter.empty() ? "" : " of a ", adapter);
    if (!checkpoint->layout.empty()) {
      text = fmt::format("{}: {} are complete", checkpoint->layout,
                         counted(checkpoint->tensors.size(), "tensor"));
    }
    auto [done, rest] = told_checks(*checkpoint, checks);
    if (!misfit.found.empty()) rest += (rest.empty() ? "" : ", ") + misfit.found;
    text += done;
    if (!rest.empty()) text += "; not checked: " + rest;
    found.push_back({path.string(), std::move(text), StructureVerdict::kSound, "", rest});
    for (const Tensor& tensor : checkpoint->tensors) files.insert(tensor.home);
    if (checkpoint->layout.empty()) return files;
    CKPT_ASSIGN(const std::vector<FolderEntry> entries, list_folder(path, {}));
    for (const FolderEntry& entry : entries) {
      if (is_file_of_ranks(entry.path)) files.insert(entry.path);
    }
    return files;
  }
  const ErrorCode code = checkpoint.error().code;
  if (code != ErrorCode::kCorrupt && code != ErrorCode::kUnsupported) {
    return Failure(checkpoint.error());  // an error of reading is not a verdict
  }
  add_bad(found, path.string(), checkpoint.error());
  return files;
}

Status judge_loose_file(const Format& format, const fs::path& path,
                        std::vector<StructureFinding>& found) {
  CKPT_ASSIGN(const bool exists, is_there(path, Links::kFollow));
  if (exists) return judge(format, path, found).map([](const std::set<std::string>&) {});
  found.push_back({path.string(), "missing; the first of the files that the model was cut into",
                   StructureVerdict::kBad, "downloading it"});
  return {};
}

const Format* loose_format(const fs::path& path) {
  const Format* const gguf = find_format("gguf");
  CKPT_CHECK(gguf != nullptr);
  if (gguf->recognizes(path)) return gguf;
  return has_ending(path.native(), ".safetensors") ? find_format("safetensors") : nullptr;
}

using IsInIndexedFolder = std::function<bool(const std::string& name)>;

// Judges a folder below `folder` that has an index, or files of ranks, as one checkpoint, because
// each file may be sound alone while another is missing. Returns the names of its files relative to
// `folder`.
Result<std::set<std::string>> judge_indexed_folder(const fs::path& folder, const std::string& inner,
                                                   const std::vector<FolderEntry>& entries,
                                                   std::vector<StructureFinding>& found) {
  CKPT_ASSIGN(const Format* format, recognize(folder / inner));
  std::vector<StructureFinding> one;
  CKPT_ASSIGN(const std::set<std::string> files, judge(*format, folder / inner, one));
  if (one.front().verdict == StructureVerdict::kUnsupported) return std::set<std::string>();
  found.push_back(one.front());
  const bool is_sound = one.front().verdict == StructureVerdict::kSound;
  std::set<std::string> out;
  for (const FolderEntry& entry : entries) {
    if (!entry.path.starts_with(inner + "/")) continue;
    const std::string name = entry.path.substr(inner.size() + 1);
    if (is_sound ? files.contains(name) : is_file_of(folder / inner, name)) out.insert(entry.path);
  }
  return out;
}

Result<std::set<std::string>> judge_indexed_folders(const fs::path& folder,
                                                    const std::vector<FolderEntry>& entries,
                                                    const IsInIndexedFolder& is_judged,
                                                    std::vector<StructureFinding>& found) {
  constexpr std::string_view kIndex = "model.safetensors.index.json";
  std::set<std::string> out, inners;
  for (const FolderEntry& entry : entries) {
    if (is_judged(entry.path) || out.contains(entry.path)) continue;
    const fs::path path = entry.path;
    const std::string inner = path.parent_path().string();
    const bool is_part = path.filename() == kIndex ||
                         (path.extension() == ".safetensors" && is_file_of_ranks(path.filename()));
    if (!is_part || inner.empty() || !inners.insert(inner).second) continue;
    CKPT_ASSIGN(std::set<std::string> judged, judge_indexed_folder(folder, inner, entries, found));
    out.merge(judged);
  }
  return out;
}

// Reports missing parts of a numbered .safetensors; the GGUF reader itself reports missing parts.
// `told` contains name prefixes that were already reported.
Status report_missing_numbers(const fs::path& path, std::set<std::string>& told,
                              std::vector<StructureFinding>& found) {
  const auto numbered = parse_numbered(path.string());
  if (!numbered || numbered->ending == ".gguf" || !told.insert(numbered->of(1)).second) return {};
  for (unsigned i = 1; i <= numbered->count; ++i) {
    CKPT_ASSIGN(const bool exists, is_there(numbered->of(i), Links::kFollow));
    if (exists) continue;
    found.push_back({numbered->of(i), "missing; one of the files that the model was cut into",
                     StructureVerdict::kBad, "downloading it"});
    return {};
  }
  return {};
}

// Judges single files. `is_judged` tells which files were judged as part of the folder's
// checkpoint.
Status judge_loose_files(const fs::path& folder, const IsInIndexedFolder& is_judged,
                         std::vector<StructureFinding>& found) {
  // The temporary files of a publication are skipped.
  CKPT_ASSIGN(const auto entries, list_publishable(folder, publication_temporaries()));
  CKPT_ASSIGN(const auto indexed, judge_indexed_folders(folder, entries, is_judged, found));
  std::set<fs::path> judged;
  std::set<std::string> told;
  for (const FolderEntry& entry : entries) {
    std::error_code error;
    fs::path path = folder / entry.path;
    const bool is_file = is_url(path) || fs::is_regular_file(path, error);
    if (!is_file || is_judged(entry.path) || indexed.contains(entry.path)) continue;
    const Format* const format = loose_format(path);
    if (format == nullptr) continue;
    // The GGUF reader opens a split model by its first file.
    const auto numbered = parse_numbered(path.filename().string());
    if (numbered && numbered->ending == ".gguf") path.replace_filename(numbered->of(1));
    if (judged.insert(path).second) CKPT_TRY(judge_loose_file(*format, path, found));
    CKPT_TRY(report_missing_numbers(path, told, found));
  }
  return {};
}

}  // namespace

Result<std::vector<StructureFinding>> find_structure(const fs::path& path) {
  std::vector<StructureFinding> found;
  std::set<std::string> files;
  const bool is_folder = ckpt::is_folder(path);
  const Result<const Format*> format = recognize(path);
  if (format) {
    CKPT_ASSIGN(files, judge(**format, path, found));
  } else if (is_folder && format.error().code == ErrorCode::kCorrupt) {
    add_bad(found, path.string(), format.error());
  } else if (!is_folder || format.error().code != ErrorCode::kUnsupported) {
    return Failure(format.error());
  }
  if (!is_folder) return found;
  const bool is_unsound = !found.empty() && found.front().verdict != StructureVerdict::kSound;
  const auto is_judged = [&](const std::string& name) {
    return is_unsound ? is_file_of(path, name) : files.contains(name);
  };
  CKPT_TRY(judge_loose_files(path, is_judged, found));
  return found;
}

Status check_structure(const fs::path& path, bool may_be_other, Findings& findings) {
  CKPT_ASSIGN(const auto found, find_structure(path));
  for (const StructureFinding& one : found) {
    if (one.verdict == StructureVerdict::kSound) {
      findings.good(one.path, one.found);
      findings.checked("structure");
      if (!one.uncovered.empty()) findings.not_covered_bytes(one.uncovered);
    } else if (one.verdict == StructureVerdict::kUnsupported) {
      const bool is_beside = found.front().verdict == StructureVerdict::kSound;
      if (!may_be_other && !is_beside) {
        return unsupported_hint(one.hint, "{}: {}", one.path, one.found);
      }
      findings.not_checked(fmt::format("structure not checked: {}: {}", one.path, one.found));
    } else {
      findings.bad(one.path, one.found + (one.hint.empty() ? std::string() : ". Try: " + one.hint));
    }
  }
  if (!found.empty()) return {};
  if (!may_be_other) return recognize(path).map([](const Format*) {});
  findings.not_checked("structure not checked: no checkpoint that ckpt can read");
  return {};
}

}  // namespace ckpt

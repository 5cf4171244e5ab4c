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

namespace ckpt {
namespace fs = std::filesystem;
namespace {

// Links are named where files are compared.
constexpr ReadOptions kLinksFollowed{.follow_links = true};

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

// Returns the names of the files that the checkpoint is in, where it is sound.
Result<std::set<std::string>> judge(const Format& format, const fs::path& path,
                                    std::vector<StructureFinding>& found) {
  const Result<Checkpoint> checkpoint = format.read(path, all_codecs(), kLinksFollowed);
  std::set<std::string> files;
  if (checkpoint) {
    const std::string adapter = adapter_words(*checkpoint);
    std::string text = fmt::format("{} structure is sound, {}{}{}", format.name,
                                   counted(checkpoint->tensors.size(), "tensor"),
                                   adapter.empty() ? "" : " of a ", adapter);
    const std::string rest = bytes_after_tensors(*checkpoint);
    if (!rest.empty()) text += "; not checked: " + rest;
    found.push_back({path.string(), std::move(text), StructureVerdict::kSound, "", rest});
    for (const Tensor& tensor : checkpoint->tensors) files.insert(tensor.home);
    return files;
  }
  const ErrorCode code = checkpoint.error().code;
  if (code != ErrorCode::kCorrupt && code != ErrorCode::kUnsupported) {
    return Failure(checkpoint.error());  // no judgement on what is there
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

// `is_judged`: with the folder, as one of its checkpoint's files.
Status judge_loose_files(const fs::path& folder,
                         const std::function<bool(const std::string&)>& is_judged,
                         std::vector<StructureFinding>& found) {
  CKPT_ASSIGN(const auto entries, list_folder(folder, unpublished_paths()));
  std::set<fs::path> judged;
  for (const FolderEntry& entry : entries) {
    std::error_code error;
    fs::path path = folder / entry.path;
    const bool is_file = is_url(path) || fs::is_regular_file(path, error);
    if (!is_file || is_judged(entry.path)) continue;
    const Format* const format = loose_format(path);
    if (format == nullptr) continue;
    // A split is read from its first file on.
    const auto numbered = parse_numbered(path.filename().string());
    if (numbered && numbered->ending == ".gguf") path.replace_filename(numbered->of(1));
    if (judged.insert(path).second) CKPT_TRY(judge_loose_file(*format, path, found));
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
      if (!may_be_other) {
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

#include "core/resume/ledger_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <utility>

#include "core/base/numbers.h"
#include "core/io/folder.h"
#include "core/io/ownership.h"
#include "core/outputs/place.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

using Kind = LedgerEntry::Kind;

// Parses the part after "OUT.partial.ledger". Returns false if ckpt does not use such a name.
bool read_ending(std::string_view text, LedgerFile& found) {
  if (text.empty()) return true;
  if (!text.starts_with('-')) return false;
  text.remove_prefix(1);
  const auto share = take_leading<uint32_t>(text);
  if (!share || !text.starts_with("-of-")) return false;
  text.remove_prefix(4);
  const auto count = take_leading<uint32_t>(text);
  if (!count) return false;
  found.share_number = *share;
  found.share_count = *count;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    if (!take_leading<uint32_t>(text)) return false;
  }
  return text.empty() && *share > 0 && *share <= *count;
}

Result<bool> is_complete(const Plan& plan, const LedgerContent& content) {
  std::map<std::pair<uint64_t, uint64_t>, const LedgerEntry*> files;
  bool complete = false;
  for (const LedgerEntry& entry : content.entries) {
    if (entry.kind == Kind::kFile) files[{entry.numbers[0], entry.numbers[1]}] = &entry;
    complete = complete || entry.kind == Kind::kComplete;
  }
  for (const auto& [numbers, entry] : files) {
    if (!complete) break;
    CKPT_ASSIGN(complete, is_same_partial(plan, *entry));
  }
  return complete;
}

}  // namespace

Result<PlanDigest> digest_of(const Plan& plan, const ExecuteOptions& options) {
  return digest_of(plan,
                   options.resume.version + (options.allow_nonfinite ? " allow-nonfinite" : ""));
}

fs::path ledger_path(const Output& output) {
  return fs::path(partial_path(output).string() + ".ledger");
}

fs::path share_ledger_path(const Output& output, const ResumeOptions& options) {
  return fs::path(fmt::format("{}-{}-of-{}", ledger_path(output).string(), options.share_number,
                              options.share_count));
}

Result<bool> is_same_partial(const Plan& plan, const LedgerEntry& file) {
  if (file.numbers[0] >= plan.outputs.size()) return false;
  const Output& output = plan.outputs[file.numbers[0]];
  if (file.numbers[1] >= output.layout.files.size()) return false;
  const OutputFile& layout = output.layout.files[file.numbers[1]];
  const fs::path path = partial_path(output, layout);
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return false;
    return io_failure(path, "cannot be examined", errno);
  }
  if (!S_ISREG(status.st_mode) || !is_ours(path, status, Guard::kOwnerAndMode)) return false;
  if (status.st_ino != file.numbers[2]) return false;
  if (static_cast<uint64_t>(status.st_size) != layout.size_bytes) return false;
  // Another machine may not report the creation time.
  const uint64_t birth = birth_ns(path), known = file.numbers[3];
  return birth == 0 || known == 0 || birth == known;
}

Result<std::vector<LedgerFile>> ledgers_at(const fs::path& first) {
  const fs::path folder = parent_of(first);
  const std::string name = first.filename().string();
  std::vector<LedgerFile> out;
  std::error_code error;
  for (fs::directory_iterator entries(folder, error), end; !error && entries != end;
       entries.increment(error)) {
    const std::string found_name = entries->path().filename().string();
    LedgerFile found;
    found.path = folder / found_name;
    if (!found_name.starts_with(name)) continue;
    if (!read_ending(std::string_view(found_name).substr(name.size()), found)) continue;
    out.push_back(std::move(found));
  }
  if (error) {
    return io_failure(first, "its folder cannot be listed", error.value());
  }
  std::ranges::sort(out, {}, &LedgerFile::path);
  return out;
}

Result<std::vector<LedgerFile>> find_ledgers(const Plan& plan, const LedgerHead& head) {
  CKPT_ASSIGN(auto out, ledgers_at(ledger_path(plan.outputs[0])));
  for (LedgerFile& found : out) {
    CKPT_ASSIGN(auto content, peek_ledger(found.path));
    if (!content) continue;
    found.content = std::move(*content);
    found.is_ours = found.content.head.plan == head.plan &&
                    changed_input(found.content.head.inputs, head.inputs, false).empty();
    if (found.is_ours) CKPT_SET(found.is_complete, is_complete(plan, found.content));
  }
  return out;
}

}  // namespace ckpt

#include "core/resume/unfinished.h"

#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/find.h"
#include "core/base/numbered_name.h"
#include "core/io/folder.h"
#include "core/outputs/place.h"
#include "core/resume/ledger_files.h"
#include "core/resume/range_set.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

using Kind = LedgerEntry::Kind;

// Output under its temporary name, and the path of its ledger.
struct Temporary {
  fs::path path;
  fs::path ledger;
};

// Returns NAME.gguf for "NAME-00001-of-00003.gguf.partial", one of its files.
std::string name_without_number(const std::string& name) {
  constexpr std::string_view kEnding = ".gguf";
  const size_t end = std::min(name.rfind(kEnding), name.size());
  const auto numbered = parse_numbered(name.substr(0, end + kEnding.size()));
  return numbered ? numbered->prefix + name.substr(end) : name;
}

std::vector<Temporary> possible_temporaries(const fs::path& path) {
  std::vector<Temporary> out;
  const auto add = [&](const fs::path& one) {
    const std::string name = one.filename().string();
    if (!is_partial_name(name)) return;
    out.push_back({one, one.parent_path() / (name + ".ledger")});
    const std::string first = name_without_number(name);
    if (first != name) out.push_back({one, one.parent_path() / (first + ".ledger")});
  };
  add(path);
  if (path.has_relative_path()) add(path.parent_path());
  for (const fs::path& folder : {path, path.parent_path()}) {
    std::error_code error;
    const fs::path inside = folder / partial_name_inside();
    if (fs::is_directory(fs::symlink_status(inside, error))) add(inside);
  }
  return out;
}

// The sizes of the files under a temporary name, by inode.
Result<std::map<uint64_t, uint64_t>> sizes_of(const fs::path& temporary) {
  std::map<uint64_t, uint64_t> out;
  const auto add = [&](const fs::path& path) {
    struct stat status{};
    if (::lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return;
    out.emplace(status.st_ino, static_cast<uint64_t>(status.st_size));
  };
  add(temporary);
  std::error_code error;
  if (!fs::is_directory(temporary, error)) return out;
  CKPT_ASSIGN(const auto entries, list_folder(temporary, {}));
  for (const FolderEntry& entry : entries) add(temporary / entry.path);
  return out;
}

// The percentage of the temporary file that ledgers list as finished; nullopt if they do not
// mention it, as for second outputs.
Result<std::optional<unsigned>> percent_done(const fs::path& temporary,
                                             const std::vector<LedgerFile>& ledgers) {
  using FileNumber = std::pair<uint64_t, uint64_t>;
  CKPT_ASSIGN(const auto sizes, sizes_of(temporary));
  std::map<FileNumber, uint64_t> known;
  std::map<FileNumber, RangeSet> written;
  for (const LedgerFile& ledger : ledgers) {
    for (const LedgerEntry& entry : ledger.content.entries) {
      const FileNumber file{entry.numbers[0], entry.numbers[1]};
      const uint64_t* size = find_mapped(sizes, entry.numbers[2]);
      if (entry.kind == Kind::kFile && size != nullptr) known[file] = *size;
      if (entry.kind == Kind::kWrote) written[file].add(entry.numbers[2], entry.numbers[3]);
    }
  }
  double total = 0, done = 0;
  for (const auto& [file, size] : known) {
    total += static_cast<double>(size);
    done += static_cast<double>(std::min(size, written[file].size()));
  }
  if (total == 0) return std::nullopt;
  return std::optional(static_cast<unsigned>(100 * done / total));
}

}  // namespace

Status refuse_unfinished_output(const fs::path& path) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  if (error) return {};  // it does not exist, which other code reports
  for (const Temporary& temporary : possible_temporaries(real)) {
    CKPT_ASSIGN(auto ledgers, ledgers_at(temporary.ledger));
    if (ledgers.empty()) continue;
    std::string command;
    const bool is_shared = ledgers.front().share_count > 0;
    for (LedgerFile& ledger : ledgers) {
      auto content = peek_ledger(ledger.path);
      // Another user's, or torn: its content is not repeated.
      if (!content || !*content) continue;
      ledger.content = std::move(**content);
      if (command.empty()) command = command_from_here(ledger.content.head);
    }
    CKPT_ASSIGN(const auto percent, percent_done(temporary.path, ledgers));
    const std::string done = percent ? fmt::format(" ({} %)", *percent) : "";
    if (command.empty()) {
      return misuse_hint("the command that began it, which finishes it",
                         "{}: unfinished output of a run of ckpt{}", path.string(), done);
    }
    return misuse("{}: unfinished output of `{}`{}; run {}", path.string(), command, done,
                  is_shared ? "the shares that are not done" : "it again");
  }
  return {};
}

}  // namespace ckpt

#include "core/patch/journal.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <utility>

#include "core/base/find.h"
#include "core/base/printable.h"
#include "core/base/words.h"
#include "core/io/bytes.h"
#include "core/io/folder.h"
#include "core/io/open_folder.h"
#include "core/io/shift.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kJournalFirstLine = "ckpt-patch 3\n";
constexpr std::string_view kOf = "of ";
constexpr size_t kDigestDigits = 64;
constexpr std::string_view kLastLine = "end";
constexpr uint64_t kMaxJournalBytes = uint64_t{64} << 20;
constexpr uint64_t kMaxStagedBytes = uint64_t{4} << 30;  // limit for a header to be written again

constexpr const char* kFreshCopy =
    "a fresh copy of the checkpoint, because the files here may be of two states";

Failure journal_failure(const fs::path& path, const char* doing, int error) {
  return io_failure(path, doing, error, "--out, with a folder that you may write to");
}

// The first word of a line, and the number of numbers before the path, by kind.
struct LineForm {
  std::string_view word;
  size_t numbers;
};
constexpr LineForm kLineForms[] = {{"replace", 2}, {"header", 3}, {"insert", 4}, {"remove", 0}};
constexpr uint64_t JournalLine::*kLineNumbers[] = {&JournalLine::staged, &JournalLine::staged_bytes,
                                                   &JournalLine::size_bytes,
                                                   &JournalLine::new_size_bytes};

bool parse_line(std::string_view text, JournalLine& line) {
  const LineForm* const form = find_by(kLineForms, &LineForm::word, take_word(text));
  if (form == nullptr) return false;
  line.kind = static_cast<JournalLine::Kind>(form - kLineForms);
  for (size_t i = 0; i < form->numbers; ++i) {
    if (!take_number(text, line.*kLineNumbers[i])) return false;
  }
  line.path = text;
  const bool is_insert = line.kind == JournalLine::Kind::kInsert;
  return stays_inside(line.path) && (!is_insert || line.new_size_bytes > line.size_bytes);
}

Result<BoundJournal> read_journal(const fs::path& path) {
  CKPT_ASSIGN(const SharedSource source, open_file(journal_of(path), ReadAs::kOwn));
  CKPT_ASSIGN(const std::string text, read_text(*source, kMaxJournalBytes));
  return in(source->name(), parse_journal(text));
}

Result<uint64_t> size_of_file(const FileBelow& file) {
  CKPT_ASSIGN(const Descriptor opened, file.folder.open_file(file.name, O_RDONLY | O_NONBLOCK));
  struct stat status{};
  const fs::path path = file.folder.path() / file.name;
  if (::fstat(opened.get(), &status) != 0) return journal_failure(path, "cannot be found", errno);
  // A hard link elsewhere would see the bytes change, which a patch must not decide.
  if (!S_ISREG(status.st_mode) || status.st_nlink != 1) {
    return corrupt("{}: no file of its own any more, since a patch began", path.string());
  }
  return static_cast<uint64_t>(status.st_size);
}

Failure changed_since(const fs::path& path, uint64_t found, uint64_t expected) {
  return corrupt("{}: {} bytes; expected {}: it changed after an interrupted patch had begun",
                 path.string(), found, expected);
}

Status redo_replace(const OpenFolder& base, const std::string& staged, const std::string& path) {
  CKPT_ASSIGN(const bool is_staged, base.has(staged));
  if (!is_staged) return {};  // already renamed
  const std::string folder = fs::path(path).parent_path().string();
  if (!folder.empty()) CKPT_TRY(base.make_folder(folder));
  CKPT_TRY(base.give_attributes(path, staged));
  return base.rename(staged, path);
}

// `staging` is the staging folder's name in `base`.
Status redo(const OpenFolder& base, const std::string& staging, const JournalLine& line,
            const StepHook& hook) {
  const std::string staged = fmt::format("{}/files/{}", staging, line.staged);
  switch (line.kind) {
    case JournalLine::Kind::kReplace:
      step(hook, "replace");
      return redo_replace(base, staged, line.path);
    case JournalLine::Kind::kRemove:
      step(hook, "remove");
      return base.remove(line.path);
    case JournalLine::Kind::kHeader:
    case JournalLine::Kind::kInsert:
      break;
  }
  const FileBelow file{base, line.path};
  CKPT_ASSIGN(const uint64_t size, size_of_file(file));
  const bool inserts = line.kind == JournalLine::Kind::kInsert;
  if (inserts && size == line.size_bytes) {
    step(hook, "insert");
    CKPT_TRY(insert_in_front(file, staged + ".shifted", line.new_size_bytes - line.size_bytes));
  } else if (const uint64_t expected = inserts ? line.new_size_bytes : line.size_bytes;
             size != expected) {
    return changed_since(base.path() / line.path, size, expected);
  }
  step(hook, "header");
  CKPT_ASSIGN(const std::string bytes, read_whole({base, staged}, kMaxStagedBytes));
  return overwrite_start(file, std::as_bytes(std::span(bytes)));
}

// Requires all staged files, because copies and restored folders may lack some.
Status check_staged(const OpenFolder& base, const std::string& staging, const Journal& journal) {
  for (const JournalLine& line : journal) {
    if (line.kind == JournalLine::Kind::kRemove) continue;
    std::string name = fmt::format("{}/files/{}", staging, line.staged);
    CKPT_ASSIGN(const bool is_staged, base.has(name));
    if (!is_staged && line.kind == JournalLine::Kind::kReplace) name = line.path;
    CKPT_ASSIGN(const bool exists, base.has(name));
    std::string found = "missing";
    if (exists) {
      CKPT_ASSIGN(const uint64_t size, size_of_file({base, name}));
      if (size == line.staged_bytes) continue;
      found = fmt::format("{} bytes", size);
    }
    return corrupt_hint(kFreshCopy, "{}: {}; expected {} bytes, as the patch wrote them",
                        (base.path() / name).string(), found, line.staged_bytes);
  }
  return {};
}

Status sync_folders(const OpenFolder& base, const Journal& journal) {
  std::set<std::string> folders{""};
  for (const JournalLine& line : journal) folders.insert(fs::path(line.path).parent_path());
  for (const std::string& folder : folders) CKPT_TRY(base.sync(folder));
  return {};
}

// Checks the journal's origin: whoever wrote it decides what happens to the files that it names.
Status judge_journal(const fs::path& path, const FileFilter& belongs, JournalFrom from) {
  CKPT_TRY(require_own_journal(path));
  auto found = read_journal(path);
  if (!found) {
    Error error = std::move(found.error());
    error.hint = kFreshCopy;
    return Failure(std::move(error));
  }
  const BoundJournal& journal = *found;
  for (const JournalLine& line : journal.lines) {
    if (belongs(line.path)) continue;
    return misuse_hint(
        kFreshCopy, "{}: names '{}', which is not a file of this checkpoint; nothing was changed",
        journal_of(path).string(), line.path);
  }
  CKPT_ASSIGN(const std::string of, digest_of_journal(path, render_lines(journal.lines)));
  if (from == JournalFrom::kCopied || journal.of == of) return {};
  return misuse_hint(
      fmt::format("ckpt patch {} --finish-copied, if you copied or moved it yourself; otherwise {}",
                  shell_path(path.string()), kFreshCopy),
      "{}: not written by a patch of this checkpoint where it is now; it was copied, moved, "
      "unpacked or put there, and nothing was changed",
      journal_of(path).string());
}

}  // namespace

std::string render_lines(const Journal& journal) {
  std::string out;
  for (const JournalLine& line : journal) {
    const LineForm& form = kLineForms[static_cast<size_t>(line.kind)];
    out += form.word;
    for (size_t i = 0; i < form.numbers; ++i) out += fmt::format(" {}", line.*kLineNumbers[i]);
    out += fmt::format(" {}\n", line.path);
  }
  out += kLastLine;
  out += '\n';
  return out;
}

std::string render_journal(const BoundJournal& journal) {
  return fmt::format("{}{}{}\n{}", kJournalFirstLine, kOf, journal.of, render_lines(journal.lines));
}

Result<BoundJournal> parse_journal(std::string_view text) {
  const std::string_view all = text;
  BoundJournal journal;
  bool sound = text.starts_with(kJournalFirstLine);
  if (sound) text.remove_prefix(kJournalFirstLine.size());
  std::string_view line;
  bool ended = false;
  for (bool is_first = true; sound && !ended && !text.empty(); is_first = false) {
    const size_t end = text.find('\n');
    line = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    if (is_first) {
      sound = line.starts_with(kOf) && line.size() == kOf.size() + kDigestDigits;
      if (sound) journal.of = line.substr(kOf.size());
      continue;
    }
    ended = line == kLastLine;
    if (!ended) sound = parse_line(line, journal.lines.emplace_back());
  }
  if (sound && ended) return journal;
  const std::string_view shown = line.empty() ? all.substr(0, all.find('\n')) : line;
  return corrupt("not a patch journal of this version: '{}'", shown.substr(0, 80));
}

Result<bool> is_changed_with_folder(const fs::path& file) {
  const fs::path folder = base_of(file);
  CKPT_ASSIGN(const PatchState state, patch_state(folder));
  if (state != PatchState::kUnfinished) return false;
  const auto journal = read_journal(folder);
  if (!journal) return require_own_journal(folder).has_value();  // anyone can put one into /tmp
  return std::ranges::any_of(journal->lines,
                             [&](const JournalLine& line) { return line.path == file.filename(); });
}

Status commit(const fs::path& path, const Journal& journal, const StepHook& hook) {
  for (const JournalLine& line : journal) {
    if (line.path.find('\n') == std::string::npos) continue;
    return unsupported("a file name with a line break in it");
  }
  CKPT_ASSIGN(const OpenFolder base, OpenFolder::open(base_of(path)));
  const std::string name = staging_of(path).filename().string();
  const std::string partial = name + "/journal.partial";
  CKPT_ASSIGN(const std::string of, digest_of_journal(path, render_lines(journal)));
  const std::string text = render_journal({of, journal});
  CKPT_TRY(show_staging(path));
  step(hook, "write journal");
  CKPT_TRY(write_synced({base, partial}, std::as_bytes(std::span(text))));
  CKPT_TRY(base.sync());
  step(hook, "commit");
  CKPT_TRY(base.rename(partial, name + "/journal"));
  return base.sync(name);
}

Status carry_out(const fs::path& path, const StepHook& hook) {
  CKPT_ASSIGN(const OpenFolder base, OpenFolder::open(base_of(path)));
  const std::string name = staging_of(path).filename().string();
  CKPT_ASSIGN(const BoundJournal bound, read_journal(path));
  const Journal& journal = bound.lines;
  CKPT_TRY(check_staged(base, name, journal));
  for (const JournalLine& line : journal) CKPT_TRY(redo(base, name, line, hook));
  step(hook, "sync");
  CKPT_TRY(sync_folders(base, journal));
  step(hook, "end journal");
  CKPT_TRY(base.remove(name + "/journal"));
  CKPT_TRY(base.sync(name));
  return remove_staging(path, hook);
}

Status carry_out_one(const fs::path& path, const JournalLine& line, const StepHook& hook) {
  CKPT_ASSIGN(const OpenFolder base, OpenFolder::open(base_of(path)));
  CKPT_TRY(redo(base, staging_of(path).filename().string(), line, hook));
  step(hook, "sync");
  CKPT_TRY(sync_folders(base, {line}));
  return remove_staging(path, hook);
}

Result<PatchState> recover_patch(const fs::path& path, const FileFilter& belongs,
                                 const StepHook& hook, JournalFrom from) {
  CKPT_ASSIGN(const PatchState found, patch_state(path));
  if (found == PatchState::kNone) return PatchState::kNone;
  CKPT_ASSIGN(const Descriptor lock, lock_staging(path, false));
  CKPT_ASSIGN(const PatchState state, patch_state(path));
  if (state == PatchState::kUnfinished) {
    CKPT_TRY(judge_journal(path, belongs, from));
    CKPT_TRY(carry_out(path, hook));
  }
  if (state == PatchState::kLeftovers) CKPT_TRY(remove_staging(path, hook));
  return state;
}

}  // namespace ckpt

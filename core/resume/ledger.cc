#include "core/resume/ledger.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <utility>

#include "core/base/hex.h"
#include "core/base/printable.h"
#include "core/base/sha256.h"
#include "core/base/words.h"
#include "core/io/bytes.h"
#include "core/io/descriptor.h"
#include "core/io/folder.h"
#include "core/io/ownership.h"
#include "core/io/temporary.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kLedgerFirstLine = "ckpt-ledger 2";
constexpr std::string_view kBatchEnd = "= ";
constexpr size_t kSumDigits = 16;
constexpr uint64_t kMaxLedgerBytes = uint64_t{1} << 30;

Failure ledger_failure(const fs::path& path, const char* doing, int error) {
  return io_failure(path, doing, error,
                    {"another OUT, in a folder that you may write to", Remedy::kOtherOut});
}

std::string sum_of(std::string_view batch) { return sha256_of(batch).substr(0, kSumDigits); }

std::string one_line(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return static_cast<unsigned char>(c) < ' '; }, '?');
  return text;
}

// Takes the next line off `text`, without its '\n'; nullopt if no line is complete.
std::optional<std::string_view> take_ended_line(std::string_view& text) {
  const size_t end = text.find('\n');
  if (end == text.npos) return std::nullopt;
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 1);
  return line;
}

bool take_numbers(std::string_view& line, LedgerEntry& entry, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (!take_number(line, entry.numbers[i])) return false;
  }
  return true;
}

bool ends_within_64_bits(uint64_t first, uint64_t count) { return count <= UINT64_MAX - first; }

bool is_sha256(std::string_view text) { return text.size() == 64 && is_hex(text); }

bool parse_entry(std::string_view word, std::string_view line, LedgerEntry& entry) {
  uint64_t* numbers = entry.numbers;
  if (word == "wrote") {
    entry.kind = LedgerEntry::Kind::kWrote;
    return take_numbers(line, entry, 4) && ends_within_64_bits(numbers[2], numbers[3]);
  }
  if (word == "scan") {
    entry.kind = LedgerEntry::Kind::kScan;
    return take_numbers(line, entry, 3) && take_number(line, numbers[3], 16) &&
           numbers[3] <= UINT32_MAX && ends_within_64_bits(numbers[1], numbers[2]);
  }
  if (word == "hashed") {
    entry.kind = LedgerEntry::Kind::kHashed;
    if (!take_numbers(line, entry, 3) || !is_hex(line)) return false;
    entry.sha256 = line;
    return Sha256::from({numbers[2], entry.sha256}).has_value();
  }
  if (word == "digest") {
    entry.kind = LedgerEntry::Kind::kDigest;
    if (!take_numbers(line, entry, 2) || !is_sha256(line)) return false;
    entry.sha256 = line;
    return true;
  }
  if (word == "file") {
    entry.kind = LedgerEntry::Kind::kFile;
    return take_numbers(line, entry, 4);
  }
  if (word == "publish") {
    entry.kind = LedgerEntry::Kind::kPublish;
    return take_numbers(line, entry, 3);
  }
  entry.kind = LedgerEntry::Kind::kComplete;
  return word == "complete";
}

class LedgerParser {
 public:
  explicit LedgerParser(std::string_view boot) : boot_(boot) {}

  Result<LedgerContent> run(std::string_view bytes) {
    const std::string_view all = bytes;
    bool has_head = false;
    while (const auto batch = take_batch(bytes)) {
      if (!(has_head ? parse_batch(*batch) : parse_head(*batch))) break;
      has_head = true;
      content_.sound_bytes = all.size() - bytes.size();
    }
    if (!has_head) return corrupt("no head of a ledger");
    if (written_by_ == boot_) keep_all();
    return std::move(content_);
  }

 private:
  // The lines of the next batch with a correct checksum.
  static std::optional<std::string_view> take_batch(std::string_view& bytes) {
    const std::string_view all = bytes;
    std::string_view rest = bytes;
    for (;;) {
      const size_t at = all.size() - rest.size();
      const auto line = take_ended_line(rest);
      if (!line) return std::nullopt;
      if (!line->starts_with(kBatchEnd)) continue;
      const std::string_view batch = all.substr(0, at);
      if (line->substr(kBatchEnd.size()) != sum_of(batch)) return std::nullopt;
      bytes = rest;
      return batch;
    }
  }

  bool parse_head(std::string_view batch) {
    LedgerHead& head = content_.head;
    bool sound = take_ended_line(batch) == kLedgerFirstLine;
    while (sound && !batch.empty()) {
      std::string_view line = *take_ended_line(batch);
      const std::string_view word = take_word(line);
      if (word == "plan") {
        sound = is_sha256(line);
        head.plan = line;
      } else if (word == "command") {
        head.command = line;
      } else if (word == "folder") {
        head.folder = line;
      } else if (word == "input") {
        InputFile& file = head.inputs.emplace_back();
        sound = take_number(line, file.size_bytes) && take_number(line, file.modified_ns) &&
                take_number(line, file.inode) && take_number(line, file.changed_ns);
        file.path = line;
      } else {
        sound = word == "boot";
        written_by_ = line;
      }
    }
    return sound && !head.plan.empty() && !written_by_.empty();
  }

  bool parse_batch(std::string_view batch) {
    while (!batch.empty()) {
      std::string_view line = *take_ended_line(batch);
      const std::string_view word = take_word(line);
      if (word == "boot") {
        if (written_by_ != boot_) waiting_.clear();
        written_by_ = line;
      } else if (word == "synced") {
        keep_all();
      } else {
        LedgerEntry entry{};
        if (!parse_entry(word, line, entry)) return false;
        waiting_.push_back(std::move(entry));
      }
    }
    return true;
  }

  void keep_all() {
    content_.entries.insert(content_.entries.end(), std::make_move_iterator(waiting_.begin()),
                            std::make_move_iterator(waiting_.end()));
    waiting_.clear();
  }

  std::string_view boot_;
  std::string written_by_;
  std::vector<LedgerEntry> waiting_;  // for "synced", or for the record of this boot
  LedgerContent content_;
};

std::string render(const LedgerHead& head) {
  std::string out =
      fmt::format("{}\nplan {}\ncommand {}\n", kLedgerFirstLine, head.plan, one_line(head.command));
  if (!head.folder.empty()) out += fmt::format("folder {}\n", head.folder);
  for (const InputFile& file : head.inputs) {
    out += fmt::format("input {} {} {} {} {}\n", file.size_bytes, file.modified_ns, file.inode,
                       file.changed_ns, one_line(file.path));
  }
  return out + fmt::format("boot {}\n", boot_id());
}

// Opens an existing file, or makes a new one (`is_made`), but never one that another user is just
// making. Closed, with errno set, if both fail.
Descriptor find_or_make(const fs::path& path, bool& is_made) {
  constexpr int kFlags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  const auto opened = [&](int more) {
    return Descriptor(retried([&] { return ::open(path.c_str(), kFlags | more, 0600); }));
  };
  Descriptor out;
  // The file may appear or disappear in between.
  for (int i = 0; i < 8; ++i) {
    out = opened(0);
    if (out.is_open() || errno != ENOENT) break;
    out = opened(O_CREAT | O_EXCL);
    is_made = out.is_open();
    if (is_made || errno != EEXIST) break;
  }
  return out;
}

Status require_ours(int descriptor, const fs::path& path) {
  struct stat status{};
  if (::fstat(descriptor, &status) != 0) return ledger_failure(path, "cannot be examined", errno);
  return ckpt::require_ours(path, status, Guard::kOwnerAndMode);
}

Result<std::optional<LedgerContent>> read_descriptor(int descriptor, const fs::path& path) {
  struct stat status{};
  if (::fstat(descriptor, &status) != 0) return ledger_failure(path, "cannot be read", errno);
  if (!S_ISREG(status.st_mode) || static_cast<uint64_t>(status.st_size) > kMaxLedgerBytes) {
    return std::nullopt;
  }
  std::string text(static_cast<size_t>(status.st_size), '\0');
  const ssize_t got = read_all(descriptor, std::as_writable_bytes(std::span(text)), 0);
  if (got < 0) return ledger_failure(path, "cannot be read", errno);
  text.resize(static_cast<size_t>(got));
  auto content = parse_ledger(text, boot_id());
  if (!content) return std::nullopt;
  return std::optional(std::move(*content));
}

}  // namespace

std::string command_folder() {
  std::error_code error;
  const std::string folder = fs::current_path(error).string();
  return error || one_line(folder) != folder ? "" : folder;
}

std::string command_from_here(const LedgerHead& head) {
  const bool is_here = head.folder.empty() || head.folder == command_folder();
  if (is_here || head.command.empty()) return head.command;
  return fmt::format("cd {} && {}", shell_path(head.folder), head.command);
}

Result<LedgerContent> parse_ledger(std::string_view bytes, std::string_view boot) {
  return LedgerParser(boot).run(bytes);
}

const std::string& boot_id() {
  static const std::string id = [] {
    char text[64] = {};
    const Descriptor file(::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
    const ssize_t got = file.is_open() ? ::read(file.get(), text, sizeof text - 1) : 0;
    const std::string_view line(text, got > 0 ? static_cast<size_t>(got) : 0);
    return got > 0 ? std::string(line.substr(0, line.find('\n')))
                   : fmt::format("unknown-{}", ::getpid());
  }();
  return id;
}

Result<Ledger> Ledger::open(const fs::path& path) {
  bool is_made = false;
  Ledger ledger(path, find_or_make(path, is_made));
  const int descriptor = ledger.descriptor_.get();
  if (descriptor < 0) {
    const int error = errno;
    CKPT_TRY(require_ours(path, Guard::kOwnerAndMode));
    return ledger_failure(path, "cannot be written", error);
  }
  CKPT_TRY(require_ours(descriptor, path));
  CKPT_ASSIGN(const bool is_locked, lock_for_run(descriptor, path));
  if (!is_locked) return in_use_failure(path);
  struct stat held{};
  if (::fstat(descriptor, &held) != 0) return ledger_failure(path, "cannot be examined", errno);
  // Empties the ledger when starting over, but never another file that was given this name.
  if (!S_ISREG(held.st_mode) || held.st_nlink != 1) {
    return misuse_hint(fmt::format("rm {}", shell_path(path.string())),
                       "{}: no file of its own, as an earlier run would have left it",
                       path.string());
  }
  ledger.was_made_ = is_made;
  ledger.was_empty_ = held.st_size == 0;
  return ledger;
}

Result<std::optional<LedgerContent>> Ledger::read() const {
  return read_descriptor(descriptor_.get(), path_);
}

Status Ledger::begin(const LedgerHead& head) {
  end_bytes_ = 0;
  if (retried([&] { return ::ftruncate(descriptor_.get(), 0); }) != 0)
    return ledger_failure(path_, "cannot be written", errno);
  return append(render(head));
}

Status Ledger::continue_after(const LedgerContent& content) {
  end_bytes_ = content.sound_bytes;
  if (::ftruncate(descriptor_.get(), static_cast<off_t>(end_bytes_)) != 0) {
    return ledger_failure(path_, "cannot be written", errno);
  }
  return append(fmt::format("boot {}\n", boot_id()));
}

Status Ledger::append(std::string_view lines) {
  return write_at_end(fmt::format("{}{}{}\n", lines, kBatchEnd, sum_of(lines)));
}

// Writes after the sound batches, so that a batch that failed half-way is overwritten.
Status Ledger::write_at_end(std::string_view batch) {
  if (!write_all(descriptor_.get(), std::as_bytes(std::span(batch)), end_bytes_)) {
    return ledger_failure(path_, "cannot be written", errno);
  }
  end_bytes_ += batch.size();
  return {};
}

Status Ledger::sync() {
  if (retried([&] { return ::fdatasync(descriptor_.get()); }) == 0) return {};
  return ledger_failure(path_, "cannot be synced", errno);
}

void Ledger::clear() {
  end_bytes_ = 0;
  if (retried([&] { return ::ftruncate(descriptor_.get(), 0); }) != 0) remove();
}

void Ledger::remove() { ::unlink(path_.c_str()); }

Result<std::optional<LedgerContent>> peek_ledger(const fs::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.is_open()) {
    const int error = errno;
    if (error == ENOENT) return std::nullopt;
    CKPT_TRY(require_ours(path, Guard::kOwnerAndMode));
    return ledger_failure(path, "cannot be opened", error);
  }
  CKPT_TRY(require_ours(file.get(), path));
  return read_descriptor(file.get(), path);
}

}  // namespace ckpt

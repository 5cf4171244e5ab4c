#include "tools/say/console.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/base/printable.h"
#include "core/base/words.h"

namespace ckpt {
namespace {

bool terminal_draws(int descriptor) {
  const char* term = std::getenv("TERM");
  return ::isatty(descriptor) == 1 && !(term != nullptr && std::strcmp(term, "dumb") == 0);
}

// Earlier answers come first where both go to one place, and no line is cut by another.
void print(std::FILE* stream, std::string line) {
  if (stream != stdout) std::fflush(stdout);
  line += '\n';
  std::fwrite(line.data(), 1, line.size(), stream);
}

// Characters on the screen, which UTF-8 continuation bytes are not.
size_t width(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & '\xC0') != '\x80'; }));
}

ProgressMode progress_mode(const CommonOptions& options) {
  if (options.quiet || options.progress == "none") return ProgressMode::kNone;
  if (options.progress == "json") return ProgressMode::kJson;
  if (options.progress == "plain") return ProgressMode::kPlain;
  return terminal_draws(STDERR_FILENO) ? ProgressMode::kDrawn : ProgressMode::kPlain;
}

}  // namespace

Console::Console(const CommonOptions& options)
    : json_(options.json), quiet_(options.quiet), progress_(progress_mode(options)) {
  const char* no_color = std::getenv("NO_COLOR");
  const bool forbidden = no_color != nullptr && *no_color != '\0';
  color_ = options.color == "always" ||
           (options.color == "auto" && !forbidden && terminal_draws(STDOUT_FILENO));
}

void Console::answer(std::string_view line) const {
  if (!json_) print(stdout, printable(line));
}

void Console::answer_headed(std::string_view head, std::string_view rest) const {
  if (json_) return;
  const std::string shown = printable(head);
  print(stdout, (color_ ? fmt::format("\x1b[1m{}\x1b[0m", shown) : shown) + printable(rest));
}

void Console::answer_lines(std::string_view text) const {
  if (text.ends_with('\n')) text.remove_suffix(1);
  for (size_t end = text.find('\n'); end != text.npos; end = text.find('\n')) {
    answer(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  answer(text);
}

void Console::object(std::string_view type, Json fields) const {
  if (!json_) return;
  CKPT_CHECK(!fields.contains("type") && !fields.contains("schema"));
  Json out = {{"type", type}, {"schema", 1}};
  out.update(fields);
  // Names from files may be no UTF-8; an answer that cannot be printed helps nobody.
  print(stdout, printable_json(out.dump(-1, ' ', false, Json::error_handler_t::replace)));
}

void Console::talk(std::string_view line) const {
  if (!quiet_) print(stderr, printable(line));
}

void Console::warn(std::string_view line) const {
  if (!quiet_) print(stderr, printable(fmt::format("ckpt: note: {}", line)));
}

void Console::error(const Error& error) const {
  static constexpr const char* kNames[] = {"usage", "corrupt", "unsupported", "io", "interrupted"};
  print(stderr, printable(fmt::format("ckpt: {}", error.text())));
  object("error", {{"code", kNames[static_cast<size_t>(error.code)]},
                   {"where", error.where},
                   {"message", error.what},
                   {"try", error.hint}});
}

int exit_code(const Error& error) { return error.code == ErrorCode::kInterrupted ? 130 : 2; }

void Table::add(std::vector<std::string> row) {
  for (std::string& cell : row) cell = printable(cell);
  rows_.push_back(std::move(row));
}

std::vector<std::string> Table::lines(const std::vector<bool>& flush_right) const {
  std::vector<size_t> widths(rows_[0].size());
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  }
  std::vector<std::string> out;
  for (const auto& row : rows_) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string space(widths[i] - width(row[i]), ' ');
      if (i > 0) line += "  ";
      line += flush_right[i] ? space + row[i] : row[i] + space;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out.push_back(std::move(line));
  }
  return out;
}

ProgressLine::ProgressLine(const Console& console, std::string_view what, ProgressPace pace)
    : console_(console),
      what_(printable(what)),
      pace_(pace),
      start_(std::chrono::steady_clock::now()),
      last_(start_) {}

ProgressLine::~ProgressLine() { clear(); }

void ProgressLine::note(const std::string& text) {
  clear();
  console_.warn(text);
}

void ProgressLine::clear() {
  if (drawn_) std::fputs("\r\x1b[K", stderr);
  drawn_ = false;
}

bool ProgressLine::is_due(uint64_t done_bytes, uint64_t total_bytes) {
  const ProgressMode mode = console_.progress();
  const auto now = std::chrono::steady_clock::now();
  const bool is_edge = mode == ProgressMode::kJson && (is_first_ || done_bytes == total_bytes);
  const bool is_late = now - last_ >= (mode == ProgressMode::kPlain ? pace_.told : pace_.drawn);
  if (mode == ProgressMode::kNone || !(is_edge || is_late)) return false;
  is_first_ = false;
  last_ = now;
  return true;
}

void ProgressLine::advanced(uint64_t done_bytes, uint64_t total_bytes) {
  if (!is_due(done_bytes, total_bytes)) return;
  if (console_.progress() != ProgressMode::kJson) return draw(done_bytes, total_bytes);
  console_.object("progress",
                  {{"what", what_}, {"done_bytes", done_bytes}, {"total_bytes", total_bytes}});
  std::fflush(stdout);
}

void ProgressLine::draw(uint64_t done_bytes, uint64_t total_bytes) {
  const bool is_drawn = console_.progress() == ProgressMode::kDrawn;
  const std::chrono::duration<double> since_start = last_ - start_;
  const double rate = static_cast<double>(done_bytes) / since_start.count();
  const double left = static_cast<double>(total_bytes - done_bytes) / std::max(rate, 1.0);
  std::string line = fmt::format("{}  {} / {}  {}/s  {} left", what_, human_bytes(done_bytes),
                                 human_bytes(total_bytes), human_bytes(static_cast<uint64_t>(rate)),
                                 human_seconds(left));
  if (!is_drawn) return print(stderr, std::move(line));
  std::fflush(stdout);
  fmt::print(stderr, "\r\x1b[K{}", line);
  std::fflush(stderr);
  drawn_ = true;
}

}  // namespace ckpt

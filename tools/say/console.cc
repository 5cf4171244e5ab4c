#include "tools/say/console.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/base/printable.h"
#include "core/base/words.h"
#include "tools/say/width.h"

namespace ckpt {
namespace {

bool terminal_draws(int descriptor) {
  const char* term = std::getenv("TERM");
  return ::isatty(descriptor) == 1 && !(term != nullptr && std::strcmp(term, "dumb") == 0);
}

// Prints a line in one piece, after earlier answers if stdout and stderr are the same terminal.
void print(std::FILE* stream, std::string line) {
  if (stream != stdout) std::fflush(stdout);
  line += '\n';
  std::fwrite(line.data(), 1, line.size(), stream);
}

ProgressMode progress_mode(const CommonOptions& options) {
  if (options.quiet || options.progress == "none") return ProgressMode::kNone;
  if (options.progress == "json") return ProgressMode::kJson;
  if (options.progress == "plain") return ProgressMode::kPlain;
  return terminal_draws(STDERR_FILENO) ? ProgressMode::kDrawn : ProgressMode::kPlain;
}

std::string painted(bool has_color, std::string_view style, std::string text) {
  return has_color ? fmt::format("\x1b[{}m{}\x1b[0m", style, text) : text;
}

// Wraps `line` if the descriptor is a terminal. Later lines are indented two more than the first.
std::string fitted(int descriptor, std::string line) {
  constexpr size_t kHang = 2;
  const auto columns = terminal_columns(descriptor);
  const size_t start = std::min(line.find_first_not_of(' '), line.size());
  return columns ? wrapped(line, *columns, start + kHang) : line;
}

}  // namespace

Console::Console(const CommonOptions& options)
    : json_(options.json),
      quiet_(options.quiet),
      progress_(progress_mode(options)),
      with_typed_(options.with_typed) {
  const char* no_color = std::getenv("NO_COLOR");
  const bool may = options.color == "auto" && (no_color == nullptr || *no_color == '\0');
  color_ = options.color == "always" || (may && terminal_draws(STDOUT_FILENO));
  color_on_stderr_ = options.color == "always" || (may && terminal_draws(STDERR_FILENO));
}

void Console::answer(std::string_view line) const {
  if (answers()) print(stdout, fitted(STDOUT_FILENO, printable(line)));
}

void Console::answer_bytes(std::string_view line) const {
  const bool is_shown = color_ || ::isatty(STDOUT_FILENO) == 1;
  if (answers()) print(stdout, is_shown ? printable(line) : std::string(line));
}

void Console::answer_headed(std::string_view head, std::string_view rest, Tone tone) const {
  static constexpr std::string_view kStyles[] = {"1", "1;32", "1;31", "33"};
  if (!answers()) return;
  const std::string painted_head =
      painted(color_, kStyles[static_cast<size_t>(tone)], printable(head));
  print(stdout, fitted(STDOUT_FILENO, painted_head + printable(rest)));
}

void Console::answer_lines(std::string_view text) const {
  if (text.ends_with('\n')) text.remove_suffix(1);
  for (size_t end = text.find('\n'); end != text.npos; end = text.find('\n')) {
    if (answers()) print(stdout, printable(text.substr(0, end)));
    text.remove_prefix(end + 1);
  }
  if (answers()) print(stdout, printable(text));
}

void Console::answer_table(const Table& table, std::vector<bool> flush_right) const {
  for (const std::string& line : table.lines(std::move(flush_right))) answer(line);
}

Console Console::summary() const {
  Console out = *this;
  out.is_silent_ = quiet_;
  return out;
}

void Console::object(std::string_view type, Json fields) const {
  if (!json_) return;
  CKPT_CHECK(!fields.contains("type") && !fields.contains("schema"));
  Json out = {{"type", type}, {"schema", 1}};
  out.update(fields);
  // Names from files may not be UTF-8; invalid bytes are replaced rather than failing.
  print(stdout, printable_json(out.dump(-1, ' ', false, Json::error_handler_t::replace)));
}

void Console::talk(std::string_view line) const {
  if (!quiet_) print(stderr, fitted(STDERR_FILENO, printable(line)));
}

void Console::warn(std::string_view line) const {
  if (quiet_) return;
  constexpr std::string_view kTry = ". Try: ";
  const size_t at = line.find(kTry);
  const size_t end = at == line.npos ? line.size() : at + kTry.size();
  const std::string all = std::string(line.substr(0, end)) + kept(line.substr(end), false);
  const std::string head = painted(color_on_stderr_, "33", "ckpt: note:");
  print(stderr, fitted(STDERR_FILENO, fmt::format("{} {}", head, printable(all))));
}

void Console::next(std::string_view command) const {
  if (!command.empty()) talk("Next: " + suggested(command));
}

std::string Console::kept(std::string_view advice, bool is_next) const {
  return with_typed_ ? with_typed_(advice, is_next) : std::string(advice);
}

void Console::error(Error error) const {
  error.hint = kept(error.hint, false);
  static constexpr const char* kNames[] = {"usage", "corrupt", "unsupported", "io", "interrupted"};
  const std::string head = painted(color_on_stderr_, "1;31", "ckpt:");
  print(stderr, fitted(STDERR_FILENO, fmt::format("{} {}", head, printable(error.text()))));
  const char* const code = kNames[static_cast<size_t>(error.code)];
  object("error", {{"code", error.is_missing ? "not-found" : code},
                   {"where", error.where},
                   {"message", error.what},
                   {"try", error.hint}});
}

int exit_code(const Error& error) { return error.code == ErrorCode::kInterrupted ? 130 : 2; }

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

// Draws progress as a bar, a percentage and, as far as the terminal has room, numbers.
std::string ProgressLine::drawn_line(std::string_view counts, double part) const {
  constexpr size_t kLongestBar = 30, kShortestBar = 8;
  const size_t columns = terminal_columns(STDERR_FILENO).value_or(80) - 1;
  const std::string end = fmt::format(" {:3.0f}%  {}", std::floor(part * 100), counts);
  const size_t what = std::min(shown_width(what_), columns / 3) + 2;
  const size_t used = what + shown_width(end);
  const size_t bar =
      used + kShortestBar + 2 > columns ? 0 : std::min(columns - used - 2, kLongestBar);
  const auto full = static_cast<size_t>(part * static_cast<double>(bar));
  std::string line = cut_to(what_, what - 2) + "  ";
  if (bar > 0) line += fmt::format("[{}{}]", std::string(full, '#'), std::string(bar - full, '.'));
  return cut_to(line + end, columns);
}

void ProgressLine::draw(uint64_t done_bytes, uint64_t total_bytes) {
  const bool is_drawn = console_.progress() == ProgressMode::kDrawn;
  const std::chrono::duration<double> since_start = last_ - start_;
  const double rate = static_cast<double>(done_bytes) / since_start.count();
  const double left = static_cast<double>(total_bytes - done_bytes) / std::max(rate, 1.0);
  const std::string counts =
      fmt::format("{} / {}  {}/s  {} left", human_bytes(done_bytes), human_bytes(total_bytes),
                  human_bytes(static_cast<uint64_t>(rate)), human_seconds(left));
  if (!is_drawn) return print(stderr, fmt::format("{}  {}", what_, counts));
  const double part =
      static_cast<double>(done_bytes) / static_cast<double>(std::max<uint64_t>(total_bytes, 1));
  std::fflush(stdout);
  fmt::print(stderr, "\r\x1b[K{}", drawn_line(counts, part));
  std::fflush(stderr);
  drawn_ = true;
}

}  // namespace ckpt

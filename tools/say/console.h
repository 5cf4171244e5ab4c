// The output of commands: answers on stdout, messages on stderr, JSON lines on request, colors and
// drawn progress only on a terminal.
//
// All terminal output goes through this class. It escapes texts and file names with printable(), so
// callers pass them unchanged. One call writes one line, which a terminal shows wrapped at words.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/engine/execute.h"
#include "plan/conversion/observer.h"
#include "plan/conversion/sizes.h"

namespace ckpt {

using Json = nlohmann::ordered_json;

// How progress is shown: not at all, as a line every half minute, as a redrawn line, or as JSON
// objects among those of --json.
enum class ProgressMode : uint8_t { kNone, kPlain, kDrawn, kJson };

// The options that every command has.
struct CommonOptions {
  bool json = false;
  bool quiet = false;
  unsigned threads = 0;
  uint64_t memory_bytes = uint64_t{512} << 20;
  std::string typed_memory, typed_limit_rate;
  std::string color = "auto";
  std::string progress = "auto";
  std::string command;  // the typed command line, quoted for a shell
  // Adds the typed options to a suggested command (tools/line/suggested.h); may be empty.
  std::function<std::string(std::string_view advice, bool is_next)> with_typed;
};

// The color of a headline: none (bold), green, red, yellow.
enum class Tone : uint8_t { kPlain, kGood, kBad, kWarning };

class Table;

class Console {
 public:
  explicit Console(const CommonOptions& options);

  bool json() const { return json_; }
  ProgressMode progress() const { return progress_; }
  // Prints one line on stdout; nothing under --json. With arguments, `line` is a format.
  void answer(std::string_view line) const;
  template <class... Args>
  requires(sizeof...(Args) > 0) void answer(fmt::format_string<Args...> format,
                                            Args&&... args) const {
    answer(fmt::format(format, std::forward<Args>(args)...));
  }
  // Does the same for a line that a program reads, such as `sha256sum -c`. Only a terminal gets it
  // escaped; otherwise its bytes are unchanged.
  void answer_bytes(std::string_view line) const;
  // Does the same with `head` in bold and, if colors are on, in the color of `tone`.
  void answer_headed(std::string_view head, std::string_view rest, Tone tone = Tone::kPlain) const;
  // Prints several lines for a program or a shell, without wrapping.
  void answer_lines(std::string_view text) const;
  void answer_table(const Table& table, std::vector<bool> flush_right = {}) const;
  // Returns a console for answers that report success; with --quiet it prints nothing.
  Console summary() const;
  // Prints one object on stdout under --json, beginning with "type" and "schema": 1; otherwise
  // prints nothing. Requires: `fields` has neither key.
  void object(std::string_view type, Json fields) const;
  // Prints a line on stderr, except under --quiet.
  void talk(std::string_view line) const;
  template <class... Args>
  requires(sizeof...(Args) > 0) void talk(fmt::format_string<Args...> format,
                                          Args&&... args) const {
    talk(fmt::format(format, std::forward<Args>(args)...));
  }
  void warn(std::string_view line) const;
  template <class... Args>
  requires(sizeof...(Args) > 0) void warn(fmt::format_string<Args...> format,
                                          Args&&... args) const {
    warn(fmt::format(format, std::forward<Args>(args)...));
  }
  // Prints the error line: "ckpt: ..." on stderr, and an object under --json.
  void error(Error error) const;
  // Prints "Next: COMMAND" with the typed options that it keeps, as talk. Prints nothing for "".
  void next(std::string_view command) const;
  // Returns the command of a fix with the typed options that it keeps.
  std::string suggested(std::string_view command) const { return kept(command, true); }

 private:
  std::string kept(std::string_view advice, bool is_next) const;
  bool answers() const { return !json_ && !is_silent_; }

  bool json_, quiet_, color_, color_on_stderr_;
  bool is_silent_ = false;
  ProgressMode progress_;
  std::function<std::string(std::string_view, bool)> with_typed_;
};

// The exit code for an error: 2, or 130 after an interruption.
int exit_code(const Error& error);

// A table with aligned columns. The first row is the heading. Cells are escaped before their width
// is measured, so columns stay aligned. Nothing is cut (table.cc).
class Table {
 public:
  explicit Table(std::vector<std::string> heading) : rows_{std::move(heading)} {}
  void add(std::vector<std::string> row);
  size_t size() const { return rows_.size(); }  // includes the heading
  // `flush_right`: a flag for each column; empty: all false. `columns`: the width to fit; by
  // default that of the terminal on stdout, or unlimited if stdout is not a terminal.
  std::vector<std::string> lines(std::vector<bool> flush_right = {},
                                 std::optional<size_t> columns = {}) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// The minimum time between two progress lines.
struct ProgressPace {
  std::chrono::milliseconds drawn{100};    // on a terminal
  std::chrono::milliseconds told{30'000};  // elsewhere
};

// Shows task, done and total, rate and time left: on a terminal one redrawn line, elsewhere a line
// from time to time, always on stderr. Only --progress json writes to stdout: objects for the first
// and the last bytes and at the pace of drawing in between.
class ProgressLine final : public Progress {
 public:
  ProgressLine(const Console& console, std::string_view what, ProgressPace pace = {});
  ~ProgressLine() override;
  void advanced(uint64_t done_bytes, uint64_t total_bytes) override;
  void note(const std::string& text) override;
  void clear();  // takes the line off the screen

 private:
  const Console& console_;
  std::string what_;
  ProgressPace pace_;
  bool is_due(uint64_t done_bytes, uint64_t total_bytes);
  void draw(uint64_t done_bytes, uint64_t total_bytes);
  std::string drawn_line(std::string_view counts, double part) const;

  bool drawn_ = false, is_first_ = true;
  std::chrono::steady_clock::time_point start_, last_;
};

// Shows the notes and the progress of planning on a console.
class ConsoleObserver final : public Observer {
 public:
  ConsoleObserver(const Console& console, const std::atomic<bool>* cancelled)
      : console_(console), cancelled_(cancelled) {}
  void note(std::string_view text) override { console_.warn(text); }
  void talk(std::string_view text) override { console_.talk(text); }
  std::unique_ptr<Progress> progress(std::string_view what) override {
    return std::make_unique<ProgressLine>(console_, what);
  }
  const std::atomic<bool>* cancelled() const override { return cancelled_; }

 private:
  const Console& console_;
  const std::atomic<bool>* cancelled_;
};

}  // namespace ckpt

// How commands talk: answers on stdout, talk on stderr, JSON lines on request, colors and progress
// only for a person at a terminal.
//
// The one gate to the terminal: texts from files and names of files go through printable() here,
// so that callers may hand them over as they are. One call writes one line, which a terminal shows
// wrapped at words.
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

// How far work has come: not at all, as a line every half minute, as one that is drawn over, as
// objects among those of --json.
enum class ProgressMode : uint8_t { kNone, kPlain, kDrawn, kJson };

// The options of every command.
struct CommonOptions {
  bool json = false;
  bool quiet = false;
  unsigned threads = 0;
  uint64_t memory_bytes = uint64_t{512} << 20;
  std::string typed_memory, typed_limit_rate;
  std::string color = "auto";
  std::string progress = "auto";
  std::string command;  // all that was typed, as a shell takes it
  // Adds the typed options to a suggested command (tools/line/suggested.h); may be empty.
  std::function<std::string(std::string_view advice, bool is_next)> with_typed;
};

// The meaning of a headline, in colors: bold, green, red, yellow.
enum class Tone : uint8_t { kPlain, kGood, kBad, kWarning };

class Table;

class Console {
 public:
  explicit Console(const CommonOptions& options);

  bool json() const { return json_; }
  ProgressMode progress() const { return progress_; }
  // One answer line on stdout; nothing under --json. With arguments, a format.
  void answer(std::string_view line) const;
  template <class... Args>
  requires(sizeof...(Args) > 0) void answer(fmt::format_string<Args...> format,
                                            Args&&... args) const {
    answer(fmt::format(format, std::forward<Args>(args)...));
  }
  // The same for a line that a program reads, such as `sha256sum -c`: its bytes as they are, unless
  // a terminal shows them.
  void answer_bytes(std::string_view line) const;
  // The same, its first words in bold and in the color of `tone`, where there are colors.
  void answer_headed(std::string_view head, std::string_view rest, Tone tone = Tone::kPlain) const;
  // A text of several lines that a program or a shell reads; it is not wrapped.
  void answer_lines(std::string_view text) const;
  void answer_table(const Table& table, std::vector<bool> flush_right = {}) const;
  // A console for answers that report success. With --quiet it prints nothing.
  Console summary() const;
  // One object on stdout under --json, "type" first and "schema": 1 second; else nothing. Requires:
  // `fields` has neither.
  void object(std::string_view type, Json fields) const;
  // A line on stderr; not under --quiet.
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
  // The one error line: "ckpt: ..." on stderr, and an object under --json.
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

// The exit code that an error stands for: 2, or 130 when interrupted.
int exit_code(const Error& error);

// A table with aligned columns. The first row is the heading. Cells are escaped before their width
// is measured, so columns stay aligned. Nothing is cut (table.cc).
class Table {
 public:
  explicit Table(std::vector<std::string> heading) : rows_{std::move(heading)} {}
  void add(std::vector<std::string> row);
  size_t size() const { return rows_.size(); }  // the heading is one
  // `flush_right`: a flag for each column; empty: all false. `columns`: the width to fit into; by
  // default that of the terminal on stdout, or unlimited if stdout is not a terminal.
  std::vector<std::string> lines(std::vector<bool> flush_right = {},
                                 std::optional<size_t> columns = {}) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// How long a progress line stands before the next.
struct ProgressPace {
  std::chrono::milliseconds drawn{100};    // on a terminal
  std::chrono::milliseconds told{30'000};  // elsewhere
};

// Task, done and total, rate, time left: on a terminal one line that is redrawn, elsewhere a
// line now and then. On stderr, never on stdout, but for --progress json: an object for the first
// bytes, the last, and as often as a line is drawn.
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

// Notes, talk and progress of planning, on a console.
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

// Records which part of a run each thread spends its time on, as a trace that Chrome and Perfetto
// display. While tracing is off, a span costs one load.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace ckpt {

class Trace {
 public:
  static bool is_on() { return on_.load(std::memory_order_relaxed); }
  static void start();
  // Returns Chrome's trace event format: complete events ("ph": "X") with times in microseconds.
  // Requires: all other threads have stopped recording.
  static std::string json();

 private:
  static std::atomic<bool> on_;
};

// Records the time from its construction to its destruction. `name` must be a literal.
class TraceSpan {
 public:
  explicit TraceSpan(const char* name) : name_(Trace::is_on() ? name : nullptr) {
    if (name_ != nullptr) begin();
  }
  TraceSpan(const TraceSpan&) = delete;
  TraceSpan& operator=(const TraceSpan&) = delete;
  ~TraceSpan() {
    if (name_ != nullptr) end();
  }

 private:
  void begin();
  void end() const;

  const char* name_;
  int64_t begin_ns_ = 0;
};

}  // namespace ckpt

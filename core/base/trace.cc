#include "core/base/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <mutex>
#include <vector>

namespace ckpt {
namespace {

struct TraceEvent {
  const char* name;
  int64_t begin_ns, end_ns;
};

struct TraceLog {
  std::mutex mutex;
  std::deque<std::vector<TraceEvent>> threads;  // a deque keeps references to its elements valid
};

// The log is never destroyed, because threads may outlive main().
TraceLog& trace_log() {
  static TraceLog& log = *new TraceLog;
  return log;
}

int64_t steady_now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

std::vector<TraceEvent>& events_of_this_thread() {
  thread_local std::vector<TraceEvent>* events = [] {
    TraceLog& log = trace_log();
    const std::lock_guard lock(log.mutex);
    return &log.threads.emplace_back();
  }();
  return *events;
}

}  // namespace

std::atomic<bool> Trace::on_{false};

void Trace::start() { on_ = true; }

std::string Trace::json() {
  TraceLog& log = trace_log();
  const std::lock_guard lock(log.mutex);
  int64_t first_ns = INT64_MAX;
  for (const auto& events : log.threads) {
    for (const TraceEvent& event : events) first_ns = std::min(first_ns, event.begin_ns);
  }
  std::string out = "{\"traceEvents\":[";
  const char* separator = "\n";
  for (size_t thread = 0; thread < log.threads.size(); ++thread) {
    for (const TraceEvent& event : log.threads[thread]) {
      out += fmt::format(
          "{}{{\"name\":\"{}\",\"ph\":\"X\",\"pid\":1,\"tid\":{},\"ts\":{:.3f},\"dur\":{:.3f}}}",
          separator, event.name, thread + 1, static_cast<double>(event.begin_ns - first_ns) / 1e3,
          static_cast<double>(event.end_ns - event.begin_ns) / 1e3);
      separator = ",\n";
    }
  }
  return out + "\n]}\n";
}

void TraceSpan::begin() { begin_ns_ = steady_now_ns(); }

void TraceSpan::end() const {
  events_of_this_thread().push_back({name_, begin_ns_, steady_now_ns()});
}

}  // namespace ckpt

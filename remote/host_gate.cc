#include "remote/host_gate.h"

#include <algorithm>
#include <map>
#include <string>

namespace ckpt {

HostGate& HostGate::of(const Url& url) {
  static std::mutex mutex;
  static auto* const gates = new std::map<std::string, HostGate>;  // outlives threads that end late
  const std::lock_guard lock(mutex);
  return (*gates)[url.origin()];
}

double HostGate::limit() const {
  const std::lock_guard lock(mutex_);
  return limit_;
}

HostGate::Turn::Turn(HostGate& gate) : gate_(gate) {
  std::unique_lock lock(gate_.mutex_);
  gate_.freed_.wait(lock, [&] { return gate_.at_work_ < gate_.limit_; });
  ++gate_.at_work_;
  round_ = gate_.round_;
}

// Requests that were under way together are refused together, which counts once.
HostGate::Turn::~Turn() {
  {
    const std::lock_guard lock(gate_.mutex_);
    --gate_.at_work_;
    if (is_refused_ && round_ == gate_.round_) {
      gate_.limit_ = std::max(1.0, gate_.limit_ / 2);
      ++gate_.round_;
    } else if (is_good_ && !is_refused_) {
      gate_.limit_ = std::min(kMostAtOnce, gate_.limit_ + 1 / gate_.limit_);
    }
  }
  gate_.freed_.notify_all();
}

}  // namespace ckpt

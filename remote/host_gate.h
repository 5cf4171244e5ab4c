// How much at a time is asked of one server: fewer requests after it refuses or drops some, one
// more after each round that went well.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "remote/url.h"

namespace ckpt {

// Thread-safe.
class HostGate {
 public:
  static constexpr double kMostAtOnce = 32;

  // That of the origin of `url`, for the whole run.
  static HostGate& of(const Url& url);

  // A request that is on its way; made when there is room for it.
  class Turn {
   public:
    explicit Turn(HostGate& gate);
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn();
    // The server answered, or asked for fewer requests: 429, 503, a connection that it refused.
    void went_well() { is_good_ = true; }
    void was_refused() { is_refused_ = true; }

   private:
    HostGate& gate_;
    uint64_t round_;
    bool is_good_ = false, is_refused_ = false;
  };

  double limit() const;

 private:
  mutable std::mutex mutex_;
  std::condition_variable freed_;
  double limit_ = kMostAtOnce;
  unsigned at_work_ = 0;
  uint64_t round_ = 0;  // how often the limit was lowered
};

}  // namespace ckpt

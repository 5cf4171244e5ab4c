// Watches while something is planned: receives notes for the user, and may cancel it.
#pragma once

#include <atomic>
#include <memory>
#include <string_view>

#include "core/outputs/progress.h"

namespace ckpt {

// This base class does nothing and never cancels. Called from the thread that requested the plan.
class Observer {
 public:
  virtual ~Observer() = default;
  // A note for the user.
  virtual void note(std::string_view) {}
  // The current activity, for observers that want it.
  virtual void talk(std::string_view) {}
  // Receives the progress of `what` until it is destroyed; may be null.
  virtual std::unique_ptr<Progress> progress(std::string_view /*what*/) { return nullptr; }
  // Read by any thread; work ends with kInterrupted soon after it becomes true. May be null.
  virtual const std::atomic<bool>* cancelled() const { return nullptr; }
};

}  // namespace ckpt

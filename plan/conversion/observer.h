// Observes planning: receives notes for the user, and may cancel the work.
#pragma once

#include <atomic>
#include <memory>
#include <string_view>

#include "core/outputs/progress.h"

namespace ckpt {

// The base class does nothing and never cancels. Its functions run in the planning thread.
class Observer {
 public:
  virtual ~Observer() = default;
  // Receives a note for the user.
  virtual void note(std::string_view) {}
  // Receives a description of the current activity.
  virtual void talk(std::string_view) {}
  // Returns a receiver for the progress of `what`, used until destroyed; may be null.
  virtual std::unique_ptr<Progress> progress(std::string_view /*what*/) { return nullptr; }
  // Any thread reads the flag; work ends with kInterrupted soon after it becomes true. May be null.
  virtual const std::atomic<bool>* cancelled() const { return nullptr; }
};

}  // namespace ckpt

// Starts as many threads as the system allows, and stops their work early.
#pragma once

#include <atomic>
#include <functional>
#include <string_view>
#include <thread>
#include <vector>

#include "core/base/result.h"

namespace ckpt {

// A pointer per thread, initially null, which a new thread inherits from the thread that starts it.
// Only core/io/files_read.cc uses it.
void*& inherited_pointer();

// Starts `count` threads that run `work`, or fewer, or none, if the system refuses more (a limit on
// processes, no memory for a stack). The caller joins them, and runs the work itself if there are
// none.
std::vector<std::thread> start_threads(unsigned count, const std::function<void()>& work);

// Runs `work` on `count` threads or fewer, including the calling thread, and returns when all have
// ended.
void run_on_threads(size_t count, const std::function<void()>& work);

// Returns `threads`, or the number of cores if it is 0.
unsigned cores_or(unsigned threads);

// Fails: kInterrupted, with "interrupted" and `more`, once `interrupted` is true. It may be null.
Status check_not_interrupted(const std::atomic<bool>* interrupted, std::string_view more = {});

}  // namespace ckpt

// Starts as many threads as the system allows, and ends their work early.
#pragma once

#include <atomic>
#include <functional>
#include <string_view>
#include <thread>
#include <vector>

#include "core/base/result.h"

namespace ckpt {

// A pointer that belongs to the calling thread and that threads inherit from the one that starts
// them; null at first. Only core/io/files_read.cc uses it.
void*& inherited_pointer();

// Starts `count` threads that run `work`, or fewer, even none, if the system refuses more (a limit
// on processes, no memory for a stack). The caller joins them, and does the work itself if there
// are none.
std::vector<std::thread> start_threads(unsigned count, const std::function<void()>& work);

// Runs `work` on `count` threads, or fewer, of which the calling one is one; returns when all of
// them have ended.
void run_on_threads(size_t count, const std::function<void()>& work);

// `threads`, or one for each core where that is 0.
unsigned cores_or(unsigned threads);

// Fails: kInterrupted, "interrupted" and `more`, once `interrupted` is true, which may be null.
Status check_not_interrupted(const std::atomic<bool>* interrupted, std::string_view more = {});

}  // namespace ckpt

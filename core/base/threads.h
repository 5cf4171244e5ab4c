// Threads, as many as the system gives.
#pragma once

#include <functional>
#include <thread>
#include <vector>

namespace ckpt {

// A pointer that belongs to the calling thread and that threads inherit from the one that starts
// them; null at first. core/io/files_read.cc alone uses it.
void*& inherited_pointer();

// `count` threads that run `work`, or fewer, perhaps none, where the system refuses more (a limit
// of processes, no memory for a stack). The caller joins them, and works itself where there are
// none.
std::vector<std::thread> start_threads(unsigned count, const std::function<void()>& work);

}  // namespace ckpt

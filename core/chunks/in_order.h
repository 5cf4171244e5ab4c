// Runs work that is produced in parallel and consumed in order, such as the frames of an archive.
#pragma once

#include <cstddef>
#include <functional>

#include "core/base/result.h"

namespace ckpt {

// make(worker, i) runs once for every i < count, on `threads` threads (0 = all cores). take(worker,
// i) follows on the same thread, in the order of i and never two at a time. `worker` (less than the
// number of threads) identifies resources that both may share, such as a buffer. At most `threads`
// results wait to be taken. Returns the error of the lowest i, whichever occurs first.
struct OrderedWork {
  std::function<Status(size_t worker, size_t i)> make, take;
};
Status for_each_in_order(size_t count, unsigned threads, const OrderedWork& work);

}  // namespace ckpt

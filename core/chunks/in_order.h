// Work that is made side by side and taken one after the other: frames of an archive, say.
#pragma once

#include <cstddef>
#include <functional>

#include "core/base/result.h"

namespace ckpt {

// make(worker, i) runs for every i < count, on `threads` threads (0 = all cores), each i once;
// take(worker, i) follows on the same thread, in the order of i and never two at a time. `worker`
// (less than the number of threads) names what both may share: a buffer. At most `threads` things
// are made and not yet taken. The error of the lowest i is returned, whichever comes first.
struct OrderedWork {
  std::function<Status(size_t worker, size_t i)> make, take;
};
Status for_each_in_order(size_t count, unsigned threads, const OrderedWork& work);

}  // namespace ckpt

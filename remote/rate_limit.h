// Implements --limit-rate, which applies to all connections together.
#pragma once

#include <cstdint>

namespace ckpt {

// Set and return the limit of the entire program; 0: no limit.
void set_rate_limit(uint64_t bytes_per_second);
uint64_t rate_limit();
// Waits until this many received or sent bytes are within the limit. Thread-safe.
void wait_for_rate(uint64_t size_bytes);

}  // namespace ckpt

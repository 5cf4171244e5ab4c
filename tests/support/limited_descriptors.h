// A process that has no more than a few free file descriptors.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

namespace ckpt {

// As long as it exists, the process may open `count` files more, about.
class LimitedDescriptors {
 public:
  explicit LimitedDescriptors(unsigned count) {
    const int first_free = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    ::close(first_free);
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    rlimit few = before_;
    few.rlim_cur = static_cast<rlim_t>(first_free) + count;
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  }
  LimitedDescriptors(const LimitedDescriptors&) = delete;
  LimitedDescriptors& operator=(const LimitedDescriptors&) = delete;
  ~LimitedDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

}  // namespace ckpt

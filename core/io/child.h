// Another program that is started and waited for.
#pragma once

#include <spawn.h>
#include <sys/types.h>

#include <string>

namespace ckpt {

class Child {
 public:
  Child() { ::posix_spawn_file_actions_init(&files_); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { ::posix_spawn_file_actions_destroy(&files_); }

  posix_spawn_file_actions_t* files() { return &files_; }
  // Looks the first word up in PATH; a null pointer ends `words`. Signals that this process ignores
  // do what they usually do there. Returns 0 or an errno.
  int start(char* const* words);
  // Requires: it was started. Waits until it ends, and returns "ended with exit code 7" or the
  // like; empty for exit code 0.
  std::string wait() const;

 private:
  posix_spawn_file_actions_t files_;
  pid_t id_ = 0;
};

}  // namespace ckpt

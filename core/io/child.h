// Starts another program and waits for it.
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
  // Looks up the first word in PATH; a null pointer ends `words`. Restores the default action of
  // signals that this process ignores. Returns 0 or an errno.
  int start(char* const* words);
  // Requires: start() succeeded. Waits for the end and returns a text such as "ended with exit code
  // 7"; empty for exit code 0.
  std::string wait() const;

 private:
  posix_spawn_file_actions_t files_;
  pid_t id_ = 0;
};

}  // namespace ckpt

#include "core/io/child.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "core/io/descriptor.h"

namespace ckpt {

int Child::start(char* const* words) {
  posix_spawnattr_t attributes;
  sigset_t ignored;
  ::sigemptyset(&ignored);
  for (const int signal : {SIGPIPE, SIGXFSZ}) ::sigaddset(&ignored, signal);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setsigdefault(&attributes, &ignored);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  const int error = ::posix_spawnp(&id_, words[0], &files_, &attributes, words, environ);
  ::posix_spawnattr_destroy(&attributes);
  return error;
}

std::string Child::wait() const {
  int status = 0;
  // If SIGCHLD is ignored, the system does not keep a child's exit status.
  if (retried([&] { return ::waitpid(id_, &status, 0); }) < 0) {
    return fmt::format("ended, nobody knows how: {}", std::strerror(errno));
  }
  if (!WIFEXITED(status)) return fmt::format("was ended by signal {}", WTERMSIG(status));
  if (WEXITSTATUS(status) == 0) return {};
  return fmt::format("ended with exit code {}", WEXITSTATUS(status));
}

}  // namespace ckpt

// A library to preload: makes the n-th call of a kind fail, come back short, or end the process.
//
//   CKPT_FAULT_ROOT=/dir       only calls on paths below it count (of a descriptor: its file's)
//   CKPT_FAULT_COUNTS=/file    is written: a 64-bit counter a kind, in the order of kKindNames
//   CKPT_FAULT=KIND:N[+]:WHAT  what happens at the N-th call of KIND, from 1; +: from there on
//
// KIND is one of kKindNames, or `any`: all but new, malloc and thread, or `change`: those of them
// that change what is on disk. WHAT is EIO, ENOSPC, EINTR, ... (the call is not made; close is and
// then fails), SHORT (half of the bytes, at least one), KILL (SIGKILL before the call), TORN
// (half are written, then SIGKILL) or TERM (SIGTERM, then the call). What does not fit a kind lets
// the call pass.
//
// Counters are of the whole process; which thread's call is the N-th can
// differ from run to run. Reading every N of a kind still meets every call of a single thread.
#include "tests/faults/fault_counting.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace ckpt_fault {

std::atomic<bool> ready{false};

namespace {

constexpr const char* kKindNames[kKinds] = {
    "open",   "read",      "write",    "fsync", "close", "rename", "mkdir",
    "unlink", "fallocate", "truncate", "mode",  "owner", "link",   "copy",
    "lock",   "stat",      "list",     "xattr", "new",   "malloc", "thread"};

// kOpen counts as a change where the call may create or truncate.
bool changes(Kind kind) {
  return kind == kWrite || kind == kFsync || (kind >= kRename && kind <= kCopy) || kind == kXattr;
}

struct Fault {
  bool is_any = false, is_change = false, from_there_on = false;
  Kind kind = kKinds;
  uint64_t number = 0;
  FaultOutcome what = FaultOutcome::kNothing;
  int error = 0;
};

char root[PATH_MAX];
size_t root_length = 0;
std::atomic<uint64_t>* counts = nullptr;  // kKinds of them, then any, then change
std::atomic<uint64_t> own_counts[kKinds + 2];
Fault fault;

int error_number(const char* name) {
  static constexpr struct {
    const char* name;
    int number;
  } kErrors[] = {{"EIO", EIO},
                 {"ENOSPC", ENOSPC},
                 {"EINTR", EINTR},
                 {"EACCES", EACCES},
                 {"ENOMEM", ENOMEM},
                 {"EDQUOT", EDQUOT},
                 {"EFBIG", EFBIG},
                 {"EMFILE", EMFILE},
                 {"EROFS", EROFS},
                 {"EPERM", EPERM},
                 {"EAGAIN", EAGAIN},
                 {"ENOSYS", ENOSYS},
                 {"EOPNOTSUPP", EOPNOTSUPP}};
  for (const auto& each : kErrors) {
    if (std::strcmp(each.name, name) == 0) return each.number;
  }
  return 0;
}

[[noreturn]] void refuse(const char* text) {
  std::fprintf(stderr, "fault shim: CKPT_FAULT=%s: not understood\n", text);
  _exit(99);
}

void read_fault(const char* text) {
  char kind[32], number[32], what[32];
  if (std::sscanf(text, "%31[^:]:%31[^:]:%31s", kind, number, what) != 3) refuse(text);
  fault.is_any = std::strcmp(kind, "any") == 0;
  fault.is_change = std::strcmp(kind, "change") == 0;
  for (int i = 0; i < kKinds; ++i) {
    if (std::strcmp(kind, kKindNames[i]) == 0) fault.kind = static_cast<Kind>(i);
  }
  fault.from_there_on = std::strchr(number, '+') != nullptr;
  fault.number = std::strtoull(number, nullptr, 10);
  fault.error = error_number(what);
  fault.what = fault.error != 0                  ? FaultOutcome::kError
               : std::strcmp(what, "SHORT") == 0 ? FaultOutcome::kShort
               : std::strcmp(what, "KILL") == 0  ? FaultOutcome::kKill
               : std::strcmp(what, "TORN") == 0  ? FaultOutcome::kTorn
               : std::strcmp(what, "TERM") == 0  ? FaultOutcome::kTerm
                                                 : FaultOutcome::kNothing;
  const bool known = fault.kind != kKinds || fault.is_any || fault.is_change;
  if (!known || fault.number == 0 || fault.what == FaultOutcome::kNothing) refuse(text);
}

// Reached before main and before anything that the program does.
__attribute__((constructor)) void begin() {
  const char* folder = std::getenv("CKPT_FAULT_ROOT");
  if (folder == nullptr || ::realpath(folder, root) == nullptr) return;
  root_length = std::strlen(root);
  counts = own_counts;
  if (const char* file = std::getenv("CKPT_FAULT_COUNTS")) {
    constexpr size_t kBytes = sizeof own_counts;
    const int descriptor = static_cast<int>(
        ::syscall(SYS_openat, AT_FDCWD, file, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    void* memory = MAP_FAILED;
    if (descriptor >= 0 && ::syscall(SYS_ftruncate, descriptor, kBytes) == 0) {
      memory = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    }
    if (memory == MAP_FAILED) refuse(file);
    counts = static_cast<std::atomic<uint64_t>*>(memory);
  }
  if (const char* text = std::getenv("CKPT_FAULT")) read_fault(text);
  ready = true;
}

bool is_below_root(const char* path) {
  return std::strncmp(path, root, root_length) == 0 &&
         (path[root_length] == '/' || path[root_length] == '\0');
}

}  // namespace

bool is_ours(int descriptor) {
  if (!ready || descriptor < 0) return false;
  char name[64], target[PATH_MAX];
  std::snprintf(name, sizeof name, "/proc/self/fd/%d", descriptor);
  const long length = ::syscall(SYS_readlinkat, AT_FDCWD, name, target, sizeof target - 1);
  if (length <= 0) return false;
  target[length] = '\0';
  return is_below_root(target);
}

bool is_ours(int folder, const char* path) {
  if (!ready || path == nullptr) return false;
  if (std::strncmp(path, "/proc/self/fd/", 14) == 0) return is_ours(std::atoi(path + 14));
  if (path[0] == '/') return is_below_root(path);
  if (folder != AT_FDCWD) return is_ours(folder);
  char whole[2 * PATH_MAX];
  const long length = ::syscall(SYS_getcwd, whole, PATH_MAX);  // with the final zero
  if (length <= 0) return false;
  std::snprintf(whole + length - 1, sizeof whole - PATH_MAX, "/%s", path);
  return is_below_root(whole);
}

// Counts a call; what shall happen to it. Errors are in errno already.
FaultOutcome meet(Kind kind, bool changes_disk) {
  const uint64_t own = ++counts[kind];
  uint64_t number = 0;
  const bool is_call = kind != kNew && kind != kMalloc && kind != kThread;
  const uint64_t any = is_call ? ++counts[kKinds] : 0;
  const uint64_t change = changes_disk ? ++counts[kKinds + 1] : 0;
  if (fault.is_any && is_call) number = any;
  if (fault.is_change && changes_disk) number = change;
  if (fault.kind == kind) number = own;
  if (number == 0 || fault.number == 0) return FaultOutcome::kNothing;
  if (number != fault.number && !(fault.from_there_on && number > fault.number)) {
    return FaultOutcome::kNothing;
  }
  if (fault.what == FaultOutcome::kKill) ::kill(::getpid(), SIGKILL);
  if (fault.what == FaultOutcome::kTerm) {
    ::kill(::getpid(), SIGTERM);
    return FaultOutcome::kNothing;
  }
  errno = fault.error;
  return fault.what;
}
FaultOutcome meet(Kind kind) { return meet(kind, changes(kind)); }

}  // namespace ckpt_fault

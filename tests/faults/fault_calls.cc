// The calls that fault_counting.h counts, in place of the C library's.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>

#include "tests/faults/fault_counting.h"

using namespace ckpt_fault;

namespace {

size_t half(size_t count) { return count > 1 ? count / 2 : count; }

// The function that the program would have had without this library.
template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}
#define NEXT(name) static const auto real = next<decltype(::name)>(#name)

// A call without a count of bytes: fails or passes.
#define FAIL_OR(ours, kind) \
  if ((ours) && meet(kind) == FaultOutcome::kError) return -1

}  // namespace

extern "C" {

// ---- opening ------------------------------------------------------------------------------------

static bool may_make(int flags) {
  return (flags & (O_CREAT | O_TRUNC)) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
}

int openat(int folder, const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const mode_t mode = may_make(flags) ? va_arg(list, mode_t) : 0;
  va_end(list);
  if (is_ours(folder, path) && meet(kOpen, may_make(flags)) == FaultOutcome::kError) return -1;
  const long result = ::syscall(SYS_openat, folder, path, flags, mode);
  return static_cast<int>(result);
}
int open(const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const mode_t mode = may_make(flags) ? va_arg(list, mode_t) : 0;
  va_end(list);
  return openat(AT_FDCWD, path, flags, mode);
}
int creat(const char* path, mode_t mode) {
  return openat(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}
int open64(const char*, int, ...) __attribute__((alias("open")));
int openat64(int, const char*, int, ...) __attribute__((alias("openat")));

long syscall(long number, ...) {
  va_list list;
  va_start(list, number);
  long a[6];
  for (long& each : a) each = va_arg(list, long);
  va_end(list);
  using Syscall = long(long, ...);
  static Syscall* const real = next<Syscall>("syscall");
  if (number == SYS_openat2) {
    const auto* how = reinterpret_cast<const open_how*>(a[2]);
    const bool makes = may_make(static_cast<int>(how->flags));
    if (is_ours(static_cast<int>(a[0]), reinterpret_cast<const char*>(a[1])) &&
        meet(kOpen, makes) == FaultOutcome::kError) {
      return -1;
    }
  }
  return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

int close(int descriptor) {
  NEXT(close);
  if (!is_ours(descriptor) || meet(kClose) != FaultOutcome::kError) return real(descriptor);
  const int error = errno;
  real(descriptor);  // the number is free again, whatever close says
  errno = error;
  return -1;
}

// ---- bytes --------------------------------------------------------------------------------------

#define COUNTED(ours, kind, short_call, full_call)       \
  if (ours) {                                            \
    const FaultOutcome what = meet(kind);                \
    if (what == FaultOutcome::kError) return -1;         \
    if (what == FaultOutcome::kShort) return short_call; \
    if (what == FaultOutcome::kTorn) {                   \
      (void)!short_call;                                 \
      ::kill(::getpid(), SIGKILL);                       \
    }                                                    \
  }                                                      \
  return full_call

ssize_t read(int descriptor, void* out, size_t size) {
  NEXT(read);
  COUNTED(is_ours(descriptor), kRead, real(descriptor, out, half(size)),
          real(descriptor, out, size));
}
ssize_t pread(int descriptor, void* out, size_t size, off_t at) {
  NEXT(pread);
  COUNTED(is_ours(descriptor), kRead, real(descriptor, out, half(size), at),
          real(descriptor, out, size, at));
}
ssize_t pread64(int, void*, size_t, off64_t) __attribute__((alias("pread")));
ssize_t preadv2(int descriptor, const iovec* parts, int count, off_t at, int flags) {
  NEXT(preadv2);
  FAIL_OR(is_ours(descriptor), kRead);
  return real(descriptor, parts, count, at, flags);
}
ssize_t write(int descriptor, const void* bytes, size_t size) {
  NEXT(write);
  COUNTED(is_ours(descriptor), kWrite, real(descriptor, bytes, half(size)),
          real(descriptor, bytes, size));
}
ssize_t pwrite(int descriptor, const void* bytes, size_t size, off_t at) {
  NEXT(pwrite);
  COUNTED(is_ours(descriptor), kWrite, real(descriptor, bytes, half(size), at),
          real(descriptor, bytes, size, at));
}
ssize_t pwrite64(int, const void*, size_t, off64_t) __attribute__((alias("pwrite")));
ssize_t copy_file_range(int from, off64_t* at, int to, off64_t* to_at, size_t size,
                        unsigned flags) {
  NEXT(copy_file_range);
  COUNTED(is_ours(to), kCopy, real(from, at, to, to_at, half(size), flags),
          real(from, at, to, to_at, size, flags));
}
int ioctl(int descriptor, unsigned long request, ...) {
  va_list list;
  va_start(list, request);
  void* argument = va_arg(list, void*);
  va_end(list);
  using Ioctl = int(int, unsigned long, ...);
  static Ioctl* const real = next<Ioctl>("ioctl");
  FAIL_OR(is_ours(descriptor), kCopy);
  return real(descriptor, request, argument);
}

// ---- files --------------------------------------------------------------------------------------

int fsync(int descriptor) {
  NEXT(fsync);
  FAIL_OR(is_ours(descriptor), kFsync);
  return real(descriptor);
}
int fdatasync(int descriptor) {
  NEXT(fdatasync);
  FAIL_OR(is_ours(descriptor), kFsync);
  return real(descriptor);
}
int fallocate(int descriptor, int mode, off_t at, off_t size) {
  NEXT(fallocate);
  FAIL_OR(is_ours(descriptor), kFallocate);
  return real(descriptor, mode, at, size);
}
int fallocate64(int, int, off64_t, off64_t) __attribute__((alias("fallocate")));
int ftruncate(int descriptor, off_t size) {
  NEXT(ftruncate);
  FAIL_OR(is_ours(descriptor), kTruncate);
  return real(descriptor, size);
}
int ftruncate64(int, off64_t) __attribute__((alias("ftruncate")));
int rename(const char* from, const char* to) {
  NEXT(rename);
  FAIL_OR(is_ours(AT_FDCWD, from), kRename);
  return real(from, to);
}
int renameat(int from_folder, const char* from, int to_folder, const char* to) {
  NEXT(renameat);
  FAIL_OR(is_ours(from_folder, from), kRename);
  return real(from_folder, from, to_folder, to);
}
int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
  NEXT(renameat2);
  FAIL_OR(is_ours(from_folder, from), kRename);
  return real(from_folder, from, to_folder, to, flags);
}
int mkdir(const char* path, mode_t mode) {
  NEXT(mkdir);
  FAIL_OR(is_ours(AT_FDCWD, path), kMkdir);
  return real(path, mode);
}
int mkdirat(int folder, const char* path, mode_t mode) {
  NEXT(mkdirat);
  FAIL_OR(is_ours(folder, path), kMkdir);
  return real(folder, path, mode);
}
int unlink(const char* path) {
  NEXT(unlink);
  FAIL_OR(is_ours(AT_FDCWD, path), kUnlink);
  return real(path);
}
int remove(const char* path) {
  NEXT(remove);
  FAIL_OR(is_ours(AT_FDCWD, path), kUnlink);
  return real(path);
}
int unlinkat(int folder, const char* path, int flags) {
  NEXT(unlinkat);
  FAIL_OR(is_ours(folder, path), kUnlink);
  return real(folder, path, flags);
}
int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) {
  NEXT(linkat);
  FAIL_OR(is_ours(to_folder, to), kLink);
  return real(from_folder, from, to_folder, to, flags);
}
int chmod(const char* path, mode_t mode) {
  NEXT(chmod);
  FAIL_OR(is_ours(AT_FDCWD, path), kMode);
  return real(path, mode);
}
int fchmod(int descriptor, mode_t mode) {
  NEXT(fchmod);
  FAIL_OR(is_ours(descriptor), kMode);
  return real(descriptor, mode);
}
int chown(const char* path, uid_t user, gid_t group) {
  NEXT(chown);
  FAIL_OR(is_ours(AT_FDCWD, path), kOwner);
  return real(path, user, group);
}
int fchown(int descriptor, uid_t user, gid_t group) {
  NEXT(fchown);
  FAIL_OR(is_ours(descriptor), kOwner);
  return real(descriptor, user, group);
}
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"  // struct flock
int flock(int descriptor, int operation) {
  using Flock = int(int, int);
  static Flock* const real = next<Flock>("flock");
  FAIL_OR(is_ours(descriptor), kLock);
  return real(descriptor, operation);
}
#pragma GCC diagnostic pop
int setxattr(const char* path, const char* name, const void* value, size_t size, int flags) {
  NEXT(setxattr);
  FAIL_OR(is_ours(AT_FDCWD, path), kXattr);
  return real(path, name, value, size, flags);
}

// ---- looking ------------------------------------------------------------------------------------

int stat(const char* path, struct stat* out) {
  using Stat = int(const char*, struct stat*);
  static Stat* const real = next<Stat>("stat");
  FAIL_OR(is_ours(AT_FDCWD, path), kStat);
  return real(path, out);
}
int lstat(const char* path, struct stat* out) {
  NEXT(lstat);
  FAIL_OR(is_ours(AT_FDCWD, path), kStat);
  return real(path, out);
}
int fstat(int descriptor, struct stat* out) {
  NEXT(fstat);
  FAIL_OR(is_ours(descriptor), kStat);
  return real(descriptor, out);
}
int fstatat(int folder, const char* path, struct stat* out, int flags) {
  NEXT(fstatat);
  FAIL_OR(is_ours(folder, path), kStat);
  return real(folder, path, out, flags);
}
dirent* readdir(DIR* folder) {
  NEXT(readdir);
  if (is_ours(::dirfd(folder)) && meet(kList) == FaultOutcome::kError) return nullptr;
  return real(folder);
}

}  // extern "C"

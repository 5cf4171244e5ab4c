// Queries of the interposed calls: whose path it is, and what should happen to this call.
// The environment variables are described in fault_counting.cc.
#pragma once

#include <atomic>

namespace ckpt_fault {

enum Kind {
  kOpen,
  kRead,
  kWrite,
  kFsync,
  kClose,
  kRename,
  kMkdir,
  kUnlink,
  kFallocate,
  kTruncate,
  kMode,
  kOwner,
  kLink,
  kCopy,
  kLock,
  kStat,
  kList,
  kXattr,
  kNew,
  kMalloc,
  kThread,
  kKinds
};
enum class FaultOutcome { kNothing, kError, kShort, kKill, kTorn, kTerm };

// False until the environment was read, and without CKPT_FAULT_ROOT.
extern std::atomic<bool> ready;

bool is_ours(int descriptor);
bool is_ours(int folder, const char* path);

// Counts a call. kError: errno is set.
FaultOutcome meet(Kind kind, bool changes_disk);
FaultOutcome meet(Kind kind);

}  // namespace ckpt_fault

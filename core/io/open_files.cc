#include "core/io/open_files.h"

#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>
#include <mutex>
#include <vector>

namespace ckpt {
namespace {

// The open files, most recently used first.
struct OpenFileList {
  std::mutex mutex;
  std::list<OpenOnDemand*> files;
  size_t limit;

  // A quarter of the process's limit: each file is open twice, and other code needs some too.
  OpenFileList() {
    struct rlimit allowed {};
    const bool known = ::getrlimit(RLIMIT_NOFILE, &allowed) == 0;
    limit = std::clamp<size_t>(known ? allowed.rlim_cur / 4 : 256, 8, 4096);
  }
};

// The list is never destroyed, because sources may live as long as the process.
OpenFileList& open_now() {
  static OpenFileList& all = *new OpenFileList;
  return all;
}

}  // namespace

Descriptor open_direct(const Descriptor& plain, int access) {
  const std::string same = "/proc/self/fd/" + std::to_string(plain.get());
  return Descriptor(::open(same.c_str(), access | O_CLOEXEC | O_DIRECT));
}

Status check_same_file(const Descriptor& file, const struct stat& first) {
  struct stat status {};
  if (::fstat(file.get(), &status) == 0 && status.st_dev == first.st_dev &&
      status.st_ino == first.st_ino) {
    return {};
  }
  return fail_with_hint(ErrorCode::kIo, "again when nobody writes to it",
                        "became another file while it was used");
}

OpenOnDemand::OpenOnDemand(OpenedFile first, Open again)
    : again_(std::move(again)), opened_(std::make_shared<const OpenedFile>(std::move(first))) {
  std::vector<Lease> closed;  // closed after the lock is released
  OpenFileList& all = open_now();
  const std::lock_guard lock(all.mutex);
  place_ = all.files.insert(all.files.begin(), this);
  for (; all.files.size() > all.limit; all.files.pop_back()) {
    closed.push_back(std::move(all.files.back()->opened_));
  }
}

OpenOnDemand::~OpenOnDemand() {
  OpenFileList& all = open_now();
  const std::lock_guard lock(all.mutex);
  if (opened_ != nullptr) all.files.erase(place_);
}

Result<OpenOnDemand::Lease> OpenOnDemand::use() {
  std::vector<Lease> closed;  // closed after the lock is released
  OpenFileList& all = open_now();
  {
    const std::lock_guard lock(all.mutex);
    if (opened_ != nullptr) {
      all.files.splice(all.files.begin(), all.files, place_);
      return opened_;
    }
  }
  CKPT_ASSIGN(OpenedFile again, again_());
  auto lease = std::make_shared<const OpenedFile>(std::move(again));
  const std::lock_guard lock(all.mutex);
  if (opened_ != nullptr) return opened_;  // another thread opened it first
  opened_ = lease;
  place_ = all.files.insert(all.files.begin(), this);
  for (; all.files.size() > all.limit; all.files.pop_back()) {
    closed.push_back(std::move(all.files.back()->opened_));
  }
  return lease;
}

}  // namespace ckpt

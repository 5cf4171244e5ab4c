#include "core/outputs/space.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>

#include "core/base/counted.h"
#include "core/io/folder.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

constexpr uint64_t kStatBlockBytes = 512;

// The allocated size, because a file may have holes.
uint64_t allocated_bytes(const fs::path& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return 0;
  return static_cast<uint64_t>(status.st_blocks) * kStatBlockBytes;
}

uint64_t allocated_below(const fs::path& folder) {
  uint64_t sum = 0;
  const auto entries = list_folder(folder, {});
  if (!entries) return 0;
  for (const FolderEntry& entry : *entries) sum += allocated_bytes(folder / entry.path);
  return sum;
}

// The bytes that the output still needs. Files that are removed before writing make room.
uint64_t needed_bytes(const Output& output, Leftovers leftovers) {
  uint64_t needed = 0, freed = 0;
  for (const OutputFile& file : output.layout.files) {
    const uint64_t made = allocated_bytes(partial_path(output, file));
    const bool is_kept = leftovers != Leftovers::kRemove;
    needed += file.size_bytes - (is_kept ? std::min(made, file.size_bytes) : 0);
    if (!output.layout.is_folder && !is_kept) freed += made;
  }
  if (leftovers == Leftovers::kRemove && output.layout.is_folder) {
    freed = allocated_below(partial_path(output));
  }
  return needed - std::min(needed, freed);
}

}  // namespace

std::vector<SpaceNeed> space_needs(const Plan& plan, Leftovers leftovers) {
  std::vector<SpaceNeed> out;
  if (leftovers == Leftovers::kPublish) return out;
  for (const Output& output : plan.outputs) {
    const fs::path folder = output.goes_into ? output.path : parent_of(output.path);
    struct stat status {};
    struct statvfs space {};
    if (::stat(folder.c_str(), &status) != 0 || ::statvfs(folder.c_str(), &space) != 0) continue;
    if (space.f_blocks == 0) continue;
    auto found = std::ranges::find(out, status.st_dev, &SpaceNeed::device);
    if (found == out.end()) {
      const uint64_t free = static_cast<uint64_t>(space.f_bavail) * space.f_frsize;
      found = out.insert(out.end(), SpaceNeed{folder, status.st_dev, 0, free});
    }
    found->needed_bytes += needed_bytes(output, leftovers);
  }
  return out;
}

Status check_space(const Plan& plan, Leftovers leftovers) {
  for (const SpaceNeed& need : space_needs(plan, leftovers)) {
    if (need.fits()) continue;
    return fail_with_hint(ErrorCode::kIo, "another place, or remove files from this disk",
                          "{}: the disk is full; the outputs need {} and {} are free",
                          need.folder.string(), human_bytes(need.needed_bytes),
                          human_bytes(need.free_bytes));
  }
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return {};
  for (const Output& output : plan.outputs) {
    for (const OutputFile& file : output.layout.files) {
      if (file.size_bytes > limit.rlim_cur) {
        return write_failure(final_path(output, file), EFBIG,
                             fmt::format("the file needs {}", human_bytes(file.size_bytes)));
      }
    }
  }
  return {};
}

}  // namespace ckpt

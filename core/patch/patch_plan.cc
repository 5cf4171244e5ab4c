// Decides how a patch changes each file (patch.h).
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <set>

#include "core/base/find.h"
#include "core/io/folder.h"
#include "core/io/remote_files.h"
#include "core/patch/patch.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

// Returns nullopt for a tensor to be encoded.
std::optional<std::vector<Slice>> slices_of(const Output& output, const Extent& extent) {
  const Tensor& tensor = output.checkpoint.tensors[extent.tensor];
  if (!tensor.is_stored()) return std::nullopt;
  return merged(tensor.stored().parts[extent.part]);
}

bool same_files(const Output& before, const OutputFile& a, const Output& after,
                const OutputFile& b) {
  if (a.size_bytes != b.size_bytes || a.header != b.header) return false;
  return std::ranges::equal(a.extents, b.extents, [&](const Extent& x, const Extent& y) {
    const auto from = slices_of(before, x);
    return x.offset_bytes == y.offset_bytes && from && from == slices_of(after, y);
  });
}

struct OnDisk {
  bool exists = false;
  bool is_own_file = false;  // a regular file with one name, which may be overwritten
  uint64_t size_bytes = 0;
  uint64_t device = 0, inode = 0;
};

Result<OnDisk> look(const fs::path& path) {
  OnDisk out;
  struct stat own{}, target{};
  CKPT_ASSIGN(out.exists, is_there(path));
  if (!out.exists) return out;
  if (is_url(path)) {
    CKPT_ASSIGN(const auto file, open_file(path));
    out.size_bytes = file->size_bytes();
    return out;
  }
  if (::lstat(path.c_str(), &own) != 0 || ::stat(path.c_str(), &target) != 0) {
    if (S_ISLNK(own.st_mode)) return out;  // a dangling link
    return io_failure(path, "cannot be examined", errno);
  }
  out.is_own_file = S_ISREG(own.st_mode) && own.st_nlink == 1;
  out.size_bytes = static_cast<uint64_t>(target.st_size);
  out.device = target.st_dev;
  out.inode = target.st_ino;
  return out;
}

// The distance by which `file` is shifted from the file on disk with the same tensors in the same
// order; nullopt for other files.
std::optional<uint64_t> shift_of(const Output& after, const OutputFile& file, const OnDisk& disk) {
  SharedSource source;
  std::optional<uint64_t> shift;
  uint64_t end = file.header.size();
  for (const Extent& extent : file.extents) {
    if (extent.size_bytes == 0) continue;
    const auto slices = slices_of(after, extent);
    if (!slices || slices->size() != 1) return std::nullopt;
    const Slice& slice = slices->front();
    if (extent.offset_bytes < slice.offset_bytes) return std::nullopt;
    const uint64_t moved = extent.offset_bytes - slice.offset_bytes;
    if (!shift) {
      if (extent.offset_bytes != end) return std::nullopt;
      shift = moved;
      source = slice.source;
    }
    if (moved != *shift || slice.source != source) return std::nullopt;
    end = extent.offset_bytes + extent.size_bytes;
  }
  const FileState* state = shift ? source->file_state() : nullptr;
  if (state == nullptr || state->device != disk.device || state->inode != disk.inode) {
    return std::nullopt;
  }
  return disk.size_bytes + *shift == file.size_bytes ? shift : std::nullopt;
}

Result<bool> has_content(const fs::path& path, const std::vector<std::byte>& content) {
  auto source = open_file(path);
  if (!source) return false;
  if ((*source)->size_bytes() != content.size()) return false;
  std::vector<std::byte> found(content.size());
  CKPT_TRY((*source)->read(0, found));
  return found == content;
}

void plan_tensors(const Patch& patch, const OutputFile& file, const OnDisk& disk,
                  PatchedFile& out) {
  out.change = FileChange::kRewritten;
  out.written_bytes = file.size_bytes;
  const auto shift = disk.exists ? shift_of(patch.after, file, disk) : std::nullopt;
  if (!shift) return;
  const bool clones = patch.shift.way == ShiftWay::kClone;
  const bool in_place = disk.is_own_file;
  if (*shift == 0 && in_place) {
    out.change = FileChange::kHeader;
  } else if (clones || (in_place && patch.shift.way == ShiftWay::kInsert)) {
    if (*shift != 0 && *shift % patch.shift.block_bytes != 0) return;
    out.change = FileChange::kShifted;
  } else {
    return;
  }
  out.shift_bytes = *shift;
  out.written_bytes = file.header.size();
}

// Rejects a subfolder that is a link, because it leads out of the checkpoint.
Status check_inside(const fs::path& base, const std::string& path) {
  std::error_code error;
  fs::path folder = base;
  for (const auto& step : fs::path(path).parent_path()) {
    folder /= step;
    if (!fs::is_symlink(folder, error)) continue;
    return misuse("{}: a link; files behind it are not changed", folder.string());
  }
  return {};
}

Status plan_file(Patch& patch, const Output& before, const OutputFile* old, size_t index) {
  const OutputFile& file = patch.after.layout.files[index];
  if (old != nullptr && same_files(before, *old, patch.after, file)) return {};
  const fs::path path = final_path(patch.after, file);
  CKPT_ASSIGN(const OnDisk disk, look(path));
  PatchedFile out;
  out.path = path.lexically_relative(base_of(patch.path)).string();
  out.file = index;
  out.is_new = !disk.exists;
  if (file.extents.empty()) {
    CKPT_ASSIGN(const bool same, has_content(path, file.header));
    if (same) return {};
    out.written_bytes = file.size_bytes;
  } else {
    plan_tensors(patch, file, disk, out);
  }
  CKPT_TRY(check_inside(base_of(patch.path), out.path));
  patch.files.push_back(std::move(out));
  return {};
}

}  // namespace

std::string_view name(FileChange change) {
  constexpr std::string_view kChangeNames[] = {"written", "header", "shifted", "rewritten",
                                               "removed"};
  return kChangeNames[static_cast<size_t>(change)];
}

uint64_t Patch::written_bytes() const {
  uint64_t bytes = 0;
  for (const PatchedFile& file : files) bytes += file.written_bytes;
  return bytes;
}

Layout lay_out_documents(const Checkpoint& checkpoint) {
  Layout layout;
  layout.is_folder = true;
  for (const Document& document : checkpoint.documents) {
    OutputFile& file = layout.files.emplace_back();
    file.path = document.path;
    const auto bytes = std::as_bytes(std::span(document.text()));
    file.header.assign(bytes.begin(), bytes.end());
    file.size_bytes = bytes.size();
  }
  return layout;
}

Result<Patch> plan_patch(const fs::path& path, const Output& before, Output after,
                         const ShiftAbility& shift) {
  Plan plan;
  plan.outputs.push_back(std::move(after));
  CKPT_TRY(check(plan));
  Patch patch{path, std::move(plan.outputs[0]), {}, shift};
  std::map<std::string_view, const OutputFile*> old;
  for (const OutputFile& file : before.layout.files) old[file.path] = &file;
  std::set<std::string_view> kept;
  for (size_t i = 0; i < patch.after.layout.files.size(); ++i) {
    const std::string& name = patch.after.layout.files[i].path;
    kept.insert(name);
    const auto* found = find_mapped(old, name);
    CKPT_TRY(plan_file(patch, before, found == nullptr ? nullptr : *found, i));
  }
  for (const OutputFile& file : before.layout.files) {
    if (kept.count(file.path) != 0) continue;
    CKPT_TRY(check_inside(base_of(path), file.path));
    CKPT_TRY(remove_also(patch, file.path));
  }
  return patch;
}

Status remove_also(Patch& patch, const std::string& name) {
  CKPT_ASSIGN(const bool exists, is_there(base_of(patch.path) / name));
  if (exists) patch.files.push_back({name, FileChange::kRemoved});
  return {};
}

}  // namespace ckpt

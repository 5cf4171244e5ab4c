#include "core/model/plan.h"

#include <set>

#include "core/io/open_folder.h"

namespace ckpt {
namespace {

Status check_path(const std::string& path) {
  if (stays_inside(path)) return {};
  return corrupt("file name '{}' leaves the output folder", path);
}

Status check_file(const Checkpoint& checkpoint, const OutputFile& file) {
  CKPT_TRY(check_path(file.path));
  if (file.same_as.source != nullptr && file.extents.empty()) {
    CKPT_CHECK(file.same_as.size_bytes == file.size_bytes);
    return {};
  }
  CKPT_CHECK(file.header.size() <= file.size_bytes);
  uint64_t end = file.header.size();
  for (const Extent& extent : file.extents) {
    CKPT_CHECK(extent.tensor < checkpoint.tensors.size());
    const Tensor& tensor = checkpoint.tensors[extent.tensor];
    CKPT_CHECK(extent.part < tensor.codec->parts.size());
    CKPT_CHECK(extent.size_bytes == part_size_bytes(tensor, extent.part));
    CKPT_CHECK(extent.offset_bytes >= end);
    end = extent.offset_bytes + extent.size_bytes;
  }
  CKPT_CHECK(end <= file.size_bytes);
  return {};
}

// Requires that stored parts have exactly the bytes that the part rules demand.
Status check_tensor(const Tensor& tensor) {
  const Tensor& stored = tensor.stored_tensor();
  CKPT_CHECK(stored.is_stored());
  CKPT_CHECK(stored.values() == tensor.values());
  CKPT_CHECK(stored.stored().parts.size() == stored.codec->parts.size());
  for (size_t part = 0; part < stored.codec->parts.size(); ++part) {
    uint64_t found = 0;
    for (const Slice& slice : stored.stored().parts[part]) found += slice.size_bytes;
    const uint64_t expected = part_size_bytes(stored, part);
    if (found != expected) {
      return corrupt("tensor '{}': {} bytes for part {}; its shape needs {}", tensor.name, found,
                     part, expected);
    }
  }
  if (!tensor.is_stored() && tensor.recoded().repack == nullptr) {
    CKPT_CHECK(stored.codec->decode != nullptr && tensor.codec->encode != nullptr);
  }
  return {};
}

}  // namespace

Status check(const Plan& plan) {
  std::set<std::filesystem::path> paths;
  for (const Output& output : plan.outputs) {
    for (const Tensor& tensor : output.checkpoint.tensors) CKPT_TRY(check_tensor(tensor));
    for (const OutputFile& file : output.layout.files) {
      CKPT_TRY(check_file(output.checkpoint, file));
      if (!paths.insert(final_path(output, file)).second) {
        return misuse("two outputs are called '{}'", final_path(output, file).string());
      }
    }
  }
  return {};
}

std::filesystem::path final_path(const Output& output, const OutputFile& file) {
  if (output.layout.is_folder) return output.path / file.path;
  if (output.layout.files.size() == 1) return output.path;
  return output.path.parent_path() / file.path;
}

}  // namespace ckpt

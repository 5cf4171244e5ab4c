// Recognizes an unexpected file by its first bytes, and files that hold parts of tensors.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/io/bytes.h"

namespace ckpt {

// Up to `count` bytes of `source` from `offset_bytes` on: fewer where it ends before. Fails: kIo.
Result<std::string> bytes_at(const ByteSource& source, uint64_t offset_bytes, size_t count);

// For a file of weights whose first bytes are zero (FileWriter::hold_head).
inline constexpr const char* kHeadIsMissing =
    "rerunning the command that makes it, which writes these bytes last";

// Fails for a file whose first bytes tell that it is of another kind. `expected` ends the sentence:
// "a GGUF file". Fails also: kIo.
Status refuse_other_files(const ByteSource& source, std::string_view expected);

// Names belong to files of weights, to a folder without weights, or to the content of a file (keys
// of __metadata__, tensors; texts and classes of a pickle).
enum class PartialBy : uint8_t { kFile, kFolder, kContent };

// A file of a distributed checkpoint alone looks like a model with smaller tensors. Fails:
// kUnsupported, naming the checkpoint and the way to entire tensors (data/partial_files.txt).
Status refuse_partial(const std::vector<std::string>& names, PartialBy by);

// Adds the file's path to an error unless it is there already (errors of ByteSource have it).
template <class T>
[[nodiscard]] Result<T> in_file(const std::string& path, Result<T>&& result) {
  if (result || result.error().where.starts_with(path)) return std::move(result);
  return in(path, std::move(result));
}

}  // namespace ckpt

// Recognizes an unexpected file by its first bytes.
#pragma once

#include <string>

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

// Adds the file's path to an error unless it is there already (errors of ByteSource have it).
template <class T>
[[nodiscard]] Result<T> in_file(const std::string& path, Result<T>&& result) {
  if (result || result.error().where.starts_with(path)) return std::move(result);
  return in(path, std::move(result));
}

}  // namespace ckpt

// Questions about paths, and errors that name one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/base/result.h"

namespace ckpt {

// kIo: "PATH: DOING: what errno says", with `hint` where the system denied it.
Failure io_failure(const std::filesystem::path& path, const char* doing, int error,
                   const char* hint_if_denied = "");

// kIo: bytes could not be written to `path`. A full disk, a quota and a limit on the size of files
// are reported with the space that is left; `size` says how far the file is, or what it needs.
Failure write_failure(const std::filesystem::path& path, int error, const std::string& size);

// Requires that `size_bytes` more fit on the disk that `path` is on, or will be on. Fails: kIo, as
// write_failure().
Status check_room(const std::filesystem::path& path, uint64_t size_bytes);

// Whether there is anything of this name (kKeep: be it a link to nowhere). Fails: kIo, where that
// cannot be told; "no" is then the wrong answer.
enum class Links : uint8_t { kKeep, kFollow };
Result<bool> is_there(const std::filesystem::path& path, Links links = Links::kKeep);

// The folder that `path` is in; "." where it names none.
std::filesystem::path parent_of(const std::filesystem::path& path);
// Requires a folder to write `path` into. Fails: kUsage when there is none; kIo when that cannot be
// determined: a failing disk is not a missing folder.
Status check_parent(const std::filesystem::path& path);

// Whether `path` is a folder; where the disk does not answer, whether it was one before: a failure
// of a moment must not turn it into a file between two steps of a patch.
bool is_folder(const std::filesystem::path& path);

}  // namespace ckpt

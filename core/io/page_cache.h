// Whether bytes of files are in memory already.
#pragma once

#include <filesystem>

namespace ckpt {

// Whether the system can give bytes sampled from the whole file without reading a disk. False for
// anything but a local file, and where the system cannot tell.
bool is_in_page_cache(const std::filesystem::path& path);

}  // namespace ckpt

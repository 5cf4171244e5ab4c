// Files for tests: a folder that goes away, whole files as strings, laid-out files as bytes.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "core/model/format.h"

namespace ckpt {

// A new empty folder; removed with everything in it when the test ends.
class TemporaryFolder {
 public:
  TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

std::filesystem::path testdata(std::string_view relative);

// Aborts when the file cannot be read or written: a test that continues would prove nothing.
std::string read_file(const std::filesystem::path& path);
void write_file(const std::filesystem::path& path, std::string_view bytes);

// Every path under `folder`, relative, sorted, one a line.
std::string listing(const std::filesystem::path& folder);

// The bytes that the engine would write for `file`, whose tensors must all be Stored; same_as is
// not used.
std::string render(const Checkpoint& checkpoint, const OutputFile& file);

// Bytes of one part of a Stored tensor.
std::string part_bytes(const Tensor& tensor, size_t part = 0);

}  // namespace ckpt

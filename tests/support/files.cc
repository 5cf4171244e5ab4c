#include "tests/support/files.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace ckpt {

namespace fs = std::filesystem;

TemporaryFolder::TemporaryFolder() {
  std::string name = (fs::temp_directory_path() / "ckpt-test-XXXXXX").string();
  CKPT_CHECK(::mkdtemp(name.data()) != nullptr);
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

fs::path testdata(std::string_view relative) { return fs::path(CKPT_TESTDATA) / relative; }

std::string listing(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    names.push_back(fs::relative(entry.path(), folder).string());
  }
  std::sort(names.begin(), names.end());
  std::string out;
  for (const std::string& name : names) out += name + "\n";
  return out;
}

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  CKPT_CHECK(in.good());
  return std::move(out).str();
}

void write_file(const fs::path& path, std::string_view bytes) {
  fs::create_directories(path.parent_path());
  std::ofstream out(path, std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  CKPT_CHECK(out.good());
}

std::string part_bytes(const Tensor& tensor, size_t part) {
  std::string out;
  for (const Slice& slice : tensor.stored().parts.at(part)) {
    std::string bytes(slice.size_bytes, '\0');
    CKPT_CHECK(slice.source->read(slice.offset_bytes, std::as_writable_bytes(std::span(bytes))));
    out += bytes;
  }
  return out;
}

std::string render(const Checkpoint& checkpoint, const OutputFile& file) {
  std::string out(file.size_bytes, '\0');
  CKPT_CHECK(file.header.size() <= out.size());
  for (size_t i = 0; i < file.header.size(); ++i) out[i] = static_cast<char>(file.header[i]);
  for (const Extent& extent : file.extents) {
    const std::string bytes = part_bytes(checkpoint.tensors.at(extent.tensor), extent.part);
    CKPT_CHECK(bytes.size() == extent.size_bytes);
    CKPT_CHECK(extent.offset_bytes + bytes.size() <= out.size());
    out.replace(extent.offset_bytes, bytes.size(), bytes);
  }
  return out;
}

}  // namespace ckpt

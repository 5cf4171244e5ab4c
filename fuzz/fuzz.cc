#include "fuzz/fuzz.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "core/model/plan.h"

// Leaks are what the tests of the asan build look for; deep stacks of allocations cost half the
// speed.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() {
  return "detect_leaks=0:malloc_context_size=2:quarantine_size_mb=16:max_malloc_fill_size=0:"
         "allocator_may_return_null=0";
}

namespace ckpt::fuzz {
namespace fs = std::filesystem;
namespace {

constexpr uint64_t kMaxMadeBytes = 64 << 10;

class ExactSource final : public ByteSource {
 public:
  explicit ExactSource(std::string_view bytes)
      : size_(bytes.size()), bytes_(new std::byte[bytes.size()]) {
    if (size_ != 0) std::memcpy(bytes_.get(), bytes.data(), size_);
  }
  Status read(uint64_t offset_bytes, std::span<std::byte> out) const override {
    if (offset_bytes > size_ || out.size() > size_ - offset_bytes) {
      return corrupt("{}: past the end", name_);
    }
    if (!out.empty()) std::memcpy(out.data(), bytes_.get() + offset_bytes, out.size());
    return {};
  }
  uint64_t size_bytes() const override { return size_; }
  const std::string& name() const override { return name_; }

 private:
  std::string name_ = "input";
  size_t size_;
  std::unique_ptr<std::byte[]> bytes_;
};

std::string_view next_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  const size_t end = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(end);
  return word;
}

// "model.norm.weight bf16 64": a tensor of zeros, where there can be one.
void add_tensor(std::string_view line, Codecs codecs, Checkpoint& checkpoint) {
  const std::string_view name = next_word(line);
  const Codec* codec = find_codec(codecs, next_word(line));
  if (name.empty() || codec == nullptr) return;
  Tensor tensor;
  tensor.name = name;
  tensor.codec = codec;
  tensor.home = "model.safetensors";
  for (std::string_view word = next_word(line); !word.empty(); word = next_word(line)) {
    uint64_t axis = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), axis);
    if (error != std::errc() || end != word.data() + word.size()) return;
    tensor.shape.push_back(axis);
  }
  if (!check_shape(tensor.shape, *codec) || size_bytes(tensor) > kMaxMadeBytes) return;
  if (checkpoint.find_tensor(name) != nullptr) return;
  Stored stored;
  for (size_t part = 0; part < codec->parts.size(); ++part) {
    const uint64_t size = part_size_bytes(tensor, part);
    stored.parts.push_back({{make_blob("zeros", std::vector<std::byte>(size)), 0, size}});
  }
  tensor.origin = std::move(stored);
  checkpoint.tensors.push_back(std::move(tensor));
}

void add_tensors(std::string_view lines, Codecs codecs, Checkpoint& checkpoint) {
  while (!lines.empty()) {
    const size_t end = std::min(lines.find('\n'), lines.size());
    add_tensor(lines.substr(0, end), codecs, checkpoint);
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
}

void write_whole(const fs::path& path, std::string_view bytes) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (descriptor < 0) return;  // a name that no file system has
  FUZZ_LAW(::write(descriptor, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  ::close(descriptor);
}

}  // namespace

void broken_law(const char* file, int line, const char* law) {
  std::fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, law);
  std::abort();
}

uint8_t Input::byte() {
  if (left_.empty()) return 0;
  const uint8_t first = left_.front();
  left_ = left_.subspan(1);
  return first;
}

uint32_t Input::number() {
  const uint32_t low = byte(), high = byte();
  return low | high << 8;
}

SharedSource exact_source(std::string_view bytes) { return std::make_shared<ExactSource>(bytes); }

std::string_view as_text(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

std::vector<NamedText> split_files(std::string_view input) {
  constexpr std::string_view kMark = "=== ";
  std::vector<NamedText> files;
  std::string_view path;
  while (true) {
    size_t end = input.starts_with(kMark) ? 0 : input.find("\n=== ");
    const bool is_last = end == input.npos;
    if (is_last) end = input.size();
    if (end > 0 || !path.empty()) files.push_back({path, input.substr(0, end)});
    if (is_last) return files;
    input.remove_prefix(end + (input[end] == '\n' ? 1 : 0) + kMark.size());
    const size_t line = std::min(input.find('\n'), input.size());
    path = input.substr(0, line);
    input.remove_prefix(std::min(line + 1, input.size()));
  }
}

Checkpoint make_checkpoint(const std::vector<NamedText>& files, std::string_view prefix,
                           Codecs codecs) {
  Checkpoint checkpoint;
  checkpoint.format = "safetensors";
  checkpoint.name = "fuzz";
  for (const NamedText& file : files) {
    if (!file.path.starts_with(prefix)) continue;
    const std::string_view path = file.path.substr(prefix.size());
    if (prefix.empty() && path.starts_with("base/")) continue;
    if (path == "tensors") {
      add_tensors(file.text, codecs, checkpoint);
    } else if (!path.empty()) {
      checkpoint.set_document(std::string(path), std::string(file.text));
    }
  }
  return checkpoint;
}

MemoryFolder::MemoryFolder() {
  const fs::path memory = "/dev/shm";
  std::error_code error;
  const fs::path base = fs::is_directory(memory, error) ? memory : fs::temp_directory_path();
  path_ = base / ("ckpt_fuzz_" + std::to_string(::getpid()));
  fs::create_directory(path_);
}

MemoryFolder::~MemoryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void MemoryFolder::fill(const std::vector<std::pair<std::string, std::string>>& files) {
  for (const std::string& name : held_) ::unlink((path_ / name).c_str());
  held_.clear();
  for (const auto& [name, bytes] : files) {
    if (name.empty() || name == "." || name == ".." || name.size() > 200) continue;
    if (name.find('/') != name.npos || name.find('\0') != name.npos) continue;
    write_whole(path_ / name, bytes);
    held_.push_back(name);
  }
}

std::string render(const Checkpoint& checkpoint, const OutputFile& file) {
  std::string out(file.size_bytes, '\0');
  if (!file.header.empty()) std::memcpy(out.data(), file.header.data(), file.header.size());
  for (const Extent& extent : file.extents) {
    uint64_t at = extent.offset_bytes;
    for (const Slice& slice : checkpoint.tensors[extent.tensor].stored().parts[extent.part]) {
      const auto bytes = std::as_writable_bytes(std::span(out)).subspan(at, slice.size_bytes);
      FUZZ_LAW(slice.source->read(slice.offset_bytes, bytes).has_value());
      at += slice.size_bytes;
    }
  }
  return out;
}

std::vector<std::string> lay_out(const Checkpoint& checkpoint, const Format& format,
                                 const LayoutOptions& options, Codecs codecs) {
  auto layout = format.lay_out(checkpoint, options, codecs);
  if (!layout) return {};
  Plan plan;
  plan.outputs.push_back({"out", checkpoint, std::move(*layout)});
  if (!check(plan)) return {};
  for (const Tensor& tensor : checkpoint.tensors) {
    if (!tensor.is_stored()) return {};
  }
  std::vector<std::string> files;
  for (const OutputFile& file : plan.outputs[0].layout.files) {
    if (file.same_as.source != nullptr && file.extents.empty()) {
      std::string bytes(file.size_bytes, '\0');
      FUZZ_LAW(file.same_as.source->read(file.same_as.offset_bytes,
                                         std::as_writable_bytes(std::span(bytes))));
      files.push_back(std::move(bytes));
    } else {
      files.push_back(render(checkpoint, file));
    }
  }
  return files;
}

}  // namespace ckpt::fuzz

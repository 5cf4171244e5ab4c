// Shared by all fuzz targets: parts of an input, folders in memory, and laws that must hold.
//
//   LLVMFuzzerTestOneInput(data, size)   one a file, fuzz_*.cc; never keeps state between calls
//
// A target calls the readers on bytes in memory and, if they accept them, continues as the program
// would: laid out, checked, written and read again. A law that does not hold ends the process, as a
// crash does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/model/checkpoint.h"
#include "core/model/format.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace ckpt::fuzz {

[[noreturn]] void broken_law(const char* file, int line, const char* law);

// Takes numbers off the front of an input; zeros when nothing is left.
class Input {
 public:
  Input(const uint8_t* data, size_t size) : left_(data, size) {}
  uint8_t byte();
  uint32_t below(uint32_t limit) { return limit == 0 ? 0 : number() % limit; }
  uint32_t number();
  std::span<const uint8_t> rest() const { return left_; }
  std::string_view text() const {
    return {reinterpret_cast<const char*>(left_.data()), left_.size()};
  }

 private:
  std::span<const uint8_t> left_;
};

// A copy in a block of exactly that size, so that a read beyond it is seen. A file to its readers:
// what they do otherwise for bytes in memory is not what they do for an input.
SharedSource exact_source(std::string_view bytes);
std::string_view as_text(const uint8_t* data, size_t size);

// Several files in one input, each behind a line "=== PATH"; what stands before the first such line
// is the file "".
struct NamedText {
  std::string_view path, text;
};
std::vector<NamedText> split_files(std::string_view input);

// Documents of `files` whose paths start with `prefix`, without it; a file "tensors" is not one of
// them: its lines "NAME DTYPE AXIS AXIS..." become tensors of zeros, at most 64 KiB each.
Checkpoint make_checkpoint(const std::vector<NamedText>& files, std::string_view prefix,
                           Codecs codecs);

// A folder in memory that is emptied by each call of fill(); removed at the end of the process.
class MemoryFolder {
 public:
  MemoryFolder();
  ~MemoryFolder();
  const std::filesystem::path& path() const { return path_; }
  void fill(const std::vector<std::pair<std::string, std::string>>& files);

 private:
  std::filesystem::path path_;
  std::vector<std::string> held_;
};

// The bytes that the engine would write for a file of Stored tensors.
std::string render(const Checkpoint& checkpoint, const OutputFile& file);

// Lays `checkpoint` out, checks the plan and gives the bytes of each file; empty where the format
// refuses, or a tensor's values would have to be computed.
std::vector<std::string> lay_out(const Checkpoint& checkpoint, const Format& format,
                                 const LayoutOptions& options, Codecs codecs);

}  // namespace ckpt::fuzz

#define FUZZ_LAW(law) ((law) ? void(0) : ::ckpt::fuzz::broken_law(__FILE__, __LINE__, #law))

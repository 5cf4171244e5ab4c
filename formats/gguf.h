// The GGUF format, versions 2 and 3, little-endian; private to formats/.
//
//   "GGUF" | u32 version | u64 tensors | u64 keys | keys and values | tensor infos | pad | data
//
// See docs/formats/gguf.md for a drawing, the limits and pitfalls for readers.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/numbered_name.h"
#include "core/io/cursor.h"
#include "core/model/format.h"

namespace ckpt {

inline constexpr std::string_view kGgufMagic = "GGUF";
inline constexpr uint32_t kGgufVersion = 3;
inline constexpr uint64_t kGgufDefaultAlignment = 32;
// The largest accepted alignment. A rewritten header of 100 bytes may need this much padding in
// memory.
inline constexpr uint64_t kMaxGgufAlignment = uint64_t{1} << 24;
// Limits in ggml/src/gguf.cpp and ggml/include/ggml.h.
inline constexpr uint64_t kMaxGgufTextBytes = uint64_t{1} << 30;
inline constexpr uint64_t kMaxGgufArrayCount = uint64_t{1} << 30;
inline constexpr uint64_t kMaxGgufNameBytes = 63;
inline constexpr uint64_t kMaxGgufDimensions = 4;
// Limits of ckpt, beyond the needs of any model.
inline constexpr uint64_t kMaxGgufKeys = 1'000'000;
inline constexpr uint64_t kMaxGgufKeyBytes = 65'535;
inline constexpr uint64_t kMaxGgufArrayNesting = 8;
inline constexpr uint64_t kMaxGgufFiles = 65'535;  // split.count is 16 bits wide

inline constexpr std::string_view kAlignmentKey = "general.alignment";
inline constexpr std::string_view kSplitNoKey = "split.no";
inline constexpr std::string_view kSplitCountKey = "split.count";
inline constexpr std::string_view kSplitTensorsKey = "split.tensors.count";
// Room for later edits of the header (LayoutOptions::header_slack_bytes); ignored when read.
inline constexpr std::string_view kSlackKey = "ckpt.slack";

extern const Format kGguf;

// ggml's number of a type (ggml/include/ggml.h `enum ggml_type`); nullopt if ggml lacks the type.
std::optional<uint32_t> ggml_type(Dtype dtype);
std::optional<Dtype> dtype_of_ggml_type(uint32_t type);

// Codecs of types unknown to ckpt, each named "ggml type N": their tensors are bytes, and
// Stored::part_shapes contains the shape in the file.
std::span<const Codec> unknown_codecs();
std::optional<uint32_t> unknown_type(const Codec& codec);

// One GGUF file.
struct GgufFile {
  SharedSource source;
  Metadata metadata;
  Metadata repeated;            // keys that come again
  std::vector<Tensor> tensors;  // Stored, in file order; home is empty
};

// Reads the header of one file and checks it as strictly as llama.cpp's loader, which requires
// offsets to be the running sum of padded sizes. Fails: kCorrupt; kUnsupported for version 1, other
// byte order, files other than GGUF, and types of tensors that `codecs` lack; kIo.
Result<GgufFile> read_gguf_file(const std::filesystem::path& path, Codecs codecs);
// Reads like read_gguf_file(), from an open file.
Result<GgufFile> read_gguf_source(SharedSource source, Codecs codecs);

// Reads a key's type and value, which follow in `cursor`.
Result<MetaValue> read_gguf_value(Cursor& cursor);

// The alignment of a file with these keys. Fails: kCorrupt.
Result<uint64_t> gguf_alignment(const Metadata& metadata);

// Parses "dir/model-00002-of-00005.gguf"; nullopt for other names.
std::optional<NumberedName> parse_split_name(std::string_view path);
// `no` counts from 0.
std::string split_name(std::string_view prefix, uint64_t no, uint64_t count);

Result<Layout> lay_out_gguf(const Checkpoint& checkpoint, const LayoutOptions& options, Codecs);

}  // namespace ckpt

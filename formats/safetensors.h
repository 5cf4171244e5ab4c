// The safetensors format and the Hugging Face folder around it; private to formats/.
//
//   file   u64 n | n bytes of JSON, padded with spaces | tensor bytes, nothing between them
//   folder *.safetensors, model.safetensors.index.json (which tensor is in which file), documents
//
// docs/formats/safetensors.md has the drawing, the limits and pitfalls for readers.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/format.h"
#include "core/model/name_index.h"
#include "formats/formats.h"

namespace ckpt {

inline constexpr uint64_t kMaxSafetensorsHeaderBytes = 100'000'000;  // safetensors/src/tensor.rs
inline constexpr uint64_t kMaxNameBytes = 4096;  // of a tensor; real ones have less than 200
inline constexpr uint64_t kMaxIndexBytes = uint64_t{512} << 20;
inline constexpr uint64_t kMaxDocumentBytes = uint64_t{32} << 20;
inline constexpr uint64_t kMaxVocabularyBytes = uint64_t{256} << 20;  // of the tokenizer's files
inline constexpr std::string_view kIndexName = "model.safetensors.index.json";
inline constexpr std::string_view kSingleName = "model.safetensors";
inline constexpr std::string_view kSafetensorsEnding = ".safetensors";

extern const Format kSafetensors;

// "BF16" and the like; nullopt for a ggml block type, or an unknown name.
std::optional<std::string_view> safetensors_name(Dtype dtype);
std::optional<Dtype> safetensors_dtype(std::string_view name);

// One entry of a header. The shape counts values (of F4, two a byte).
struct SafetensorsEntry {
  std::string name;
  Dtype dtype = Dtype::kF32;
  std::vector<uint64_t> shape;
  uint64_t begin = 0, end = 0;  // from the start of the tensor bytes
};

struct SafetensorsHeader {
  Metadata metadata;                      // __metadata__, all text
  std::vector<SafetensorsEntry> entries;  // in file order: by offset
  uint64_t data_start = 0;                // offset of the tensor bytes in the file
};

// Parses the JSON of a header; entries are in the order of the text, offsets unchecked.
Result<SafetensorsHeader> parse_safetensors_header(std::string_view json);

// Reads and checks the header of one file: offsets cover the file exactly, sizes follow from dtype
// and shape. Fails: kCorrupt; kUnsupported for files other than safetensors; kIo.
Result<SafetensorsHeader> read_safetensors_header(const SharedSource& source, Codecs codecs);

// One file of a checkpoint, read.
struct SafetensorsFile {
  std::string path;  // relative to the checkpoint's folder
  SharedSource source;
  SafetensorsHeader header;
};

// The entries of all files by name, numbered one file after the other. Fails: kCorrupt when a name
// comes twice.
Result<NameIndex> index_entries(const std::vector<SafetensorsFile>& files);

// The tensors of all files; entries that make up one tensor of a codec with several parts become
// that tensor. Takes names and shapes out of the headers; `index` is of no use afterwards.
// Fails: kCorrupt when two tensors claim an entry, or a layer has two weights.
Result<std::vector<Tensor>> assemble_tensors(std::vector<SafetensorsFile>& files,
                                             const NameIndex& index, Codecs codecs);

// The shape that part `rule` of a tensor of `shape` has in a file; nullopt when its tiles do not
// fit the axes.
std::optional<std::vector<uint64_t>> part_entry_shape(const PartRule& rule,
                                                      const std::vector<uint64_t>& shape);
// True for shapes that differ only in axes of length 1: [] and [1], [8, 4] and [8, 1, 4, 1].
bool same_but_for_axes_of_one(std::vector<uint64_t> a, std::vector<uint64_t> b);

// model.safetensors.index.json: file name of each tensor, by name; metadata with its whole
// numbers and texts.
struct SafetensorsIndex {
  std::vector<std::pair<std::string, std::string>> weight_map;
  bool has_metadata = false;  // an object
  Metadata metadata;
};
Result<SafetensorsIndex> parse_index(std::string_view json);
// Writes an index as transformers does; `entries` are pairs of tensor name and file name.
std::string render_index(const Metadata& metadata,
                         std::vector<std::pair<std::string, std::string>> entries);

// The files of weights in a folder: those that are read, and others next to them.
struct WeightFiles {
  std::vector<SafetensorsFile> files, others;
  std::vector<std::string> absent;  // the index names them, and they are missing
  std::optional<SafetensorsIndex> index;
  std::string_view index_name;
  NameIndex entries;  // of `files`
  FileMisfit misfit;
};
// Leaves one copy of each tensor in `files`, takes files that the index names otherwise, and sets
// `entries` and `misfit`. Fails: kIo; kCorrupt.
Status settle_files(const std::filesystem::path& folder, WeightFiles& weights);
// Whether the file has a tensor that is not among `entries`.
bool has_more(const SafetensorsFile& file, const NameIndex& entries);

// Opens the document `path` of `folder`. A link is followed inside the folder, and from a snapshot
// of the hub's cache to its blobs:
//
//   models--ORG--NAME/blobs/0f3a...                             what is opened
//   models--ORG--NAME/snapshots/REVISION/config.json ─▶ ../../blobs/0f3a...
//
// Elsewhere only with ReadOptions::follow_links. Fails: kUsage, naming the target; kIo.
Result<SharedSource> open_document(const std::filesystem::path& folder, const std::string& path,
                                   const ReadOptions& options);

// Names of what is in the folder, sorted. Fails: kIo.
Result<std::vector<std::string>> list_files(const std::filesystem::path& folder);

// Fails for a file that another program cut into pieces of bytes, which `cat` joins:
// "m.gguf.part1of2", "m.gguf-split-a", "m.gguf.00001-of-00002", "m.gguf.aa". Fails also: kIo.
Status refuse_piece(const std::filesystem::path& path);

// Fails as kSafetensors.read() does where a folder has no weights, without opening any.
Status find_weights(const std::filesystem::path& folder);
Result<Layout> lay_out_safetensors(const Checkpoint& checkpoint, const LayoutOptions& options,
                                   Codecs codecs);

}  // namespace ckpt

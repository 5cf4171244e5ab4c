// A format reads headers into a Checkpoint and lays out a Checkpoint as files. It never writes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/model/checkpoint.h"

namespace ckpt {

// The place of part `part` of tensor `tensor` (an index into Checkpoint::tensors) in a file.
struct Extent {
  uint32_t tensor;
  uint32_t part;
  uint64_t offset_bytes;
  uint64_t size_bytes;
};

// A file: header | gap of zeros | extent | gap | extent ... up to size_bytes, all known in advance.
struct OutputFile {
  std::string path;               // relative to the output folder; a file name for one-file formats
  uint64_t size_bytes = 0;        // of the complete file
  std::vector<std::byte> header;  // at offset 0
  std::vector<Extent> extents;    // ascending, never overlapping
  Slice same_as;                  // if set: header and extents together equal that input
};

struct Layout {
  bool is_folder = false;  // files are in the folder OUT; otherwise files[0] is OUT
  std::vector<OutputFile> files;
  uint64_t size_bytes() const {  // of all files
    uint64_t total = 0;
    for (const OutputFile& file : files) total += file.size_bytes;
    return total;
  }
};

struct LayoutOptions {
  std::string out_name;           // OUT's file name, for formats with one file
  uint64_t max_file_bytes = 0;    // shard or split size; 0 = the format's default
  uint64_t max_file_tensors = 0;  // in a split GGUF; 0 = no limit
  uint64_t header_slack_bytes = 0;
  // For edits in place: a file whose tensors do not change keeps their order and, if the new header
  // fits, the position of their first byte.
  bool keep_places = false;
  // If the header does not fit, that first byte moves by multiples of this number. 0: it cannot
  // move, and the file is laid out again.
  uint64_t shift_bytes = 0;
};

// Which weights to read from a trainer's checkpoint: those that the model ran with, often in 16
// bits, or the F32 masters that its optimizer changes.
enum class WeightValues : uint8_t { kUsual, kModel, kMaster };

// Checks that reading made, besides the places of tensors.
struct WeightChecks {
  uint64_t sums = 0, without_sums = 0;  // entries of zips whose CRC-32 was right, or not written
  bool has_one_step = false;  // the files of a trainer's ranks say that they are of one step
};

// Options for reading files.
struct ReadOptions {
  // Documents and indexes may be links to any file, not only into their folder and to the blobs of
  // the Hub's cache.
  bool follow_links = false;
  // If a URL names the folder, omit the text of vocabularies and module weights, for callers that
  // only show names.
  bool skip_vocabularies_of_urls = false;
  // Read GGUF tensors of unknown types as bytes, for callers that only read keys.
  bool keep_unknown_types = false;
  // The model that a trainer's checkpoint was made from, for facts that its files lack.
  std::filesystem::path base = {};
  // kUsual: as the layout's own program does.
  WeightValues weights = WeightValues::kUsual;
  // If set, weights in PyTorch's zips are read entirely and their CRC-32 compared.
  WeightChecks* checks = nullptr;
};

struct Format {
  std::string_view name, help;
  bool (*recognizes)(const std::filesystem::path&);  // by magic number or folder content
  Result<Checkpoint> (*read)(const std::filesystem::path&, Codecs, const ReadOptions&);
  Result<Layout> (*lay_out)(const Checkpoint&, const LayoutOptions&, Codecs);
};

using Formats = std::span<const Format* const>;

}  // namespace ckpt

// PyTorch's distributed checkpoint (DCP): an index, and files of items that torch.save wrote.
//
//   .metadata      the index: the file and the place of each chunk of each tensor (dcp.h). A save
//                  without collectives has __0.metadata, __1.metadata, ..., one for each rank.
//   __0_0.distcp   the items that rank 0 wrote, one behind the other. An item with values is a zip
//                  as torch.save writes it (torch.h), perhaps compressed by zstd. Items with other
//                  objects stand before them; ckpt does not read those.
//
// Mistakes to avoid: the index is written last, so a folder without it is a save that did not end.
// A rank that has no rows of a tensor has an empty chunk. Chunks of a transposed tensor keep its
// strides.
#include <algorithm>
#include <map>
#include <set>

#include "core/base/arithmetic.h"
#include "core/base/find.h"
#include "core/computed/joined_source.h"
#include "core/computed/zstd_source.h"
#include "core/io/paths.h"
#include "formats/chunk_grid.h"
#include "formats/dcp.h"
#include "formats/sniff.h"
#include "formats/torch.h"

namespace ckpt {
namespace {

namespace fs = std::filesystem;

using DcpNames = std::vector<std::string>;

constexpr std::string_view kDcpIndex = ".metadata";

// Reads the index, or those of all ranks.
DcpNames dcp_indexes(const DcpNames& names) {
  if (std::ranges::count(names, kDcpIndex) != 0) return {std::string(kDcpIndex)};
  return names_like(names, "__[0-9]*.metadata");
}

// Joins the chunks that several ranks' indexes list of a tensor.
Status add_rank(std::vector<DcpTensor> from, std::vector<DcpTensor>& to,
                std::map<std::string, size_t>& known) {
  for (DcpTensor& tensor : from) {
    const auto [place, is_new] = known.emplace(tensor.key, to.size());
    if (is_new) {
      to.push_back(std::move(tensor));
      continue;
    }
    DcpTensor& same = to[place->second];
    if (same.shape != tensor.shape || same.dtype != tensor.dtype) {
      return corrupt("'{}' has shape [{}] here and [{}] in the index of another rank", tensor.key,
                     fmt::join(tensor.shape, ", "), fmt::join(same.shape, ", "));
    }
    std::ranges::move(tensor.chunks, std::back_inserter(same.chunks));
  }
  return {};
}

Result<DcpMetadata> read_indexes(const TrainerFolder& from) {
  const DcpNames indexes = dcp_indexes(from.names);
  if (indexes.empty()) {
    return corrupt_hint("an earlier checkpoint of the run",
                        "{}: files of ranks without '{}', which is written last: the save did not "
                        "end",
                        from.path.string(), kDcpIndex);
  }
  DcpMetadata out;
  std::map<std::string, size_t> known, known_masters;
  for (const std::string& index : indexes) {
    CKPT_ASSIGN(const SharedSource source, open_file(from.path / index));
    const bool with_masters = from.weights == WeightValues::kMaster;
    CKPT_ASSIGN(DcpMetadata one, in_file(source->name(), read_dcp_metadata(source, with_masters)));
    CKPT_TRY(in(source->name(), add_rank(std::move(one.tensors), out.tensors, known)));
    CKPT_TRY(in(source->name(), add_rank(std::move(one.masters), out.masters, known_masters)));
    std::ranges::move(one.others, std::back_inserter(out.others));
    out.has_masters = out.has_masters || one.has_masters;
  }
  return out;
}

// The values of an item that is a zstd stream. Only its start is decoded here: local headers and
// data.pkl take about 1 KiB. `values_bytes`: the size of its storage.
Result<TorchView> zstd_item(const Slice& packed, uint64_t values_bytes, WeightChecks* checks) {
  constexpr uint64_t kMostStartBytes = 64 << 10;
  CKPT_ASSIGN(std::vector<std::byte> start, zstd_start(packed, kMostStartBytes));
  CKPT_ASSIGN(std::vector<ZipEntry> entries, read_zip_start(start, "/data/", values_bytes));
  const uint64_t end_bytes = start.size() + values_bytes;
  const Slice archive{make_blob(packed.source->name(), std::move(start)), 0, end_bytes};
  CKPT_ASSIGN(TorchFile file, TorchFile::open(archive, std::move(entries), checks));
  CKPT_ASSIGN(TorchView view, file.tensor(file.pickle().root()));
  view.bytes.source =
      zstd_content(packed, view.bytes.offset_bytes + view.bytes.size_bytes);
  return view;
}

class DcpFiles {
 public:
  explicit DcpFiles(const TrainerFolder& from)
      : from_(from), names_(from.names.begin(), from.names.end()) {}

  Result<Tensor> whole_tensor(const DcpTensor& from) {
    Tensor out;
    out.name = from.key;
    out.shape = from.shape;
    out.codec = &plain_codec(from_.codecs, from.dtype);
    std::vector<TensorChunk> chunks;
    for (const DcpChunk& chunk : from.chunks) {
      if (out.home.empty()) out.home = chunk.file;
      CKPT_ASSIGN(Slice bytes, bytes_of(from, chunk));
      chunks.push_back({chunk.offsets, chunk.sizes, std::move(bytes)});
    }
    return in(place_of(from), from_chunks(std::move(out), std::move(chunks)));
  }

 private:
  static std::string place_of(const DcpTensor& tensor) {
    return fmt::format("tensor '{}'", tensor.key);
  }

  Result<Slice> bytes_of(const DcpTensor& tensor, const DcpChunk& chunk) {
    CKPT_ASSIGN(const SharedSource source, in(place_of(tensor), open(chunk.file)));
    return in(source->name(), in(place_of(tensor), item_bytes(source, chunk, tensor.dtype)));
  }

  Result<SharedSource> open(const std::string& name) {
    if (const SharedSource* known = find_mapped(open_, name)) return *known;
    if (name.find('/') != name.npos || name == "..") {
      return corrupt("'{}' names '{}'; expected a file of this folder", kDcpIndex, name);
    }
    if (!names_.contains(name)) {
      return corrupt("'{}' names the file '{}', which is missing", kDcpIndex, name);
    }
    CKPT_ASSIGN(SharedSource source, open_file(from_.path / name));
    return open_.emplace(name, std::move(source)).first->second;
  }

  Result<Slice> item_bytes(const SharedSource& source, const DcpChunk& chunk, Dtype dtype) const {
    const uint64_t size = source->size_bytes();
    if (chunk.offset_bytes > size || chunk.size_bytes > size - chunk.offset_bytes) {
      return corrupt("{} bytes; '{}' puts {} bytes at {}: the file is truncated or another", size,
                     kDcpIndex, chunk.size_bytes, chunk.offset_bytes);
    }
    const auto place = fmt::format("at byte {}", chunk.offset_bytes);
    CKPT_ASSIGN(const TorchView view, in(place, item_view(source, chunk, dtype)));
    if (view.dtype != dtype || view.shape != chunk.sizes) {
      return corrupt("{}: {} [{}]; '{}' says {} [{}]", place, info(view.dtype).name,
                     fmt::join(view.shape, ", "), kDcpIndex, info(dtype).name,
                     fmt::join(chunk.sizes, ", "));
    }
    return in_row_order(view);
  }

  Result<TorchView> item_view(const SharedSource& source, const DcpChunk& chunk,
                              Dtype dtype) const {
    const Slice item{source, chunk.offset_bytes, chunk.size_bytes};
    if (chunk.is_zstd) {
      const auto values = product(chunk.sizes);
      const auto bytes = values ? multiply(*values, size_bytes(dtype)) : std::nullopt;
      if (!bytes) return corrupt("more values than can be counted");
      return zstd_item(item, *bytes, from_.checks);
    }
    CKPT_ASSIGN(const Slice read, with_ends_in_memory(item));
    CKPT_ASSIGN(TorchFile file, TorchFile::open(read, from_.checks));
    CKPT_ASSIGN(TorchView view, file.tensor(file.pickle().root()));
    view.bytes.source = source;
    view.bytes.offset_bytes += chunk.offset_bytes;
    return view;
  }

  // An item is a zip file. Its headers, its pickle and its directory, which are read in eight
  // places, lie before and behind the values: here both ends are read once.
  static Result<Slice> with_ends_in_memory(const Slice& item) {
    constexpr uint64_t kEndBytes = 1024;
    const uint64_t head = std::min(item.size_bytes, kEndBytes);
    const uint64_t tail = std::min(item.size_bytes - head, kEndBytes);
    std::vector<Slice> parts = {
        {item.source, item.offset_bytes, head},
        {item.source, item.offset_bytes + head, item.size_bytes - head - tail},
        {item.source, item.offset_bytes + item.size_bytes - tail, tail}};
    for (const size_t end : {size_t{0}, size_t{2}}) {
      std::vector<std::byte> bytes(parts[end].size_bytes);
      CKPT_TRY(item.source->read(parts[end].offset_bytes, bytes));
      parts[end] = entire(make_blob(item.source->name(), std::move(bytes)));
    }
    std::erase_if(parts, [](const Slice& part) { return part.size_bytes == 0; });
    return joined(parts);
  }

  const TrainerFolder& from_;
  std::set<std::string> names_;
  std::map<std::string, SharedSource> open_;
};

// Counts what is not read, by the first part of the keys: "optimizer: 75 entries". Megatron's
// modules have a key for other state next to those of their tensors, which counts as one kind.
std::vector<std::string> counted_by_start(const std::vector<std::string>& keys) {
  std::map<std::string, std::set<std::string_view>> counts;
  for (const std::string& key : keys) {
    const bool is_extra = key.find(kExtraState) != key.npos;
    counts[is_extra ? std::string(kExtraState) : key.substr(0, key.find_first_of("./"))].insert(
        key);
  }
  std::vector<std::string> out;
  for (const auto& [start, found] : counts) {
    out.push_back(fmt::format("{} ({} {})", start, found.size(),
                              found.size() == 1 ? "entry" : "entries"));
  }
  return out;
}

// Takes the masters in place of their weights. Weights without one, as buffers are, remain.
Status take_masters(const fs::path& folder, DcpMetadata& metadata) {
  if (metadata.masters.empty()) return no_masters(folder.string());
  const auto paths = [](const std::vector<DcpTensor>& tensors) {
    std::vector<TrainerPath> out;
    for (const DcpTensor& tensor : tensors) out.push_back(tensor.path);
    return out;
  };
  CKPT_ASSIGN(const DcpNames names, names_of_weights(paths(metadata.tensors)));
  CKPT_ASSIGN(const DcpNames of_masters, names_of_weights(paths(metadata.masters)));
  for (size_t i = 0; i < of_masters.size(); ++i) {
    DcpTensor& master = metadata.masters[i];
    const auto found = std::ranges::find(names, of_masters[i]);
    if (found == names.end()) return corrupt("'{}': no such weight", master.key);
    DcpTensor& weight = metadata.tensors[static_cast<size_t>(found - names.begin())];
    if (weight.shape != master.shape) {
      return corrupt("'{}' is [{}]; its weight is [{}]", master.key,
                     fmt::join(master.shape, ", "), fmt::join(weight.shape, ", "));
    }
    weight.dtype = master.dtype;
    weight.chunks = std::move(master.chunks);
  }
  return {};
}

Result<TrainerWeights> read_dcp(const TrainerFolder& from) {
  CKPT_ASSIGN(DcpTensors read, read_dcp_tensors(from));
  CKPT_ASSIGN(DcpNames names, names_of_weights(read.paths));
  for (size_t i = 0; i < names.size(); ++i) read.tensors[i].name = std::move(names[i]);
  if (has_titan_names(read.tensors)) {
    CKPT_SET(read.tensors, from_titan(std::move(read.tensors), from.documents));
  }
  return TrainerWeights{std::move(read.tensors), std::move(read.not_read), std::move(read.values),
                        read.ranks};
}

}  // namespace

bool has_dcp_files(const DcpNames& names) {
  return !dcp_indexes(names).empty() || !names_like(names, "*.distcp").empty();
}

Result<DcpTensors> read_dcp_tensors(const TrainerFolder& from) {
  CKPT_ASSIGN(DcpMetadata metadata, read_indexes(from));
  DcpTensors out;
  out.not_read = counted_by_start(metadata.others);
  if (from.weights == WeightValues::kMaster) {
    CKPT_TRY(take_masters(from.path, metadata));
    out.values = kF32Masters;
  } else if (metadata.has_masters) {
    out.values = kModelWeights;
    out.not_read.push_back(fmt::format("{} (--weights master)", kF32Masters));
  }
  out.ranks = count_numbers_after(names_like(from.names, "__[0-9]*.distcp"), "__");
  DcpFiles files(from);
  for (const DcpTensor& tensor : metadata.tensors) {
    CKPT_ASSIGN(out.tensors.emplace_back(), files.whole_tensor(tensor));
    out.paths.push_back(tensor.path);
  }
  return out;
}

extern constinit const TrainerLayout kDcp{"a distributed checkpoint of PyTorch (DCP)",
                                          has_dcp_files, read_dcp, true};

}  // namespace ckpt

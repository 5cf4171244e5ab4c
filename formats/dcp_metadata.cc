// Reads the index of a DCP checkpoint. It has an entry for each chunk of the weights and of the
// optimizer, for large runs 1.5 million in 200 MB. Therefore its objects are read as fields of a
// few classes (core/readers/flat_pickle.h), and only entries of weights become chunks.
#include <algorithm>
#include <unordered_map>

#include "core/base/find.h"
#include "core/base/utf8.h"
#include "core/readers/flat_pickle.h"
#include "formats/dcp.h"
#include "formats/torch.h"

namespace ckpt {
namespace {

using Item = FlatPickle::Item;
using ItemKind = FlatPickle::Kind;

constexpr std::string_view kZstd = "stream.zstd/1";

// The classes of the index, with the positions of their fields.
enum : size_t { kMetadata, kTensorStorage, kProperties, kChunkStorage, kIndex, kPlace };
enum : size_t { kTensors, kStorage, kPlanner };
constexpr std::string_view kMetadataFields[] = {"state_dict_metadata", "storage_data",
                                                "planner_data"};
enum : size_t { kTensorProperties, kSize, kChunks };
constexpr std::string_view kTensorFields[] = {"properties", "size", "chunks"};
constexpr std::string_view kPropertiesFields[] = {"dtype"};
enum : size_t { kOffsets, kSizes };
constexpr std::string_view kChunkFields[] = {"offsets", "sizes"};
enum : size_t { kKey, kOffset };
constexpr std::string_view kIndexFields[] = {"fqn", "offset"};
enum : size_t { kPath, kStart, kLength, kTransforms };
constexpr std::string_view kPlaceFields[] = {"relative_path", "offset", "length",
                                             "transform_descriptors"};
constexpr FlatPickle::Class kClasses[] = {
    {"torch.distributed.checkpoint.metadata Metadata", kMetadataFields},
    {"torch.distributed.checkpoint.metadata TensorStorageMetadata", kTensorFields},
    {"torch.distributed.checkpoint.metadata TensorProperties", kPropertiesFields},
    {"torch.distributed.checkpoint.metadata ChunkStorageMetadata", kChunkFields},
    {"torch.distributed.checkpoint.metadata MetadataIndex", kIndexFields},
    {"torch.distributed.checkpoint.filesystem _StorageInfo", kPlaceFields},
};

class DcpReader {
 public:
  DcpReader(const FlatPickle& pickle, bool with_masters)
      : pickle_(pickle), with_masters_(with_masters) {}

  Result<DcpMetadata> run() {
    if (!pickle_.is_object(pickle_.root(), kMetadata)) {
      return unsupported("a pickle of something else; expected {}", kClasses[kMetadata].name);
    }
    CKPT_ASSIGN(const auto tensors, dict(pickle_.root(), kTensors));
    CKPT_ASSIGN(const auto storage, dict(pickle_.root(), kStorage));
    CKPT_TRY(read_planner(pickle_.field(pickle_.root(), kPlanner)));
    CKPT_TRY(read_storage(storage));
    DcpMetadata out;
    for (size_t i = 0; i + 1 < tensors.size(); i += 2) {
      const std::string key(pickle_.text(tensors[i]));
      if (key.empty() || key.size() > kMaxNameBytes || !is_utf8(key)) {
        return corrupt("a key that is not a text of up to {} bytes", kMaxNameBytes);
      }
      TrainerPath path = path_of(tensors[i], key);
      const auto weight = weight_of_master(path);
      out.has_masters = out.has_masters || weight;
      const bool is_read = weight ? with_masters_ : !is_beside_weights(path);
      if (!pickle_.is_object(tensors[i + 1], kTensorStorage) || !is_read) {
        out.others.push_back(key);
        continue;
      }
      DcpTensor& read = (weight ? out.masters : out.tensors).emplace_back();
      CKPT_ASSIGN(read, in(fmt::format("'{}'", key), tensor(tensors[i], tensors[i + 1])));
      read.key = key;
      read.path = weight ? *weight : std::move(path);
    }
    return out;
  }

 private:
  // An entry of storage_data: the numbers of the key and of the offsets, and the place in a file.
  struct Stored {
    uint64_t key, offsets;
    Item place;
    std::pair<uint64_t, uint64_t> index() const { return {key, offsets}; }
  };

  Result<std::span<const Item>> dict(Item object, size_t number) const {
    const Item found = pickle_.field(object, number);
    if (found.kind() == ItemKind::kDict) return pickle_.items(found);
    return corrupt("no dict '{}'", kMetadataFields[number]);
  }

  // Maps keys to their paths in the nested dicts. Megatron does not write this.
  Status read_planner(Item planner) {
    if (planner.kind() == ItemKind::kNone) return {};
    if (planner.kind() != ItemKind::kDict) {
      return unsupported("'{}' is neither a dict nor None", kMetadataFields[kPlanner]);
    }
    const auto pairs = pickle_.items(planner);
    for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
      if (pairs[i].kind() != ItemKind::kText || pairs[i + 1].kind() == ItemKind::kOther) {
        return unsupported_hint("copying the checkpoint again from where it was trained",
                                "'{}' calls '{}' where keys are expected; nothing was run",
                                kMetadataFields[kPlanner], pickle_.called(pairs[i + 1]));
      }
      planned_.emplace(pairs[i].id(), pairs[i + 1]);
    }
    return {};
  }

  TrainerPath path_of(Item key, const std::string& text) const {
    const Item* found = find_mapped(planned_, key.id());
    TrainerPath out;
    for (const Item part : found == nullptr ? std::span<const Item>() : pickle_.items(*found)) {
      out.push_back(part.kind() == ItemKind::kInt ? fmt::format("{}", part.id())
                                                  : std::string(pickle_.text(part)));
    }
    // The path is the same text as the key, cut at its dots.
    if (fmt::format("{}", fmt::join(out, ".")) == text) return out;
    return {text};
  }

  // Only entries of tensors have offsets.
  Status read_storage(std::span<const Item> storage) {
    for (size_t i = 0; i + 1 < storage.size(); i += 2) {
      if (!pickle_.is_object(storage[i], kIndex)) return corrupt("an index of another class");
      const Item key = pickle_.field(storage[i], kKey), at = pickle_.field(storage[i], kOffset);
      if (key.kind() != ItemKind::kText) return corrupt("an index without a key");
      if (at.kind() == ItemKind::kNumbers) stored_.push_back({key.id(), at.id(), storage[i + 1]});
    }
    std::ranges::stable_sort(stored_, {}, &Stored::index);
    return {};
  }

  Result<std::vector<uint64_t>> sizes(Item object, size_t number, std::string_view name) const {
    const auto* found = pickle_.numbers(pickle_.field(object, number));
    if (found != nullptr && found->size() <= kMaxDimensions) return *found;
    return corrupt("'{}' is not a list of up to {} whole numbers of 60 bits", name, kMaxDimensions);
  }

  Result<DcpTensor> tensor(Item key, Item object) const {
    DcpTensor out;
    CKPT_ASSIGN(out.shape, sizes(object, kSize, "size"));
    CKPT_ASSIGN(out.dtype, dtype(pickle_.field(object, kTensorProperties)));
    const Item chunks = pickle_.field(object, kChunks);
    if (chunks.kind() != ItemKind::kList) return corrupt("no list 'chunks'");
    for (const Item each : pickle_.items(chunks)) {
      if (!pickle_.is_object(each, kChunkStorage)) return corrupt("a chunk of another class");
      CKPT_ASSIGN(out.chunks.emplace_back(), chunk(key, each));
    }
    return out;
  }

  Result<Dtype> dtype(Item properties) const {
    if (!pickle_.is_object(properties, kProperties)) return corrupt("no 'properties'");
    const std::string_view name = pickle_.text(pickle_.field(properties, 0));
    if (const auto found = torch_dtype(name)) return *found;
    return unsupported("values of type '{}', which is not read", name);
  }

  Result<DcpChunk> chunk(Item key, Item object) const {
    DcpChunk out;
    CKPT_ASSIGN(out.offsets, sizes(object, kOffsets, "offsets"));
    CKPT_ASSIGN(out.sizes, sizes(object, kSizes, "sizes"));
    const std::pair index{key.id(), pickle_.field(object, kOffsets).id()};
    const auto found = std::ranges::lower_bound(stored_, index, {}, &Stored::index);
    const std::string at = fmt::format("the chunk at [{}]", fmt::join(out.offsets, ", "));
    if (found == stored_.end() || found->index() != index) {
      return corrupt("no file is named for {}", at);
    }
    const Item place = found->place;
    if (!pickle_.is_object(place, kPlace)) return corrupt("a place of another class for {}", at);
    out.file = pickle_.text(pickle_.field(place, kPath));
    const Item start = pickle_.field(place, kStart), length = pickle_.field(place, kLength);
    if (out.file.empty() || start.kind() != ItemKind::kInt || length.kind() != ItemKind::kInt) {
      return corrupt("no file, offset and length of {}", at);
    }
    out.offset_bytes = start.id();
    out.size_bytes = length.id();
    CKPT_ASSIGN(out.is_zstd, in(at, is_zstd(pickle_.field(place, kTransforms))));
    return out;
  }

  Result<bool> is_zstd(Item transforms) const {
    const auto items = pickle_.items(transforms);
    if (items.empty() && transforms.kind() != ItemKind::kOther) return false;
    const std::string_view first = items.empty() ? "" : pickle_.text(items[0]);
    if (items.size() == 1 && first == kZstd) return true;
    return unsupported("stored through '{}', which is not read; expected plain or {}", first,
                       kZstd);
  }

  const FlatPickle& pickle_;
  bool with_masters_;
  std::unordered_map<uint64_t, Item> planned_;  // by the number of the key
  std::vector<Stored> stored_;                  // sorted
};

}  // namespace

Result<DcpMetadata> read_dcp_metadata(const SharedSource& source, bool with_masters) {
  if (source->size_bytes() > kMaxDcpMetadataBytes) {
    return unsupported("{} bytes; at most {} are read", source->size_bytes(),
                       kMaxDcpMetadataBytes);
  }
  CKPT_ASSIGN(const FlatPickle pickle, FlatPickle::parse(source, kClasses));
  return DcpReader(pickle, with_masters).run();
}

}  // namespace ckpt

// A state_dict of each rank, as verl and accelerate save them: torch.save of tensors that tell
// which chunk they are.
//
//   model_world_size_4_rank_1.pt        verl
//   pytorch_model_fsdp_0_rank1.bin      accelerate
//
//   DTensor         _local_tensor, and _spec: mesh (its size and this rank's place on each axis)
//                   and placements: Shard(dim), Replicate(), _StridedShard(dim)
//   ShardedTensor   shards, each with offsets and sizes
//   other tensors   the same in all files
//
// A reader gets wrong: several ranks may hold one chunk; a tensor may be on a part of the mesh; of
// rows that two axes cut, FSDP's _StridedShard, though it comes first, is the inner cut.
// Source: torch/distributed/tensor/_api.py, placement_types.py, torch/distributed/_shard.
#include <algorithm>
#include <map>

#include "core/base/arithmetic.h"
#include "core/base/utf8.h"
#include "core/base/words.h"
#include "formats/chunk_grid.h"
#include "formats/torch.h"
#include "formats/trainer.h"

namespace ckpt {
namespace {

using Node = Pickle::Node;
using Kind = Pickle::Kind;

constexpr std::string_view kRankFiles[] = {"model_world_size_[0-9]*_rank_[0-9]*.pt",
                                           "pytorch_model_fsdp_[0-9]*_rank[0-9]*.bin"};
constexpr const char* kSaveFull = "saving a full state_dict with the trainer";

std::vector<std::string> rank_files(const std::vector<std::string>& names) {
  for (const std::string_view pattern : kRankFiles) {
    std::vector<std::string> found = names_like(names, pattern);
    if (!found.empty()) return found;
  }
  return {};
}

bool is_by_ranks(const std::vector<std::string>& names) { return !rank_files(names).empty(); }

// The files by their rank. Fails if one is missing.
Result<std::map<uint64_t, std::string>> files_by_rank(const std::vector<std::string>& names) {
  std::map<uint64_t, std::string> out;
  uint64_t count = 0;
  for (const std::string& name : rank_files(names)) {
    const auto rank = number_after_mark(name, "rank_"),
               plain_rank = number_after_mark(name, "rank");
    const uint64_t found = rank ? *rank : plain_rank.value_or(0);
    const uint64_t named = number_after_mark(name, "world_size_").value_or(0);
    if (count != 0 && named != 0 && named != count) {
      return corrupt("files of {} and of {} ranks", count, named);
    }
    count = std::max({count, named, found + 1});
    if (!out.emplace(found, name).second) return corrupt("two files of rank {}", found);
  }
  for (uint64_t rank = 0; rank < count; ++rank) {
    if (out.contains(rank)) continue;
    return corrupt_hint("copying the files of all ranks",
                        "the file of rank {} is missing; expected {} like '{}'", rank, count,
                        out.begin()->second);
  }
  return out;
}

struct RankTensor {
  Tensor like;
  std::vector<TensorChunk> chunks;
};

class RankFile {
 public:
  RankFile(TorchFile file, uint64_t rank) : file_(std::move(file)), rank_(rank) {}

  const Pickle& pickle() const { return file_.pickle(); }

  // Adds the chunks that this file has of a tensor.
  Status add(const Node& value, Codecs codecs, RankTensor& to) {
    const Pickle& pickle = file_.pickle();
    const Node* arguments = subclass_arguments(value);
    if (arguments == nullptr) return add_plain(value, codecs, to);
    const Node& state = item(*arguments, 3);
    const std::string_view type = item(*arguments, 1).text;
    const Node& made = item(*arguments, 2);  // (type, dtype, size, ...)
    const auto size = made.kind == Kind::kList && made.items.size() > 2
                          ? pickle.numbers(&item(made, 2), kMaxDimensions)
                          : std::nullopt;
    if (!size || state.kind != Kind::kList || state.items.size() < 2) {
      return unsupported_hint(kSaveFull, "made by '{}' in a way that is not read", type);
    }
    if (type.ends_with(" DTensor")) return add_dtensor(item(state, 1), *size, codecs, to);
    if (type.ends_with(".api ShardedTensor")) return add_shards(item(state, 0), *size, codecs, to);
    return unsupported_hint(kSaveFull, "a tensor of class '{}', which is not read", type);
  }

 private:
  const Node& item(const Node& list, size_t i) const {
    return file_.pickle().node(list.items[i]);
  }

  // (_rebuild_wrapper_subclass, class, its arguments, its state); nullptr for other tensors.
  const Node* subclass_arguments(const Node& value) const {
    if (file_.pickle().made_by(value) != "torch._tensor _rebuild_from_type_v2") return nullptr;
    const Node& arguments = item(value, 1);
    const bool is_subclass =
        arguments.kind == Kind::kList && arguments.items.size() == 4 &&
        item(arguments, 0).text == "torch._utils _rebuild_wrapper_subclass";
    return is_subclass ? &arguments : nullptr;
  }

  Status add_plain(const Node& value, Codecs codecs, RankTensor& to) {
    CKPT_ASSIGN(const TorchView view, file_.tensor(value));
    return add_view(view, std::vector<uint64_t>(view.shape.size(), 0), view.shape, codecs, to);
  }

  Status add_view(const TorchView& view, std::vector<uint64_t> offsets,
                  const std::vector<uint64_t>& size, Codecs codecs, RankTensor& to) {
    const Codec& codec = plain_codec(codecs, view.dtype);
    if (to.like.codec == nullptr) {
      to.like.codec = &codec;
      to.like.shape = size;
    }
    if (to.like.codec != &codec || to.like.shape != size) {
      return corrupt("{} [{}]; other ranks have {} [{}]", codec.name, fmt::join(size, ", "),
                     to.like.codec->name, fmt::join(to.like.shape, ", "));
    }
    CKPT_ASSIGN(Slice bytes, in_row_order(view));
    to.chunks.push_back({std::move(offsets), view.shape, std::move(bytes)});
    return {};
  }

  // ---- DTensor ----------------------------------------------------------------------------------
  // An axis of the mesh: its size, and where this rank is on it.
  struct MeshAxis {
    uint64_t size, place;
  };
  Result<std::vector<MeshAxis>> mesh_of(const Node& spec) {
    const Pickle& pickle = file_.pickle();
    const Node* mesh = pickle.field(spec, "mesh");
    CKPT_ASSIGN(const std::vector<uint64_t> sizes, mesh_sizes(mesh));
    const auto places = pickle.numbers(pickle.field(*mesh, "_coordinate_on_dim"), kMaxDimensions);
    if (!places || sizes.size() != places->size()) return other_mesh();
    const Node* rank = pickle.field(*mesh, "_rank");
    if (rank != nullptr && rank->kind == Kind::kInt && rank->whole != static_cast<int64_t>(rank_)) {
      return corrupt("written by rank {}; the file is named for rank {}", rank->whole, rank_);
    }
    std::vector<MeshAxis> out;
    for (size_t i = 0; i < sizes.size(); ++i) {
      if ((*places)[i] >= sizes[i]) return corrupt("a rank beyond its mesh of devices");
      out.push_back({sizes[i], (*places)[i]});
    }
    return out;
  }
  static Failure other_mesh() {
    return unsupported_hint(kSaveFull, "a mesh of devices that is not described as expected");
  }
  // The size of each axis: newer PyTorch describes the axes, older saves a tensor of all ranks.
  Result<std::vector<uint64_t>> mesh_sizes(const Node* mesh) {
    if (mesh == nullptr) return other_mesh();
    const Pickle& pickle = file_.pickle();
    if (const Node* ranks = pickle.field(*mesh, "mesh")) {
      CKPT_ASSIGN(const TorchView view, file_.tensor(*ranks));
      return view.shape;
    }
    const Node* layout = pickle.field(*mesh, "_layout");
    const Node* axes = layout == nullptr ? nullptr : pickle.field(*layout, "axes");
    if (axes == nullptr) return other_mesh();
    std::vector<uint64_t> out;
    for (size_t i = 0; i < axes->items.size(); ++i) {
      const auto sizes = pickle.numbers(pickle.field(item(*axes, i), "shape"), kMaxDimensions);
      const auto size = sizes ? product(*sizes) : std::nullopt;
      if (!size) return other_mesh();
      out.push_back(*size);
    }
    return out;
  }

  // A cut of one axis of the tensor among the ranks of an axis of the mesh.
  struct Cut {
    size_t axis;
    MeshAxis mesh;
    bool is_strided;
  };
  Result<std::vector<Cut>> cuts_of(const Node& spec, size_t axes) {
    const Pickle& pickle = file_.pickle();
    CKPT_ASSIGN(const std::vector<MeshAxis> mesh, mesh_of(spec));
    const Node* placements = pickle.field(spec, "placements");
    if (placements == nullptr || placements->items.size() != mesh.size()) {
      return corrupt("placements on another mesh");
    }
    std::vector<Cut> out;
    for (size_t i = 0; i < mesh.size(); ++i) {
      const Node& placement = item(*placements, i);
      const std::string_view type = pickle.made_by(placement);
      if (type.ends_with(" Replicate")) continue;
      const bool is_strided = type.ends_with(" _StridedShard");
      const Node* axis = pickle.field(placement, "dim");
      if ((!is_strided && !type.ends_with(" Shard")) || axis == nullptr) {
        return unsupported_hint(kSaveFull, "placed as '{}', which is not read", type);
      }
      if (axis->kind != Kind::kInt || static_cast<uint64_t>(axis->whole) >= axes) {
        return corrupt("cut along axis {} of {}", axis->whole, axes);
      }
      out.push_back({static_cast<size_t>(axis->whole), mesh[i], is_strided});
    }
    std::ranges::stable_partition(out, [](const Cut& cut) { return !cut.is_strided; });
    return out;
  }

  Status add_dtensor(const Node& state, const std::vector<uint64_t>& size, Codecs codecs,
                     RankTensor& to) {
    const Node* local = file_.pickle().find(state, "_local_tensor");
    const Node* spec = file_.pickle().find(state, "_spec");
    if (local == nullptr || spec == nullptr) return corrupt("a DTensor without its parts");
    CKPT_ASSIGN(const TorchView view, file_.tensor(*local));
    CKPT_ASSIGN(const std::vector<Cut> cuts, cuts_of(*spec, size.size()));
    std::vector<uint64_t> offsets(size.size(), 0), sizes = size;
    for (const Cut& cut : cuts) {
      const uint64_t piece = divide_up(sizes[cut.axis], cut.mesh.size), whole = sizes[cut.axis];
      const uint64_t first = std::min(whole, multiply(piece, cut.mesh.place).value_or(whole));
      offsets[cut.axis] += first;
      sizes[cut.axis] = std::min(piece, whole - first);
    }
    if (view.shape != sizes) {
      return corrupt("a chunk of shape [{}]; expected [{}] of [{}] on this rank",
                     fmt::join(view.shape, ", "), fmt::join(sizes, ", "), fmt::join(size, ", "));
    }
    return add_view(view, std::move(offsets), size, codecs, to);
  }

  // ---- ShardedTensor ----------------------------------------------------------------------------
  Status add_shards(const Node& shards, const std::vector<uint64_t>& size, Codecs codecs,
                    RankTensor& to) {
    const Pickle& pickle = file_.pickle();
    if (shards.kind != Kind::kList) return corrupt("shards that are not a list");
    to.like.shape = size;
    for (size_t i = 0; i < shards.items.size(); ++i) {
      const Node* local = pickle.field(item(shards, i), "tensor");
      const Node* metadata = pickle.field(item(shards, i), "metadata");
      const auto offsets =
          metadata == nullptr
              ? std::nullopt
              : pickle.numbers(pickle.field(*metadata, "shard_offsets"), kMaxDimensions);
      if (local == nullptr || !offsets) return corrupt("a shard without a tensor or offsets");
      CKPT_ASSIGN(const TorchView view, file_.tensor(*local));
      CKPT_TRY(add_view(view, *offsets, size, codecs, to));
    }
    return {};
  }

  TorchFile file_;
  uint64_t rank_;
};

using RankTensors = std::map<std::string, RankTensor>;

Status read_rank_file(const TrainerFolder& from, const std::string& name, uint64_t rank,
                      RankTensors& tensors) {
  CKPT_ASSIGN(const SharedSource source, open_file(from.path / name));
  CKPT_ASSIGN(TorchFile opened, TorchFile::open(entire(source), from.checks));
  RankFile file(std::move(opened), rank);
  const Node& root = file.pickle().root();
  if (root.kind != Kind::kDict) return unsupported("a pickle without a dict of tensors");
  for (size_t i = 0; i + 1 < root.items.size(); i += 2) {
    const Node& key = file.pickle().node(root.items[i]);
    const bool is_name = key.kind == Kind::kText && !key.text.empty() && is_utf8(key.text) &&
                         key.text.size() <= kMaxNameBytes;
    if (!is_name) return corrupt("a key that is not a text of up to {} bytes", kMaxNameBytes);
    RankTensor& tensor = tensors[key.text];
    if (tensor.like.home.empty()) tensor.like.home = name;
    CKPT_TRY(in(fmt::format("tensor '{}'", key.text),
                file.add(file.pickle().node(root.items[i + 1]), from.codecs, tensor)));
  }
  return {};
}

Result<TrainerWeights> read_by_ranks(const TrainerFolder& from) {
  CKPT_ASSIGN(const auto files, files_by_rank(from.names));
  RankTensors tensors;
  for (const auto& [rank, file] : files) {
    CKPT_TRY(in((from.path / file).string(), read_rank_file(from, file, rank, tensors)));
  }
  TrainerWeights out;
  out.ranks = files.size();
  std::vector<TrainerPath> paths;
  for (auto& [key, tensor] : tensors) {
    const std::string place = fmt::format("tensor '{}'", key);
    if (tensor.like.codec == nullptr) return corrupt("{}: no rank has values of it", place);
    tensor.like.name = key;
    CKPT_ASSIGN(out.tensors.emplace_back(),
                in(place, from_chunks(tensor.like, std::move(tensor.chunks))));
    paths.push_back({key});
  }
  CKPT_ASSIGN(const std::vector<std::string> names, names_of_weights(paths));
  for (size_t i = 0; i < names.size(); ++i) out.tensors[i].name = names[i];
  return out;
}

}  // namespace

extern constinit const TrainerLayout kFsdpRanks{"an FSDP run with a file of each rank", is_by_ranks,
                                                read_by_ranks};

}  // namespace ckpt

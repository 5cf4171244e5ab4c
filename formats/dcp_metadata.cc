#include "formats/dcp.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "core/base/find.h"
#include "core/base/utf8.h"
#include "formats/torch.h"

namespace ckpt {
namespace {

using Node = Pickle::Node;
using Kind = Pickle::Kind;

constexpr std::string_view kZstd = "stream.zstd/1";

class DcpReader {
 public:
  explicit DcpReader(const Pickle& pickle) : pickle_(pickle) {}

  Result<DcpMetadata> run() {
    CKPT_ASSIGN(const Node* root, object(pickle_.root(), kMetadata, "Metadata"));
    CKPT_ASSIGN(const Node* tensors, dict(*root, "state_dict_metadata"));
    CKPT_ASSIGN(const Node* storage, dict(*root, "storage_data"));
    CKPT_TRY(read_planner(pickle_.find(*root, "planner_data")));
    CKPT_TRY(read_storage(*storage));
    DcpMetadata out;
    for (size_t i = 0; i + 1 < tensors->items.size(); i += 2) {
      const Node& key = item(*tensors, i);
      const bool is_name = key.kind == Kind::kText && !key.text.empty() && is_utf8(key.text) &&
                           key.text.size() <= kMaxNameBytes;
      if (!is_name) return corrupt("a key that is not a text of up to {} bytes", kMaxNameBytes);
      TrainerPath path = path_of(key.text);
      const bool is_tensor =
          pickle_.made_by(item(*tensors, i + 1)) == fmt::format("{} {}", kMetadata, kTensor);
      if (!is_tensor || is_beside_weights(path)) {
        out.others.push_back(key.text);
        continue;
      }
      CKPT_ASSIGN(out.tensors.emplace_back(),
                  in(fmt::format("'{}'", key.text), tensor(key.text, item(*tensors, i + 1))));
      out.tensors.back().path = std::move(path);
    }
    return out;
  }

 private:
  static constexpr std::string_view kMetadata = "torch.distributed.checkpoint.metadata";
  static constexpr std::string_view kTensor = "TensorStorageMetadata";
  struct Place {
    std::string key;
    std::vector<uint64_t> offsets;
    auto operator<=>(const Place&) const = default;
  };

  const Node& item(const Node& list, size_t i) const { return pickle_.node(list.items[i]); }

  // The state of an object of this class.
  Result<const Node*> object(const Node& node, std::string_view module,
                             std::string_view name) const {
    const std::string_view found = pickle_.made_by(node);
    const Node* state = pickle_.state(node);
    if (found == fmt::format("{} {}", module, name) && state != nullptr) return state;
    return unsupported("{}; expected {}", found.empty() ? "no object" : found, name);
  }
  Result<const Node*> dict(const Node& state, std::string_view key) const {
    const Node* found = pickle_.find(state, key);
    if (found != nullptr && found->kind == Kind::kDict) return found;
    return corrupt("no dict '{}'", key);
  }
  Result<uint64_t> number(const Node& state, std::string_view key) const {
    const Node* found = pickle_.find(state, key);
    if (found != nullptr && found->kind == Kind::kInt && found->whole >= 0) {
      return static_cast<uint64_t>(found->whole);
    }
    return corrupt("no whole number '{}'", key);
  }
  Result<std::vector<uint64_t>> sizes(const Node& state, std::string_view key) const {
    const auto found = pickle_.numbers(pickle_.find(state, key), kMaxDimensions);
    if (found) return *found;
    return corrupt("'{}' is not a list of up to {} whole numbers of 64 bits", key, kMaxDimensions);
  }

  TrainerPath path_of(const std::string& key) const {
    const auto* found = find_mapped(planned_, std::string_view(key));
    TrainerPath out;
    if (found != nullptr && (*found)->kind == Kind::kList) {
      for (size_t i = 0; i < (*found)->items.size(); ++i) {
        const Node& each = item(**found, i);
        out.push_back(each.kind == Kind::kInt ? fmt::format("{}", each.whole) : each.text);
      }
    }
    // Both spell one key, which the parts only divide.
    if (fmt::format("{}", fmt::join(out, ".")) == key) return out;
    return {key};
  }

  // Megatron writes none.
  Status read_planner(const Node* planner) {
    if (planner == nullptr || planner->kind == Kind::kNone) return {};
    if (planner->kind != Kind::kDict) {
      return unsupported("'planner_data' is made by '{}'; expected a dict",
                         pickle_.made_by(*planner));
    }
    for (size_t i = 0; i + 1 < planner->items.size(); i += 2) {
      planned_.emplace(item(*planner, i).text, &item(*planner, i + 1));
    }
    return {};
  }

  Status read_storage(const Node& storage) {
    for (size_t i = 0; i + 1 < storage.items.size(); i += 2) {
      CKPT_ASSIGN(const Node* index, object(item(storage, i), kMetadata, "MetadataIndex"));
      const Node *key = pickle_.find(*index, "fqn"), *offset = pickle_.find(*index, "offset");
      if (key == nullptr || key->kind != Kind::kText) return corrupt("an index without a key");
      if (offset == nullptr || offset->kind == Kind::kNone) continue;  // not a tensor
      CKPT_ASSIGN(std::vector<uint64_t> offsets, sizes(*index, "offset"));
      storage_.emplace(Place{key->text, std::move(offsets)}, &item(storage, i + 1));
    }
    return {};
  }

  Result<DcpTensor> tensor(const std::string& key, const Node& node) const {
    CKPT_ASSIGN(const Node* state, object(node, kMetadata, kTensor));
    DcpTensor out;
    out.key = key;
    CKPT_ASSIGN(out.shape, sizes(*state, "size"));
    CKPT_ASSIGN(out.dtype, dtype(*state));
    const Node* chunks = pickle_.find(*state, "chunks");
    if (chunks == nullptr || chunks->kind != Kind::kList) return corrupt("no list 'chunks'");
    for (size_t i = 0; i < chunks->items.size(); ++i) {
      CKPT_ASSIGN(const Node* each, object(item(*chunks, i), kMetadata, "ChunkStorageMetadata"));
      CKPT_ASSIGN(out.chunks.emplace_back(), chunk(key, *each));
    }
    return out;
  }

  // TensorProperties: its state is a tuple that begins with the type.
  Result<Dtype> dtype(const Node& state) const {
    const Node* properties = pickle_.find(state, "properties");
    if (properties == nullptr) return corrupt("no 'properties'");
    CKPT_ASSIGN(const Node* values, object(*properties, kMetadata, "TensorProperties"));
    const Node* named = values->kind == Kind::kDict ? pickle_.find(*values, "dtype")
                        : values->kind == Kind::kList && !values->items.empty()
                            ? &item(*values, 0)
                            : nullptr;
    const auto found = named == nullptr ? std::nullopt : torch_dtype(named->text);
    if (found) return *found;
    return unsupported("values of type '{}', which is not read",
                       named == nullptr ? "" : named->text);
  }

  Result<DcpChunk> chunk(const std::string& key, const Node& state) const {
    DcpChunk out;
    CKPT_ASSIGN(out.offsets, sizes(state, "offsets"));
    CKPT_ASSIGN(out.sizes, sizes(state, "sizes"));
    const std::string place = fmt::format("the chunk at [{}]", fmt::join(out.offsets, ", "));
    const auto* found = find_mapped(storage_, Place{key, out.offsets});
    if (found == nullptr) return corrupt("no file is named for {}", place);
    CKPT_ASSIGN(const Node* info, in(place, object(**found,
                                                   "torch.distributed.checkpoint.filesystem",
                                                   "_StorageInfo")));
    const Node* file = pickle_.find(*info, "relative_path");
    if (file == nullptr || file->kind != Kind::kText) return corrupt("no file of {}", place);
    out.file = file->text;
    CKPT_ASSIGN(out.offset_bytes, number(*info, "offset"));
    CKPT_ASSIGN(out.size_bytes, number(*info, "length"));
    CKPT_ASSIGN(out.is_zstd, in(place, is_zstd(*info)));
    return out;
  }

  Result<bool> is_zstd(const Node& info) const {
    const Node* transforms = pickle_.find(info, "transform_descriptors");
    if (transforms == nullptr || transforms->items.empty()) return false;
    const std::string& first = item(*transforms, 0).text;
    if (transforms->items.size() == 1 && first == kZstd) return true;
    return unsupported("stored through '{}', which is not read; expected plain or {}", first,
                       kZstd);
  }

  const Pickle& pickle_;
  std::unordered_map<std::string_view, const Node*> planned_;
  std::map<Place, const Node*> storage_;
};

}  // namespace

Result<DcpMetadata> read_dcp_metadata(const SharedSource& source) {
  CKPT_ASSIGN(const std::string bytes, read_text(*source, kMaxDcpMetadataBytes));
  CKPT_ASSIGN(const Pickle pickle, Pickle::parse(bytes));
  return DcpReader(pickle).run();
}

}  // namespace ckpt

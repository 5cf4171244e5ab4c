// Distributed checkpoints in safetensors: torch's HuggingFaceStorageWriter, and transformers'
// save_pretrained(distributed_checkpoint=True).
//
//   shard-00002-model-00001-of-00003.safetensors   the chunks that rank 2 (counted from 1) has of
//                                                  the tensors of file 1 of 3
//   __metadata__  DCP_SHARDING_INFO  {"model.norm.weight": {"saved_offsets": [16]}}
//
// Mistake to avoid: no file stores the shapes of tensors. If the file of the last rank is missing,
// all tensors look complete but are smaller. Therefore the shapes must follow from config.json, or
// a last chunk must be smaller than the others in a way that no larger number of ranks would give.
// Source: torch/distributed/checkpoint/hf_storage.py, _hf_utils.py.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/base/arithmetic.h"
#include "core/base/find.h"
#include "core/base/printable.h"
#include "core/json/json_read.h"
#include "formats/chunk_grid.h"
#include "formats/safetensors.h"
#include "formats/trainer.h"
#include "models/models.h"

namespace ckpt {
namespace {

constexpr std::string_view kHfDcpFiles = "shard-[0-9]*-model-[0-9]*-of-[0-9]*.safetensors";
constexpr std::string_view kShardingInfo = "DCP_SHARDING_INFO";
constexpr const char* kCopyRanks = "copying the files of all ranks";

bool is_hf_dcp(const std::vector<std::string>& names) {
  return !names_like(names, kHfDcpFiles).empty();
}

struct ChunkedTensor {
  Tensor like;  // with the size that the chunks cover together
  std::vector<TensorChunk> chunks;
};
using ChunkedTensors = std::map<std::string, ChunkedTensor>;

Result<std::vector<uint64_t>> offsets_of(const JsonValue& info, const SafetensorsEntry& entry) {
  const JsonValue& list = list_in(object_in(info, entry.name), "saved_offsets");
  std::vector<uint64_t> out;
  for (const JsonValue& each : list) {
    if (const auto offset = whole(each)) out.push_back(*offset);
  }
  if (out.size() == entry.shape.size() && out.size() == list.size()) return out;
  return corrupt("{} has no saved_offsets for each axis of [{}]", kShardingInfo,
                 fmt::join(entry.shape, ", "));
}

Status add_chunk(const JsonValue& info, const SafetensorsEntry& entry, Slice bytes,
                 ChunkedTensor& to) {
  CKPT_ASSIGN(std::vector<uint64_t> offsets, offsets_of(info, entry));
  std::vector<uint64_t>& shape = to.like.shape;
  if (to.chunks.empty()) shape.assign(offsets.size(), 0);
  if (shape.size() != offsets.size()) return corrupt("chunks of {} and {} axes", shape.size(),
                                                     offsets.size());
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    const auto end = add(offsets[axis], entry.shape[axis]);
    if (!end) return corrupt("a chunk that ends beyond 64 bits");
    shape[axis] = std::max(shape[axis], *end);
  }
  to.chunks.push_back({std::move(offsets), entry.shape, std::move(bytes)});
  return {};
}

Status read_rank(const std::filesystem::path& path, Codecs codecs, ChunkedTensors& tensors) {
  CKPT_ASSIGN(const SharedSource source, open_file(path));
  CKPT_ASSIGN(const SafetensorsHeader header, read_safetensors_header(source, codecs));
  const std::string* text = header.metadata.find_text(kShardingInfo);
  if (text == nullptr) return corrupt("__metadata__ without {}", kShardingInfo);
  CKPT_ASSIGN(const JsonValue info, parse_json(kShardingInfo, *text));
  for (const SafetensorsEntry& entry : header.entries) {
    const std::string place = fmt::format("tensor '{}'", entry.name);
    const Codec& codec = plain_codec(codecs, entry.dtype);
    ChunkedTensor& tensor = tensors[entry.name];
    if (tensor.chunks.empty()) {
      tensor.like.name = entry.name;
      tensor.like.codec = &codec;
    } else if (tensor.like.codec != &codec) {
      return corrupt("{}: {}; other ranks have {}", place, codec.name, tensor.like.codec->name);
    }
    Slice bytes{source, header.data_start + entry.begin, entry.end - entry.begin};
    CKPT_TRY(in(place, add_chunk(info, entry, std::move(bytes), tensor)));
  }
  return {};
}

// Returns the shapes that config.json gives the model's parameters; empty if the class has no
// table.
std::map<std::string, std::vector<uint64_t>> shapes_of(const JsonValue& config,
                                                       const std::vector<Tensor>& saved) {
  std::map<std::string, std::vector<uint64_t>> out;
  const JsonValue* inner = known(config, "text_config");
  const JsonValue& text = inner == nullptr ? config : *inner;
  const Family* family = table_of_model_type(text_in(text, "model_type"));
  if (family == nullptr || family->is_partial) return out;
  ModelForm form = form_of(saved);
  constexpr std::string_view kEmbedding = "embed_tokens.weight";
  for (const Tensor& tensor : saved) {
    if (!tensor.name.ends_with(kEmbedding)) continue;
    form.root = tensor.name.substr(0, tensor.name.size() - kEmbedding.size());
  }
  const auto expected = expected_parameters({*family, *family, text}, form);
  if (!expected) return out;
  for (const Parameter& parameter : *expected) out[parameter.name] = parameter.shape;
  return out;
}

bool is_cut(const ChunkedTensor& tensor) {
  return std::ranges::any_of(tensor.chunks, [](const TensorChunk& chunk) {
    return std::ranges::any_of(chunk.offsets, [](uint64_t offset) { return offset != 0; });
  });
}

// Whether the last rank has fewer rows than the others, and a larger number of ranks would have cut
// the tensor differently.
bool ends_short(const ChunkedTensor& tensor) {
  std::map<uint64_t, uint64_t> rows;  // by their place
  for (const TensorChunk& chunk : tensor.chunks) {
    if (!chunk.sizes.empty() && chunk.sizes[0] != 0) rows[chunk.offsets[0]] = chunk.sizes[0];
  }
  if (rows.size() < 2) return false;
  const uint64_t size = tensor.like.shape[0], most = rows.begin()->second;
  return rows.rbegin()->second < most && divide_up(size, rows.size() + 1) < most;
}

// Requires: tensors are in the order of `chunked`.
Status check_last_rank(const TrainerFolder& from, const std::vector<Tensor>& tensors,
                       const ChunkedTensors& chunked) {
  CKPT_ASSIGN(const SavedNames names, SavedNames::of(from.documents));
  std::vector<Tensor> saved;
  std::vector<size_t> ends;  // of those of each tensor
  for (const Tensor& tensor : tensors) {
    CKPT_TRY(names.add(tensor, saved));
    ends.push_back(saved.size());
  }
  std::map<std::string, std::vector<uint64_t>> shapes;
  const auto* document = find_by(from.documents, &Document::path, "config.json");
  if (document != nullptr) {
    CKPT_ASSIGN(const auto config, document->values());
    shapes = shapes_of(*config, saved);
  }
  bool is_known = false, has_cuts = false;
  size_t compared = 0, next = 0;
  auto end = ends.begin();
  for (const auto& [name, chunks] : chunked) {
    for (const size_t last = *end++; next < last; ++next) {
      const auto* expected = find_mapped(shapes, saved[next].name);
      if (expected != nullptr && *expected != saved[next].shape) {
        return corrupt_hint(kCopyRanks,
                            "tensor '{}' has [{}] in the files, [{}] by config.json: files of "
                            "ranks are missing",
                            saved[next].name, fmt::join(saved[next].shape, ", "),
                            fmt::join(*expected, ", "));
      }
      compared += expected != nullptr ? 1 : 0;
      is_known = is_known || (expected != nullptr && is_cut(chunks));
    }
    has_cuts = has_cuts || is_cut(chunks);
    is_known = is_known || ends_short(chunks);
  }
  if (is_known || (!has_cuts && compared == saved.size())) return {};
  return unsupported_hint(
      fmt::format("cp MODEL/config.json {}, MODEL being the model that was trained",
                  shell_path(from.path.string())),
      "nothing tells whether files of more ranks are missing: sizes of tensors are not stored, and "
      "{}",
      document == nullptr ? "config.json is missing" : "config.json is of an unknown class");
}

// Checks that each part of the model has files.
Status check_files(const std::vector<std::string>& files) {
  std::set<uint64_t> counts, parts;
  for (const std::string& file : files) {
    parts.insert(number_after_mark(file, "-model-").value_or(0));
    counts.insert(number_after_mark(file, "-of-").value_or(0));
  }
  if (counts.size() != 1) return corrupt("files of {} and of {} parts", *counts.begin(),
                                         *counts.rbegin());
  if (parts.size() != *counts.begin()) {
    return corrupt_hint(kCopyRanks, "files of {} of {} parts of the model", parts.size(),
                        *counts.begin());
  }
  return {};
}

Result<TrainerWeights> read_hf_dcp(const TrainerFolder& from) {
  const std::vector<std::string> files = names_like(from.names, kHfDcpFiles);
  CKPT_TRY(check_files(files));
  ChunkedTensors tensors;
  for (const std::string& file : files) {
    const std::filesystem::path path = from.path / file;
    CKPT_TRY(in(path.string(), read_rank(path, from.codecs, tensors)));
  }
  TrainerWeights out;
  std::vector<TrainerPath> paths;
  for (auto& [name, tensor] : tensors) {
    CKPT_ASSIGN(out.tensors.emplace_back(),
                in(fmt::format("tensor '{}'", name), from_chunks(tensor.like, tensor.chunks)));
    paths.push_back({name});
  }
  CKPT_ASSIGN(const std::vector<std::string> names, names_of_weights(paths));
  for (size_t i = 0; i < names.size(); ++i) out.tensors[i].name = names[i];
  CKPT_TRY(check_last_rank(from, out.tensors, tensors));
  out.ranks = count_numbers_after(files, "shard-");
  return out;
}

}  // namespace

extern constinit const TrainerLayout kHfDcp{
    "a distributed checkpoint in safetensors, with files of each rank", is_hf_dcp, read_hf_dcp};

}  // namespace ckpt

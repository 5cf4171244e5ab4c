#include "transforms/packed/packed.h"

#include <algorithm>

#include "core/base/find.h"
#include "core/computed/transposed_source.h"
#include "models/models.h"
#include "transforms/packed/job.h"

namespace ckpt {
namespace {

// The first kind that matches a tensor reads it.
constexpr const PackedKind* kPackedKinds[] = {
    &kGptqKind,      &kAwqKind,       &kPackedWordsKind,  &kScaledCodesKind,
    &kFourBitsKind,  &kEightBitsKind, &kExpertBlocksKind, &kPackedPairsKind,
    &kScaledFp8Kind, &kBitnetKind,    &kTorchaoKind,      &kStackedNvfp4Kind};

using KindList = std::vector<const PackedKind*>;
KindList packed_kinds_of(const std::string& method) {
  KindList out(std::begin(kPackedKinds), std::end(kPackedKinds));
  std::erase_if(out, [&](const PackedKind* kind) { return kind->method != method; });
  return out;
}

struct JoinedWeights {
  std::unordered_map<std::string_view, PackedWeight> by_first;
  std::unordered_map<std::string_view, std::string_view> users;  // by part: the weight that uses it
};

// Fails if a part belongs to two weights.
Status claim_parts(const Tensor& first, const PackedWeight& made, JoinedWeights& out) {
  for (const Tensor* part : made.parts) {
    const auto [found, is_new] = out.users.emplace(part->name, first.name);
    if (is_new) continue;
    return corrupt("tensor '{}' belongs to '{}' and to '{}'", part->name, found->second,
                   first.name);
  }
  return {};
}

// Whether it is {} or {"config_groups": {}}, which programs write if nothing is rotated.
bool has_no_transforms(const JsonText& declared) {
  return declared.is_object() && std::ranges::all_of(declared.members(), [](const auto& member) {
           const JsonText& groups = member.second;
           const bool is_empty = groups.is_object() && groups.members().empty();
           return member.first == "config_groups" && (groups.is_null() || is_empty);
         });
}

// Rejects the rotations of compressed-tensors, which servers undo while they run, and unknown
// forms, which may mean rotations too.
Status check_transforms(const PackedJob& job) {
  const JsonText* transforms = job.statement.declared.find("transform_config");
  if (transforms == nullptr || transforms->is_null() || has_no_transforms(*transforms)) return {};
  return unsupported_hint("the checkpoint that it was quantized from",
                          "{}: quantization_config.transform_config rotates activations, so that "
                          "weights alone are not the model's",
                          job.statement.place);
}

Result<JoinedWeights> join_all_packed(const Checkpoint& checkpoint, const PackedJob& job) {
  CKPT_TRY(check_transforms(job));
  JoinedWeights out;
  if (!job.reads_values && find_mlx_tensors(checkpoint).is_quantized) {  // decode_mlx() reads these
    CKPT_ASSIGN(std::vector<PackedWeight> weights, mlx_weights(job, checkpoint));
    for (PackedWeight& made : weights) {
      const Tensor& first = *made.parts[0];
      CKPT_TRY(claim_parts(first, made, out));
      out.by_first.emplace(first.name, std::move(made));
    }
    return out;
  }
  const KindList kinds = packed_kinds_of(job.statement.method);
  for (const Tensor& tensor : checkpoint.tensors) {
    const auto kind = std::ranges::find_if(
        kinds, [&](const PackedKind* each) { return each->is_first(job, tensor); });
    if (kind == kinds.end()) {
      CKPT_TRY(check_declared_block(job, tensor));
      continue;
    }
    CKPT_ASSIGN(PackedWeight made, (*kind)->join(job, tensor));
    const Tensor* twice = job.find(made.weight.name);
    if (twice != nullptr && std::ranges::count(made.parts, twice) == 0) {
      return corrupt("'{}' and '{}' are both the weight of one layer; expected one of them",
                     tensor.name, made.weight.name);
    }
    CKPT_TRY(claim_parts(tensor, made, out));
    out.by_first.emplace(tensor.name, std::move(made));
  }
  return out;
}

template <class Source>
const Source* source_of(const Tensor& tensor) {
  if (!tensor.is_stored() || tensor.stored().parts.size() != 1) return nullptr;
  const std::vector<Slice>& slices = tensor.stored().parts[0];
  return slices.empty() ? nullptr : computed_as<Source>(*slices[0].source);
}

// Whether values come from codes, even if the tensor is a part of a weight or joins several.
bool reads_codes(const ByteSource& source) {
  const ComputedSource* computed = source.computed();
  if (computed == nullptr) return false;
  const ComputedSource::Kind kind = computed->kind();
  bool found = kind == ComputedSource::Kind::kCoded;
  if (kind == ComputedSource::Kind::kStrided || kind == ComputedSource::Kind::kInterleaved) {
    computed->each_input([&](const Slice& input) { found |= reads_codes(*input.source); });
  }
  return found;
}

}  // namespace

std::vector<std::string> packed_methods() {
  std::vector<std::string> out;
  for (const PackedKind* kind : kPackedKinds) {
    if (std::ranges::count(out, kind->method) == 0) out.emplace_back(kind->method);
  }
  return out;
}

Result<Checkpoint> join_packed_weights(Checkpoint checkpoint, Codecs codecs) {
  if (checkpoint.format != "safetensors") return checkpoint;
  CKPT_ASSIGN(const QuantStatement statement, read_quant_statement(checkpoint));
  if (packed_kinds_of(statement.method).empty()) return checkpoint;
  std::vector<Tensor> out;
  {
    const PackedJob job(checkpoint, statement, codecs, true);
    CKPT_ASSIGN(JoinedWeights joined, join_all_packed(checkpoint, job));
    for (const Tensor& tensor : checkpoint.tensors) {
      const auto first = joined.by_first.find(tensor.name);
      if (first != joined.by_first.end()) {
        out.push_back(std::move(first->second.weight));
      } else if (!joined.users.contains(tensor.name)) {
        out.push_back(tensor);
      }
    }
  }
  checkpoint.tensors = std::move(out);
  return checkpoint;
}

bool is_unpacked(const Tensor& tensor) {
  if (source_of<TransposedSource>(tensor) != nullptr) return true;
  return tensor.is_stored() && tensor.stored().parts.size() == 1 &&
         std::ranges::any_of(tensor.stored().parts[0],
                             [](const Slice& slice) { return reads_codes(*slice.source); });
}

bool is_made_of_words(const Tensor& tensor) {
  const CodedSource* source = source_of<CodedSource>(tensor);
  return tensor.codec->scheme == Scheme::kPackedInt4 ||
         (source != nullptr && source->matrix().codes.word_bytes == 4);
}

bool holds_packed_weights(const Checkpoint& checkpoint) {
  if (checkpoint.format != "safetensors") return false;
  const auto statement = read_quant_statement(checkpoint);
  if (!statement) return false;
  const KindList kinds = packed_kinds_of(statement->method);
  if (kinds.empty()) return false;
  const PackedJob job(checkpoint, *statement, {}, false);
  return std::ranges::any_of(checkpoint.tensors, [&](const Tensor& tensor) {
    return std::ranges::any_of(kinds,
                               [&](const PackedKind* kind) { return kind->is_first(job, tensor); });
  });
}

Result<std::map<std::string, std::string>> describe_packed_weights(const Checkpoint& checkpoint) {
  std::map<std::string, std::string> out;
  if (checkpoint.format != "safetensors") return out;
  CKPT_ASSIGN(const QuantStatement statement, read_quant_statement(checkpoint));
  const PackedJob job(checkpoint, statement, {}, false);
  CKPT_ASSIGN(const JoinedWeights joined, join_all_packed(checkpoint, job));
  for (const auto& [part, first] : joined.users) {
    out[std::string(part)] = part == first ? joined.by_first.at(first).label : "";
  }
  return out;
}

PackedForms packed_forms(const Checkpoint& checkpoint) {
  PackedForms out;
  if (checkpoint.format != "safetensors") return out;
  const auto statement = read_quant_statement(checkpoint);
  if (!statement) return out;  // documents that are not JSON are another fault
  const PackedJob job(checkpoint, *statement, {}, false);
  const auto joined = join_all_packed(checkpoint, job);
  if (!joined) {
    const bool is_fault = joined.error().code == ErrorCode::kCorrupt;
    (is_fault ? out.fault : out.unread) = joined.error().what;
    return out;
  }
  for (const auto& [first, made] : joined->by_first) {
    out.by_codes[std::string(first)] = {made.weight.name, made.weight.shape, {}};
  }
  for (const auto& [part, first] : joined->users) {
    out.parts.emplace(part);
    out.by_codes.at(std::string(first)).parts.emplace_back(part);
  }
  return out;
}

PackedJob::PackedJob(const Checkpoint& checkpoint, const QuantStatement& declared, Codecs list,
                     bool reads)
    : statement(declared), codecs(list), reads_values(reads), checkpoint_(checkpoint) {
  by_name_.reserve(checkpoint.tensors.size());
  for (const Tensor& tensor : checkpoint.tensors) by_name_.emplace(tensor.name, &tensor);
}

const Tensor* PackedJob::find(const std::string& name) const {
  const auto* found = find_mapped(by_name_, name);
  return found == nullptr ? nullptr : *found;
}

const std::string* PackedJob::file_note(const Tensor& of, std::string_view key) const {
  const Metadata* file = find_mapped(checkpoint_.file_metadata, of.home);
  return file == nullptr ? nullptr : file->find_text(key);
}

Result<const Tensor*> PackedJob::need(const std::string& name, const Tensor& of) const {
  const Tensor* found = find(name);
  if (found != nullptr) return found;
  return corrupt_hint("the whole folder, downloaded again",
                      "tensor '{}' has no '{}', without which {} cannot be decoded", of.name, name,
                      statement.method);
}

bool is_plain_grid(const Tensor& tensor, Dtype dtype, size_t axes) {
  return tensor.is_stored() && tensor.stored().parts.size() == 1 &&
         tensor.stored().parts[0].size() == 1 && tensor.codec->parts.size() == 1 &&
         tensor.codec->parts[0].dtype == dtype && tensor.shape.size() == axes &&
         tensor.values() != 0;
}

bool is_float_grid(const Tensor& tensor, size_t axes) {
  return is_plain_grid(tensor, Dtype::kF32, axes) || is_plain_grid(tensor, Dtype::kF16, axes) ||
         is_plain_grid(tensor, Dtype::kBF16, axes);
}

Slice only_slice(const Tensor& tensor) { return tensor.stored().parts[0][0]; }

Failure wrong_part(const Tensor& tensor, std::string_view expected) {
  return corrupt("tensor '{}' is {} [{}]; expected {}", tensor.name, tensor.codec->name,
                 fmt::join(tensor.shape, ", "), expected);
}

Status add_byte_zeros(const Tensor& zeros, std::string_view which, CodedMatrix& matrix) {
  const uint64_t rows = matrix.scales.rows, columns = matrix.scales.columns;
  if (!is_plain_grid(zeros, Dtype::kI8, zeros.shape.size()) || zeros.values() != rows * columns) {
    return wrong_part(zeros, fmt::format("i8, one for each scale{}", which));
  }
  matrix.zeros = byte_codes(zeros, rows, columns);
  return {};
}

std::vector<uint64_t> wholes_in(const JsonText* list) {
  std::vector<uint64_t> out;
  if (list == nullptr) return out;
  for (const JsonText& item : list->items()) out.push_back(item.as_whole().value_or(0));
  return out;
}

Result<std::vector<uint32_t>> groups_of_inputs(const Tensor& g_idx,
                                               const std::vector<int64_t>& values,
                                               uint64_t groups) {
  std::vector<uint32_t> out;
  for (const int64_t group : values) {
    if (group < 0 || static_cast<uint64_t>(group) >= groups) {
      return corrupt("tensor '{}': input {} is of group {}; there are {} groups", g_idx.name,
                     out.size(), group, groups);
    }
    out.push_back(static_cast<uint32_t>(group));
  }
  return out;
}

Tensor coded_tensor(const PackedJob& job, const Tensor& first, std::string name,
                    CodedMatrix matrix) {
  Tensor out = first;
  out.name = std::move(name);
  out.shape = {matrix.rows, matrix.columns};
  if (job.codecs.empty()) return out;  // the caller needs no values
  out.codec = &plain_codec(job.codecs, Dtype::kF32);
  const auto source = std::make_shared<const CodedSource>(out.name, std::move(matrix));
  out.origin = Stored{{{Slice{source, 0, source->size_bytes()}}}};
  return out;
}

}  // namespace ckpt

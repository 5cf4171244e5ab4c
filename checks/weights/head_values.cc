// Compares a stored head with the embedding that config.json ties it to.
//
//   sampled rows             different bits: the head differs
//   the same bytes of a file, or all rows     the head is equal
//
// If tied, some programs use the embedding, and others the head that is in the folder.
// Sources: transformers 4.57.6 src/transformers/modeling_utils.py (tie_weights), 5.17.0
// (_tie_weights: a parameter that the file has is not tied); vLLM 0.17.1 and SGLang 0.5.12
// models/*.py (skip_prefixes, tie_word_embeddings); llama.cpp v0.5.0 src/models/*.cpp (output).
#include <algorithm>
#include <bit>

#include "checks/subject/subject.h"
#include "core/base/threads.h"
#include "core/model/tensor_names.h"

namespace ckpt {
namespace {

constexpr uint64_t kMostRowValues = uint64_t{1} << 24;
constexpr uint64_t kHeadPieceValues = uint64_t{1} << 20;
constexpr uint64_t kSampledRows = 32;
// The limit for bytes that are fetched from a server.
constexpr uint64_t kMostRemoteBytes = uint64_t{64} << 20;

const Tensor* head_of(const Checkpoint& checkpoint) {
  const auto found = std::ranges::find_if(checkpoint.tensors, [](const Tensor& tensor) {
    return is_of_head(tensor.name) && last_word(tensor.name) == "weight";
  });
  return found == checkpoint.tensors.end() ? nullptr : &*found;
}

bool can_compare(const Tensor& tensor) {
  return tensor.is_stored() && tensor.is_plain_float() && tensor.codec->decode != nullptr &&
         tensor.values() != 0 && tensor.row_values() <= kMostRowValues;
}

// Whether the tensor is read from a server, again for each comparison.
bool is_remote(const Tensor& tensor) {
  return std::ranges::any_of(tensor.stored().parts[0], [](const Slice& slice) {
    return slice.source->file_state() == nullptr && slice.source->memory().empty();
  });
}

// Whether rows [first, first + count) have the same bits as floats.
Result<bool> have_equal_rows(const Tensor& a, const Tensor& b, uint64_t first, uint64_t count) {
  CKPT_ASSIGN(const Tensor left, take_rows(a, first, count));
  CKPT_ASSIGN(const Tensor right, take_rows(b, first, count));
  CKPT_ASSIGN(const std::vector<float> ours, read_values(left, left.values()));
  CKPT_ASSIGN(const std::vector<float> theirs, read_values(right, right.values()));
  return std::ranges::equal(ours, theirs, [](float x, float y) {
    return std::bit_cast<uint32_t>(x) == std::bit_cast<uint32_t>(y);
  });
}

Result<HeadValues> compare_rows(const Tensor& head, const Tensor& embedding,
                                const DiagnosisOptions& options) {
  const uint64_t rows = head.rows();
  const uint64_t step = std::max<uint64_t>(rows / kSampledRows, 1);
  for (uint64_t row = 0; row < rows; row += step) {
    CKPT_ASSIGN(const bool is_equal, have_equal_rows(head, embedding, row, 1));
    if (!is_equal) return HeadValues::kDiffer;
  }
  const bool is_far = is_remote(head) || is_remote(embedding);
  if (is_far && size_bytes(head) > kMostRemoteBytes && !options.deep) {
    return HeadValues::kUnknown;
  }
  const uint64_t many = std::max<uint64_t>(kHeadPieceValues / head.row_values(), 1);
  for (uint64_t row = 0; row < rows; row += many) {
    CKPT_TRY(check_not_interrupted(options.interrupted));
    CKPT_ASSIGN(const bool is_equal,
                have_equal_rows(head, embedding, row, std::min(many, rows - row)));
    if (!is_equal) return HeadValues::kDiffer;
  }
  return HeadValues::kEqual;
}

}  // namespace

Result<HeadValues> compare_tied_head(const Subject& on, const DiagnosisOptions& options) {
  if (on.config.is_null() || !head_ties(on.config).is_anywhere()) return HeadValues::kEqual;
  const Tensor* head = head_of(on.checkpoint);
  if (head == nullptr) return HeadValues::kEqual;
  const Tensor* embedding = on.checkpoint.find_embeddings();
  if (embedding == nullptr || !can_compare(*head) || !can_compare(*embedding)) {
    return HeadValues::kUnknown;
  }
  if (head->shape != embedding->shape) return HeadValues::kDiffer;
  if (head->codec == embedding->codec && head->stored().parts == embedding->stored().parts) {
    return HeadValues::kEqual;
  }
  auto compared = compare_rows(*head, *embedding, options);
  if (compared || compared.error().code == ErrorCode::kInterrupted) return compared;
  return HeadValues::kUnknown;  // a file that cannot be read to its end
}

}  // namespace ckpt

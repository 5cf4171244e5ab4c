// Undoes the changes of values and of order that to-gguf made to a tensor: it moves bytes if the
// type allows it, and decodes them otherwise.
#include <algorithm>
#include <utility>

#include "core/computed/decoded_source.h"
#include "core/computed/interleaved_source.h"
#include "transforms/from_gguf/folder.h"
#include "transforms/to_gguf/mxfp4.h"

namespace ckpt {
namespace {

// The inverse of one change of values; nullopt if there is nothing to undo.
Result<std::optional<ValueOp>> inverse(const ValueOp& op, const Tensor& made) {
  if (const auto* add = std::get_if<AddScalar>(&op)) return ValueOp(AddScalar{-add->value});
  if (const auto* exp = std::get_if<SignedExp>(&op)) return ValueOp(SignedLog{exp->sign});
  if (std::holds_alternative<RoundTo>(op)) return std::optional<ValueOp>();
  if (const auto* permute = std::get_if<PermuteColumns>(&op)) {
    std::vector<uint32_t> back(permute->index->size());
    for (size_t i = 0; i < back.size(); ++i) back[(*permute->index)[i]] = static_cast<uint32_t>(i);
    return ValueOp(PermuteColumns{std::make_shared<const std::vector<uint32_t>>(std::move(back))});
  }
  return unsupported("tensor '{}': its values cannot be turned back", made.name);
}

// Rows of one tensor of the file, in the folder's order; values if it has one axis.
Result<Tensor> run_of_one(const Tensor& from, std::span<const MovedRows> rows, bool by_value) {
  std::vector<RowRun> runs;
  for (const MovedRows& run : rows) runs.push_back({run.gguf_first, run.count});
  if (!by_value) return reorder_rows(from, runs);
  CKPT_ASSIGN(const Tensor column, reshape(from, {from.values(), 1}));
  return reorder_rows(column, runs);
}

Tensor& tensor_of(Tensor& piece) { return piece; }
Tensor& tensor_of(InterleavedLane& lane) { return lane.tensor; }

// Requires that parts to join or interleave have the same type.
template <class Piece>
void decode_where_types_differ(std::vector<Piece>& pieces, const Codec& f32) {
  const bool differ = std::ranges::any_of(
      pieces, [&](Piece& piece) { return tensor_of(piece).codec != tensor_of(pieces[0]).codec; });
  if (!differ) return;
  for (Piece& piece : pieces) tensor_of(piece) = stored_as_f32(tensor_of(piece), f32);
}

// Finishes `joined`, which has the file's values in the order of `like`.
Result<Tensor> finished(Tensor joined, const Tensor& like, const Tensor& made,
                        const TargetTypes& types) {
  CKPT_ASSIGN(Tensor out, reshape(std::move(joined), like.shape));
  out.source_name = std::exchange(out.name, like.name);
  out.home = like.home;
  if (!is_mxfp4(like)) {
    CKPT_ASSIGN(out, recode(std::move(out), types.target));
    return undo_changes(std::move(out), made);
  }
  if (plain_dtype(*out.codec) == Dtype::kMxfp4) return out;
  return misuse_hint("no --base, which gives experts of one type with --to",
                     "tensor '{}' is MXFP4 in BASE; '{}' of the file is {}", like.name,
                     out.source_name, out.codec->name);
}

}  // namespace

Result<Tensor> as_wide_numbers(const Tensor& numbers, const Tensor& like, Codecs codecs) {
  Tensor lower = numbers;
  lower.shape = {numbers.values(), 1};
  Tensor upper = lower;
  std::vector<std::byte> zeros(numbers.values() * sizeof(int32_t));
  const uint64_t size = zeros.size();
  upper.origin = Stored{{{Slice{make_blob(like.name, std::move(zeros)), 0, size}}}};
  CKPT_ASSIGN(Tensor out,
              interleave({{std::move(lower), 1}, {std::move(upper), 1}}, {numbers.values(), 2}));
  out.codec = &plain_codec(codecs, Dtype::kI64);
  out.shape = like.shape;
  out.source_name = numbers.name;
  out.name = like.name;
  out.home = like.home;
  return out;
}

Result<Tensor> undo_changes(Tensor tensor, const Tensor& made) {
  const std::span<const ValueOp> ops = made.ops();
  for (auto op = ops.rbegin(); op != ops.rend(); ++op) {
    CKPT_ASSIGN(std::optional<ValueOp> back, inverse(*op, made));
    if (!back) continue;
    CKPT_ASSIGN(tensor, with_op(std::move(tensor), std::move(*back)));
  }
  return tensor;
}

Result<Tensor> returned_tensor(const Tensor& like, const std::vector<MovedRows>& rows,
                               const TensorPairs& pairs, const TargetTypes& types) {
  const bool by_value = like.shape.size() <= 1;
  std::vector<Tensor> pieces;
  for (size_t begin = 0; begin < rows.size();) {
    size_t end = begin;
    while (end < rows.size() && rows[end].gguf == rows[begin].gguf) ++end;
    const Tensor& from = *pairs.found[rows[begin].gguf];
    CKPT_ASSIGN(Tensor piece,
                run_of_one(from, std::span(rows).subspan(begin, end - begin), by_value));
    piece.name = from.name;
    pieces.push_back(std::move(piece));
    begin = end;
  }
  decode_where_types_differ(pieces, types.f32);
  CKPT_ASSIGN(Tensor out,
              pieces.size() == 1 ? Result<Tensor>(std::move(pieces[0])) : concatenate_rows(pieces));
  out.name = pairs.found[rows[0].gguf]->name;
  return finished(std::move(out), like, pairs.made[rows[0].gguf], types);
}

Result<Tensor> returned_tensor(const Tensor& like, const std::vector<MovedGrid>& grids,
                               const TensorPairs& pairs, const TargetTypes& types) {
  CKPT_ASSIGN(std::vector<InterleavedLane> lanes, lanes_of(like, grids, pairs.found, types.f32));
  decode_where_types_differ(lanes, types.f32);
  CKPT_ASSIGN(Tensor out, interleave(lanes, like.shape));
  out.name = pairs.found[grids[0].gguf]->name;
  return finished(std::move(out), like, pairs.made[grids[0].gguf], types);
}

}  // namespace ckpt

#include "core/model/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/base/arithmetic.h"
#include "core/base/find.h"
#include "core/model/tensor_names.h"

namespace ckpt {
namespace {

// Requires that a cut before `row` is possible: every part must start a new tile there.
Status check_cut(const Tensor& tensor, uint64_t row) {
  if (row == tensor.rows() || row == 0) return {};
  for (const PartRule& rule : tensor.codec->parts) {
    if (rule.tile_rows > 0 && row % rule.tile_rows != 0) {
      return unsupported("tensor '{}': a cut at row {} goes through a tile of {} rows of {}",
                         tensor.name, row, rule.tile_rows, tensor.codec->name);
    }
  }
  return {};
}

// Appends bytes [first, first + size) of consecutive slices to `out`.
void take_bytes(const std::vector<Slice>& slices, uint64_t first, uint64_t size,
                std::vector<Slice>& out) {
  for (const Slice& slice : slices) {
    if (size == 0) return;
    if (first >= slice.size_bytes) {
      first -= slice.size_bytes;
      continue;
    }
    const uint64_t here = std::min(size, slice.size_bytes - first);
    out.push_back({slice.source, slice.offset_bytes + first, here});
    size -= here;
    first = 0;
  }
  CKPT_CHECK(size == 0);
}

Tensor empty_like(const Tensor& tensor, std::vector<uint64_t> shape) {
  Tensor out = tensor;
  out.shape = std::move(shape);
  out.origin = Stored{std::vector<std::vector<Slice>>(tensor.codec->parts.size()), {}};
  return out;
}

// Appends rows [first, first + count) of `from` to the slices of `to`.
Status append_rows(Tensor& to, const Tensor& from, uint64_t first, uint64_t count) {
  CKPT_TRY(check_cut(from, first));
  CKPT_TRY(check_cut(from, first + count));
  auto& parts = std::get<Stored>(to.origin).parts;
  for (size_t i = 0; i < from.codec->parts.size(); ++i) {
    const PartRule& rule = from.codec->parts[i];
    if (rule.tile_rows == 0) {
      if (parts[i].empty()) parts[i] = from.stored().parts[i];
      if (parts[i] == from.stored().parts[i]) continue;
      return unsupported(
          "tensor '{}': its {} belongs to the whole tensor; it cannot be joined with others",
          from.name, rule.suffix);
    }
    const PartShape shape = part_shape(rule, from.rows(), from.row_values());
    const uint64_t row_bytes = shape.elements * size_bytes(rule.dtype);
    const uint64_t part_first = first / rule.tile_rows;
    const uint64_t part_count = divide_up(first + count, rule.tile_rows) - part_first;
    take_bytes(from.stored().parts[i], part_first * row_bytes, part_count * row_bytes, parts[i]);
  }
  return {};
}

void merge_parts(Tensor& tensor) {
  for (auto& part : std::get<Stored>(tensor.origin).parts) part = merged(std::move(part));
}

}  // namespace

std::span<const ValueOp> Tensor::ops() const {
  return is_stored() ? std::span<const ValueOp>() : recoded().ops;
}

uint64_t Tensor::rows() const {
  uint64_t rows = 1;
  for (size_t i = 0; i + 1 < shape.size(); ++i) rows *= shape[i];
  return rows;
}

uint64_t part_size_bytes(const Tensor& tensor, size_t part) {
  return part_shape(tensor.codec->parts[part], tensor.rows(), tensor.row_values()).size_bytes;
}

uint64_t size_bytes(const Tensor& tensor) {
  uint64_t sum = 0;
  for (size_t i = 0; i < tensor.codec->parts.size(); ++i) sum += part_size_bytes(tensor, i);
  return sum;
}

Status check_shape(const std::vector<uint64_t>& shape, const Codec& codec) {
  if (shape.size() > kMaxDimensions) {
    return unsupported("{} dimensions; at most {} are read", shape.size(), kMaxDimensions);
  }
  // A zero makes the tensor empty, but must not hide factors that overflow.
  std::vector<uint64_t> factors = shape;
  std::ranges::replace(factors, uint64_t{0}, uint64_t{1});
  factors.push_back(8);
  const auto bound = product(factors);
  if (!bound || *bound > kMaxTensorBytes) {
    return corrupt("shape [{}] holds more values than 64 bits can count bytes of",
                   fmt::join(shape, ", "));
  }
  const uint64_t row_values = shape.empty() ? 1 : shape.back();
  if (row_values % codec.block_values != 0) {
    return corrupt("rows of {} values; {} needs a multiple of {}", row_values, codec.name,
                   codec.block_values);
  }
  return {};
}

std::vector<Slice> merged(std::vector<Slice> slices) {
  std::vector<Slice> out;
  for (Slice& slice : slices) {
    if (slice.size_bytes == 0) continue;
    if (!out.empty() && out.back().source == slice.source &&
        out.back().offset_bytes + out.back().size_bytes == slice.offset_bytes) {
      out.back().size_bytes += slice.size_bytes;
    } else {
      out.push_back(std::move(slice));
    }
  }
  return out;
}

Result<Tensor> take_rows(const Tensor& tensor, uint64_t first, uint64_t count) {
  CKPT_CHECK(tensor.is_stored() && first <= tensor.rows() && count <= tensor.rows() - first);
  Tensor out = empty_like(tensor, {count, tensor.row_values()});
  CKPT_TRY(append_rows(out, tensor, first, count));
  merge_parts(out);
  return out;
}

Result<Tensor> concatenate_rows(const std::vector<Tensor>& tensors) {
  CKPT_CHECK(!tensors.empty());
  const Tensor& head = tensors.front();
  uint64_t rows = 0;
  for (const Tensor& tensor : tensors) {
    CKPT_CHECK(tensor.is_stored());
    if (tensor.codec != head.codec || tensor.row_values() != head.row_values()) {
      return unsupported(
          "tensor '{}' has rows of {} {} values; '{}', which it is joined with, of {} {}",
          tensor.name, tensor.row_values(), tensor.codec->name, head.name, head.row_values(),
          head.codec->name);
    }
    rows += tensor.rows();
  }
  Tensor out = empty_like(head, {rows, head.row_values()});
  for (const Tensor& tensor : tensors) CKPT_TRY(append_rows(out, tensor, 0, tensor.rows()));
  merge_parts(out);
  return out;
}

Result<Tensor> stack(const std::vector<Tensor>& tensors) {
  std::vector<uint64_t> shape = tensors.front().shape;
  for (const Tensor& tensor : tensors) {
    if (tensor.shape == shape) continue;
    return corrupt("tensor '{}' has shape [{}]; '{}', which it is stacked on, [{}]", tensor.name,
                   fmt::join(tensor.shape, ", "), tensors.front().name, fmt::join(shape, ", "));
  }
  CKPT_ASSIGN(Tensor out, concatenate_rows(tensors));
  shape.insert(shape.begin(), tensors.size());
  return reshape(std::move(out), std::move(shape));
}

Result<Tensor> reorder_rows(const Tensor& tensor, const std::vector<RowRun>& runs) {
  CKPT_CHECK(tensor.is_stored());
  uint64_t rows = 0;
  for (const RowRun& run : runs) {
    CKPT_CHECK(run.first <= tensor.rows() && run.count <= tensor.rows() - run.first);
    rows += run.count;
  }
  Tensor out = empty_like(
      tensor, rows == tensor.rows() ? tensor.shape : std::vector{rows, tensor.row_values()});
  for (const RowRun& run : runs) CKPT_TRY(append_rows(out, tensor, run.first, run.count));
  merge_parts(out);
  return out;
}

Result<Tensor> reshape(Tensor tensor, std::vector<uint64_t> shape) {
  const auto values = product(shape);
  CKPT_CHECK(values && *values == tensor.values());
  const uint64_t old_row = tensor.row_values();
  tensor.shape = std::move(shape);
  // Parts with one element per value (or block) keep their order in any shape; larger tiles do not.
  for (const PartRule& rule : tensor.codec->parts) {
    const bool flat = rule.tile_rows == 1 && rule.tile_values == tensor.codec->block_values;
    if (tensor.row_values() != old_row && !flat) {
      return unsupported("tensor '{}': rows of {} cannot be cut again in {}", tensor.name, old_row,
                         tensor.codec->name);
    }
  }
  CKPT_TRY(in(fmt::format("tensor '{}'", tensor.name), check_shape(tensor.shape, *tensor.codec)));
  if (tensor.is_stored()) {
    std::get<Stored>(tensor.origin).part_shapes.clear();
  } else {
    auto recoded = tensor.recoded();
    CKPT_ASSIGN(Tensor from, reshape(*recoded.from, tensor.shape));
    recoded.from = std::make_shared<const Tensor>(std::move(from));
    tensor.origin = std::move(recoded);
  }
  return tensor;
}

Tensor part_as_tensor(const Tensor& tensor, size_t part, Codecs codecs) {
  const PartRule& rule = tensor.codec->parts[part];
  const PartShape shape = part_shape(rule, tensor.rows(), tensor.row_values());
  Tensor out;
  out.name = tensor.name + std::string(rule.suffix);
  out.shape = {shape.rows, shape.elements};
  if (rule.tile_rows == 0 && rule.tile_values == 0) out.shape.clear();
  if (rule.is_vector) out.shape = {shape.rows * shape.elements};
  out.codec = &plain_codec(codecs, rule.dtype);
  out.origin = Stored{{tensor.stored().parts[part]}};
  out.home = tensor.home;
  return out;
}

Tensor make_tensor(std::string name, std::vector<uint64_t> shape, const Codec& codec,
                   std::vector<std::byte> bytes) {
  Tensor out;
  out.name = std::move(name);
  out.shape = std::move(shape);
  out.codec = &codec;
  CKPT_CHECK(codec.parts.size() == 1 && bytes.size() == part_size_bytes(out, 0));
  const uint64_t size = bytes.size();
  out.origin = Stored{{{Slice{make_blob(out.name, std::move(bytes)), 0, size}}}, {}};
  return out;
}

Tensor make_f32_tensor(std::string name, std::vector<uint64_t> shape,
                       const std::vector<float>& values, Codecs codecs) {
  const auto bytes = std::as_bytes(std::span(values));
  return make_tensor(std::move(name), std::move(shape), plain_codec(codecs, Dtype::kF32),
                     {bytes.begin(), bytes.end()});
}

Result<std::optional<std::vector<int64_t>>> read_integers(const Tensor& tensor,
                                                          uint64_t limit_values) {
  const std::optional<Dtype> dtype = plain_dtype(*tensor.codec);
  const bool is_long = dtype == Dtype::kI64;
  if (!tensor.is_stored() || (!is_long && dtype != Dtype::kI32)) {
    return std::optional<std::vector<int64_t>>();
  }
  if (tensor.values() > limit_values) {
    return unsupported("tensor '{}': {} numbers; at most {} are read here", tensor.name,
                       tensor.values(), limit_values);
  }
  std::vector<int64_t> out;
  for (const Slice& slice : tensor.stored().parts[0]) {
    std::vector<std::byte> raw(slice.size_bytes);
    CKPT_TRY(slice.source->read(slice.offset_bytes, raw));
    const size_t bytes = is_long ? sizeof(int64_t) : sizeof(int32_t);
    for (size_t at = 0; at + bytes <= raw.size(); at += bytes) {
      int64_t wide = 0;
      int32_t narrow = 0;
      std::memcpy(is_long ? static_cast<void*>(&wide) : &narrow, raw.data() + at, bytes);
      out.push_back(is_long ? wide : narrow);
    }
  }
  return std::optional(std::move(out));
}

Result<std::string> read_bytes(const Tensor& tensor, uint64_t limit_bytes) {
  if (!tensor.is_stored() || tensor.stored().parts.size() != 1 ||
      size_bytes(tensor) > limit_bytes) {
    return unsupported("tensor '{}': {} bytes; at most {} are read here", tensor.name,
                       size_bytes(tensor), limit_bytes);
  }
  std::string out;
  for (const Slice& slice : tensor.stored().parts[0]) {
    const size_t start = out.size();
    out.resize(start + slice.size_bytes);
    CKPT_TRY(slice.source->read(slice.offset_bytes,
                                std::as_writable_bytes(std::span(out)).subspan(start)));
  }
  return out;
}

Result<std::vector<float>> read_values(const Tensor& tensor, uint64_t limit_values) {
  const std::string place = fmt::format("tensor '{}'", tensor.name);
  if (!tensor.is_stored() || tensor.codec->decode == nullptr || tensor.values() > limit_values) {
    return unsupported("{}: {} values of type {}; at most {} floats are read here", place,
                       tensor.values(), tensor.codec->name, limit_values);
  }
  std::vector<std::vector<std::byte>> parts;
  for (const auto& slices : tensor.stored().parts) {
    std::vector<std::byte>& bytes = parts.emplace_back();
    for (const Slice& slice : slices) {
      const size_t start = bytes.size();
      bytes.resize(start + slice.size_bytes);
      CKPT_TRY(in(place, slice.source->read(slice.offset_bytes, std::span(bytes).subspan(start))));
    }
  }
  const std::vector<std::span<const std::byte>> views(parts.begin(), parts.end());
  std::vector<float> values(tensor.values());
  if (!values.empty()) tensor.codec->decode(views, {values, tensor.row_values()});
  return values;
}

const Tensor* Checkpoint::find_tensor(std::string_view wanted) const {
  return find_by(tensors, &Tensor::name, wanted);
}

const Tensor* Checkpoint::first_with_scales() const {
  return find_by(tensors, &Tensor::has_scales, true);
}

bool Checkpoint::has_head() const {
  return std::ranges::any_of(tensors, [](const Tensor& tensor) { return is_of_head(tensor.name); });
}

const Tensor* Checkpoint::find_embeddings() const {
  const Tensor* out = nullptr;
  for (const Tensor& tensor : tensors) {
    const bool is_first = out == nullptr || tensor.name.size() < out->name.size();
    if (is_first && is_of_embeddings(tensor.name)) out = &tensor;
  }
  return out;
}

bool Checkpoint::is_projector() const {
  const std::string* type = metadata.find_text("general.type");
  return type != nullptr && *type == "mmproj";
}

std::string Checkpoint::shard_words() const {
  if (files_by_name == 1) return {};
  return fmt::format("one of {} files that a model was cut into", files_by_name);
}

const Document* Checkpoint::find_document(std::string_view path) const {
  return find_by(documents, &Document::path, path);
}

void Checkpoint::set_document(Document document) {
  if (Document* old = find_by(documents, &Document::path, document.path)) {
    *old = std::move(document);
  } else {
    documents.push_back(std::move(document));
  }
}

void Checkpoint::set_document(std::string path, std::string text) {
  set_document(Document(std::move(path), std::move(text)));
}

bool Checkpoint::remove_document(std::string_view path) {
  return std::erase_if(documents, [&](const Document& each) { return each.path == path; }) != 0;
}

}  // namespace ckpt

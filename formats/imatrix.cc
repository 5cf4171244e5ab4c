// Importance matrices as llama-imatrix writes them: how much each column of a weight matters.
//
//   legacy .dat  i32 entries | entry ... | i32 chunks | i32 bytes | dataset name  (the last three
//                may be missing)
//   entry        i32 bytes | name | i32 calls | i32 values | f32 each
//   GGUF         tensors NAME.in_sum2 [matrices, columns] and NAME.counts [matrices, 1], both F32;
//                keys imatrix.datasets, imatrix.chunk_count, imatrix.chunk_size
//
// importance = value / calls (legacy), in_sum2 / count (GGUF), 1 where a matrix was never used.
// A reader gets wrong: in the legacy file the values stay as they are when calls is not positive;
// counts are floats that are rounded to whole numbers first.
// Sources: llama.cpp common/imatrix-loader.cpp, tools/quantize/quantize.cpp.
#include <cmath>
#include <cstring>

#include "core/base/arithmetic.h"
#include "core/io/cursor.h"
#include "formats/formats.h"
#include "formats/gguf.h"
#include "formats/sniff.h"

namespace ckpt {
namespace {

constexpr uint64_t kMaxImatrixNameBytes = 4096;
constexpr uint64_t kMaxImatrixBytes = uint64_t{16} << 30;
constexpr std::string_view kSumSuffix = ".in_sum2";
constexpr std::string_view kCountSuffix = ".counts";

// The one type that an importance matrix is stored in.
constexpr PartRule kFloatPart[1] = {{"", Dtype::kF32, 1, 1}};
constinit const Codec kFloats{
    .name = "f32", .help = "", .parts = kFloatPart, .band_rows = 1, .block_values = 1};
constexpr const Codec* kOnlyFloats[1] = {&kFloats};

Status check_values(const std::string& name, const std::vector<float>& values) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) {
      return fail(ErrorCode::kCorrupt, "'{}': value {} is {}; expected finite numbers", name, i,
                  values[i]);
    }
  }
  return {};
}

Result<std::vector<float>> to_floats(Result<std::vector<std::byte>> bytes) {
  if (!bytes) return Failure(std::move(bytes.error()));
  std::vector<float> out(bytes->size() / sizeof(float));
  if (!out.empty()) std::memcpy(out.data(), bytes->data(), out.size() * sizeof(float));
  return out;
}

// ---- legacy ------------------------------------------------------------------------------------

Result<int32_t> i32(Cursor& cursor) {
  CKPT_ASSIGN(const uint32_t bits, cursor.u32());
  return static_cast<int32_t>(bits);
}

Status read_legacy_entry(Cursor& cursor, Imatrix& imatrix) {
  CKPT_ASSIGN(const uint64_t name_bytes, cursor.count_u32(1, kMaxImatrixNameBytes));
  CKPT_ASSIGN(const std::string name, cursor.text(name_bytes));
  CKPT_ASSIGN(const int32_t calls, i32(cursor));
  CKPT_ASSIGN(const uint64_t count, cursor.count_u32(sizeof(float), INT32_MAX));
  if (count == 0) return fail(ErrorCode::kCorrupt, "'{}' has no values", name);
  CKPT_ASSIGN(std::vector<float> values, to_floats(cursor.bytes(count * sizeof(float))));
  if (calls > 0) {
    for (float& value : values) value /= static_cast<float>(calls);
  }
  CKPT_TRY(check_values(name, values));
  if (!imatrix.weights.emplace(name, std::move(values)).second) {
    return fail(ErrorCode::kCorrupt, "'{}' comes twice", name);
  }
  return {};
}

Status read_legacy(const SharedSource& source, Imatrix& imatrix) {
  constexpr uint64_t kMinEntryBytes = 4 + 4 + 4 + 4;  // name, calls, count, one value
  Cursor cursor(source);
  CKPT_ASSIGN(const uint64_t entries, cursor.count_u32(kMinEntryBytes, kMaxTensors));
  if (entries == 0) return fail(ErrorCode::kCorrupt, "no entries; expected an importance matrix");
  for (uint64_t i = 0; i < entries; ++i) {
    CKPT_TRY(in(fmt::format("entry {} of {}", i + 1, entries), read_legacy_entry(cursor, imatrix)));
  }
  if (cursor.left_bytes() == 0) return {};
  CKPT_ASSIGN(const int32_t chunks, i32(cursor));
  imatrix.chunk_count = chunks > 0 ? static_cast<uint64_t>(chunks) : 0;
  if (cursor.left_bytes() == 0) return {};
  CKPT_ASSIGN(const uint64_t name_bytes, cursor.count_u32(1, kMaxGgufTextBytes));
  CKPT_ASSIGN(std::string dataset, cursor.text(name_bytes));
  if (!dataset.empty()) imatrix.datasets.push_back(std::move(dataset));
  return {};
}

// ---- GGUF --------------------------------------------------------------------------------------

Result<std::vector<float>> read_floats(const Tensor& tensor) {
  const Slice& slice = tensor.stored().parts[0][0];
  Cursor cursor(slice.source, slice.offset_bytes, slice.size_bytes);
  return to_floats(cursor.bytes(slice.size_bytes));
}

Result<std::vector<float>> mean_squares(const Tensor& sums, const Tensor& counts) {
  CKPT_ASSIGN(std::vector<float> values, read_floats(sums));
  CKPT_ASSIGN(const std::vector<float> count_of, read_floats(counts));
  CKPT_TRY(check_values(sums.name, values));
  CKPT_TRY(check_values(counts.name, count_of));
  if (values.empty() || count_of.empty() || values.size() % count_of.size() != 0) {
    return fail(ErrorCode::kCorrupt, "'{}' has {} values for the {} counts of '{}'", sums.name,
                values.size(), count_of.size(), counts.name);
  }
  const size_t columns = values.size() / count_of.size();
  for (size_t i = 0; i < values.size(); ++i) {
    const float count = std::round(count_of[i / columns]);
    values[i] = count > 0 ? values[i] / count : 1.0f;
  }
  CKPT_TRY(check_values(sums.name, values));
  return values;
}

Status read_keys(const Metadata& metadata, Imatrix& imatrix) {
  const MetaValue* datasets = metadata.find("imatrix.datasets");
  const auto chunks = metadata.find_unsigned("imatrix.chunk_count");
  const auto chunk_size = metadata.find_unsigned("imatrix.chunk_size");
  if (datasets == nullptr || !chunks || !chunk_size) {
    return fail(ErrorCode::kUnsupported,
                "no importance matrix; expected the keys imatrix.datasets, imatrix.chunk_count "
                "and imatrix.chunk_size");
  }
  imatrix.chunk_count = *chunks;
  const auto* array = std::get_if<MetaArray>(&datasets->value);
  if (array != nullptr && array->element == MetaType::kText) imatrix.datasets = array->texts;
  return {};
}

Status read_gguf(const SharedSource& source, Imatrix& imatrix) {
  CKPT_ASSIGN(const GgufFile file, read_gguf_source(source, kOnlyFloats));
  CKPT_TRY(read_keys(file.metadata, imatrix));
  std::map<std::string, std::pair<const Tensor*, const Tensor*>> pairs;
  for (const Tensor& tensor : file.tensors) {
    const std::string& name = tensor.name;
    if (name.ends_with(kSumSuffix)) {
      pairs[name.substr(0, name.size() - kSumSuffix.size())].first = &tensor;
    } else if (name.ends_with(kCountSuffix)) {
      pairs[name.substr(0, name.size() - kCountSuffix.size())].second = &tensor;
    }
  }
  if (pairs.empty()) return fail(ErrorCode::kCorrupt, "no tensors NAME{}", kSumSuffix);
  for (const auto& [name, pair] : pairs) {
    if (pair.first == nullptr || pair.second == nullptr) {
      return fail(ErrorCode::kCorrupt, "'{}' has no tensor '{}{}'", name, name,
                  pair.first == nullptr ? kSumSuffix : kCountSuffix);
    }
    CKPT_ASSIGN(std::vector<float> values, mean_squares(*pair.first, *pair.second));
    imatrix.weights.emplace(name, std::move(values));
  }
  return {};
}

Status read_either(const SharedSource& source, Imatrix& imatrix) {
  if (source->size_bytes() > kMaxImatrixBytes) {
    return fail(ErrorCode::kUnsupported, "{} bytes; an importance matrix has at most {}",
                source->size_bytes(), kMaxImatrixBytes);
  }
  std::array<char, kGgufMagic.size()> magic{};
  if (source->size_bytes() >= magic.size()) {
    CKPT_TRY(source->read(0, std::as_writable_bytes(std::span(magic))));
  }
  if (std::string_view(magic.data(), magic.size()) == kGgufMagic) return read_gguf(source, imatrix);
  CKPT_TRY(refuse_other_files(*source, "an importance matrix"));
  return read_legacy(source, imatrix);
}

}  // namespace

Result<Imatrix> read_imatrix(const SharedSource& source) {
  Imatrix imatrix;
  imatrix.file = source->name();
  CKPT_TRY(in_file(source->name(), read_either(source, imatrix)));
  return imatrix;
}

Result<Imatrix> read_imatrix(const std::filesystem::path& path) {
  CKPT_ASSIGN(const SharedSource source, in_file(path.string(), open_file(path)));
  return read_imatrix(source);
}

}  // namespace ckpt

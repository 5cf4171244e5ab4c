// Importance matrices as llama-imatrix writes them: how much each column of a weight matters.
//
//   legacy .dat  i32 entries | entry ... | i32 chunks | i32 bytes | dataset name  (the last three
//                may be missing)
//   entry        i32 bytes | name | i32 calls | i32 values | f32 each
//   GGUF         tensors NAME.in_sum2 [matrices, columns], NAME.counts [matrices, 1] and, in newer
//                files, NAME.in_sum [matrices, columns], all F32; keys imatrix.datasets,
//                imatrix.chunk_count, imatrix.chunk_size
//
// importance = value / calls (legacy), in_sum2 / count (GGUF), 1 where a matrix was never used.
// A reader gets wrong: in the legacy file the values stay as they are when calls is not positive;
// counts are floats that are rounded to whole numbers first.
// Sources: llama.cpp common/imatrix-loader.cpp, tools/quantize/quantize.cpp.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/io/cursor.h"
#include "core/resume/unfinished.h"
#include "formats/formats.h"
#include "formats/gguf.h"
#include "formats/sniff.h"

namespace ckpt {
namespace {

constexpr uint64_t kMaxImatrixNameBytes = 4096;
constexpr uint64_t kMaxImatrixBytes = uint64_t{16} << 30;
constexpr double kMaxImatrixCount = 9007199254740992;  // 2^53
constexpr std::string_view kSumSuffix = ".in_sum2";
constexpr std::string_view kCountSuffix = ".counts";
constexpr std::string_view kInputSuffix = ".in_sum";

// The one type that an importance matrix is stored in.
constexpr PartRule kFloatPart[1] = {{"", Dtype::kF32, 1, 1}};
constinit const Codec kFloats{
    .name = "f32", .help = "", .parts = kFloatPart, .band_rows = 1, .block_values = 1};
constexpr const Codec* kOnlyFloats[1] = {&kFloats};

Status check_values(const std::string& name, const std::vector<float>& values) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) {
      return corrupt("'{}': value {} is {}; expected finite numbers", name, i, values[i]);
    }
  }
  return {};
}

// Sums of squares: one below zero would turn the quantizers' search around.
Status check_squares(const std::string& name, const std::vector<float>& values) {
  CKPT_TRY(check_values(name, values));
  const auto below = std::ranges::find_if(values, [](float value) { return value < 0; });
  if (below == values.end()) return {};
  return corrupt("'{}': value {} is {}; expected a sum of squares, at least 0", name,
                 below - values.begin(), *below);
}

Result<std::vector<float>> to_floats(Result<std::vector<std::byte>> bytes) {
  if (!bytes) return Failure(std::move(bytes.error()));
  std::vector<float> out(bytes->size() / sizeof(float));
  if (!out.empty()) std::memcpy(out.data(), bytes->data(), out.size() * sizeof(float));
  return out;
}

Result<int32_t> i32(Cursor& cursor) {
  CKPT_ASSIGN(const uint32_t bits, cursor.u32());
  return static_cast<int32_t>(bits);
}

Status read_legacy_entry(Cursor& cursor, ImatrixSums& imatrix) {
  CKPT_ASSIGN(const uint64_t name_bytes, cursor.count_u32(1, kMaxImatrixNameBytes));
  CKPT_ASSIGN(const std::string name, cursor.text(name_bytes));
  CKPT_ASSIGN(const int32_t calls, i32(cursor));
  CKPT_ASSIGN(const uint64_t count, cursor.count_u32(sizeof(float), INT32_MAX));
  if (count == 0) return corrupt("'{}' has no values", name);
  ImatrixEntry entry;
  CKPT_ASSIGN(entry.sums, to_floats(cursor.bytes(count * sizeof(float))));
  CKPT_TRY(check_squares(name, entry.sums));
  entry.counts.push_back(calls);
  if (!imatrix.entries.emplace(name, std::move(entry)).second) {
    return corrupt("'{}' comes twice", name);
  }
  return {};
}

Status read_legacy(const SharedSource& source, ImatrixSums& imatrix) {
  constexpr uint64_t kMinEntryBytes = 4 + 4 + 4 + 4;  // name, calls, count, one value
  Cursor cursor(source);
  imatrix.is_legacy = true;
  CKPT_ASSIGN(const uint64_t entries, cursor.count_u32(kMinEntryBytes, kMaxTensors));
  if (entries == 0) return corrupt("no entries; expected an importance matrix");
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

Result<std::vector<float>> read_floats(const Tensor& tensor) {
  const Slice& slice = tensor.stored().parts[0][0];
  Cursor cursor(slice.source, slice.offset_bytes, slice.size_bytes);
  return to_floats(cursor.bytes(slice.size_bytes));
}

// The tensors of one entry.
struct ImatrixTensors {
  const Tensor *sums = nullptr, *counts = nullptr, *input_sums = nullptr;
};

Result<std::vector<int64_t>> read_counts(const Tensor& tensor) {
  CKPT_ASSIGN(const std::vector<float> values, read_floats(tensor));
  CKPT_TRY(check_values(tensor.name, values));
  std::vector<int64_t> out;
  for (const float value : values) {
    if (std::abs(value) > kMaxImatrixCount) {
      return unsupported("'{}': a count of {}; expected at most {}", tensor.name, value,
                         kMaxImatrixCount);
    }
    out.push_back(static_cast<int64_t>(std::round(value)));
  }
  return out;
}

Result<ImatrixEntry> read_entry(const ImatrixTensors& tensors, bool with_inputs) {
  ImatrixEntry entry;
  CKPT_ASSIGN(entry.sums, read_floats(*tensors.sums));
  CKPT_TRY(check_squares(tensors.sums->name, entry.sums));
  CKPT_ASSIGN(entry.counts, read_counts(*tensors.counts));
  if (entry.sums.empty() || entry.counts.empty() || entry.sums.size() % entry.counts.size() != 0) {
    return corrupt("'{}' has {} values for the {} counts of '{}'", tensors.sums->name,
                   entry.sums.size(), entry.counts.size(), tensors.counts->name);
  }
  if (tensors.input_sums == nullptr || !with_inputs) return entry;
  CKPT_ASSIGN(entry.input_sums, read_floats(*tensors.input_sums));
  CKPT_TRY(check_values(tensors.input_sums->name, entry.input_sums));
  if (entry.input_sums.size() == entry.sums.size()) return entry;
  return corrupt("'{}' has {} values; expected {}, as '{}' has", tensors.input_sums->name,
                 entry.input_sums.size(), entry.sums.size(), tensors.sums->name);
}

Status read_keys(const Metadata& metadata, ImatrixSums& imatrix) {
  const MetaValue* datasets = metadata.find("imatrix.datasets");
  const auto chunks = metadata.find_unsigned("imatrix.chunk_count");
  const auto chunk_size = metadata.find_unsigned("imatrix.chunk_size");
  if (datasets == nullptr || !chunks || !chunk_size) {
    return unsupported(
        "no importance matrix; expected the keys imatrix.datasets, imatrix.chunk_count and "
        "imatrix.chunk_size");
  }
  imatrix.chunk_count = *chunks;
  imatrix.chunk_size = *chunk_size;
  const auto* array = std::get_if<MetaArray>(&datasets->value);
  if (array != nullptr && array->element == MetaType::kText) imatrix.datasets = array->texts;
  for (const MetaEntry& entry : metadata.entries) {
    const bool is_own = entry.key == "general.type" || entry.key == "imatrix.datasets" ||
                        entry.key == "imatrix.chunk_count" || entry.key == "imatrix.chunk_size" ||
                        entry.key == kAlignmentKey;
    if (!is_own) imatrix.other_keys.entries.push_back(entry);
  }
  return {};
}

// Whether it is one: `name` without its ending names the entry.
bool take_tensor(const Tensor& tensor, std::map<std::string, ImatrixTensors>& entries) {
  constexpr std::pair<std::string_view, const Tensor * ImatrixTensors::*> kSuffixes[] = {
      {kSumSuffix, &ImatrixTensors::sums},
      {kCountSuffix, &ImatrixTensors::counts},
      {kInputSuffix, &ImatrixTensors::input_sums}};
  for (const auto& [suffix, member] : kSuffixes) {
    if (!tensor.name.ends_with(suffix)) continue;
    entries[tensor.name.substr(0, tensor.name.size() - suffix.size())].*member = &tensor;
    return true;
  }
  return false;
}

Status read_gguf(const SharedSource& source, bool with_inputs, ImatrixSums& imatrix) {
  auto read = read_gguf_source(source, kOnlyFloats);
  if (!read && read.error().code == ErrorCode::kUnsupported) {  // a model's types, say
    read.error().hint = "an importance matrix, as llama-imatrix writes it";
  }
  CKPT_ASSIGN(const GgufFile file, std::move(read));
  CKPT_TRY(read_keys(file.metadata, imatrix));
  std::map<std::string, ImatrixTensors> entries;
  for (const Tensor& tensor : file.tensors) {
    if (!take_tensor(tensor, entries)) imatrix.other_tensors.push_back(tensor.name);
  }
  if (entries.empty()) return corrupt("no tensors NAME{}", kSumSuffix);
  for (const auto& [name, tensors] : entries) {
    if (tensors.sums == nullptr || tensors.counts == nullptr) {
      return corrupt("'{}' has no tensor '{}{}'", name, name,
                     tensors.sums == nullptr ? kSumSuffix : kCountSuffix);
    }
    CKPT_ASSIGN(ImatrixEntry entry, read_entry(tensors, with_inputs));
    imatrix.entries.emplace(name, std::move(entry));
  }
  return {};
}

Status read_either(const SharedSource& source, bool with_inputs, ImatrixSums& imatrix) {
  if (source->size_bytes() > kMaxImatrixBytes) {
    return unsupported("{} bytes; an importance matrix has at most {}", source->size_bytes(),
                       kMaxImatrixBytes);
  }
  CKPT_ASSIGN(const std::string magic, bytes_at(*source, 0, kGgufMagic.size()));
  if (magic == kGgufMagic) {
    return read_gguf(source, with_inputs, imatrix);
  }
  CKPT_TRY(refuse_other_files(*source, "an importance matrix"));
  return read_legacy(source, imatrix);
}

Result<ImatrixSums> read_sums(const SharedSource& source, bool with_inputs) {
  ImatrixSums sums;
  sums.file = source->name();
  CKPT_TRY(in_file(source->name(), read_either(source, with_inputs, sums)));
  return sums;
}

Result<SharedSource> open_imatrix(const std::filesystem::path& path) {
  CKPT_TRY(refuse_unfinished_output(path));
  return open_file(path);
}

// The values that quantizers use: sums over counts, and 1 where a matrix was never seen.
Result<std::vector<float>> importance_of(const std::string& name, bool is_legacy,
                                         ImatrixEntry entry) {
  const uint64_t columns = entry.columns();
  const bool is_counted =
      std::ranges::any_of(entry.counts, [](int64_t count) { return count > 0; });
  const bool is_zero = std::ranges::all_of(entry.sums, [](float sum) { return sum == 0; });
  if (is_counted && is_zero) {
    return corrupt(
        "'{}': all {} sums are 0, so that no weight would matter; expected sums of squares", name,
        entry.sums.size());
  }
  for (size_t i = 0; i < entry.sums.size(); ++i) {
    const int64_t count = entry.counts[i / columns];
    if (count > 0) {
      entry.sums[i] /= static_cast<float>(count);
    } else if (!is_legacy) {
      entry.sums[i] = 1.0f;
    }
  }
  CKPT_TRY(check_values(name, entry.sums));
  return std::move(entry.sums);
}

}  // namespace

Result<Imatrix> read_imatrix(const SharedSource& source) {
  CKPT_ASSIGN(ImatrixSums sums, read_sums(source, false));
  Imatrix imatrix;
  imatrix.file = sums.file;
  imatrix.datasets = std::move(sums.datasets);
  imatrix.chunk_count = sums.chunk_count;
  for (auto& [name, entry] : sums.entries) {
    CKPT_ASSIGN(auto weights,
                in_file(sums.file, importance_of(name, sums.is_legacy, std::move(entry))));
    imatrix.weights.emplace(name, std::move(weights));
  }
  return imatrix;
}

Result<ImatrixSums> read_imatrix_sums(const SharedSource& source) {
  return read_sums(source, true);
}

Result<Imatrix> read_imatrix(const std::filesystem::path& path) {
  CKPT_ASSIGN(const SharedSource source, open_imatrix(path));
  return read_imatrix(source);
}

Result<ImatrixSums> read_imatrix_sums(const std::filesystem::path& path) {
  CKPT_ASSIGN(const SharedSource source, open_imatrix(path));
  return read_imatrix_sums(source);
}

}  // namespace ckpt

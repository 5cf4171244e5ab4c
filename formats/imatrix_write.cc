// Importance matrices are laid out as llama-imatrix writes them; the drawing is in imatrix.cc.
//
// Sources: llama.cpp tools/imatrix/imatrix.cpp, save_imatrix() and save_imatrix_legacy().
#include <algorithm>

#include "core/base/words.h"
#include "formats/formats.h"
#include "formats/gguf.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

class LegacyBytes {
 public:
  Status number(uint64_t value, std::string_view what) {
    if (value > INT32_MAX) {
      return unsupported_hint("a name that ends in .gguf", "{} of {}; a .dat file holds at most {}",
                              what, value, INT32_MAX);
    }
    const auto bits = static_cast<uint32_t>(value);
    raw(std::as_bytes(std::span(&bits, 1)));
    return {};
  }
  Status text(const std::string& text, std::string_view what) {
    CKPT_TRY(number(text.size(), what));
    raw(std::as_bytes(std::span(text)));
    return {};
  }
  void floats(const std::vector<float>& values) { raw(std::as_bytes(std::span(values))); }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  void raw(std::span<const std::byte> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  std::vector<std::byte> bytes_;
};

// Means times the number of calls; 1 in the place of the mean for a matrix that nothing reached.
std::vector<float> legacy_values(const ImatrixEntry& entry, uint64_t calls) {
  std::vector<float> out(entry.sums.size());
  const uint64_t columns = entry.columns();
  for (size_t i = 0; i < out.size(); ++i) {
    const int64_t count = entry.counts[i / columns];
    const float mean = count > 0 ? entry.sums[i] / static_cast<float>(count) : 1.0f;
    out[i] = mean * static_cast<float>(calls);
  }
  return out;
}

// Legacy readers take no entry without data, so entries that nothing reached are left out.
Result<std::vector<std::byte>> legacy_bytes(const ImatrixSums& sums) {
  const auto most_of = [](const ImatrixEntry& entry) {
    return std::max<int64_t>(0, *std::ranges::max_element(entry.counts));
  };
  LegacyBytes out;
  CKPT_TRY(
      out.number(static_cast<uint64_t>(std::ranges::count_if(
                     sums.entries, [&](const auto& each) { return most_of(each.second) > 0; })),
                 "a number of entries"));
  for (const auto& [name, entry] : sums.entries) {
    const auto most = static_cast<uint64_t>(most_of(entry));
    if (most == 0) continue;
    const uint64_t calls = most / sums.chunk_size + (most % sums.chunk_size == 0 ? 0 : 1);
    CKPT_TRY(out.text(name, "a length of a name"));
    CKPT_TRY(in(name, out.number(calls, "a number of calls")));
    CKPT_TRY(in(name, out.number(entry.sums.size(), "a number of values")));
    out.floats(legacy_values(entry, calls));
  }
  CKPT_TRY(out.number(sums.chunk_count, "a number of chunks"));
  CKPT_TRY(out.text(sums.datasets.empty() ? std::string() : sums.datasets.back(),
                    "a length of a data set's name"));
  return out.take();
}

std::vector<float> as_floats(const std::vector<int64_t>& counts) {
  std::vector<float> out;
  for (const int64_t count : counts) out.push_back(static_cast<float>(count));
  return out;
}

Result<Checkpoint> gguf_checkpoint(const ImatrixSums& sums, Codecs codecs) {
  Checkpoint out;
  out.format = kGguf.name;
  out.metadata.append("general.type", MetaValue::text("imatrix"));
  out.metadata.append("imatrix.datasets", MetaValue::array(make_text_array(sums.datasets)));
  for (const auto& [key, value] : {std::pair("imatrix.chunk_count", sums.chunk_count),
                                   std::pair("imatrix.chunk_size", sums.chunk_size)}) {
    if (value > UINT32_MAX) {
      return unsupported("{} of {}; expected at most {}", key, value, UINT32_MAX);
    }
    out.metadata.append(key, MetaValue::u32(value));
  }
  for (const MetaEntry& entry : sums.other_keys.entries) {
    out.metadata.append(entry.key, entry.value);
  }
  for (const auto& [name, entry] : sums.entries) {
    const std::vector<uint64_t> shape{entry.counts.size(), entry.columns()};
    out.tensors.push_back(make_f32_tensor(name + ".in_sum2", shape, entry.sums, codecs));
    out.tensors.push_back(make_f32_tensor(name + ".counts", {entry.counts.size(), 1},
                                          as_floats(entry.counts), codecs));
    if (entry.input_sums.empty()) continue;
    out.tensors.push_back(make_f32_tensor(name + ".in_sum", shape, entry.input_sums, codecs));
  }
  return out;
}

}  // namespace

Result<Output> lay_out_imatrix(const ImatrixSums& sums, const fs::path& path, Codecs codecs) {
  CKPT_CHECK(!sums.is_legacy && sums.chunk_size > 0);
  Output out;
  out.path = path;
  const std::string name = path.filename().string();
  if (has_ending(path.native(), ".dat")) {
    OutputFile file;
    file.path = name;
    CKPT_ASSIGN(file.header, legacy_bytes(sums));
    file.size_bytes = file.header.size();
    out.layout.files.push_back(std::move(file));
    return out;
  }
  CKPT_ASSIGN(out.checkpoint, gguf_checkpoint(sums, codecs));
  LayoutOptions options;
  options.out_name = name;
  CKPT_ASSIGN(out.layout, kGguf.lay_out(out.checkpoint, options, codecs));
  return out;
}

}  // namespace ckpt

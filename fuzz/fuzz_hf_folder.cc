// A Hugging Face folder: index, shards and documents, in a folder in memory.
//
// The input holds several files (fuzz.h split_files). Of a shard it holds the header's JSON alone:
// its length is put in front, and zeros behind it up to the largest offset.
#include <algorithm>
#include <cstring>

#include "core/model/plan.h"
#include "formats/safetensors.h"
#include "fuzz/fuzz.h"
#include "quantizers/quantizers.h"

namespace {

using namespace ckpt;

constexpr uint64_t kMaxDataBytes = 64 << 10;

std::string shard_of(std::string_view json) {
  uint64_t data_bytes = 0;
  if (const auto header = parse_safetensors_header(json)) {
    for (const SafetensorsEntry& entry : header->entries) {
      if (entry.end <= kMaxDataBytes) data_bytes = std::max(data_bytes, entry.end);
    }
  }
  const uint64_t length = json.size();
  std::string bytes(sizeof(length), '\0');
  std::memcpy(bytes.data(), &length, sizeof(length));
  bytes += json;
  bytes.resize(bytes.size() + data_bytes);
  return bytes;
}

void lay_out_again(const Checkpoint& checkpoint) {
  for (const uint64_t max_bytes : {uint64_t{0}, uint64_t{64}}) {
    LayoutOptions options;
    options.max_file_bytes = max_bytes;
    options.keep_places = max_bytes == 0;
    const auto layout = kSafetensors.lay_out(checkpoint, options, all_codecs());
    if (!layout) continue;
    Plan plan;
    plan.outputs.push_back({"out", checkpoint, *layout});
    (void)check(plan);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static fuzz::MemoryFolder folder;
  std::vector<std::pair<std::string, std::string>> files;
  for (const fuzz::NamedText& file : fuzz::split_files(fuzz::as_text(data, size))) {
    if (files.size() == 8) break;
    const bool is_shard = file.path.ends_with(kSafetensorsEnding) && file.text.starts_with('{');
    files.emplace_back(file.path, is_shard ? shard_of(file.text) : std::string(file.text));
  }
  folder.fill(files);
  const auto format = recognize(folder.path());
  if (!format) return 0;
  const auto checkpoint = (*format)->read(folder.path(), all_codecs(), {});
  if (checkpoint) lay_out_again(*checkpoint);
  return 0;
}

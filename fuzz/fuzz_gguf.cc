// One GGUF file, or two that are one model: read, laid out again and read back.
//
// Laws: what was laid out reads as the same keys and tensors, and laying that out gives the same
// bytes.
#include "formats/gguf.h"
#include "fuzz/fuzz.h"
#include "quantizers/quantizers.h"

namespace {

using namespace ckpt;

Result<Checkpoint> read_gguf_text(std::string_view bytes) {
  CKPT_ASSIGN(GgufFile file, read_gguf_source(fuzz::exact_source(bytes), all_codecs()));
  Checkpoint checkpoint;
  checkpoint.format = kGguf.name;
  checkpoint.tensors = std::move(file.tensors);
  for (Tensor& tensor : checkpoint.tensors) tensor.home = "model.gguf";
  for (const auto key : {kSplitNoKey, kSplitCountKey, kSplitTensorsKey, kSlackKey}) {
    file.metadata.remove(key);
  }
  checkpoint.metadata = std::move(file.metadata);
  return checkpoint;
}

std::string lay_out_one(const Checkpoint& checkpoint, LayoutOptions options) {
  options.out_name = "model.gguf";
  const auto files = fuzz::lay_out(checkpoint, kGguf, options, all_codecs());
  return files.empty() ? "" : files[0];
}

void split_and_read(const Checkpoint& checkpoint) {
  LayoutOptions options;
  options.out_name = "model.gguf";
  options.max_file_bytes = 64;
  for (const std::string& part : fuzz::lay_out(checkpoint, kGguf, options, all_codecs())) {
    FUZZ_LAW(read_gguf_text(part).has_value());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto checkpoint = read_gguf_text(fuzz::as_text(data, size));
  if (!checkpoint || checkpoint->tensors.size() > 40) return 0;
  // Which way it is laid out, the size says, so that an execution costs one.
  if (size % 4 == 0) {
    split_and_read(*checkpoint);
    return 0;
  }
  LayoutOptions options;
  options.keep_places = size % 4 == 1;
  options.shift_bytes = options.keep_places && size % 8 == 1 ? 4096 : 0;
  options.header_slack_bytes = options.keep_places ? size % 3 * 32 : 0;
  const std::string bytes = lay_out_one(*checkpoint, options);
  if (bytes.empty()) return 0;
  const auto again = read_gguf_text(bytes);
  FUZZ_LAW(again.has_value());
  FUZZ_LAW(again->tensors.size() == checkpoint->tensors.size());
  FUZZ_LAW(again->metadata.entries.size() == checkpoint->metadata.entries.size());
  if (!options.keep_places) FUZZ_LAW(lay_out_one(*again, options) == bytes);
  return 0;
}

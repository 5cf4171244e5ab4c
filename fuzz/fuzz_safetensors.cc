// One safetensors file: its header read, its tensors assembled, laid out again and read back.
//
// Laws: every byte behind the header belongs to a tensor; what is read can be laid out and read
// again as the same tensors.
#include "formats/safetensors.h"
#include "fuzz/fuzz.h"
#include "quantizers/quantizers.h"

namespace {

using namespace ckpt;

Result<Checkpoint> read_safetensors_text(std::string_view bytes) {
  const SharedSource source = fuzz::exact_source(bytes);
  CKPT_ASSIGN(SafetensorsHeader header, read_safetensors_header(source, all_codecs()));
  uint64_t data_bytes = bytes.size() - header.data_start;
  std::vector<SafetensorsFile> files;
  files.push_back({"model.safetensors", source, std::move(header)});
  Checkpoint checkpoint;
  checkpoint.format = kSafetensors.name;
  CKPT_ASSIGN(const NameIndex index, index_entries(files));
  CKPT_ASSIGN(checkpoint.tensors, assemble_tensors(files, index, all_codecs()));
  for (const Tensor& tensor : checkpoint.tensors) data_bytes -= size_bytes(tensor);
  FUZZ_LAW(data_bytes == 0);
  checkpoint.file_metadata[files[0].path] = std::move(files[0].header.metadata);
  return checkpoint;
}

void expect_same(const Checkpoint& a, const Checkpoint& b) {
  FUZZ_LAW(a.tensors.size() == b.tensors.size());
  for (const Tensor& tensor : a.tensors) {
    const Tensor* other = b.find_tensor(tensor.name);
    FUZZ_LAW(other != nullptr);
    FUZZ_LAW(other->codec == tensor.codec && other->shape == tensor.shape);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto checkpoint = read_safetensors_text(fuzz::as_text(data, size));
  if (!checkpoint || checkpoint->tensors.size() > 40) return 0;
  LayoutOptions options;
  options.out_name = "model.safetensors";
  options.keep_places = size % 2 == 1;
  options.header_slack_bytes = size % 3 * 40;
  const auto files = fuzz::lay_out(*checkpoint, kSafetensors, options, all_codecs());
  if (files.empty()) return 0;
  const auto again = read_safetensors_text(files[0]);
  FUZZ_LAW(again.has_value());
  expect_same(*checkpoint, *again);
  return 0;
}

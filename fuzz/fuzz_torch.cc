// A file of weights as PyTorch saves them: a zip, a pickle, and storages that tensors are views of.
//
// Law: every tensor is within the file and has the bytes of its shape.
#include "core/base/arithmetic.h"
#include "formats/torch.h"
#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ckpt;
  const auto header = read_torch_header(fuzz::exact_source(fuzz::as_text(data, size)));
  if (!header) return 0;
  for (const SafetensorsEntry& entry : header->entries) {
    FUZZ_LAW(entry.begin <= entry.end && header->data_start + entry.end <= size);
    const auto values = product(entry.shape);
    FUZZ_LAW(values.has_value() && *values * size_bytes(entry.dtype) == entry.end - entry.begin);
  }
  return 0;
}

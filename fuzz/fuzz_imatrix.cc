// An importance matrix, GGUF or legacy.
#include <cmath>

#include "formats/formats.h"
#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ckpt;
  const auto imatrix = read_imatrix(fuzz::exact_source(fuzz::as_text(data, size)));
  if (!imatrix) return 0;
  for (const auto& [name, weights] : imatrix->weights) {
    FUZZ_LAW(!weights.empty());
    for (const float weight : weights) FUZZ_LAW(std::isfinite(weight));
  }
  return 0;
}

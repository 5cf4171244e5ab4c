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
  const auto sums = read_imatrix_sums(fuzz::exact_source(fuzz::as_text(data, size)));
  if (!sums) return 0;  // sums of inputs are read by this alone
  FUZZ_LAW(sums->entries.size() == imatrix->weights.size());
  for (const auto& [name, entry] : sums->entries) {
    FUZZ_LAW(!entry.counts.empty() && entry.sums.size() % entry.counts.size() == 0);
    FUZZ_LAW(entry.input_sums.empty() || entry.input_sums.size() == entry.sums.size());
    FUZZ_LAW(entry.unseen() <= entry.counts.size());
  }
  return 0;
}

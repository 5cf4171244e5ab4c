// modelopt_state.pth: a zip with a pickle in it, read as data.
//
// The first byte says what the rest is: a whole file, or the pickle alone, so that the fuzzer need
// not learn the zip first.
#include "core/readers/pickle.h"
#include "fuzz/fuzz.h"
#include "transforms/modelopt_export/state.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ckpt;
  fuzz::Input input(data, size);
  const bool is_pickle = (input.byte() & 1) != 0;
  const auto view = input.rest();
  const std::vector<uint8_t> exact(view.begin(), view.end());
  const std::string_view bytes = fuzz::as_text(exact.data(), exact.size());
  if (is_pickle) {
    (void)Pickle::parse(bytes);
    return 0;
  }
  const auto state = read_modelopt_state(bytes);
  if (!state) return 0;
  for (const auto& [quantizer, format] : state->quantizers) FUZZ_LAW(!name(format).empty());
  return 0;
}

// A plan file: the words of a conversion, and what it was made from.
//
// Laws: what is read is written and read as the same words; reading it touches no file.
#include "fuzz/fuzz.h"
#include "plan/text/plan_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ckpt;
  const auto file = parse_plan_file(fuzz::as_text(data, size), "/folder");
  if (!file) {
    FUZZ_LAW(!file.error().what.empty());
    return 0;
  }
  const std::string text = render_plan_file(*file, Plan());
  const auto again = parse_plan_file(text, "/folder");
  FUZZ_LAW(again.has_value());
  FUZZ_LAW(again->version == file->version && again->digest == file->digest);
  FUZZ_LAW(again->conversion.in == file->conversion.in &&
           again->conversion.to == file->conversion.to);
  FUZZ_LAW(again->inputs.size() == file->inputs.size());
  FUZZ_LAW(render_plan_file(*again, Plan()) == text);
  return 0;
}

// The journal of a patch.
//
// Law: what is read stays inside the folder and is written and read as the same lines.
#include "core/io/open_folder.h"
#include "core/patch/journal.h"
#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ckpt;
  const auto journal = parse_journal(fuzz::as_text(data, size));
  if (!journal) return 0;
  for (const JournalLine& line : journal->lines) FUZZ_LAW(stays_inside(line.path));
  const std::string text = render_journal(*journal);
  const auto again = parse_journal(text);
  FUZZ_LAW(again.has_value() && again->of == journal->of && again->lines == journal->lines);
  FUZZ_LAW(render_journal(*again) == text);
  return 0;
}

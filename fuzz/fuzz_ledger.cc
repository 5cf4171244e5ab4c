// The ledger of a run.
//
// The sums that end batches are put right first, unless the input starts with '!': no mutation
// would find them. Laws: what counts is no longer than the file; a torn end takes entries away and
// changes none; another boot sees no more than this one.
#include "core/base/sha256.h"
#include "core/resume/ledger.h"
#include "fuzz/fuzz.h"

namespace {

using namespace ckpt;

constexpr std::string_view kBoot = "this-boot";

std::string with_sums(std::string_view text) {
  std::string out;
  size_t batch = 0;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    if (line.starts_with("= ") && end != text.npos) {
      Sha256 sha256;
      sha256.add(std::as_bytes(std::span(out).subspan(batch)));
      out += "= " + sha256.finish().substr(0, 16) + '\n';
      batch = out.size();
    } else {
      out += line;
      if (end != text.npos) out += '\n';
    }
  }
  return out;
}

bool is_same(const LedgerEntry& a, const LedgerEntry& b) {
  return a.kind == b.kind && std::equal(a.numbers, a.numbers + 4, b.numbers) &&
         a.sha256 == b.sha256;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text = fuzz::as_text(data, size);
  const bool is_raw = text.starts_with('!');
  if (is_raw) text.remove_prefix(1);
  const std::string bytes = is_raw ? std::string(text) : with_sums(text);
  const auto content = parse_ledger(bytes, kBoot);
  if (!content) return 0;
  FUZZ_LAW(content->sound_bytes <= bytes.size() && content->head.plan.size() == 64);
  const auto elsewhere = parse_ledger(bytes, "another-boot");
  FUZZ_LAW(elsewhere.has_value() && elsewhere->sound_bytes == content->sound_bytes);
  const auto torn = parse_ledger(std::string_view(bytes).substr(0, size / 2), kBoot);
  if (!torn) return 0;
  FUZZ_LAW(torn->sound_bytes <= content->sound_bytes);
  // Entries of a torn ledger count in the complete one too, unless another boot continued it.
  const size_t both = std::min(torn->entries.size(), content->entries.size());
  for (size_t i = 0; i < both; ++i) {
    if (!is_same(torn->entries[i], content->entries[i])) FUZZ_LAW(bytes.find("boot") != bytes.npos);
  }
  return 0;
}

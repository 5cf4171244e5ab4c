// Input of verification: a sigstore bundle, the statement in it, SHA256SUMS.
//
// The first byte chooses which. Laws: what is read is written and read as the same; nothing is
// verified by a key that did not sign it.
#include "fuzz/fuzz.h"
#include "publish/publish.h"

namespace {

using namespace ckpt;

// P-256, made for this test alone; its private half was thrown away.
constexpr std::string_view kKey =
    "-----BEGIN PUBLIC KEY-----\n"
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEQcItid+XesSrxZhqCPT6UllY/aW9\n"
    "4BxA7/3XyKp7WhTA2l6mJLeGyu549xUHkZLpDzv3w6Wk2xC1aPKis4NUMg==\n"
    "-----END PUBLIC KEY-----\n";

void bundle_of(std::string_view text) {
  const auto bundle = parse_bundle(text);
  if (!bundle) return;
  const auto again = parse_bundle(render_bundle(*bundle));
  FUZZ_LAW(again.has_value());
  FUZZ_LAW(again->payload == bundle->payload && again->signature == bundle->signature);
  FUZZ_LAW(again->certificates == bundle->certificates);
  FUZZ_LAW(!verify_with_key(*bundle, kKey));
  FUZZ_LAW(!verify_with_certificates(*bundle, {"", std::string(kKey)}));
  (void)parse_statement(bundle->payload);
}

void statement_of(std::string_view text) {
  const auto manifest = parse_statement(text);
  if (!manifest) return;
  FUZZ_LAW(parse_statement(render_statement(*manifest)).has_value());
}

void sums_of(std::string_view text) {
  const auto sums = parse_sha256sums(text);
  if (!sums) return;
  const std::string written = render_sha256sums(*sums);
  const auto again = parse_sha256sums(written);
  FUZZ_LAW(again.has_value() && again->size() == sums->size());
  FUZZ_LAW(render_sha256sums(*again) == written);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  switch (input.byte() % 3) {
    case 0:
      bundle_of(input.text());
      break;
    case 1:
      statement_of(input.text());
      break;
    default:
      sums_of(input.text());
      break;
  }
  return 0;
}

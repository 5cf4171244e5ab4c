// URLs, names and listings, as a person types them and as servers send them. Laws: a URL that was
// read is written as one that reads the same; no path of a listing leaves its folder.
#include <cstdint>
#include <string_view>

#include "core/io/open_folder.h"
#include "fuzz/fuzz.h"
#include "remote/hub.h"
#include "remote/root.h"
#include "remote/s3.h"

using namespace ckpt;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto url = parse_url(text);
  if (url) {
    const auto again = parse_url(url->text());
    CKPT_CHECK(again && again->text() == url->text() && again->is_same_origin(*url));
  }
  static const Url base = *parse_url("https://host/a/b?c");
  const auto resolved = resolve_url(base, text);
  if (resolved) CKPT_CHECK(parse_url(resolved->text()).has_value());
  if (text.find('\0') == text.npos) {
    const auto decoded = percent_decoded(percent_encoded(text));
    CKPT_CHECK(decoded && *decoded == text);
  }
  (void)percent_decoded(text);
  const auto hub = parse_hub_name(text);
  if (hub) CKPT_CHECK(hub->path.empty() || stays_inside(hub->path));
  const auto s3 = parse_s3_name(text);
  if (s3) CKPT_CHECK(s3->key.empty() || stays_inside(s3->key));
  RemoteRoot::Files of_hub, of_bucket, of_prefix, of_web;  // a path that is listed twice ends one
  (void)add_hub_page(text, of_hub);
  (void)add_s3_page(text, "", of_bucket);
  (void)add_s3_page(text, "a/b", of_prefix);
  (void)add_sums(text, of_web);
  for (const auto& files : {of_hub, of_bucket, of_prefix, of_web}) {
    for (const auto& [path, file] : files) CKPT_CHECK(path.empty() || check_listed_path(path));
  }
  return 0;
}

#include "remote/foreign_text.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <vector>

#include "core/base/printable.h"
#include "core/base/url_secrets.h"

namespace ckpt {
namespace {

// The proxy variables that libcurl reads.
constexpr auto kProxyVariables = std::to_array<const char*>(
    {"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"});

// The parts of `text` between any of the characters in `ends`.
std::vector<std::string> parts_between(std::string_view text, std::string_view ends) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of(ends), text.size());
    if (end > 0) out.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

// The password in base64 of "USER:PASSWORD"; "" for anything else.
std::string basic_password(const std::string& login) {
  std::string out(login.size() / 4 * 3 + 1, '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                   reinterpret_cast<const unsigned char*>(login.data()),
                                   static_cast<int>(login.size()));
  if (size < 0) return "";
  out.resize(std::min(out.size(), out.find('\0')));  // cuts the padding
  const size_t colon = out.find(':');
  return colon == out.npos ? "" : out.substr(colon + 1);
}

// The secrets in credentials, the longest first, so that no part of one remains after another.
std::vector<std::string> secrets_of(const HttpHeaders& credentials) {
  constexpr std::string_view kBasic = "Basic ";
  std::vector<std::string> out;
  for (const auto& [name, value] : credentials) {
    out.push_back(value);
    if (value.starts_with(kBasic)) out.push_back(basic_password(value.substr(kBasic.size())));
    for (const std::string& word : parts_between(value, " ,")) {
      const size_t equals = word.find('=');
      const bool is_field = equals != word.npos && word.find_first_not_of('=', equals) != word.npos;
      const bool is_scheme = word == "Bearer" || word == "Basic" || word == "AWS4-HMAC-SHA256";
      if (!is_scheme) out.push_back(is_field ? word.substr(equals + 1) : word);
    }
  }
  std::erase(out, "");
  std::ranges::sort(out, std::ranges::greater(), &std::string::size);
  return out;
}

// The parts of a proxy's login, as libcurl may split it; none if `proxy` has no login.
std::vector<std::string> login_parts(const std::string& proxy) {
  const std::string url = proxy.find("://") == proxy.npos ? "http://" + proxy : proxy;
  const size_t at = url.rfind('@');
  if (at == url.npos && without_url_secrets(url) == url) return {};
  const std::string_view login = std::string_view(url).substr(0, at);
  return parts_between(login.substr(login.find("://") + 3), ":/?#@[]\\");
}

}  // namespace

std::string foreign_text(std::string_view text, const HttpHeaders& credentials,
                         size_t limit_bytes) {
  std::string out(text);
  for (const std::string& secret : secrets_of(credentials)) {
    for (size_t at = out.find(secret); at != out.npos; at = out.find(secret, at + 3)) {
      out.replace(at, secret.size(), "...");
    }
  }
  return printable(std::string_view(without_url_secrets(out)).substr(0, limit_bytes));
}

bool has_proxy() {
  return std::ranges::any_of(kProxyVariables, [](const char* name) {
    const char* const proxy = std::getenv(name);
    return proxy != nullptr && *proxy != '\0';
  });
}

std::string curl_text(std::string_view words, std::string_view usual) {
  for (const char* const name : kProxyVariables) {
    const char* const proxy = std::getenv(name);
    if (proxy == nullptr) continue;
    const std::vector<std::string> parts = login_parts(proxy);
    const bool is_repeated = std::ranges::any_of(
        parts, [&](const std::string& part) { return words.find(part) != words.npos; });
    if (is_repeated) return fmt::format("{} ({} names the proxy)", printable(usual), name);
  }
  return foreign_text(words.empty() ? usual : words);
}

}  // namespace ckpt

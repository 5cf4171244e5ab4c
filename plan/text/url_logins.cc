#include "plan/text/url_logins.h"

#include "core/base/url_secrets.h"

namespace ckpt {

Status refuse_url_logins(const JsonText& json) {
  if (const auto text = json.as_text()) CKPT_TRY(refuse_url_login(*text));
  for (const JsonText& item : json.items()) CKPT_TRY(refuse_url_logins(item));
  for (const auto& [name, value] : json.members()) {
    CKPT_TRY(refuse_url_login(name));
    CKPT_TRY(refuse_url_logins(value));
  }
  return {};
}

}  // namespace ckpt

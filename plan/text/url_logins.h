// Recipes and plan files hold what could have been typed, and the same of it must not be repeated.
#pragma once

#include "core/json/json_edit.h"

namespace ckpt {

// Requires: no login in a URL in any text of `json`, names of members included. Fails: kUsage.
Status refuse_url_logins(const JsonText& json);

}  // namespace ckpt

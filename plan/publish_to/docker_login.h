// Who we are to a registry: from files and programs of `docker login` and `podman login`.
#pragma once

#include <string>

#include "core/base/result.h"

namespace ckpt {

struct RegistryLogin {
  std::string user, password;
  std::string identity_token;  // in place of both; exchanged for tokens

  bool is_known() const { return !user.empty() || !identity_token.empty(); }
};

// Of `host`, which may have a port; unknown where nobody logged in. $REGISTRY_AUTH_FILE, then
// $DOCKER_CONFIG/config.json or ~/.docker/config.json, then $XDG_RUNTIME_DIR/containers/auth.json.
// No part of it is in a message. Fails: kUsage for a file that is not JSON, a program that is
// missing or fails.
Result<RegistryLogin> registry_login(const std::string& host);

}  // namespace ckpt

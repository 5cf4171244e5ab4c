// Sends requests to a Hugging Face hub.
#pragma once

#include <string>
#include <string_view>

#include "remote/credentials.h"
#include "remote/http.h"

namespace ckpt {

// The parts of "hf://ORG/NAME[@REVISION][/PATH]".
struct HubName {
  std::string repository;  // "ORG/NAME"
  std::string revision;    // "" means main
  std::string path;        // "" means everything
};
// Fails: kUsage.
Result<HubName> parse_hub_name(std::string_view url);

// A request for `path` ("/api/models/org/name") with the token.
HttpRequest hub_request(const HubAccess& access, std::string_view path);
// Sends the request. Another status than 2xx is an error with the hub's message and a hint.
Result<HttpResponse> ask_hub(const HttpRequest& request);

// The current commit of a revision. Fails: kUsage if the repository or revision does not exist or
// access is denied.
Result<std::string> hub_commit(const HubAccess& access, const HubName& name);

}  // namespace ckpt

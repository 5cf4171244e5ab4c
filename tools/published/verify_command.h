// The command that checks what was just published.
#pragma once

#include <string>

#include "publish/publish.h"

namespace ckpt {

// Paths as they were typed; empty where they were not.
struct PublishedWith {
  std::string folder, key, certificate, password_file;
};
// A complete command line. Where no file next to the private key is its public half,
// openssl makes it first, under a name that is free.
std::string verify_command(const PublishedWith& with, const Signer& signer);

}  // namespace ckpt

// ckpt verify oci://HOST/NAME@sha256:HEX: an artifact in a registry.
#pragma once

#include <string>

#include "tools/say/console.h"
#include "tools/say/findings.h"

namespace ckpt {

bool is_artifact_address(const std::string& path);

// Reads every blob that the artifact names and compares sizes and digests. Fails: kUsage; kIo;
// kCorrupt for a manifest that is not one.
Status check_artifact(const std::string& address, const Console& console, Findings& findings);

}  // namespace ckpt

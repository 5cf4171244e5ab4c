// Places that a published folder is sent to: `ckpt publish DIR --to TARGET`.
//
//   shipment ─ list ─▶ what goes where           before anything is hashed, and for --dry-run
//            ─ send ─▶ blobs, parts ... and last the one thing that makes them visible
//
// A target is a file in this folder and a line in targets.cc. Nothing appears under its final name
// before everything is there; a rerun does not send again what a failed run has sent.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/io/bytes.h"
#include "core/io/files_read.h"
#include "plan/conversion/observer.h"
#include "publish/publish.h"

namespace ckpt {

struct Shipment {
  std::filesystem::path folder;
  // All published files, with the files that were made for them. Before hashing, sha256 is empty.
  std::vector<FileDigest> files;
  std::vector<FileState> states = {};  // of the files when they were hashed, in their order
  std::string as = {};                 // the form of an artifact: one of artifact_forms()

  bool has(std::string_view name) const {
    return std::ranges::find(files, name, &FileDigest::name) != files.end();
  }
};

// Opens a file of the shipment. Fails: kCorrupt if it changed since it was hashed; kIo.
Result<SharedSource> open_shipped(const Shipment& shipment, const std::string& name);
// Requires that no file changed since it was hashed; called before anything gets its final name.
// Fails: kCorrupt.
Status check_unchanged(const Shipment& shipment);

// The destination of a file; `file` is empty for items that a target adds itself.
struct Placement {
  std::string file, place;
  uint64_t size_bytes = 0;
};

struct SendOptions {
  bool force = false;  // replace what has the name already
  unsigned threads = 0;
  Observer* observer = nullptr;  // never null in send()
};

struct SentArtifact {
  std::string address;  // under which it can be fetched from now on
  std::string digest;   // of the manifest; empty if the target has none
  uint64_t sent_files = 0, sent_bytes = 0;
  uint64_t present_files = 0;  // were there already
  std::string text;            // to be shown: a Modelfile
};

struct PublishTarget {
  std::string_view prefix;  // of its addresses
  std::string_view form;    // "oci://HOST/NAME:TAG"
  std::string_view help;
  // Fails: kUsage for an address or a folder that the target does not accept.
  Result<std::vector<Placement>> (*list)(const std::string& address, const Shipment& shipment);
  // Requires: list() succeeded, digests are known. Fails: kUsage if something would be replaced;
  // kIo; kCorrupt for files that changed since they were hashed.
  Result<SentArtifact> (*send)(const std::string& address, const Shipment& shipment,
                               const SendOptions& options);
};

// "modelpack", "image", "ollama"; the first is the default.
std::span<const std::string_view> artifact_forms();

// "hf://ORG/NAME, oci://HOST/NAME:TAG, ...": of all targets.
std::string publish_target_forms();
// Fails: kUsage, listing the targets.
Result<const PublishTarget*> find_publish_target(const std::string& address);

}  // namespace ckpt

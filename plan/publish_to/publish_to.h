// Targets to which a published folder is sent: `ckpt publish DIR --to TARGET`.
//
//   shipment ─ list ─▶ what goes where           before hashing, and for --dry-run
//            ─ send ─▶ blobs, parts ... and finally the item that makes them visible
//
// A target is a file in this folder and a line in targets.cc. Nothing appears under its final name
// before all data has arrived; a rerun does not send again what a failed run has sent.
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
  // All published files and generated records. Before hashing, sha256 is empty.
  std::vector<FileDigest> files;
  std::vector<FileState> states = {};  // parallel to `files`, taken when hashing
  std::string as = {};                 // form of an artifact, from artifact_forms()

  bool has(std::string_view name) const {
    return std::ranges::find(files, name, &FileDigest::name) != files.end();
  }
};

// Opens a file of the shipment. Fails: kCorrupt if it changed after hashing; kIo.
Result<SharedSource> open_shipped(const Shipment& shipment, const std::string& name);
// Requires that no file changed after hashing. Called before anything gets its final name. Fails:
// kCorrupt.
Status check_unchanged(const Shipment& shipment);

// The destination of a file; `file` is empty for items that the target adds itself.
struct Placement {
  std::string file, place;
  uint64_t size_bytes = 0;
};

struct SendOptions {
  bool force = false;  // replace what already has the name
  unsigned threads = 0;
  Observer* observer = nullptr;  // never null in send()
};

struct SentArtifact {
  std::string address;  // address to fetch it from
  std::string digest;   // of the manifest; empty if the target has none
  uint64_t sent_files = 0, sent_bytes = 0;
  uint64_t present_files = 0;  // files that existed already
  std::string text;            // text to show: a Modelfile
};

struct PublishTarget {
  std::string_view prefix;  // that its addresses begin with
  std::string_view form;    // "oci://HOST/NAME:TAG"
  std::string_view help;
  // Fails: kUsage for an address or a folder that the target does not accept.
  Result<std::vector<Placement>> (*list)(const std::string& address, const Shipment& shipment);
  // Requires: list() succeeded, digests are known. Fails: kUsage if something would be replaced
  // without `force`; kIo; kCorrupt for files that changed after hashing.
  Result<SentArtifact> (*send)(const std::string& address, const Shipment& shipment,
                               const SendOptions& options);
};

// Returns "modelpack", "image", "ollama"; the first is the default.
std::span<const std::string_view> artifact_forms();

// The forms of all targets: "hf://ORG/NAME, oci://HOST/NAME:TAG, ...".
std::string publish_target_forms();
// Fails: kUsage; the message lists the targets.
Result<const PublishTarget*> find_publish_target(const std::string& address);

}  // namespace ckpt

// --to ollama[:NAME[:TAG]]: Ollama's local model folder, which its server may read at any time.
//
//   $OLLAMA_MODELS/blobs/sha256-HEX                        hard links to the published files
//   $OLLAMA_MODELS/manifests/HOST/NAMESPACE/MODEL/TAG      written last, by one rename
//
// Sources: ollama/ollama types/model/name.go, manifest/paths.go, envconfig/config.go.
#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>

#include "core/base/printable.h"
#include "core/base/sha256.h"
#include "core/engine/compare.h"
#include "core/io/open_folder.h"
#include "core/io/paths.h"
#include "core/io/remembered.h"
#include "core/io/shift.h"
#include "core/io/temporary.h"
#include "plan/publish_to/artifacts.h"
#include "remote/remote.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kOllamaPrefix = "ollama";
constexpr uint64_t kMaxOllamaManifestBytes = 4 << 20;

struct OllamaName {
  std::string host = "registry.ollama.ai", space = "library", model, tag = "latest";

  std::string shown() const {  // form for `ollama run`
    const bool is_default_host = host == "registry.ollama.ai";
    const std::string front = is_default_host ? (space == "library" ? "" : space + "/")
                                              : fmt::format("{}/{}/", host, space);
    return fmt::format("{}{}:{}", front, model, tag);
  }
  std::string manifest() const {  // path below the model folder
    return fmt::format("manifests/{}/{}/{}/{}", host, space, model, tag);
  }
};

bool is_name_part(std::string_view part, std::string_view also) {
  constexpr std::string_view kAlways =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
  if (part.empty() || part.size() > 80 || kAlways.find(part[0]) == kAlways.npos) return false;
  return std::ranges::all_of(
      part, [&](char c) { return kAlways.find(c) != kAlways.npos || also.find(c) != also.npos; });
}

// Parses the address; "ollama" alone uses the folder's name.
Result<OllamaName> parse_ollama_name(const std::string& address, const Shipment& shipment) {
  std::error_code error;
  std::string text = address.substr(std::min(kOllamaPrefix.size() + 1, address.size()));
  if (address == kOllamaPrefix) {
    const fs::path folder = (fs::absolute(shipment.folder, error) / "").lexically_normal();
    text = folder.parent_path().filename().string();
  }
  OllamaName name;
  const size_t colon = text.rfind(':'), slash = text.rfind('/');
  if (colon != text.npos && (slash == text.npos || colon > slash)) {
    name.tag = text.substr(colon + 1);
    text.resize(colon);
  }
  const auto take_last = [&](std::string& part) {
    const size_t at = text.rfind('/');
    part = at == text.npos ? text : text.substr(at + 1);
    text.resize(at == text.npos ? 0 : at);
    return at != text.npos;
  };
  // A host contains no further slash.
  if (take_last(name.model) && take_last(name.space)) name.host = text;
  const bool is_form = address == kOllamaPrefix || address[kOllamaPrefix.size()] == ':';
  if (is_form && is_name_part(name.host, "-.:") && is_name_part(name.space, "-") &&
      is_name_part(name.model, "-.") && is_name_part(name.tag, "-.")) {
    return name;
  }
  return misuse_hint("--to ollama:NAME:TAG",
                     "--to {}: '{}' is not a name in Ollama (letters, digits, '_', '-', '.'; at "
                     "most 80 characters)",
                     address, address == kOllamaPrefix ? name.model : address.substr(7));
}

// Returns $OLLAMA_MODELS or ~/.ollama/models. Fails: kUsage if it is not a folder.
Result<fs::path> ollama_folder() {
  const std::string models = environment("OLLAMA_MODELS"), home = environment("HOME");
  if (models.empty() && home.empty()) {
    return misuse_hint("OLLAMA_MODELS=DIR with the server's own folder",
                       "--to ollama: neither OLLAMA_MODELS nor HOME is set");
  }
  const fs::path folder = models.empty() ? fs::path(home) / ".ollama/models" : fs::path(models);
  std::error_code error;
  if (fs::is_directory(folder, error)) return folder;
  return misuse_hint(fmt::format("OLLAMA_MODELS=DIR with the server's own folder, or mkdir -p {}",
                                 shell_path(folder.string())),
                     "--to ollama: {}: expected Ollama's model folder", folder.string());
}

std::string blob_name(const std::string& sha256) { return "blobs/sha256-" + sha256; }

Result<std::vector<Placement>> list_ollama(const std::string& address, const Shipment& shipment) {
  CKPT_ASSIGN(const OllamaName name, parse_ollama_name(address, shipment));
  CKPT_ASSIGN(const fs::path folder, ollama_folder());
  CKPT_ASSIGN(const Artifact artifact, ollama_artifact(shipment));
  std::vector<Placement> out;
  for (const ArtifactLayer& layer : artifact.layers) {
    const std::string kind = layer.media_type.substr(layer.media_type.rfind('.') + 1);
    out.push_back(
        {layer.path, fmt::format("{} ({})", (folder / "blobs").string(), kind), layer.size_bytes});
  }
  out.push_back({"", (folder / name.manifest()).string(), 0});
  return out;
}

class OllamaStore {
 public:
  OllamaStore(const OpenFolder& folder, const Shipment& shipment, SentArtifact& sent)
      : folder_(folder), shipment_(shipment), sent_(sent) {}

  // Locks the folder until this object is destroyed: all runs share one temporary name, and no
  // other run may change names of models meanwhile.
  Status lock(Observer& observer) {
    const fs::path blobs = folder_.path() / "blobs";
    CKPT_ASSIGN(lock_, folder_.open_file("blobs", O_RDONLY | O_DIRECTORY));
    CKPT_ASSIGN(const bool is_locked, lock_for_run(lock_.get(), blobs));
    if (is_locked) return {};
    observer.note(fmt::format("{}: waiting for another ckpt that publishes into it",
                              folder_.path().string()));
    if (retried([&] { return ::flock(lock_.get(), LOCK_EX); }) == 0) return {};
    return io_failure(blobs, "cannot be locked", errno);
  }

  Status add_file(const ArtifactLayer& layer) {
    const fs::path from = shipment_.folder / layer.path;
    CKPT_ASSIGN(const bool exists, has(layer.sha256, layer.size_bytes, from));
    if (exists) return {};
    CKPT_TRY(folder_.remove(kTemporary));
    const auto digest = remembered_digest(from);
    if (!link_file(from, {folder_, kTemporary}, LinkWay::kHard)) {
      CKPT_TRY(folder_.remove(kTemporary));
      CKPT_TRY(check_room(folder_.path() / kTemporary, layer.size_bytes));
      CKPT_TRY(link_file(from, {folder_, kTemporary}, LinkWay::kReflink));
    }
    CKPT_TRY(publish_blob(layer.sha256, layer.size_bytes));
    if (digest) remember_digest(from, *digest);  // the hard link changed the inode's state
    return {};
  }

  Status add_content(const std::string& sha256, const std::string& content) {
    CKPT_ASSIGN(const bool exists, has(sha256, content.size()));
    if (exists) return {};
    CKPT_TRY(write_temporary(content));
    return publish_blob(sha256, content.size());
  }

  // Writes the manifest last, because it makes the model visible.
  Status add_manifest(const OllamaName& name, const std::string& content) {
    CKPT_TRY(folder_.make_folder(fs::path(name.manifest()).parent_path().string()));
    CKPT_TRY(folder_.sync("blobs"));
    CKPT_TRY(write_temporary(content));
    CKPT_TRY(publish(name.manifest()));
    return folder_.sync(fs::path(name.manifest()).parent_path().string());
  }

 private:
  static constexpr const char* kTemporary = "blobs/.ckpt-publish.partial";

  // Whether a valid blob exists. Its name proves nothing: a truncated, damaged or forged blob is
  // replaced. A hard link to `same` needs no hashing.
  Result<bool> has(const std::string& sha256, uint64_t size_bytes, const fs::path& same = {}) {
    std::error_code error;
    const fs::path path = folder_.path() / blob_name(sha256);
    if (fs::symlink_status(path, error).type() != fs::file_type::regular) return false;
    if (fs::file_size(path, error) != size_bytes) return false;
    if (same.empty() || !fs::equivalent(path, same, error)) {
      CKPT_ASSIGN(const std::string found, hash_file(path));
      if (found != sha256) return false;
    }
    ++sent_.present_files;
    return true;
  }
  Status write_temporary(const std::string& content) {
    CKPT_TRY(folder_.remove(kTemporary));
    return write_synced({folder_, kTemporary}, std::as_bytes(std::span(content)));
  }
  Status publish(const std::string& name) {
    CKPT_TRY(folder_.publish_mode(kTemporary));
    CKPT_TRY(folder_.rename(kTemporary, name));
    return folder_.publish_owner(name, folder_);
  }
  Status publish_blob(const std::string& sha256, uint64_t size_bytes) {
    CKPT_TRY(publish(blob_name(sha256)));
    ++sent_.sent_files;
    sent_.sent_bytes += size_bytes;
    return {};
  }

  const OpenFolder& folder_;
  const Shipment& shipment_;
  SentArtifact& sent_;
  Descriptor lock_;
};

// Rejects a name that leads to another model, unless `force` is set.
Status check_ollama_name(const OpenFolder& folder, const OllamaName& name,
                         const std::string& manifest, bool force) {
  CKPT_ASSIGN(const bool exists, is_there(folder.path() / name.manifest()));
  if (!exists || force) return {};
  const auto old = read_whole({folder, name.manifest()}, kMaxOllamaManifestBytes);
  if (old && *old == manifest) return {};
  return misuse_hint("--force to replace it, or another tag",
                     "--to ollama: {} exists already and is another model", name.shown());
}

Result<SentArtifact> send_to_ollama(const std::string& address, const Shipment& shipment,
                                    const SendOptions& options) {
  CKPT_ASSIGN(const OllamaName name, parse_ollama_name(address, shipment));
  CKPT_ASSIGN(const fs::path path, ollama_folder());
  CKPT_ASSIGN(const Artifact artifact, ollama_artifact(shipment));
  CKPT_ASSIGN(const OpenFolder folder, OpenFolder::open(path));
  SentArtifact sent;
  CKPT_TRY(folder.make_folder("blobs"));
  OllamaStore store(folder, shipment, sent);
  CKPT_TRY(store.lock(*options.observer));
  CKPT_TRY(check_ollama_name(folder, name, artifact.manifest, options.force));
  for (const ArtifactLayer& layer : artifact.layers) {
    if (!layer.path.empty()) CKPT_TRY(store.add_file(layer));
  }
  for (const auto& [sha256, content] : artifact.texts) {
    CKPT_TRY(store.add_content(sha256, content));
  }
  CKPT_TRY(check_unchanged(shipment));
  CKPT_TRY(store.add_manifest(name, artifact.manifest));
  sent.address = name.shown();
  sent.digest = sha256_of(artifact.manifest);
  sent.text = artifact.modelfile;
  return sent;
}

}  // namespace

extern const PublishTarget kToOllama{kOllamaPrefix, "ollama:NAME[:TAG]",
                                     "Ollama's model folder on this machine", list_ollama,
                                     send_to_ollama};

}  // namespace ckpt

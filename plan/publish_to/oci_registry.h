// One repository of an OCI registry: blobs by digest, manifests by tag.
//
//   HEAD blob ─▶ 200: exists          POST uploads ─▶ session ─▶ PATCH, PATCH ... ─▶ PUT ?digest=
//                                                       ▲ interrupted: GET of the session gives the
//                                                       size
//
// The session's URL is kept for the next run, in case this one is killed.
//
// Source: opencontainers/distribution-spec spec.md (2026-07-16), distribution/distribution v3.1.2.
#pragma once

#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "remote/remote.h"

namespace ckpt {

class UploadNote;

struct OciAddress {
  Url registry;            // http on this machine, https otherwise
  std::string repository;  // "org/name"
  std::string tag;
  std::string digest;         // "sha256:HEX", or empty
  std::string host() const;   // with the port unless it is the default
  std::string shown() const { return host() + "/" + repository; }
};
// Parses "oci://HOST[:PORT]/NAME[:TAG][@sha256:HEX]"; needs a tag or a digest. Fails: kUsage.
Result<OciAddress> parse_oci_address(const std::string& address);

// The login for a registry (docker_login.cc).
struct RegistryLogin {
  std::string user, password;
  std::string identity_token;  // replaces user and password; exchanged for tokens

  bool is_known() const { return !user.empty() || !identity_token.empty(); }
};

// Finds the login for `host`, which may include a port; empty if nobody logged in. Searches
// $REGISTRY_AUTH_FILE, $DOCKER_CONFIG/config.json or ~/.docker/config.json, then
// $XDG_RUNTIME_DIR/containers/auth.json. Messages never contain any part of it. Fails: kUsage for a
// file that is not JSON, or a helper program that is missing or fails.
Result<RegistryLogin> registry_login(const std::string& host);

// Accesses a repository. Thread-safe.
class OciRepository {
 public:
  OciRepository(OciAddress address, RegistryLogin login)
      : address_(std::move(address)), login_(std::move(login)) {}

  // `reference` is a tag or a digest. The caller must check that the bytes have that digest.
  Result<std::string> read_manifest(const std::string& reference);
  // Passes the bytes of a blob to `to`, in order. Fails: kCorrupt if the registry lacks the blob or
  // has another size; as requests do; as `to` does.
  Status read_blob(const std::string& digest, uint64_t size_bytes,
                   const std::function<Status(std::span<const std::byte>)>& to);
  Result<bool> has_blob(const std::string& sha256);
  // Requires: body.read() always gives the same bytes. Fails: kCorrupt if the registry computes
  // another digest; as requests do; kUsage if it rejects the login.
  Status put_blob(const std::string& sha256, const HttpBody& body);
  // The digest that the tag names ("sha256:HEX"); empty if the tag does not exist.
  Result<std::string> tagged();
  // `reference` is a tag, or the digest of `content`. The manifest with the tag is sent last,
  // because it makes the artifact visible. Fails: kCorrupt if the registry stored another digest.
  Status put_manifest(const std::string& reference, std::string_view content,
                      std::string_view media_type);

 private:
  Result<HttpResponse> send(HttpRequest request);
  Status log_in(const HttpResponse& refusal);
  Result<std::string> fetch_token(const std::string& challenge, const Url& refused_by);
  HttpRequest request(std::string method, const std::string& below) const;
  Result<Url> begin_upload();
  Status put_whole(const std::string& sha256, const HttpBody& body);
  Status finish_upload(const Url& session, const std::string& sha256, const HttpBody& body);
  struct Session;
  Result<bool> send_chunk(Session& session, const HttpBody& body);
  Status begin(Session& session);
  Status find_place(Session& session);
  Status put_chunks(Session& session, const std::string& sha256, const HttpBody& body,
                    const UploadNote& note);

  const OciAddress address_;
  const RegistryLogin login_;
  std::mutex mutex_;
  std::string authorization_;  // header value; empty until requested
};

}  // namespace ckpt

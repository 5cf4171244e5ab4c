// Files with which others verify published files: sums, signatures, pointers, records. Functions
// take and return text; core hashes and writes.
//
//   digests ──▶ SHA256SUMS            for sha256sum -c
//           ──▶ manifest ─▶ statement ─▶ bundle     model.sig, an OpenSSF model signature
//           ──▶ LFS pointers           for a git repository with weights elsewhere
//           ──▶ provenance.json        inputs and outputs
//   files   ──▶ archive               all files in one (publish/archive.h)
//           ──▶ artifact              blobs and manifests for registries (publish/artifact.h)
//
// docs/PUBLISHING.md describes the formats and their sources.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/io/folder.h"
#include "publish/archive.h"
#include "publish/artifact.h"

namespace ckpt {

// One file of a published folder.
struct FileDigest {
  std::string name;    // relative, with '/'
  std::string sha256;  // 64 lower-case hex digits
  uint64_t size_bytes = 0;
  std::string git_id = {};  // for a file that a hub lists by it (core/base/git_id.h)
  std::string fault = {};   // why the digest is missing
};

inline constexpr std::string_view kSumsName = "SHA256SUMS";
inline constexpr std::string_view kSignatureName = "model.sig";
inline constexpr std::string_view kProvenanceName = "provenance.json";

// ---- SHA256SUMS ------------------------------------------------------------------------------
// Lines sorted by name, in the form that sha256sum prints.
std::string render_sha256sums(std::vector<FileDigest> files);
// One line of SHA256SUMS without its end, which sha256sum -c can read for any name.
std::string sums_line(const std::string& name, const std::string& sha256);
// Parses both forms: "hex  name" and "SHA256 (name) = hex". Sizes are unknown (0); repeated lines
// count once. Fails: kCorrupt, naming the line.
Result<std::vector<FileDigest>> parse_sha256sums(std::string_view text);

// ---- Git LFS ---------------------------------------------------------------------------------
std::string render_lfs_pointer(const FileDigest& file);

// ---- OpenSSF model signature -----------------------------------------------------------------
// The signed files, and the ignored paths.
struct Manifest {
  std::string model;  // the folder's name; informational
  // Relative paths that may be unsigned, folders with their entire content; nullopt: not declared.
  std::optional<std::vector<std::string>> ignored;
  std::vector<FileDigest> files;  // sizes are not included
};
// Renders a compact in-toto statement, with files in the byte order of their names.
std::string render_statement(Manifest manifest);
// Fails: kCorrupt; kUnsupported for another hash or method than "files" with "sha256".
Result<Manifest> parse_statement(std::string_view json);

// A sigstore bundle around a DSSE envelope.
struct Bundle {
  std::string payload;                    // the statement's bytes, as signed
  std::string signature;                  // ECDSA, DER
  std::string key_hint;                   // SHA-256 of the public key's PEM, hex; or empty
  std::vector<std::string> certificates;  // DER, the signer's first; empty for a key
};
std::string render_bundle(const Bundle& bundle);
Result<Bundle> parse_bundle(std::string_view json);

// The signer. Keys are PEM: SEC1 or PKCS#8, possibly encrypted, on P-256, P-384 or P-521.
struct Signer {
  std::string private_key_pem;
  std::string password;         // for an encrypted key
  std::string certificate_pem;  // the signer's, then its issuers'; empty: the key only
};
// Fails: kUnsupported for other kinds of key, by name; kUsage if key and certificate differ and, as
// for verifying, if OpenSSL's configuration has no provider for the key.
Result<Bundle> sign(std::string payload, const Signer& signer);
// Whether `known` and `made` sign the same payload with the same key and certificates, and `known`
// verifies. Two ECDSA signatures of one payload differ.
bool is_same_signature(const Bundle& known, const Bundle& made, const Signer& signer);

// Fail: kUsage.
Status check_public_key(std::string_view pem);
Status check_certificates(std::string_view pem);
// Fails: kCorrupt if another key made the signature.
Status verify_with_key(const Bundle& bundle, std::string_view public_key_pem);
// The trusted party: the signer's own certificate, or authorities that issued it through a chain;
// if both are given, both are required.
struct Trust {
  std::string certificate_pem;  // the signer's own, or one of its issuers
  std::string authorities_pem;
};
// Verifies at the time from which the signer's certificate is valid, as the reference does. Returns
// the subject of the signer's certificate. Fails: kCorrupt.
Result<std::string> verify_with_certificates(const Bundle& bundle, const Trust& trust);

std::string base64(std::string_view bytes);
// Decodes the standard alphabet with padding; nullopt for other input.
std::optional<std::string> from_base64(std::string_view text);

// ---- provenance ------------------------------------------------------------------------------
inline constexpr std::string_view kBuilderId = "urn:ckpt";
struct Provenance {
  std::vector<FileDigest> made;
  struct Input {
    std::string name;
    std::vector<FileDigest> files;
  };
  std::vector<Input> inputs;
  std::string recipe;   // JSON text, or ""
  std::string command;  // as typed, or ""
  std::string tool_version;
  std::string time;  // "2026-01-31T12:00:00Z", or "" for no time
};
// Renders an in-toto statement of SLSA provenance. Fails: kCorrupt: the recipe is not JSON.
Result<std::string> render_provenance(const Provenance& provenance);

// ---- what is not published -------------------------------------------------------------------
// git's own files, which sums and signatures of a folder never cover: exactly the paths that
// sigstore/model-transparency 1.1.1 ignores by default.
PathSet unpublished_paths();

// Files that ckpt keeps next to checkpoints, recognized by name.
//
//   kRecord     .NAME.ckpt-made, of convert --if-needed: paths, times and inodes of this machine
//   kLeftover   NAME.partial, NAME.partial.ledger, .ckpt-NAME, .NAME.ckpt-patch, and their content:
//               from work that is running or was interrupted
enum class OwnFile : uint8_t { kNone, kRecord, kLeftover };
inline constexpr std::string_view kRecordEnding = ".ckpt-made";
OwnFile own_file(const std::filesystem::path& path);

// The files that can be published: all but unpublished_paths(), `ignored` and records. Fails: as
// list_folder().
Result<std::vector<FolderEntry>> list_publishable(const std::filesystem::path& folder,
                                                  const PathSet& ignored = {});

}  // namespace ckpt

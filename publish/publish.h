// Files that let others check published files: sums, signatures, pointers, records. Functions take
// and return text; core hashes and writes.
//
//   digests ──▶ SHA256SUMS            sha256sum -c agrees
//           ──▶ manifest ─▶ statement ─▶ bundle     model.sig, an OpenSSF model signature
//           ──▶ LFS pointers           for a git repository whose weights live elsewhere
//           ──▶ provenance.json        what was made from what
//   files   ──▶ archive               all of it in one file (publish/archive.h)
//           ──▶ artifact              blobs and manifests for registries (publish/artifact.h)
//
// Formats and their sources: docs/PUBLISHING.md.
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
  std::string git_id = {};  // core/base/git_id.h, of a file that a hub lists by it
  std::string fault = {};   // why the digest is missing
};

inline constexpr std::string_view kSumsName = "SHA256SUMS";
inline constexpr std::string_view kSignatureName = "model.sig";
inline constexpr std::string_view kProvenanceName = "provenance.json";

// ---- SHA256SUMS ------------------------------------------------------------------------------
// Lines sorted by name, in the form that sha256sum prints.
std::string render_sha256sums(std::vector<FileDigest> files);
// One line of it, without its end, which sha256sum -c can read for any name.
std::string sums_line(const std::string& name, const std::string& sha256);
// Both forms: "hex  name" and "SHA256 (name) = hex"; sizes are unknown (0); a line that says
// the same again counts once. Fails: kCorrupt, naming the line.
Result<std::vector<FileDigest>> parse_sha256sums(std::string_view text);

// ---- Git LFS ---------------------------------------------------------------------------------
std::string render_lfs_pointer(const FileDigest& file);

// ---- OpenSSF model signature -----------------------------------------------------------------
// The signed files, and the ignored paths.
struct Manifest {
  std::string model;  // the folder's name; informational
  // Relative paths that may be unsigned, folders with their entire content; nullopt: not declared.
  std::optional<std::vector<std::string>> ignored;
  std::vector<FileDigest> files;  // sizes are not part of it
};
// An in-toto statement, compact; files in the order of their names' bytes.
std::string render_statement(Manifest manifest);
// Fails: kCorrupt; kUnsupported for a hash or a method that is not "files" with "sha256".
Result<Manifest> parse_statement(std::string_view json);

// A sigstore bundle around a DSSE envelope.
struct Bundle {
  std::string payload;                    // the statement's bytes, as signed
  std::string signature;                  // ECDSA, DER
  std::string key_hint;                   // SHA-256 of the public key's PEM, hex; or empty
  std::vector<std::string> certificates;  // DER, the signer's first; empty when signed by a key
};
std::string render_bundle(const Bundle& bundle);
Result<Bundle> parse_bundle(std::string_view json);

// Who signs. Keys are PEM: SEC1 or PKCS#8, perhaps encrypted, on P-256, P-384 or P-521.
struct Signer {
  std::string private_key_pem;
  std::string password;         // of an encrypted key
  std::string certificate_pem;  // the signer's, then its issuers'; empty to sign with the key only
};
// Fails: kUnsupported for other kinds of key, by name; kUsage if key and certificate differ, and,
// as for verifying, if the configuration of OpenSSL has no provider for the key.
Result<Bundle> sign(std::string payload, const Signer& signer);
// Whether `known` says what `made` by `signer` says: of the same payload, by the same key and
// certificates, with a signature that verifies. ECDSA signatures of one payload differ.
bool is_same_signature(const Bundle& known, const Bundle& made, const Signer& signer);

// Fail: kUsage.
Status check_public_key(std::string_view pem);
Status check_certificates(std::string_view pem);
// Fails: kCorrupt if the signature is not by that key.
Status verify_with_key(const Bundle& bundle, std::string_view public_key_pem);
// Whom to trust: the signer's own certificate, or authorities that a chain must lead to; if both
// are given, both are required.
struct Trust {
  std::string certificate_pem;  // the signer's own, or one that issued it
  std::string authorities_pem;
};
// Checked at the time from which the signer's certificate is valid, as the reference does. Returns
// the subject of the signer's certificate. Fails: kCorrupt.
Result<std::string> verify_with_certificates(const Bundle& bundle, const Trust& trust);

std::string base64(std::string_view bytes);
// Standard alphabet, padded; nullopt for other input.
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
  std::string recipe;   // JSON text, or empty
  std::string command;  // as typed, or empty
  std::string tool_version;
  std::string time;  // "2026-01-31T12:00:00Z", or empty: no time at all
};
// An in-toto statement of SLSA provenance, indented. Fails: kCorrupt: the recipe is not JSON.
Result<std::string> render_provenance(const Provenance& provenance);

// ---- what is not published -------------------------------------------------------------------
// git's own files, which sums and signatures of a folder never cover: exactly the paths that
// sigstore/model-transparency 1.1.1 ignores by default.
PathSet unpublished_paths();

// Files that ckpt keeps for itself next to checkpoints, by their names.
//
//   kRecord     .NAME.ckpt-made, of convert --if-needed: paths, times and inodes of this machine
//   kLeftover   NAME.partial, NAME.partial.ledger, .ckpt-NAME, .NAME.ckpt-patch, and what is inside
//               them: of work that is under way or was interrupted
enum class OwnFile : uint8_t { kNone, kRecord, kLeftover };
inline constexpr std::string_view kRecordEnding = ".ckpt-made";
OwnFile own_file(const std::filesystem::path& path);

// The files that could be published: all but unpublished_paths(), `ignored` and records. Fails: as
// list_folder().
Result<std::vector<FolderEntry>> list_publishable(const std::filesystem::path& folder,
                                                  const PathSet& ignored = {});

}  // namespace ckpt

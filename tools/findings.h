// What verify finds: files against a list of digests, and who signed.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/folder.h"
#include "publish/publish.h"
#include "tools/console.h"

namespace ckpt {

inline constexpr uint64_t kMaxSumsBytes = 256 << 20;  // a sums file, a bundle

// Says each finding and counts the bad ones.
class Findings {
 public:
  explicit Findings(const Console& console) : console_(console) {}
  void bad(std::string_view what, std::string_view found);
  void good(std::string_view what, std::string_view found);
  uint64_t bad_count() const { return bad_; }

 private:
  const Console& console_;
  uint64_t bad_ = 0;
};

// What a list (sums, a signature) says of a folder, beside what is there.
struct Listing {
  std::string_view name;  // of the list, for messages
  std::vector<FileDigest> listed;
  std::vector<std::string> ignored;  // may be there without being listed
  bool says_good = false;            // a line for each file that agrees
};
// One finding for each file that is changed, missing, extra, renamed or no file.
void check_listed(const Listing& listing, const std::vector<FileDigest>& files,
                  const std::vector<FolderEntry>& entries, Findings& findings);

// PEM files that say whose signature is trusted; empty where not given.
struct TrustFiles {
  std::string public_key, certificate, authorities;
  bool is_given() const {
    return !public_key.empty() || !certificate.empty() || !authorities.empty();
  }
};
// What a model signature covers, when it is by whom it must be; nullopt, after a finding, when it
// is not. `bundle` is its text, `where` its name in findings. Fails: kUsage; kUnsupported; kIo.
Result<std::optional<Manifest>> check_signature(std::string_view where, std::string_view bundle,
                                                const TrustFiles& trusted, Findings& findings);

// A whole file of at most kMaxSumsBytes.
Result<std::string> read_whole(const std::filesystem::path& path);

}  // namespace ckpt

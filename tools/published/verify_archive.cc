#include "tools/published/verify_archive.h"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "core/base/sha256.h"
#include "core/io/buffers.h"
#include "core/io/files_read.h"
#include "core/io/remembered.h"
#include "core/outputs/file_writer.h"
#include "core/outputs/place.h"
#include "tools/line/commands.h"
#include "tools/published/archive.h"
#include "tools/published/published_files.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

// Limit for sums and signatures in memory; even those of a million files with long names fit.
constexpr uint64_t kMaxKeptBytes = 64 << 20;

// Collects the digests of all members, and the contents of sums and signatures.
class Contents final : public TarSink {
 public:
  Status begin(const TarMember& member) override {
    is_folder_ = member.is_folder;
    if (is_folder_) return {};
    entries.push_back({member.name, FolderEntry::Kind::kFile, member.size_bytes});
    files.push_back({member.name, {}, member.size_bytes});
    const bool is_inner = member.name.ends_with("/" + std::string(kSumsName));
    kept_ = member.name == kSumsName        ? &sums.emplace()
            : member.name == kSignatureName ? &signature.emplace()
            : is_inner                      ? &inner_sums[member.name]
                                            : nullptr;
    kept_bytes_ += kept_ != nullptr ? member.size_bytes : 0;
    if (kept_bytes_ > kMaxKeptBytes) {
      return unsupported("{} of {} bytes; expected at most {} of sums and signatures", member.name,
                         member.size_bytes, kMaxKeptBytes);
    }
    hash_ = Sha256();
    return {};
  }
  Status add(std::span<const std::byte> content) override {
    if (kept_ != nullptr) {
      kept_->append(reinterpret_cast<const char*>(content.data()), content.size());
    }
    hash_.add(content);
    return {};
  }
  Status end() override {
    if (is_folder_) return {};
    size_bytes += files.back().size_bytes;
    files.back().sha256 = hash_.finish();
    return {};
  }

  std::vector<FolderEntry> entries;
  std::vector<FileDigest> files;
  std::optional<std::string> sums, signature;
  std::map<std::string, std::string> inner_sums;  // sums of inner folders by name
  uint64_t size_bytes = 0;

 private:
  bool is_folder_ = false;
  std::string* kept_ = nullptr;
  uint64_t kept_bytes_ = 0;
  Sha256 hash_;
};

// The second reading: extracts the wanted members into a temporary folder, which gets its final
// name only if all is well. No other member is ever written to disk.
class UnpackingSink final : public TarSink {
 public:
  // `wanted` maps names to digests.
  static Result<std::unique_ptr<UnpackingSink>> make(const std::string& folder,
                                                     std::map<std::string, std::string> wanted) {
    std::unique_ptr<UnpackingSink> out(new UnpackingSink(std::move(wanted)));
    out->output_.path = folder;
    while (!out->output_.path.has_filename()) out->output_.path = out->output_.path.parent_path();
    out->output_.layout.is_folder = true;
    ::rmdir(out->output_.path.c_str());  // removes an empty folder; others stay and are named below
    const auto check = [&] {
      return check_temporary_folder(
          out->output_, [&](const std::string& path) { return out->wanted_.contains(path); });
    };
    CKPT_ASSIGN(Place place, Place::make(out->output_, false, Leftovers::kRemove, check));
    out->place_.emplace(std::move(place));
    return out;
  }

  Status begin(const TarMember& member) override {
    current_ = member.is_folder ? wanted_.end() : wanted_.find(member.name);
    if (current_ == wanted_.end()) return {};
    OutputFile file;
    file.path = member.name;
    file.size_bytes = member.size_bytes;
    CKPT_ASSIGN(NewFile opened, place_->make_file(file, FileMode{}.open_flags()));
    CKPT_ASSIGN(writer_, FileWriter::create(std::move(opened), member.size_bytes, pool_));
    output_.layout.files.push_back(std::move(file));
    written_bytes_ = 0;
    return {};
  }
  Status add(std::span<const std::byte> content) override {
    if (current_ == wanted_.end()) return {};
    if (written_bytes_ == 0) {
      writer_->hold_head(content.first(std::min(kHeadBytes, content.size())));
    }
    Piece piece = make_piece(pool_, written_bytes_, content.size());
    std::ranges::copy(content, piece.bytes.begin());
    written_bytes_ += content.size();
    return writer_->put(std::move(piece));
  }
  Status end() override {
    if (current_ == wanted_.end()) return {};
    CKPT_ASSIGN(const std::string digest, writer_->finish());
    if (digest == current_->second) return {};
    return changed();
  }

  Status publish() {
    if (output_.layout.files.size() != wanted_.size()) return changed();
    CKPT_TRY(place_->publish());
    for (const auto& [name, digest] : wanted_) remember_digest(output_.path / name, digest);
    return {};
  }

 private:
  explicit UnpackingSink(std::map<std::string, std::string> wanted) : wanted_(std::move(wanted)) {}
  static Failure changed() {
    return fail(ErrorCode::kIo, "the archive was changed while it was unpacked");
  }

  std::map<std::string, std::string> wanted_;
  std::map<std::string, std::string>::const_iterator current_;
  Output output_;
  std::optional<Place> place_;
  BufferPool pool_;
  std::unique_ptr<FileWriter> writer_;
  uint64_t written_bytes_ = 0;
};

// Requires that the name is free or belongs to an empty folder.
Status check_new(fs::path folder) {
  while (!folder.has_filename() && folder.has_relative_path()) folder = folder.parent_path();
  CKPT_ASSIGN(const bool exists, is_there(folder));
  if (!exists) return {};
  std::error_code error;
  const bool is_folder = fs::symlink_status(folder, error).type() == fs::file_type::directory;
  if (is_folder && fs::is_empty(folder, error) && !error) return {};
  return misuse("--unpack {}: exists already; expected a new or empty folder", folder.string());
}

// The files that the signature lists; nullopt, after a note, if no trusted signer was given.
Result<std::optional<Listing>> read_signature(const VerifyQuestion& question,
                                              const Contents& contents, const Console& console,
                                              Findings& findings) {
  const bool is_outside = !question.signature.empty();
  const std::string where =
      is_outside ? question.signature : fmt::format("{}: {}", question.path, kSignatureName);
  if (!question.trusted.is_given()) {
    if (contents.signature) {
      findings.not_checked(fmt::format("{} not checked", kSignatureName));
      console.talk("{}: not checked; say whose it must be with --public-key, --certificate or --ca",
                   where);
    }
    return std::nullopt;
  }
  std::optional<std::string> bundle = contents.signature;
  if (is_outside) CKPT_SET(bundle, read_small(question.signature, kMaxSumsBytes));
  CKPT_ASSIGN(auto listing, check_signature(where, bundle, question.trusted, findings));
  if (listing && !is_outside) listing->own_files.emplace(kSignatureName);
  return listing;
}

Result<Listings> read_lists(const VerifyQuestion& question, const Contents& contents,
                            const Console& console, Findings& findings) {
  Listings out{{}, {question.ignored.begin(), question.ignored.end()}};
  CKPT_ASSIGN(auto signed_files, read_signature(question, contents, console, findings));
  if (signed_files) out.all.push_back(std::move(*signed_files));
  if (contents.sums) {
    auto sums =
        read_sums(fmt::format("{}: {}", question.path, kSumsName), *contents.sums, findings);
    if (sums) out.all.push_back(std::move(*sums));
  }
  for (const auto& [name, text] : contents.inner_sums) {
    if (is_ignored(name, out.ignored)) continue;
    const std::string folder = name.substr(0, name.rfind('/') + 1);
    auto sums = read_sums(fmt::format("{}: {}", question.path, name), text, findings, folder);
    if (sums) out.all.push_back(std::move(*sums));
  }
  return out;
}

// The members to unpack: covered files, and the lists themselves.
std::map<std::string, std::string> wanted_files(const Listings& listings,
                                                const Contents& contents) {
  std::set<std::string> names = covered_names(listings);
  names.emplace(kSumsName);
  names.emplace(kSignatureName);
  std::map<std::string, std::string> out;
  for (const FileDigest& file : contents.files) {
    if (names.contains(file.name)) out.emplace(file.name, file.sha256);
  }
  return out;
}

}  // namespace

void note_patterns(const VerifyQuestion& question, const std::vector<FolderEntry>& entries,
                   const Console& console) {
  if (question.ignored.empty()) return;
  std::set<std::string_view> paths;
  for (const FolderEntry& entry : entries) paths.insert(entry.path);
  for (const std::string& path : question.ignored) {
    const std::string folder = path + "/";
    const auto inside = paths.lower_bound(folder);
    const bool is_used =
        paths.contains(path) || (inside != paths.end() && inside->starts_with(folder));
    if (is_used || path.find_first_of("*?[") == path.npos) continue;
    console.warn("--ignore {}: a path, not a pattern, and nothing in {} has it", path,
                 question.path);
  }
}

Status check_archive(const VerifyQuestion& question, const Console& console,
                     const CommonOptions& common, Findings& findings) {
  if (!question.unpack.empty()) CKPT_TRY(check_new(question.unpack));
  const std::string& path = question.path;
  ArchiveOptions options{.threads = common.threads, .memory_bytes = common.memory_bytes};
  CKPT_ASSIGN(const SharedSource source, open_file(question.path));
  Contents contents;
  CKPT_TRY(read_archive(*source, contents, console, options));
  CKPT_TRY(check_files_read());
  note_patterns(question, contents.entries, console);
  findings.good(path, fmt::format("a sound archive of {} files, {}", contents.files.size(),
                                  human_bytes(contents.size_bytes)));
  findings.checked("the archive");
  CKPT_ASSIGN(const auto listings, read_lists(question, contents, console, findings));
  check_listings(listings, contents.files, contents.entries, findings);
  report_uncovered(listings, contents.entries, findings);
  if (listings.all.empty() && findings.bad_count() == 0) {
    findings.not_checked(fmt::format("no {} in it that says what the files must be", kSumsName));
  }
  if (question.unpack.empty()) return {};
  if (findings.bad_count() != 0) {
    console.talk("{}: not made", question.unpack);
    return {};
  }
  if (listings.all.empty()) {
    return misuse_hint(fmt::format("ckpt verify {}, without --unpack", shell_path(path)),
                       "{}: no {} in it; only what that or a signature lists is unpacked", path,
                       kSumsName);
  }
  CKPT_ASSIGN(auto unpacking,
              in("--unpack " + question.unpack,
                 UnpackingSink::make(question.unpack, wanted_files(listings, contents))));
  options.doing = "unpacking";
  CKPT_TRY(read_archive(*source, *unpacking, console, options));
  return in(path, unpacking->publish());
}

}  // namespace ckpt

#include "tools/verify_archive.h"

#include <algorithm>

#include "core/buffers.h"
#include "core/file_writer.h"
#include "core/place.h"
#include "core/sha256.h"
#include "tools/archive.h"
#include "tools/folder_digests.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

// Sums and signatures of archives, kept in memory: a million files with long names have less.
constexpr uint64_t kMaxKeptBytes = 64 << 20;

// The files of an archive below a folder that carries its name only when all is well.
class Unpacking {
 public:
  static Result<std::unique_ptr<Unpacking>> make(const std::string& folder) {
    std::error_code error;
    if (fs::exists(fs::symlink_status(folder, error))) {
      return fail(ErrorCode::kUsage, "--unpack {}: exists already; expected a new folder", folder);
    }
    std::unique_ptr<Unpacking> out(new Unpacking);
    out->output_.path = folder;
    while (!out->output_.path.has_filename()) out->output_.path = out->output_.path.parent_path();
    out->output_.layout.is_folder = true;
    CKPT_ASSIGN(Place place, Place::make(out->output_, false));
    out->place_.emplace(std::move(place));
    return out;
  }

  Status begin(const TarMember& member) {
    OutputFile file;
    file.path = member.name;
    file.size_bytes = member.size_bytes;
    CKPT_ASSIGN(NewFile opened, place_->make_file(file, FileMode{}.open_flags()));
    CKPT_ASSIGN(writer_, FileWriter::create(std::move(opened), member.size_bytes, pool_));
    output_.layout.files.push_back(std::move(file));
    written_bytes_ = 0;
    return {};
  }
  Status add(std::span<const std::byte> content) {
    Piece piece = make_piece(pool_, written_bytes_, content.size());
    std::copy(content.begin(), content.end(), piece.bytes.begin());
    written_bytes_ += content.size();
    return writer_->put(std::move(piece));
  }
  Result<std::string> end() { return writer_->finish(); }

  Status publish(const std::vector<FileDigest>& files) {
    CKPT_TRY(place_->publish());
    for (const FileDigest& file : files) remember_digest(output_.path / file.name, file.sha256);
    return {};
  }

 private:
  Unpacking() = default;
  Output output_;
  std::optional<Place> place_;
  BufferPool pool_;
  std::unique_ptr<FileWriter> writer_;
  uint64_t written_bytes_ = 0;
};

// Digests of all that an archive holds, and the files that speak of them.
class Contents final : public TarSink {
 public:
  explicit Contents(Unpacking* unpacking) : unpacking_(unpacking) {}

  Status begin(const TarMember& member) override {
    is_folder_ = member.is_folder;
    if (is_folder_) return {};  // made with the files that lie in it
    entries.push_back({member.name, FolderEntry::Kind::kFile, member.size_bytes});
    files.push_back({member.name, {}, member.size_bytes});
    kept_ = member.name == kSumsName        ? &sums.emplace()
            : member.name == kSignatureName ? &signature.emplace()
                                            : nullptr;
    if (kept_ != nullptr && member.size_bytes > kMaxKeptBytes) {
      return fail(ErrorCode::kUnsupported, "{} of {} bytes; expected at most {}", member.name,
                  member.size_bytes, kMaxKeptBytes);
    }
    if (unpacking_ != nullptr) return unpacking_->begin(member);
    hash_ = Sha256();
    return {};
  }
  Status add(std::span<const std::byte> content) override {
    if (kept_ != nullptr) {
      kept_->append(reinterpret_cast<const char*>(content.data()), content.size());
    }
    if (unpacking_ != nullptr) return unpacking_->add(content);
    hash_.add(content);
    return {};
  }
  Status end() override {
    if (is_folder_) return {};
    size_bytes += files.back().size_bytes;
    if (unpacking_ == nullptr) {
      files.back().sha256 = hash_.finish();
      return {};
    }
    CKPT_ASSIGN(files.back().sha256, unpacking_->end());
    return {};
  }

  std::vector<FolderEntry> entries;
  std::vector<FileDigest> files;
  std::optional<std::string> sums, signature;
  uint64_t size_bytes = 0;

 private:
  Unpacking* unpacking_;
  bool is_folder_ = false;
  std::string* kept_ = nullptr;
  Sha256 hash_;
};

// What lists may leave out of an archive.
std::vector<std::string> unlisted() {
  std::vector<std::string> out = unpublished_paths({});
  out.emplace_back(kSignatureName);
  return out;
}

Result<std::vector<Listing>> read_lists(const ArchiveQuestion& question, const Contents& contents,
                                        const Console& console, Findings& findings) {
  std::vector<Listing> out;
  const std::string path = question.path.string();
  if (contents.sums) {
    auto sums = parse_sha256sums(*contents.sums);
    if (sums) {
      Listing listing{kSumsName, std::move(*sums), unlisted(), true};
      listing.ignored.emplace_back(kSumsName);
      out.push_back(std::move(listing));
    } else {
      findings.bad(fmt::format("{}: {}", path, kSumsName), sums.error().text());
    }
  }
  const bool is_outside = !question.signature.empty();
  const std::string where =
      is_outside ? question.signature : fmt::format("{}: {}", path, kSignatureName);
  if (!question.trusted.is_given()) {
    if (contents.signature) {
      console.talk(where +
                   ": not checked; say whose it must be with --public-key, "
                   "--certificate or --ca");
    }
    return out;
  }
  std::string bundle = contents.signature.value_or("");
  if (is_outside) {
    CKPT_ASSIGN(bundle, read_whole(question.signature));
  } else if (!contents.signature) {
    findings.bad(where, "missing; the archive is not signed");
    return out;
  }
  CKPT_ASSIGN(auto manifest, check_signature(where, bundle, question.trusted, findings));
  if (!manifest) return out;
  Listing listing{"the signature", std::move(manifest->files), unlisted(), out.empty()};
  for (std::string& one : manifest->ignored) listing.ignored.push_back(std::move(one));
  out.push_back(std::move(listing));
  return out;
}

}  // namespace

Status check_archive(const ArchiveQuestion& question, const Console& console,
                     const CommonOptions& common, Findings& findings) {
  CKPT_ASSIGN(const SharedSource source, open_file(question.path));
  std::unique_ptr<Unpacking> unpacking;
  if (!question.unpack.empty()) {
    CKPT_ASSIGN(unpacking, Unpacking::make(question.unpack));
  }
  Contents contents(unpacking.get());
  CKPT_TRY(read_archive(*source, contents, console, {common.threads, common.memory_bytes}));
  findings.good(question.path.string(),
                fmt::format("a sound archive of {} files, {}", contents.files.size(),
                            human_bytes(contents.size_bytes)));
  CKPT_ASSIGN(auto lists, read_lists(question, contents, console, findings));
  for (Listing& listing : lists) {
    for (const std::string& path : question.ignored) listing.ignored.push_back(path);
    check_listed(listing, contents.files, contents.entries, findings);
  }
  if (lists.empty() && findings.bad_count() == 0) {
    console.warn(fmt::format("{}: no {} in it that says what the files must be",
                             question.path.string(), kSumsName));
  }
  if (unpacking == nullptr) return {};
  if (findings.bad_count() == 0) return unpacking->publish(contents.files);
  console.talk(fmt::format("{}: not made", question.unpack));
  return {};
}

}  // namespace ckpt

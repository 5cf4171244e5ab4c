// --to hf://ORG/NAME[@BRANCH]: one commit in a repository of a Hugging Face hub.
//
//   which files are there ▸ large files to the hub's store ▸ one commit on top of the head
//
// Large files that the store has are not sent again, so a failed run is resumed by the next one.
#include <algorithm>
#include <mutex>

#include "core/base/git_id.h"
#include "core/engine/compare.h"
#include "plan/publish_to/body.h"
#include "plan/publish_to/hub_repository.h"

namespace ckpt {
namespace {

using CommitJson = nlohmann::ordered_json;

constexpr uint64_t kSampleBytes = 512;
constexpr uint64_t kMaxSmallBytes = uint64_t{64} << 20;  // of a file that is part of the commit
constexpr unsigned kHubPartsAtATime = 4;
constexpr int kCommitTries = 3;

// Fails: kUsage, also for a folder in the repository.
Result<HubName> parse_hub_target(const std::string& address) {
  CKPT_ASSIGN(HubName hub, in("--to", parse_hub_name(address)));
  if (hub.revision.empty()) hub.revision = "main";
  const bool is_branch = hub.revision.find("..") == std::string::npos &&
                         hub.revision.find_first_of(" ?#\\:\n") == std::string::npos;
  if (hub.path.empty() && is_branch) return hub;
  return fail_with_hint(ErrorCode::kUsage, "hf://ORG/NAME[@BRANCH]",
                        "--to {}: not the name of a repository and a branch", address);
}

Result<std::vector<Placement>> list_hub(const std::string& address, const Shipment& shipment) {
  CKPT_ASSIGN(const HubName hub, parse_hub_target(address));
  std::vector<Placement> out;
  for (const FileDigest& file : shipment.files) {
    out.push_back({file.name, fmt::format("hf://{}@{}/{}", hub.repository, hub.revision, file.name),
                   file.size_bytes});
  }
  return out;
}

class HubSender {
 public:
  HubSender(const HubRepository& repository, const Shipment& shipment, const SendOptions& options)
      : repository_(repository), shipment_(shipment), options_(options) {}

  Result<Sent> send() {
    CKPT_ASSIGN(const std::string head, repository_.head());
    CKPT_TRY(describe_files());
    CKPT_TRY(repository_.ask(files_));
    Sent sent;
    for (const HubFile& file : files_) {
      sent.present_files += file.is_there ? 1 : 0;
      sent.sent_files += file.is_there ? 0 : 1;
      if (!file.is_there) sent.sent_bytes += file.size_bytes;
    }
    sent.digest = head;
    if (sent.sent_files == 0) return sent;
    CKPT_TRY(send_large_files());
    CKPT_TRY(check_unchanged(shipment_));
    CKPT_ASSIGN(sent.digest, commit(head));
    return sent;
  }

 private:
  Status describe_files() {
    for (const FileDigest& file : shipment_.files) {
      HubFile described{file.name, file.sha256, file.size_bytes, ""};
      CKPT_ASSIGN(described.sample, content_of(file.name, kSampleBytes));
      if (file.size_bytes <= kMaxSmallBytes) {
        CKPT_ASSIGN(const std::string content, content_of(file.name, file.size_bytes));
        described.git_id = git_id_of(content);
      }
      files_.push_back(std::move(described));
    }
    return {};
  }

  Result<std::string> content_of(const std::string& name, uint64_t limit_bytes) const {
    CKPT_ASSIGN(const HttpBody body, body_of(shipment_, name, options_, nullptr));
    std::string bytes(std::min(body.size_bytes, limit_bytes), '\0');
    CKPT_TRY(body.read(0, std::as_writable_bytes(std::span(bytes))));
    return bytes;
  }

  Status send_large_files() {
    CKPT_ASSIGN(const std::vector<HubUpload> uploads, repository_.uploads(files_));
    std::vector<std::pair<size_t, size_t>> jobs;  // upload, part
    std::vector<std::vector<std::string>> etags;
    uint64_t total_bytes = 0;
    for (size_t i = 0; i < uploads.size(); ++i) {
      for (size_t part = 0; part < uploads[i].parts.size(); ++part) jobs.emplace_back(i, part);
      etags.emplace_back(uploads[i].parts.size());
      total_bytes += files_[uploads[i].file].size_bytes;
    }
    SentBytes progress(options_.observer->progress("sending"), total_bytes);
    CKPT_TRY(for_each_parallel(jobs.size(), kHubPartsAtATime, [&](size_t i) -> Status {
      const auto& [upload, part] = jobs[i];
      CKPT_ASSIGN(etags[upload][part], send_part(uploads[upload], part, progress));
      return {};
    }));
    for (size_t i = 0; i < uploads.size(); ++i) {
      const HubFile& file = files_[uploads[i].file];
      CKPT_TRY(in(file.path, repository_.finish(uploads[i], file, etags[i])));
    }
    return {};
  }

  Result<std::string> send_part(const HubUpload& upload, size_t part, SentBytes& progress) const {
    const HubFile& file = files_[upload.file];
    CKPT_ASSIGN(const HttpBody body, body_of(shipment_, file.path, options_, &progress));
    const uint64_t begin = part * upload.part_bytes;
    const uint64_t size_bytes = upload.part_bytes == 0
                                    ? file.size_bytes
                                    : std::min(upload.part_bytes, file.size_bytes - begin);
    const HttpBody piece{size_bytes, [&](uint64_t at, std::span<std::byte> out) {
                           return body.read(begin + at, out);
                         }};
    return in(file.path, repository_.put_part(upload.parts[part], piece));
  }

  Result<std::string> lines_of_commit(const std::string& parent) const {
    CommitJson header = {{"summary", "Upload with ckpt"}, {"description", ""}};
    header["parentCommit"] = parent;
    std::string out = CommitJson({{"key", "header"}, {"value", header}}).dump() + "\n";
    for (const HubFile& file : files_) {
      if (file.is_there) continue;
      CommitJson value = {{"path", file.path}};
      if (file.is_lfs) {
        value["algo"] = "sha256";
        value["oid"] = file.sha256;
        value["size"] = file.size_bytes;
      } else if (file.size_bytes > kMaxSmallBytes) {
        return fail(ErrorCode::kUnsupported, "{}: {} bytes that the hub wants inside the commit",
                    file.path, file.size_bytes);
      } else {
        CKPT_ASSIGN(const std::string content, content_of(file.path, file.size_bytes));
        value["content"] = base64(content);
        value["encoding"] = "base64";
      }
      out +=
          CommitJson({{"key", file.is_lfs ? "lfsFile" : "file"}, {"value", value}}).dump() + "\n";
    }
    return out;
  }

  // A lost answer must not make a second commit: the head says whether the first one came through.
  Result<std::string> commit(const std::string& parent) {
    CKPT_ASSIGN(const std::string lines, lines_of_commit(parent));
    for (int tries = 1;; ++tries) {
      Result<std::string> done = repository_.commit(lines);
      if (done || done.error().code != ErrorCode::kIo || tries == kCommitTries) return done;
      CKPT_ASSIGN(const std::string head, repository_.head());
      if (head == parent) continue;
      std::vector<HubFile> there = files_;
      CKPT_TRY(repository_.ask(there));
      if (std::ranges::all_of(there, &HubFile::is_there)) return head;
      return done;
    }
  }

  const HubRepository& repository_;
  const Shipment& shipment_;
  const SendOptions& options_;
  std::vector<HubFile> files_;
};

Result<Sent> send_to_hub(const std::string& address, const Shipment& shipment,
                         const SendOptions& options) {
  CKPT_ASSIGN(const HubName hub, parse_hub_target(address));
  CKPT_ASSIGN(HubAccess access, hub_access());
  if (access.token.empty()) {
    return fail_with_hint(ErrorCode::kUsage, "hf auth login, or HF_TOKEN in the environment",
                          "--to {}: no token to write with", address);
  }
  const HubRepository repository(std::move(access), hub.repository, hub.revision);
  CKPT_ASSIGN(Sent sent, HubSender(repository, shipment, options).send());
  sent.address = fmt::format("hf://{}@{}", hub.repository, sent.digest);
  sent.digest.clear();
  return sent;
}

}  // namespace

extern const PublishTarget kToHub{"hf://", "hf://ORG/NAME", "one commit on a Hugging Face hub",
                                  list_hub, send_to_hub};

}  // namespace ckpt

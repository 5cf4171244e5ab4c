#include "tools/commands/made_record.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/printable.h"
#include "core/engine/compare.h"
#include "core/io/bytes.h"
#include "core/io/files_read.h"
#include "core/io/folder.h"
#include "core/io/ownership.h"
#include "core/io/remote_files.h"
#include "core/json/json_read.h"
#include "core/outputs/place.h"
#include "core/resume/plan_digest.h"
#include "publish/publish.h"
#include "tools/line/commands.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

constexpr uint64_t kMaxRecordBytes = uint64_t{64} << 20;

fs::path record_path(const Plan& plan) {
  const fs::path out = (plan.outputs[0].path / "").parent_path();
  return out.parent_path() / fmt::format(".{}{}", out.filename().string(), kRecordEnding);
}

// Tells a file from another; null where there is none.
JsonValue state_of(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return JsonValue();
  const FileState state = ckpt::state_of(status);
  return {{"size_bytes", state.size_bytes},
          {"modified_ns", state.modified_ns},
          {"changed_ns", state.changed_ns},
          {"inode", state.inode}};
}

bool is_unversioned(const InputFile& input) { return input.modified_ns == kTimeUnknown; }

JsonValue inputs_of(const PlanDigest& digest) {
  JsonValue out = JsonValue::array();
  for (const InputFile& input : digest.inputs) {
    JsonValue state = state_of(input.path);
    if (is_url(input.path)) {
      state = {{"size_bytes", input.size_bytes}, {"modified_ns", input.modified_ns}};
    }
    out.push_back({{"path", input.path}, {"state", std::move(state)}});
  }
  return out;
}

// Fails: kUsage if the record cannot get its name: a folder has it or, in a folder as /tmp is one,
// another user's file.
Status check_record_place(const fs::path& path) {
  struct stat status {
  }, above{};
  if (::lstat(path.c_str(), &status) != 0) return {};
  if (S_ISDIR(status.st_mode)) {
    return misuse_hint(fmt::format("mv {} elsewhere", shell_path(path.string())),
                       "{}: a folder; the record of --if-needed has this name", path.string());
  }
  const bool may_replace = ::geteuid() == 0 || ::stat(parent_of(path).c_str(), &above) != 0 ||
                           (above.st_mode & S_ISVTX) == 0 || above.st_uid == ::geteuid();
  return may_replace ? Status() : require_ours(path, status, Guard::kOwner);
}

// The record of this user; null where there is none that can be read.
JsonValue read_record(const fs::path& path) {
  struct stat status{};
  const bool is_believed = ::lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
                           is_ours(path, status, Guard::kOwnerAndMode);
  if (!is_believed) return JsonValue();
  const auto text = read_small(path, kMaxRecordBytes);
  if (!text) return JsonValue();
  const auto json = parse_json(path.string(), *text);
  return json ? *json : JsonValue();
}

// Whether `file` of a record is there as it was written.
Result<bool> is_as_written(const JsonValue& file, const std::string& path,
                           const std::string& sha256) {
  const JsonValue now = state_of(path);
  const JsonValue* before = member(file, "state");
  if (before == nullptr || now.is_null()) return false;
  if (now == *before) return true;
  if (now["size_bytes"] != before->value("size_bytes", JsonValue())) return false;
  CKPT_ASSIGN(const std::string found, hash_file(path, &interrupted));
  return found == sha256;
}

// Whether a folder holds weights that the plan did not make: programs would load them, too.
bool has_other_weights(const Output& output) {
  if (!output.layout.is_folder) return false;
  std::error_code error;
  for (fs::directory_iterator entry(output.path, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const bool is_made = std::ranges::any_of(
        output.layout.files, [&](const OutputFile& file) { return file.path == name; });
    if (name.ends_with(".safetensors") && !is_made) return true;
  }
  return false;
}

}  // namespace

Result<std::optional<std::vector<FileReport>>> find_made(const Plan& plan) {
  using Found = std::optional<std::vector<FileReport>>;
  CKPT_TRY(check_record_place(record_path(plan)));
  const JsonValue record = read_record(record_path(plan));
  CKPT_ASSIGN(const PlanDigest digest, digest_of(plan, CKPT_VERSION));
  const std::string* made = text_of(record, "plan");
  const JsonValue* inputs = known(record, "inputs");
  const JsonValue* files = known(record, "files");
  if (made == nullptr || *made != digest.sha256 || inputs == nullptr || files == nullptr ||
      *inputs != inputs_of(digest) || std::ranges::any_of(digest.inputs, is_unversioned)) {
    return Found();
  }
  std::vector<FileReport> out;
  if (std::ranges::any_of(plan.outputs, has_other_weights)) return Found();
  for (const Output& output : plan.outputs) {
    for (const OutputFile& file : output.layout.files) {
      const std::string path = final_path(output, file).string();
      const JsonValue* one = known(*files, path);
      const std::string* sha256 = text_of(one, "sha256");
      if (sha256 == nullptr) return Found();
      CKPT_ASSIGN(const bool is_same, is_as_written(*one, path, *sha256));
      if (!is_same) return Found();
      out.push_back({path, file.size_bytes, *sha256});
    }
  }
  return Found(std::move(out));
}

Status record_made(const Plan& plan, const ExecuteReport& report) {
  CKPT_ASSIGN(const PlanDigest digest, digest_of(plan, CKPT_VERSION));
  JsonValue files = JsonValue::object();
  for (const FileReport& file : report.files) {
    files[file.path] = {{"sha256", file.sha256}, {"state", state_of(file.path)}};
  }
  const JsonValue record = {
      {"ckpt_made", 1}, {"plan", digest.sha256}, {"inputs", inputs_of(digest)}, {"files", files}};
  return replace_own_file(record_path(plan),
                          record.dump(1, ' ', false, JsonValue::error_handler_t::replace) + "\n");
}

}  // namespace ckpt

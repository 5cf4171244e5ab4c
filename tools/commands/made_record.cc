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
#include "plan/conversion/option_table.h"
#include "plan/text/type_names.h"
#include "publish/publish.h"
#include "tools/line/commands.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

constexpr uint64_t kMaxRecordBytes = uint64_t{64} << 20;

fs::path record_path(const fs::path& first_out) {
  const fs::path out = (first_out / "").parent_path();
  return out.parent_path() / fmt::format(".{}{}", out.filename().string(), kRecordEnding);
}

// Identifies the present state of a file (size, times, inode); null if it does not exist.
JsonValue state_of(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return JsonValue();
  const FileState state = ckpt::state_of(status);
  return {{"size_bytes", state.size_bytes},
          {"modified_ns", state.modified_ns},
          {"changed_ns", state.changed_ns},
          {"inode", state.inode}};
}

// The states of output folders. A new file in a folder changes its state.
JsonValue states_of_folders(const Conversion& conversion) {
  JsonValue out = JsonValue::array();
  if (is_folder(conversion.out)) out.push_back(state_of(conversion.out.string()));
  for (const AlsoOutput& also : conversion.also) {
    if (is_folder(also.out)) out.push_back(state_of(also.out.string()));
  }
  return out;
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

// Fails: kUsage if the record cannot be written under its name, because a folder or, in a shared
// folder such as /tmp, another user's file has that name.
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

// Reads the record if this user owns it; null if none can be read.
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

// Whether the `file` of a record exists and has not changed since it was written.
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

// The version, the working directory and the options that affect the output, as one text.
std::string request_of(const Conversion& conversion) {
  std::error_code error;
  std::string out = fmt::format("{}\n{}", CKPT_VERSION, fs::current_path(error).string());
  for (const GivenOption& given : conversion.given) {
    const ConvertOption* option = find_convert_option(given.name);
    if (option == nullptr || given.name == "force") continue;  // does not affect the output
    out += fmt::format("\n{}={}", given.name, given.value);
  }
  return out;
}

// The states of all files and folders that the options name, with the files within these folders.
// Null if the list may be incomplete: a recipe names more files, a URL has no such state, and the
// value of a step cannot be split if a path in it contains separators.
JsonValue named_by(const Conversion& conversion) {
  JsonValue out = JsonValue::object();
  std::error_code error;
  for (const auto& [name, value, is_from_recipe] : conversion.given) {
    const ConvertOption* option = find_convert_option(name);
    if (name == "recipe" || is_from_recipe || is_url(value)) return JsonValue();
    if (option == nullptr || is_written(*option)) continue;
    const auto count = [&text = value](char mark) { return std::ranges::count(text, mark); };
    const bool is_plain = count('"') == 0 && count(':') < 2 && count('=') <= 1 + count(',');
    if (name == "step" && !is_plain) return JsonValue();
    out[value] = state_of(value);
    std::string words = value;
    std::ranges::replace_if(words, [](char c) { return c == ':' || c == '='; }, ',');
    for (const std::string& path : words_between_commas(words)) {
      out[path] = state_of(path);
      for (fs::recursive_directory_iterator each(path, error), end; !error && each != end;
           each.increment(error)) {
        out[each->path().string()] = state_of(each->path().string());
      }
    }
  }
  return out;
}

// Returns the files of a record if all of them exist and none has changed.
Result<std::optional<std::vector<FileReport>>> files_as_written(const JsonValue& record) {
  const JsonValue* files = known(record, "files");
  if (files == nullptr || !files->is_array()) return std::nullopt;
  std::vector<FileReport> out;
  for (const JsonValue& file : *files) {
    const std::string *path = text_of(file, "path"), *sha256 = text_of(file, "sha256");
    if (path == nullptr || sha256 == nullptr) return std::nullopt;
    CKPT_ASSIGN(const bool is_same, is_as_written(file, *path, *sha256));
    if (!is_same) return std::nullopt;
    out.push_back({*path, file["state"].value("size_bytes", uint64_t{0}), *sha256});
  }
  return std::optional(std::move(out));
}

}  // namespace

Result<std::optional<std::vector<FileReport>>> find_requested(const Conversion& conversion) {
  const JsonValue record = read_record(record_path(conversion.out));
  const std::string* request = text_of(record, "request");
  const JsonValue* inputs = known(record, "inputs");
  if (request == nullptr || inputs == nullptr || *request != request_of(conversion) ||
      record["named"] != named_by(conversion) ||
      record["folders"] != states_of_folders(conversion)) {
    return std::nullopt;
  }
  const bool are_same = std::ranges::all_of(*inputs, [](const JsonValue& input) {
    const std::string* path = text_of(input, "path");
    return path != nullptr && input.value("state", JsonValue()) == state_of(*path);
  });
  return are_same ? files_as_written(record) : std::nullopt;
}

Result<std::optional<std::vector<FileReport>>> find_made(const Plan& plan) {
  using Found = std::optional<std::vector<FileReport>>;
  CKPT_TRY(check_record_place(record_path(plan.outputs[0].path)));
  const JsonValue record = read_record(record_path(plan.outputs[0].path));
  CKPT_ASSIGN(const PlanDigest digest, digest_of(plan, CKPT_VERSION));
  const std::string* made = text_of(record, "plan");
  const JsonValue* inputs = known(record, "inputs");
  if (made == nullptr || *made != digest.sha256 || inputs == nullptr ||
      *inputs != inputs_of(digest) || std::ranges::any_of(digest.inputs, is_unversioned) ||
      std::ranges::any_of(plan.outputs, has_other_weights)) {
    return Found();
  }
  return files_as_written(record);
}

Status record_made(const PlannedConversion& planned, const ExecuteReport& report,
                   const Conversion& conversion, bool repeatable) {
  const Plan& plan = planned.plan;
  CKPT_ASSIGN(const PlanDigest digest, digest_of(plan, CKPT_VERSION));
  JsonValue files = JsonValue::array();
  for (const FileReport& file : report.files) {
    files.push_back(
        {{"path", file.path}, {"sha256", file.sha256}, {"state", state_of(file.path)}});
  }
  JsonValue record = {{"ckpt_made", 1},
                      {"plan", digest.sha256},
                      {"inputs", inputs_of(digest)},
                      {"files", files},
                      {"notes", planned.notes}};
  if (JsonValue named = repeatable ? named_by(conversion) : JsonValue(); !named.is_null()) {
    record["request"] = request_of(conversion);
    record["named"] = std::move(named);
    record["folders"] = states_of_folders(conversion);
  }
  return replace_own_file(record_path(plan.outputs[0].path),
                          record.dump(1, ' ', false, JsonValue::error_handler_t::replace) + "\n");
}

}  // namespace ckpt

// Folders and files of any server: https://host/path/ and https://host/path/model.gguf.
//
// HTTP lists no folders. One ending in '/' is what its SHA256SUMS says (`ckpt publish` writes it);
// else what its index of shards says, and the documents that are there when they are asked for.
#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <mutex>
#include <vector>

#include "core/base/sha256.h"
#include "core/base/sha256_sums.h"
#include "core/base/threads.h"
#include "core/json/json_read.h"
#include "core/model/document_names.h"
#include "remote/root.h"

namespace ckpt {
namespace {

constexpr uint64_t kMaxSumsBytes = 32 << 20, kMaxWebIndexBytes = 256 << 20;
constexpr std::string_view kSums = "SHA256SUMS", kWebIndex = "model.safetensors.index.json";

constexpr auto kWeights =
    std::to_array<std::string_view>({"model.safetensors", "adapter_model.safetensors"});
constexpr uint64_t kFirstBytes = 16 << 10;  // all of most documents

bool is_page(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  return first != text.npos && text[first] == '<';
}

class WebRoot final : public RemoteRoot {
 public:
  WebRoot(Url base, std::string typed) : base_(std::move(base)) { pinned_ = std::move(typed); }

  Status find_files() {
    if (!base_.path.ends_with('/')) {
      CKPT_ASSIGN(const bool is_file, take_one(""));
      if (is_file) return {};
      base_.path += '/';
    }
    return take_folder();
  }

  Result<HttpRequest> request(const std::string& path, bool) const override {
    HttpRequest out;
    out.url = base_;
    out.url.path += percent_encoded(path, "/");
    return out;
  }

 private:
  Result<bool> take_one(const std::string& path) {
    CKPT_ASSIGN(HttpRequest asked, request(path, false));
    asked.range = HttpRange{0, kFirstBytes};
    CKPT_ASSIGN(HttpResponse response, http_send(asked));
    if (response.status == 404 || response.status == 410) return false;
    RemoteFile file;
    if (response.status == 416) {  // of an empty file
      file.size_bytes = 0;
    } else if (!response.is_good()) {
      return http_failure(response);
    } else {
      file.size_bytes = response.file_bytes;
      file.first = std::move(response.body);
    }
    file.version = FileVersion::of(response);
    const std::lock_guard lock(mutex_);
    files_[path] = std::move(file);
    return true;
  }

  // Where nothing lists the files: those whose whole names are known.
  Status take_known() {
    std::vector<std::string> names(kWeights.begin(), kWeights.end());
    for (const std::string_view glob : document_globs()) {
      if (glob.find_first_of("*?[") == glob.npos) names.emplace_back(glob);
    }
    std::vector<Status> taken(names.size());
    ask_in_parallel(names.size(), [&](size_t i) {
      if (auto found = take_one(names[i]); !found) taken[i] = Failure(std::move(found.error()));
    });
    for (Status& each : taken) CKPT_TRY(each);
    return {};
  }

  Status take_folder() {
    Result<std::optional<HttpResponse>> sums, index;
    ask_in_parallel(2, [&](size_t i) {
      if (i == 0) sums = text_of_file(kSums, kMaxSumsBytes);
      if (i == 1) index = text_of_file(kWebIndex, kMaxWebIndexBytes);
    });
    if (!sums) return Failure(std::move(sums.error()));
    // A hub answers every path below a page with a page, which is read as a file.
    if (*sums && is_page((*sums)->body)) {
      base_.path.pop_back();
      CKPT_ASSIGN(const bool is_file, take_one(""));
      if (is_file) return {};
      base_.path += '/';
    }
    if (*sums) {
      files_[std::string(kSums)] = {};
      CKPT_TRY(in(base_.shown(), add_sums((*sums)->body, files_)));
      // One that is not as the sums say is asked for again, and refused, if it is read.
      const auto listed = files_.find(std::string(kWebIndex));
      const bool is_known = index && *index && listed != files_.end() &&
                            sha256_of((*index)->body) == listed->second.sha256;
      if (is_known) keep_index(**std::move(index));
      return {};
    }
    if (!index) return Failure(std::move(index.error()));
    if (*index) CKPT_TRY(take_index(**std::move(index)));
    return take_known();
  }

  // All of it, or it fails; nullopt: it is not there.
  Result<std::optional<HttpResponse>> text_of_file(std::string_view path, uint64_t limit_bytes) {
    CKPT_ASSIGN(HttpRequest asked, request(std::string(path), false));
    // A range says how long the file is, and so whether all of it came.
    asked.range = HttpRange{0, limit_bytes};
    CKPT_ASSIGN(HttpResponse response, http_send(asked));
    if (response.status == 404 || response.status == 410) return std::optional<HttpResponse>();
    const bool is_empty = response.status == 416;
    if (!response.is_good() && !is_empty) return http_failure(response);
    if (is_empty) response.body.clear();
    if (response.file_bytes.value_or(0) > limit_bytes) {
      return corrupt("{}: {} bytes; at most {}", response.url.shown(), *response.file_bytes,
                     limit_bytes);
    }
    return std::optional(std::move(response));
  }

  void keep_index(HttpResponse response) {
    RemoteFile& file = files_[std::string(kWebIndex)];
    file.size_bytes = response.body.size();
    file.version = FileVersion::of(response);
    file.first = std::move(response.body);
  }

  Status take_index(HttpResponse response) {
    CKPT_ASSIGN(const JsonValue index, parse_json(kWebIndex, response.body));
    keep_index(std::move(response));
    const JsonValue* const map = known(index, "weight_map");
    if (map == nullptr || !map->is_object()) {
      return corrupt("{}: no weight_map", kWebIndex);
    }
    for (const auto& [tensor, file_name] : map->items()) {
      if (!file_name.is_string()) continue;
      const auto& path = file_name.get_ref<const std::string&>();
      CKPT_TRY(check_listed_path(path));
      files_[path] = {};
    }
    return {};
  }

  Url base_;
  std::mutex mutex_;  // of files_, while several are asked for
};

}  // namespace

void ask_in_parallel(size_t count, const std::function<void(size_t)>& work) {
  constexpr size_t kAskedAtOnce = 32;
  std::atomic<size_t> next = 0;
  const auto take = [&] {
    for (size_t i = next++; i < count; i = next++) work(i);
  };
  run_on_threads(std::min(count, kAskedAtOnce), take);
}

Status add_sums(std::string_view text, RemoteRoot::Files& files) {
  CKPT_ASSIGN(auto lines, in(kSums, read_sha256_sums(text)));
  for (SumsLine& line : lines) {
    CKPT_TRY(in(kSums, check_listed_path(line.name)));
    files[line.name].sha256 = std::move(line.sha256);
  }
  return {};
}

Result<SharedRoot> open_web(const std::string& typed) {
  CKPT_ASSIGN(Url url, parse_url(typed));
  auto root = std::make_shared<WebRoot>(std::move(url), typed);
  CKPT_TRY(root->find_files());
  return SharedRoot(std::move(root));
}

}  // namespace ckpt

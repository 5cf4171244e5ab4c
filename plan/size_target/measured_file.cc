#include "plan/size_target/measured_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "core/base/numbers.h"
#include "core/base/sha256.h"
#include "core/io/bytes.h"
#include "core/io/files_read.h"
#include "core/io/folder.h"
#include "core/io/open_folder.h"
#include "core/io/remote_files.h"
#include "core/resume/plan_digest.h"
#include "plan/conversion/conversion.h"
#include "plan/conversion/version.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kMagic = "ckpt-measured ", kFormat = "1";
constexpr uint64_t kMaxBytes = uint64_t{64} << 20;
constexpr std::string_view kOther = "a name that is free, or that an earlier run has written";

// Errors by key, then by type.
using MeasuredErrors = std::map<std::string, std::map<std::string, double>>;

std::string_view take_until(std::string_view& text, char end) {
  const size_t at = std::min(text.find(end), text.size());
  const std::string_view out = text.substr(0, at);
  text.remove_prefix(std::min(text.size(), at + 1));
  return out;
}

std::string render_kept(const MeasuredErrors& kept) {
  std::string lines;
  for (const auto& [key, errors] : kept) {
    lines += key;
    for (const auto& [type, error] : errors) {
      lines += fmt::format(" {}={:x}", type, std::bit_cast<uint64_t>(error));
    }
    lines += '\n';
  }
  return fmt::format("{}{}\nsha256 {}\n{}", kMagic, kFormat, sha256_of(lines), lines);
}

// Parses a file's content; nullopt if it is damaged or of another format.
std::optional<MeasuredErrors> parse_kept(std::string_view text) {
  if (take_until(text, '\n') != fmt::format("{}{}", kMagic, kFormat)) return std::nullopt;
  const std::string_view sum = take_until(text, '\n');
  if (sum != fmt::format("sha256 {}", sha256_of(text))) return std::nullopt;
  MeasuredErrors out;
  while (!text.empty()) {
    std::string_view line = take_until(text, '\n');
    auto& errors = out[std::string(take_until(line, ' '))];
    while (!line.empty()) {
      std::string_view word = take_until(line, ' ');
      const std::string_view type = take_until(word, '=');
      const auto bits = number_from<uint64_t>(word, 16);
      const double error = std::bit_cast<double>(bits.value_or(0));
      if (!bits || !std::isfinite(error) || error < 0) return std::nullopt;
      errors[std::string(type)] = error;
    }
  }
  return out;
}

// The entries in `file`; none if it does not exist.
Result<MeasuredErrors> read_kept(const OpenFolder& folder, const fs::path& file,
                                 Observer& observer) {
  CKPT_ASSIGN(const bool is_there, folder.has(file.filename().string()));
  if (!is_there) return MeasuredErrors();
  struct stat status {};
  const bool is_link = ::lstat(file.c_str(), &status) == 0 && S_ISLNK(status.st_mode);
  if (is_link)
    return misuse_hint(std::string(kOther), "{}: a link; expected a file with measured errors",
                       file.string());
  CKPT_ASSIGN(Descriptor opened,
              folder.open_file(file.filename().string(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (::fstat(opened.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return misuse_hint(std::string(kOther),
                       "{}: not a regular file; expected one with measured errors", file.string());
  }
  if (!is_ours(file, status, Guard::kOwnerAndMode)) {
    return misuse_hint(
        std::string(kOther),
        "{}: other users may write to it; expected a file that only this user can write",
        file.string());
  }
  CKPT_ASSIGN(const SharedSource source, open_file(std::move(opened), file, ReadAs::kOwn));
  CKPT_ASSIGN(const std::string text, read_text(*source, kMaxBytes));
  if (!text.starts_with(kMagic)) {
    return misuse_hint(std::string(kOther), "{}: holds no measured errors, and would be replaced",
                       file.string());
  }
  if (auto kept = parse_kept(text)) return std::move(*kept);
  observer.note(
      fmt::format("{}: damaged or written by another version; measuring again", file.string()));
  return MeasuredErrors();
}

// Renders all entries or, if that would be too large, only those of this run (`keys`).
std::string text_of(MeasuredErrors& kept, const std::vector<std::string>& keys) {
  std::string text = render_kept(kept);
  if (text.size() <= kMaxBytes) return text;
  const std::set<std::string> own(keys.begin(), keys.end());
  std::erase_if(kept, [&](const auto& each) { return !own.contains(each.first); });
  return render_kept(kept);
}

Result<std::string> key_of(const TypesToMeasure& asked) {
  Plan plan;
  Tensor& tensor = plan.outputs.emplace_back().checkpoint.tensors.emplace_back(asked.values);
  if (!tensor.is_stored()) std::get<Recoded>(tensor.origin).weights = asked.weights;
  const BuildInfo& build = build_info();
  const std::string version = fmt::format("{} {} {} {}", build.version, build.commit,
                                          kMeasuredValues, static_cast<unsigned>(asked.search));
  CKPT_ASSIGN(const PlanDigest digest, digest_of(plan, version));
  std::string text = digest.sha256;
  for (const InputFile& input : digest.inputs) {
    text += fmt::format(" {} {} {} {}", input.size_bytes, input.modified_ns, input.inode,
                        input.changed_ns);
    if (input.modified_ns == kTimeUnknown) {  // unique, so that no later run finds it
      text += fmt::format(" {}", std::chrono::system_clock::now().time_since_epoch().count());
    }
  }
  return sha256_of(text);
}

// An upper limit for the file: the present entries and those to be measured.
uint64_t room_for(const MeasuredErrors& kept, const std::vector<TypesToMeasure>& missing) {
  constexpr uint64_t kTensorBytes = 256, kErrorBytes = 64;
  uint64_t out = missing.empty() ? 0 : render_kept(kept).size();
  for (const TypesToMeasure& each : missing) out += kTensorBytes + kErrorBytes * each.codecs.size();
  return std::min(out, 2 * kMaxBytes);
}

bool holds_all(const MeasuredErrors& kept, const std::string& key, const TypesToMeasure& asked) {
  const auto found = kept.find(key);
  return found != kept.end() && std::ranges::all_of(asked.codecs, [&](const Codec* codec) {
           return found->second.contains(std::string(codec->name));
         });
}

}  // namespace

Result<std::vector<std::vector<double>>> measure_types_once(
    const Conversion& conversion, const std::vector<TypesToMeasure>& tensors, Observer& observer,
    unsigned threads) {
  const fs::path& file = conversion.target_cache;
  const std::unique_ptr<Progress> progress = observer.progress("measuring");
  const MeasureOptions options{threads, observer.cancelled(), progress.get(),
                               is_url(conversion.in)};
  if (file.empty()) return measure_types(tensors, options);
  CKPT_ASSIGN(const OpenFolder folder, OpenFolder::open(parent_of(file)));
  CKPT_ASSIGN(MeasuredErrors kept, read_kept(folder, file, observer));
  std::vector<std::string> keys;
  std::vector<TypesToMeasure> missing;
  std::vector<size_t> places;
  for (const TypesToMeasure& tensor : tensors) {
    CKPT_ASSIGN(keys.emplace_back(), key_of(tensor));
    if (holds_all(kept, keys.back(), tensor)) continue;
    places.push_back(keys.size() - 1);
    missing.push_back(tensor);
  }
  observer.talk(fmt::format("{}: errors of {} of {} tensors were measured before", file.string(),
                            tensors.size() - missing.size(), tensors.size()));
  CKPT_TRY(check_room(file, room_for(kept, missing)));
  CKPT_ASSIGN(const auto measured, measure_types(missing, options));
  CKPT_TRY(check_files_read());  // inputs that changed would store wrong errors
  for (size_t i = 0; i < missing.size(); ++i) {
    auto& errors = kept[keys[places[i]]];
    for (size_t k = 0; k < measured[i].size(); ++k) {
      errors[std::string(missing[i].codecs[k]->name)] = measured[i][k];
    }
  }
  if (!missing.empty()) {
    const Status written = replace_own_file(file, text_of(kept, keys));
    if (!written)
      observer.note(fmt::format("{}: not kept: {}", file.string(), written.error().text()));
  }
  std::vector<std::vector<double>> out;
  for (size_t i = 0; i < tensors.size(); ++i) {
    std::vector<double>& errors = out.emplace_back();
    for (const Codec* codec : tensors[i].codecs) {
      errors.push_back(kept[keys[i]].at(std::string(codec->name)));
    }
  }
  return out;
}

}  // namespace ckpt

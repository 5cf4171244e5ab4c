// ckpt verify PATH: structure, and hashes when a SHA256SUMS is there. Exit 1 when not sound.
#include <map>
#include <set>

#include "core/compare.h"
#include "core/plan.h"
#include "formats/formats.h"
#include "quantizers/quantizers.h"
#include "tools/commands.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

constexpr uint64_t kMaxSumsBytes = 64 << 20;
constexpr const char* kSumsName = "SHA256SUMS";

struct Typed {
  std::string path;
};

class Findings {
 public:
  explicit Findings(const Console& console) : console_(console) {}
  void bad(std::string_view what, std::string_view found) {
    ++bad_;
    console_.answer(fmt::format("{}: {}", what, found));
    console_.object("check", {{"what", what}, {"ok", false}, {"found", found}});
  }
  void good(std::string_view what, std::string_view found) {
    console_.answer(fmt::format("{}: {}", what, found));
    console_.object("check", {{"what", what}, {"ok", true}, {"found", found}});
  }
  uint64_t bad_count() const { return bad_; }

 private:
  const Console& console_;
  uint64_t bad_ = 0;
};

struct Sum {
  std::string hex, name;
};

// GNU format: 64 hex digits, a space, a space or star, the name.
Result<std::vector<Sum>> parse_sums(const std::string& text) {
  std::vector<Sum> sums;
  uint64_t line_number = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    ++line_number;
    if (line.empty()) continue;
    const bool shaped = line.size() > 66 && line[64] == ' ' &&
                        (line[65] == ' ' || line[65] == '*') &&
                        line.find_first_not_of("0123456789abcdef") == 64;
    if (!shaped) {
      return fail(ErrorCode::kCorrupt, "line {}: expected 64 hex digits, two spaces and a name",
                  line_number);
    }
    sums.push_back({line.substr(0, 64), line.substr(66)});
  }
  return sums;
}

bool stays_inside(const fs::path& name) {
  if (name.empty() || name.is_absolute()) return false;
  for (const auto& step : name) {
    if (step == "..") return false;
  }
  return true;
}

Status check_sums(const fs::path& folder, const std::vector<Sum>& sums, unsigned threads,
                  Findings& findings) {
  std::vector<std::string> found(sums.size());
  CKPT_TRY(for_each_parallel(sums.size(), threads, [&](size_t i) -> Status {
    std::error_code error;
    if (!stays_inside(sums[i].name) || !fs::is_regular_file(folder / sums[i].name, error))
      return {};
    CKPT_ASSIGN(found[i], hash_file(folder / sums[i].name, &interrupted));
    return {};
  }));
  for (size_t i = 0; i < sums.size(); ++i) {
    if (!stays_inside(sums[i].name)) {
      findings.bad(sums[i].name, "its name leaves the folder");
    } else if (found[i].empty()) {
      findings.bad(sums[i].name, fmt::format("missing; {} lists it", kSumsName));
    } else if (found[i] != sums[i].hex) {
      findings.bad(sums[i].name,
                   fmt::format("SHA-256 is {}; {} says {}", found[i], kSumsName, sums[i].hex));
    } else {
      findings.good(sums[i].name, "SHA-256 as listed");
    }
  }
  return {};
}

// The sums that speak of `path`: all of a folder's, or one file's line in the folder it lies in.
Status check_hashes(const fs::path& path, unsigned threads, Findings& findings) {
  std::error_code error;
  const bool is_folder = fs::is_directory(path, error);
  const fs::path folder = is_folder ? path : path.has_parent_path() ? path.parent_path() : ".";
  const fs::path file = folder / kSumsName;
  if (!fs::exists(file, error)) return {};
  CKPT_ASSIGN(const SharedSource source, open_file(file));
  CKPT_ASSIGN(const std::string text, read_text(*source, kMaxSumsBytes));
  Result<std::vector<Sum>> sums = parse_sums(text);
  if (!sums) {
    findings.bad(file.string(), sums.error().text());
    return {};
  }
  if (!is_folder) {
    std::erase_if(*sums, [&](const Sum& sum) { return fs::path(sum.name) != path.filename(); });
  }
  return check_sums(folder, *sums, threads, findings);
}

Result<int> verify(const Typed& typed, const Console& console, const CommonOptions& common) {
  Findings findings(console);
  std::error_code error;
  if (!fs::exists(typed.path, error)) {
    return fail(ErrorCode::kUsage, "{}: there is no such file or folder", typed.path);
  }
  CKPT_ASSIGN(const Format* format, recognise(typed.path));
  const Result<Checkpoint> checkpoint = format->read(typed.path, all_codecs());
  if (!checkpoint && checkpoint.error().code == ErrorCode::kIo) return Failure(checkpoint.error());
  if (checkpoint) {
    findings.good(typed.path, fmt::format("{} structure is sound, {} tensors", format->name,
                                          checkpoint->tensors.size()));
  } else {
    findings.bad(typed.path, checkpoint.error().text());
  }
  CKPT_TRY(check_hashes(typed.path, common.threads, findings));
  console.object("summary", {{"path", typed.path},
                             {"sound", findings.bad_count() == 0},
                             {"findings", findings.bad_count()}});
  return findings.bad_count() == 0 ? 0 : 1;
}

Run declare(CLI::App& app) {
  auto typed = std::make_shared<Typed>();
  app.add_option("PATH", typed->path, "a checkpoint")->required();
  return [typed](const Console& console, const CommonOptions& common) {
    return verify(*typed, console, common);
  };
}

}  // namespace

constinit const Command kVerify{
    "verify", "Checks a checkpoint's structure, and its hashes when a SHA256SUMS is there.",
    "  ckpt verify model.gguf\n"
    "  ckpt verify out/ && echo sound",
    declare};

}  // namespace ckpt

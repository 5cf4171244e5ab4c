#include "tools/say/findings.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/counted.h"

namespace ckpt {

void Findings::bad(std::string_view what, std::string_view found) {
  bad_.push_back(fmt::format("{}: {}", what, found));
  console_.object("check", {{"what", what}, {"ok", false}, {"found", found}});
}

void Findings::good(std::string_view what, std::string_view found) {
  good_.push_back(fmt::format("{}: {}", what, found));
  console_.object("check", {{"what", what}, {"ok", true}, {"found", found}});
}

void Findings::good_file(std::string_view what, std::string_view found) {
  console_.object("check", {{"what", what}, {"ok", true}, {"found", found}});
  good_files_.of(std::string(found)).emplace_back(what);
}

void Findings::checked(std::string what) {
  if (std::ranges::count(checked_, what) == 0) checked_.push_back(std::move(what));
}

std::string Findings::verdict() const {
  if (!bad_.empty()) {
    return "not sound: " + counted(bad_.size(), "finding");
  }
  std::string out = checked_.empty() ? std::string("nothing was checked")
                                     : fmt::format("sound: {}", fmt::join(checked_, ", "));
  if (!not_checked_.empty()) out += fmt::format("; {}", fmt::join(not_checked_, ", "));
  return out;
}

std::vector<std::string> Findings::uncovered() const {
  std::vector<std::string> out = not_covered_;
  out.insert(out.end(), bytes_not_covered_.begin(), bytes_not_covered_.end());
  return out;
}

void Findings::say_bad() const {
  for (const std::string& line : bad_) console_.answer(line);
}

void Findings::say(std::string_view path) const {
  const Tone tone = !bad_.empty() ? Tone::kBad : checked_.empty() ? Tone::kPlain : Tone::kGood;
  const Console told = bad_.empty() ? console_.summary() : console_;
  told.answer_headed(fmt::format("{}: {}", path, verdict()), "", tone);
  say_bad();
  if (!not_covered_.empty()) {
    told.answer("not covered: {}", fmt::join(not_covered_, ", "));
  }
  for (const std::string& line : good_) told.answer(line);
  for (const auto& [found, files] : good_files_) {
    told.answer(files.size() == 1 ? fmt::format("{}: {}", files[0], found)
                                  : fmt::format("{} files: {}", files.size(), found));
  }
}

}  // namespace ckpt

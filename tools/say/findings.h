// Findings of verify: collected, then printed with the verdict first and what is bad before what is
// good.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/say/console.h"
#include "tools/say/tensor_groups.h"

namespace ckpt {

class Findings {
 public:
  explicit Findings(const Console& console) : console_(console) {}
  // Under --json every finding is an object at once; as text it is kept for say().
  void bad(std::string_view what, std::string_view found);
  void good(std::string_view what, std::string_view found);
  // A file that is as it must be: as text one line counts those with the same `found`.
  void good_file(std::string_view what, std::string_view found);
  // The checks that ran and those that did not, for the verdict.
  void checked(std::string what);  // once, however often it is called
  void not_checked(std::string what) { not_checked_.push_back(std::move(what)); }
  // A path that nothing covers; one that ends in '/' is a folder with all that is in it.
  void not_covered(std::string path) { not_covered_.push_back(std::move(path)); }

  // Bytes of a file that no tensor has, for uncovered() alone: as text, good() tells them.
  void not_covered_bytes(std::string place) { bytes_not_covered_.push_back(std::move(place)); }

  uint64_t bad_count() const { return bad_.size(); }
  const std::string& first_bad() const { return bad_.front(); }  // requires: there is one
  std::vector<std::string> uncovered() const;
  // One sentence without the path: "sound: structure, SHA-256 of 6 files".
  std::string verdict() const;
  // The verdict on `path`, the bad findings, what is not covered, the good ones.
  void say(std::string_view path) const;
  // Faults found before an error ended the work.
  void say_bad() const;

 private:
  const Console& console_;
  std::vector<std::string> bad_, good_, checked_, not_checked_, not_covered_,
      bytes_not_covered_;
  Groups<std::vector<std::string>> good_files_;  // by what was found
};

}  // namespace ckpt

// Collects the findings of verify, then prints the verdict, bad findings and good ones, in this
// order.
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
  // Prints each finding immediately as an object under --json; keeps it for say() otherwise.
  void bad(std::string_view what, std::string_view found);
  void good(std::string_view what, std::string_view found);
  // Adds a file that passed. Text output counts all files with the same `found` in one line.
  void good_file(std::string_view what, std::string_view found);
  // Record which checks ran and which did not, for the verdict.
  void checked(std::string what);  // repeated names count once
  void not_checked(std::string what) { not_checked_.push_back(std::move(what)); }
  // Adds a path that nothing covers; one that ends in '/' is a folder with all its content.
  void not_covered(std::string path) { not_covered_.push_back(std::move(path)); }

  // Adds bytes of a file outside all tensors, used by uncovered(). Text reports them by good().
  void not_covered_bytes(std::string place) { bytes_not_covered_.push_back(std::move(place)); }

  uint64_t bad_count() const { return bad_.size(); }
  const std::string& first_bad() const { return bad_.front(); }  // requires: there is one
  std::vector<std::string> uncovered() const;
  // One sentence without the path: "sound: structure, SHA-256 of 6 files".
  std::string verdict() const;
  // Prints the verdict on `path`, bad findings, uncovered paths and good findings.
  void say(std::string_view path) const;
  // Prints the faults that were found before an error ended the work.
  void say_bad() const;

 private:
  const Console& console_;
  std::vector<std::string> bad_, good_, checked_, not_checked_, not_covered_,
      bytes_not_covered_;
  Groups<std::vector<std::string>> good_files_;  // grouped by the text `found`
};

}  // namespace ckpt

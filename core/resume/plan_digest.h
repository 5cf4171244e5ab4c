// The digest of a plan: plans with the same digest give the same bytes, as long as the files they
// read do not change.
//
//   version ▸ files: path, size, header, extents ▸ tensors: shape, codec, origin, operations ─▶
//   SHA-256 files that are read: only their number in order of first use, name and size; what else
//   tells one content from another (times, inode) is listed with the digest, so that a change is
//   named
//
// Paths of OUT and the inputs are not part of the digest, so a plan is valid on other machines;
// values made while planning (headers, factors, weights of columns) are, by their content.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/model/plan.h"

namespace ckpt {

// A file that a plan reads tensor bytes from, as it was.
struct InputFile {
  std::string path;
  uint64_t size_bytes = 0;
  int64_t modified_ns = 0;  // since 1970
  uint64_t inode = 0;
  int64_t changed_ns = 0;  // of the inode, which no program can set back
  bool operator==(const InputFile&) const = default;
};

struct PlanDigest {
  std::string sha256;             // lower-case hex
  std::vector<InputFile> inputs;  // in order of first use
};

// `version`: of the program and of everything else that changes bytes. Requires: check(plan)
// passed. Fails: kIo if an input was replaced since it was opened.
Result<PlanDigest> digest_of(const Plan& plan, std::string_view version);

// Names the first changed input and its change; "" if none changed. Inodes and their changes are
// compared only if `same_machine`.
std::string changed_input(const std::vector<InputFile>& before, const std::vector<InputFile>& now,
                          bool same_machine);

}  // namespace ckpt

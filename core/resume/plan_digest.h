// The digest of a plan: plans with the same digest give the same bytes, as long as their input
// files do not change.
//
//   version ▸ files: path, size, header, extents ▸ tensors: shape, codec, origin, operations ─▶
//   SHA-256
//
// Only number (in order of first use), name and size of an input file enter the digest. Its times
// and inode are listed next to the digest, so that a message can name the changed file.
//
// Paths of OUT and the inputs are not part of the digest, so a plan is valid on other machines. The
// contents of values made while planning (headers, factors, weights of columns) are part of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/model/plan.h"

namespace ckpt {

// The state of a file from which a plan reads tensor bytes.
struct InputFile {
  std::string path;
  uint64_t size_bytes = 0;
  int64_t modified_ns = 0;  // since 1970
  uint64_t inode = 0;
  int64_t changed_ns = 0;  // of the inode; no program can set it back
  bool operator==(const InputFile&) const = default;
};

struct PlanDigest {
  std::string sha256;             // lower-case hex
  std::vector<InputFile> inputs;  // in order of first use
};

// `version` identifies the program and everything else that affects the bytes. Requires:
// check(plan) passed. Fails: kIo if an input was replaced since it was opened.
Result<PlanDigest> digest_of(const Plan& plan, std::string_view version);

// Names the first changed input and its change; "" if none changed. Compares inodes and their
// change times only if `same_machine` is set.
std::string changed_input(const std::vector<InputFile>& before, const std::vector<InputFile>& now,
                          bool same_machine);

}  // namespace ckpt

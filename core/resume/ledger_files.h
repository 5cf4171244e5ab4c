// Finds all ledgers next to an output: of runs of the entire plan and of shares.
//
//   OUT.partial.ledger   OUT.partial.ledger-3-of-8   OUT.partial.ledger-3-of-8.2 (the same share,
//                                                    begun while the first was running)
#pragma once

#include <filesystem>
#include <vector>

#include "core/model/plan.h"
#include "core/outputs/execute_options.h"
#include "core/resume/ledger.h"

namespace ckpt {

struct LedgerFile {
  std::filesystem::path path;
  uint32_t share_number = 0, share_count = 0;  // 0: the entire plan
  LedgerContent content;                       // empty if it cannot be read
  bool is_ours = false;                        // for this plan and these inputs
  bool is_complete = false;  // the share is done, in the existing files
};

// The digest that ledgers of this plan and these options contain.
Result<PlanDigest> digest_of(const Plan& plan, const ExecuteOptions& options);

// The path of the ledger of an output, or of a share if `options` select one.
std::filesystem::path ledger_path(const Output& output);
std::filesystem::path share_ledger_path(const Output& output, const ResumeOptions& options);

// The files next to `first`, a result of ledger_path(), that have its name or the name of a share's
// ledger. Does not open them. Fails: kIo.
Result<std::vector<LedgerFile>> ledgers_at(const std::filesystem::path& first);

// The ledgers of the first output, sorted by path. Fails: kIo.
Result<std::vector<LedgerFile>> find_ledgers(const Plan& plan, const LedgerHead& head);

// Whether bytes written to this file under a temporary name still exist, and nobody else could
// write to it since. Fails: kIo if this cannot be determined.
Result<bool> is_same_partial(const Plan& plan, const LedgerEntry& file);

}  // namespace ckpt

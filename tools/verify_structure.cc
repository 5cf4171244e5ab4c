#include "tools/verify_structure.h"

#include "formats/formats.h"
#include "quantizers/quantizers.h"

namespace ckpt {

Status check_structure(const std::filesystem::path& path, bool may_be_other, Findings& findings) {
  const Result<const Format*> format = recognize(path);
  if (!format) {
    if (format.error().code == ErrorCode::kIo || !may_be_other) return Failure(format.error());
    findings.not_checked("structure not checked, there is no checkpoint that ckpt reads");
    return {};
  }
  follow_links(true);  // links are named where files are compared
  const Result<Checkpoint> checkpoint = (*format)->read(path, all_codecs());
  if (checkpoint) {
    findings.good(path.string(), fmt::format("{} structure is sound, {} tensors", (*format)->name,
                                             checkpoint->tensors.size()));
    findings.checked("structure");
  } else if (const ErrorCode code = checkpoint.error().code;
             code != ErrorCode::kCorrupt && code != ErrorCode::kUnsupported) {
    return Failure(checkpoint.error());  // no judgement on what is there
  } else {
    std::string found = checkpoint.error().text();
    const std::string where = path.string() + ": ";
    if (found.starts_with(where)) found.erase(0, where.size());
    findings.bad(path.string(), found);
  }
  return {};
}

}  // namespace ckpt

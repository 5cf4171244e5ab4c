#include "tools/published/send.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "core/base/counted.h"
#include "core/io/paths.h"

namespace ckpt {
namespace {

void report_placements(const std::string& target, const std::vector<Placement>& placements,
                       const Console& console) {
  Table table({"file", "size", "place"});
  for (const Placement& placement : placements) {
    table.add({placement.file.empty() ? "-" : placement.file,
               placement.size_bytes == 0 ? "" : human_bytes(placement.size_bytes),
               placement.place});
    console.object("placement", {{"target", target},
                                 {"file", placement.file},
                                 {"place", placement.place},
                                 {"size_bytes", placement.size_bytes}});
  }
  console.answer_table(table, {false, true});
}

void report_sent(const std::string& target, const SentArtifact& sent, const Console& console) {
  const std::string digest = sent.digest.empty() ? "" : "sha256:" + sent.digest;
  console.answer("{}{}{}", sent.address, digest.empty() ? "" : "  ", digest);
  console.talk("{}: {} sent ({}), {} already there", target, counted(sent.sent_files, "file"),
               human_bytes(sent.sent_bytes), sent.present_files);
  if (!sent.text.empty()) console.answer_lines(sent.text);
  console.object("sent", {{"target", target},
                          {"address", sent.address},
                          {"digest", digest},
                          {"sent_files", sent.sent_files},
                          {"sent_bytes", sent.sent_bytes},
                          {"present_files", sent.present_files}});
}

}  // namespace

Shipment shipment_of(const std::filesystem::path& folder, const std::vector<FolderEntry>& entries,
                     const std::string& as) {
  Shipment out{folder, {}, {}, as};
  for (const FolderEntry& entry : entries) out.files.push_back({entry.path, "", entry.size_bytes});
  return out;
}

Result<FileState> state_now(const std::filesystem::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return io_failure(path, "cannot be examined", errno);
  return state_of(status);
}

Status check_send(const std::vector<std::string>& targets, const Shipment& shipment,
                  const Console& console, bool tells) {
  const bool has_registry = std::ranges::any_of(
      targets, [](const std::string& address) { return address.starts_with("oci://"); });
  if (!shipment.as.empty() && !has_registry) {
    return misuse("--as {} without --to oci://HOST/NAME:TAG", shipment.as);
  }
  for (const std::string& address : targets) {
    CKPT_ASSIGN(const PublishTarget* target, find_publish_target(address));
    CKPT_ASSIGN(const auto placements, target->list(address, shipment));
    if (tells) report_placements(address, placements, console);
  }
  return {};
}

Status send_to(const std::vector<std::string>& targets, const Shipment& shipment,
               const Console& console, const SendOptions& options) {
  for (const std::string& address : targets) {
    CKPT_ASSIGN(const PublishTarget* target, find_publish_target(address));
    CKPT_ASSIGN(const SentArtifact sent, target->send(address, shipment, options));
    report_sent(address, sent, console);
  }
  return {};
}

}  // namespace ckpt

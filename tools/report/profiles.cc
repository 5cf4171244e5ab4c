#include "tools/report/profiles.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "checks/checks.h"
#include "plan/conversion/fixing.h"
#include "plan/conversion/steps.h"
#include "tools/doctor/doctor_report.h"
#include "tools/line/commands.h"
#include "tools/say/severity.h"
#include "transforms/transforms.h"

namespace ckpt {
namespace {

// Only a command that leaves a yes is advised.
Result<std::string> fix_command(const std::filesystem::path& path, const Checkpoint& checkpoint,
                                const std::string& profile) {
  std::vector<std::string> notes;
  const Fixing fixing{{profile}, "", true};
  CKPT_ASSIGN(const Fixed fixed, fix_checkpoint(checkpoint, fixing, step_context(&notes)));
  if (fixed.steps.empty() || !fixed.left.is_good()) return std::string();
  return fmt::format("ckpt doctor {} --for {} --fix{}", shell_path(path.string()), profile,
                     fixed.rewrites_weights ? " --rewrite-weights" : "");
}

Json findings_of(const Diagnosis& diagnosis, const Verdict& verdict) {
  Json out = Json::array();
  for (const Finding& finding : diagnosis.findings) {
    if (finding.profile != verdict.profile || finding.severity == Severity::kInfo) continue;
    const std::string text =
        fmt::format("{} {}: {}: {}", finding.check, severity_words(finding.severity), finding.place,
                    finding.found);
    if (std::find(out.begin(), out.end(), text) == out.end()) out.push_back(text);
  }
  if (!verdict.not_checked.empty()) out.push_back("not checked: " + verdict.not_checked);
  return out;
}

// The checks that the findings of one profile name, each once: what they expect, and what a person
// would see.
Json explained(const Diagnosis& diagnosis, const Verdict& verdict,
               const std::vector<CheckInfo>& checks) {
  Json out = Json::array();
  std::set<std::string> named;
  for (const Finding& finding : diagnosis.findings) {
    if (finding.profile != verdict.profile || finding.severity == Severity::kInfo) continue;
    const auto info = std::ranges::find(checks, finding.check, &CheckInfo::id);
    if (info == checks.end() || !named.insert(finding.check).second) continue;
    out.push_back({{"check", finding.check},
                   {"title", info->title},
                   {"symptom", text_or_null(finding.symptom)},
                   {"advice", text_or_null(finding.fix.advice)}});
  }
  return out;
}

}  // namespace

Json text_or_null(std::string text) { return text.empty() ? Json() : Json(std::move(text)); }

Result<Json> report_profiles(const std::filesystem::path& path, const Checkpoint& checkpoint,
                             const Console& console) {
  ProgressLine progress(console, "reading");
  CKPT_ASSIGN(
      const Diagnosis diagnosis,
      diagnose(checkpoint, {{}, false, "", is_given_step, packed_forms, &progress, &interrupted}));
  progress.clear();
  const std::vector<CheckInfo> checks = all_checks();
  Json out = Json::array();
  for (const Verdict& verdict : diagnosis.verdicts) {
    const bool is_good = verdict.loads && verdict.sound;
    std::string fix, serve;
    if (!is_good) {
      CKPT_ASSIGN(fix, fix_command(path, checkpoint, verdict.profile));
    } else if (verdict.not_checked.empty()) {
      serve = serve_command(verdict.profile, checkpoint, shell_path(path.string()));
    }
    out.push_back({{"name", verdict.profile},
                   {"loads", verdict_word(verdict.loads, verdict)},
                   {"sound", verdict_word(verdict.sound, verdict)},
                   {"findings", findings_of(diagnosis, verdict)},
                   {"explained", explained(diagnosis, verdict, checks)},
                   {"fix", text_or_null(std::move(fix))},
                   {"serve", text_or_null(std::move(serve))}});
  }
  return out;
}

}  // namespace ckpt

#include "tools/doctor/doctor_report.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

namespace ckpt {
namespace {

constexpr size_t kPlacesShown = 3;

const IdleStep* find_idle(const Report& report, const Fix& fix) {
  const auto at = std::find_if(report.idle.begin(), report.idle.end(),
                               [&](const IdleStep& idle) { return idle.step == fix.step; });
  return at == report.idle.end() ? nullptr : &*at;
}

// True when --fix takes the finding away, if only after other steps.
bool is_fixed(const Report& report, const Fix& fix) {
  return fix.is_automatic() &&
         (find_idle(report, fix) == nullptr ||
          std::count(report.steps.begin(), report.steps.end(), fix.step) != 0);
}

// The command line that takes a finding away; empty where a person must.
std::string fix_command(const Report& report, const Fix& fix) {
  if (fix.step.empty() || find_idle(report, fix) != nullptr) return {};
  const std::string word = shell_path(report.path.string());
  if (fix.rewrites_weights) {
    return fmt::format("ckpt convert {} OUT --step {}", word, shell_word(fix.step));
  }
  return fmt::format("ckpt patch {} --step {}", word, shell_word(fix.step));
}

// The one that fixes all that steps can.
std::string fix_all_command(const Report& report) {
  if (report.steps.empty()) return {};
  std::string out = fmt::format("ckpt doctor {} --fix", shell_path(report.path.string()));
  if (report.rewrites_weights) out += " --rewrite-weights";
  for (const std::string& profile : report.profiles) out += " --for " + shell_word(profile);
  if (!report.base.empty()) out += " --base " + shell_path(report.base);
  return out;
}

// ---- verdicts -----------------------------------------------------------------------------------

int rank(const Verdict& verdict) {
  if (!verdict.loads) return 0;
  if (!verdict.sound) return 1;
  return verdict.not_checked.empty() ? 3 : 2;
}

std::string verdict_line(const Report& report) {
  std::vector<std::string> groups[4];
  for (const Verdict& verdict : report.diagnosis.verdicts) {
    groups[rank(verdict)].push_back(verdict.profile);
  }
  constexpr std::string_view kSaid[] = {"does not load in", "loads and is unsound in",
                                        "not checked for", "loads and is sound in"};
  std::vector<std::string> parts;
  for (size_t i = 0; i < 4; ++i) {
    if (!groups[i].empty()) {
      parts.push_back(fmt::format("{} {}", kSaid[i], fmt::join(groups[i], ", ")));
    }
  }
  return fmt::format("{}{}: {}", report.path.string(), report.is_would_be ? ", once fixed" : "",
                     fmt::join(parts, "; "));
}

void show_verdicts(const Console& console, const Report& report) {
  int worst = 3;
  for (const Verdict& verdict : report.diagnosis.verdicts) worst = std::min(worst, rank(verdict));
  const Tone tone = worst < 2 ? Tone::kBad : worst == 2 ? Tone::kPlain : Tone::kGood;
  console.answer_headed(verdict_line(report), "", tone);
  std::vector<const Verdict*> order;
  for (const Verdict& verdict : report.diagnosis.verdicts) {
    order.push_back(&verdict);
    console.object("verdict", {{"profile", verdict.profile},
                               {"loads", verdict.loads},
                               {"sound", verdict.sound},
                               {"weights_checked", verdict.not_checked.empty()},
                               {"not_checked", verdict.not_checked}});
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const Verdict* a, const Verdict* b) { return rank(*a) < rank(*b); });
  Table table({"profile", "loads", "sound"});
  std::map<std::string, std::vector<std::string>> reasons;
  for (const Verdict* verdict : order) {
    table.add({verdict->profile, std::string(verdict_word(verdict->loads, *verdict)),
               std::string(verdict_word(verdict->sound, *verdict))});
    if (!verdict->not_checked.empty()) reasons[verdict->not_checked].push_back(verdict->profile);
  }
  for (const std::string& line : table.lines({false, false, false})) console.answer(line);
  for (const auto& [reason, profiles] : reasons) {
    console.answer(fmt::format("not checked: {} ({})", reason, fmt::join(profiles, ", ")));
  }
}

// ---- findings -----------------------------------------------------------------------------------

// The same finding for several programs, or in several places, is shown once.
struct Shown {
  const Finding* finding;
  std::vector<std::string> profiles, places;
};

bool is_same_kind(const Finding& a, const Finding& b) {
  return a.check == b.check && a.severity == b.severity && a.symptom == b.symptom &&
         a.fix.step == b.fix.step && a.fix.advice == b.fix.advice;
}

void add_once(std::vector<std::string>& list, const std::string& entry) {
  if (std::count(list.begin(), list.end(), entry) == 0) list.push_back(entry);
}

std::vector<Shown> gathered(const Diagnosis& diagnosis) {
  std::vector<Shown> out;
  for (const Finding& finding : diagnosis.findings) {
    const auto at = std::find_if(out.begin(), out.end(), [&](const Shown& shown) {
      return is_same_kind(*shown.finding, finding);
    });
    Shown& shown = at == out.end() ? out.emplace_back(Shown{&finding, {}, {}}) : *at;
    add_once(shown.profiles, finding.profile);
    add_once(shown.places, fmt::format("{}: {}", finding.place, finding.found));
  }
  std::stable_sort(out.begin(), out.end(), [](const Shown& a, const Shown& b) {
    return a.finding->severity > b.finding->severity;
  });
  return out;
}

void show_places(const Console& console, const Shown& shown) {
  const size_t count = std::min(shown.places.size(), kPlacesShown);
  for (size_t i = 1; i < count; ++i) console.answer("    and " + shown.places[i]);
  if (shown.places.size() > count) {
    console.answer(fmt::format("    and {} more such places", shown.places.size() - count));
  }
}

void show_finding(const Console& console, const Shown& shown, const Report& report) {
  const Finding& finding = *shown.finding;
  console.answer("");
  console.answer_headed(
      finding.check, fmt::format(" {}  {}", severity_name(finding.severity), shown.places.front()));
  show_places(console, shown);
  console.answer(fmt::format("    for: {}", fmt::join(shown.profiles, ", ")));
  if (!finding.symptom.empty()) console.answer(fmt::format("    seen as: {}", finding.symptom));
  const std::string command = fix_command(report, finding.fix);
  if (!command.empty()) console.answer(fmt::format("    fix: {}", command));
  if (!finding.fix.needs.empty()) console.answer(fmt::format("    {}", finding.fix.needs));
  if (!finding.fix.advice.empty()) {
    console.answer(fmt::format("    {}: {}", command.empty() ? "fix" : "or", finding.fix.advice));
  } else if (const IdleStep* idle = find_idle(report, finding.fix)) {
    console.answer(idle->why.empty()
                       ? fmt::format("    fix: by hand; step {} changes nothing here", idle->step)
                       : fmt::format("    fix: step {} cannot be applied yet: {}", idle->step,
                                     with_patch_command(idle->why, report.path)));
  }
}

void show_objects(const Console& console, const Report& report) {
  for (const Finding& finding : report.diagnosis.findings) {
    console.object("check", {{"check", finding.check},
                             {"profile", finding.profile},
                             {"severity", severity_name(finding.severity)},
                             {"place", finding.place},
                             {"found", finding.found},
                             {"symptom", finding.symptom},
                             {"mend", fix_command(report, finding.fix)},
                             {"step", finding.fix.step},
                             {"needs", finding.fix.needs},
                             {"advice", finding.fix.advice},
                             {"rewrites_weights", finding.fix.rewrites_weights},
                             {"fix", is_fixed(report, finding.fix)}});
  }
}

// ---- what to type next --------------------------------------------------------------------------

// Findings that fixing would uncover: nothing that is there now says them.
std::vector<Shown> uncovered(const Report& report) {
  std::vector<Shown> out = gathered(report.left);
  std::erase_if(out, [&](const Shown& shown) {
    if (shown.finding->severity < Severity::kWarning) return true;
    const auto& now = report.diagnosis.findings;
    return std::any_of(now.begin(), now.end(),
                       [&](const Finding& f) { return f.check == shown.finding->check; });
  });
  return out;
}

void show_next(const Console& console, const Report& report) {
  const std::string command = fix_all_command(report);
  std::vector<std::string> left;
  for (const Finding& finding : report.left.findings) {
    if (finding.severity >= Severity::kUnsound) add_once(left, finding.check);
  }
  console.object("next", {{"fix", command}, {"steps", report.steps}, {"left", left}});
  if (!command.empty()) {
    const std::vector<Shown> later = uncovered(report);
    if (!later.empty()) {
      console.answer("");
      console.answer("What the fixes uncover:");
    }
    for (const Shown& shown : later) show_finding(console, shown, report);
    console.answer("");
    const std::string note =
        left.empty() ? std::string() : fmt::format("   (leaves {})", fmt::join(left, ", "));
    console.answer(fmt::format("Fix all: {}{}", command, note));
  }
  if (report.serve.empty() || !report.diagnosis.is_good()) return;
  if (command.empty()) console.answer("");
  for (const auto& [profile, serve] : report.serve) {
    console.answer(fmt::format("Serve with {}: {}", profile, serve));
    console.object("serve", {{"profile", profile}, {"command", serve}});
  }
}

}  // namespace

std::string_view verdict_word(bool value, const Verdict& verdict) {
  if (!value) return "no";
  return verdict.not_checked.empty() ? "yes" : "not checked";
}

void show_diagnosis(const Console& console, const Report& report) {
  show_verdicts(console, report);
  for (const Shown& shown : gathered(report.diagnosis)) show_finding(console, shown, report);
  show_objects(console, report);
  show_next(console, report);
}

}  // namespace ckpt

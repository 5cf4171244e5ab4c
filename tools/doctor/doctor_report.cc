#include "tools/doctor/doctor_report.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <unordered_set>

#include "core/base/printable.h"
#include "core/base/words.h"
#include "core/io/remote_files.h"
#include "plan/conversion/advice.h"
#include "tools/say/severity.h"

namespace ckpt {
namespace {

constexpr size_t kPlacesShown = 3;

const IdleStep* find_idle(const Report& report, const Fix& fix) {
  const auto at = std::ranges::find(report.idle, fix.step, &IdleStep::step);
  return at == report.idle.end() ? nullptr : &*at;
}

// True when --fix takes the finding away, if only after other steps.
bool is_fixed(const Report& report, const Fix& fix) {
  return fix.is_automatic() &&
         (find_idle(report, fix) == nullptr || std::ranges::count(report.steps, fix.step) != 0);
}

AdvisedFor advised_for(const Report& report) { return {report.path, report.base, report.profiles}; }

bool needs_base(const Finding& finding) {
  return finding.severity >= Severity::kUnsound && finding.fix.needs.starts_with("BASE");
}

// Programs for which findings are left that the unquantized model would fix.
std::vector<std::string> profiles_without_base(const Report& report) {
  std::vector<std::string> out;
  for (const Finding& finding : report.left.findings) {
    const bool is_new = std::ranges::count(out, finding.profile) == 0;
    if (needs_base(finding) && is_new) out.push_back(finding.profile);
  }
  return out;
}

// Makes another folder, which also gets what its programs need.
std::string export_command(const Report& report, const std::vector<std::string>& profiles) {
  return advised_command("ckpt convert IN OUT --to nvfp4", {report.path, {}, profiles});
}

// The one that fixes more, with the unquantized model at hand; empty where it would not.
std::string fix_with_base_command(const Report& report) {
  const std::vector<std::string> profiles = profiles_without_base(report);
  if (profiles.empty() || report.is_training) return {};
  return with_profiles(
      fmt::format("ckpt convert {} {} --base BASE", shell_path(report.path.string()),
                  free_name(report.path, "fixed")),
      report.profiles.empty() ? profiles : report.profiles);
}

// Of a finding whose own step changes nothing: what fixes it in addition to other findings.
std::string idle_fix(const Report& report, const Finding& finding) {
  const auto is_same = [&](const Finding& left) {
    return left.check == finding.check && left.profile == finding.profile;
  };
  const auto& left = report.left.findings;
  if (!report.steps.empty() && std::ranges::none_of(left, is_same)) {
    return "the command after 'Fix all' includes it";
  }
  return fix_with_base_command(report).empty() ? std::string() : "the command with BASE below";
}

// Files of a URL are fixed in a copy.
std::string copy_option(const Report& report) {
  return is_url(report.path) ? " --out " + free_name(report.path, "fixed") : "";
}

// The command line that takes a finding away; empty where a person must.
std::string fix_command(const Report& report, const Finding& finding) {
  const Fix& fix = finding.fix;
  if (report.is_training && !fix.step.empty()) return export_command(report, {finding.profile});
  const bool is_idle = find_idle(report, fix) != nullptr;
  if (is_idle && !idle_fix(report, finding).empty()) return {};
  if (fix.step.empty() || is_idle) return advised_command(fix.advice, advised_for(report));
  const std::string word = shell_path(report.path.string());
  if (fix.rewrites_weights) {
    return with_profiles(fmt::format("ckpt convert {} {} --step {}", word,
                                     free_name(report.path, "fixed"), shell_word(fix.step)),
                         report.profiles);
  }
  return fmt::format("ckpt patch {}{} --step {}", word, copy_option(report), shell_word(fix.step));
}

// The one that fixes all that steps can.
std::string fix_all_command(const Report& report) {
  if (report.is_training) return export_command(report, report.profiles);
  if (report.steps.empty()) return {};
  std::string out = fmt::format("ckpt doctor {} --fix", shell_path(report.path.string()));
  out += copy_option(report);
  if (report.rewrites_weights) out += " --rewrite-weights";
  out = with_profiles(std::move(out), report.profiles);
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
                               {"not_checked", verdict.not_checked},
                               {"note", verdict.note}});
  }
  std::ranges::stable_sort(order,
                           [](const Verdict* a, const Verdict* b) { return rank(*a) < rank(*b); });
  Table table({"profile", "loads", "sound"});
  std::map<std::string, std::vector<std::string>> reasons;
  for (const Verdict* verdict : order) {
    table.add({verdict->profile, std::string(verdict_word(verdict->loads, *verdict)),
               std::string(verdict_word(verdict->sound, *verdict))});
    if (!verdict->not_checked.empty()) reasons[verdict->not_checked].push_back(verdict->profile);
  }
  console.answer_table(table);
  for (const auto& [reason, profiles] : reasons) {
    console.answer("not checked: {} ({})", reason, fmt::join(profiles, ", "));
  }
  for (const Verdict* verdict : order) {
    if (!verdict->note.empty()) console.answer("{}: {}", verdict->profile, verdict->note);
  }
}

// ---- findings -----------------------------------------------------------------------------------

// The same finding for several programs, or in several places, is shown once.
struct Shown {
  const Finding* finding;
  std::vector<std::string> profiles, places;
};

auto finding_kind(const Finding& finding) {
  return std::tie(finding.check, finding.severity, finding.symptom, finding.fix.step,
                  finding.fix.advice);
}

// Each text once, in the order in which they first come; files may have a finding for each key.
class EachOnce {
 public:
  explicit EachOnce(std::vector<std::string>& list) : list_(list) {}
  void add(const std::string& entry) {
    if (seen_.insert(entry).second) list_.push_back(entry);
  }

 private:
  std::vector<std::string>& list_;
  std::unordered_set<std::string> seen_;
};

void gather(const std::vector<const Finding*>& findings, Shown& shown) {
  EachOnce profiles(shown.profiles), places(shown.places);
  for (const Finding* finding : findings) {
    profiles.add(finding->profile);
    places.add(fmt::format("{}: {}", finding->place, finding->found));
  }
}

std::vector<Shown> gathered(const Diagnosis& diagnosis) {
  std::vector<Shown> out;
  std::map<decltype(finding_kind(diagnosis.findings[0])), size_t> known;
  std::vector<std::vector<const Finding*>> of_kind;
  for (const Finding& finding : diagnosis.findings) {
    const auto [at, is_new] = known.try_emplace(finding_kind(finding), out.size());
    if (is_new) {
      out.push_back({&finding, {}, {}});
      of_kind.emplace_back();
    }
    of_kind[at->second].push_back(&finding);
  }
  for (size_t i = 0; i < out.size(); ++i) gather(of_kind[i], out[i]);
  std::ranges::stable_sort(out, [](const Shown& a, const Shown& b) {
    return a.finding->severity > b.finding->severity;
  });
  return out;
}

void show_places(const Console& console, const Shown& shown) {
  const size_t count = std::min(shown.places.size(), kPlacesShown);
  for (size_t i = 1; i < count; ++i) console.answer("    and " + shown.places[i]);
  if (shown.places.size() > count) {
    console.answer("    and {} more such places", shown.places.size() - count);
  }
}

std::string idle_words(const Report& report, const Finding& finding, const IdleStep& idle) {
  if (!idle.why.empty()) {
    return fmt::format("step {} cannot be applied yet: {}", idle.step,
                       with_patch_command(idle.why, report.path));
  }
  std::string words = idle_fix(report, finding);
  if (words.empty()) words = fmt::format("none here; step {} changes nothing", idle.step);
  return words;
}

// A word that a person fills in.
bool has_blank(const std::string& command, const std::string& word) {
  return has_word(" " + command + " ", word) || command.find("=" + word) != command.npos;
}

void show_fix(const Console& console, const Report& report, const Finding& finding) {
  const Fix& fix = finding.fix;
  const std::string command = fix_command(report, finding);
  const std::string words = advised_words(fix.advice, advised_for(report));
  const IdleStep* idle = find_idle(report, fix);
  if (!command.empty()) console.answer("    fix: {}", command);
  if (!fix.needs.empty()) {
    console.answer("    {}", fix.needs);
  } else if (has_blank(command, "BASE")) {
    console.answer("    BASE: the unquantized model's folder");
  } else if (has_blank(command, "FOLDER")) {
    console.answer("    FOLDER: the Hugging Face folder that it was converted from");
  }
  if (!words.empty()) {
    console.answer("    {}: {}", command.empty() ? "fix" : "or", words);
  } else if (idle != nullptr && command.empty()) {
    console.answer("    fix: {}", idle_words(report, finding, *idle));
  }
}

void show_finding(const Console& console, const Shown& shown, const Report& report) {
  const Finding& finding = *shown.finding;
  console.answer("");
  console.answer_headed(fmt::format("{} {}", finding.check, severity_words(finding.severity)),
                        fmt::format("  {}", shown.places.front()), tone_of(finding.severity));
  show_places(console, shown);
  console.answer("    for: {}", fmt::join(shown.profiles, ", "));
  if (!finding.symptom.empty()) console.answer("    seen as: {}", finding.symptom);
  show_fix(console, report, finding);
}

void show_objects(const Console& console, const Report& report) {
  const AdvisedFor on = advised_for(report);
  for (const Finding& finding : report.diagnosis.findings) {
    console.object("check", {{"check", finding.check},
                             {"profile", finding.profile},
                             {"severity", severity_name(finding.severity)},
                             {"place", finding.place},
                             {"found", finding.found},
                             {"symptom", finding.symptom},
                             {"mend", fix_command(report, finding)},
                             {"step", finding.fix.step},
                             {"needs", finding.fix.needs},
                             {"advice", advised_words(finding.fix.advice, on)},
                             {"rewrites_weights", finding.fix.rewrites_weights},
                             {"fix", is_fixed(report, finding.fix)}});
  }
}

// ---- what to type next --------------------------------------------------------------------------

// Findings that fixing would uncover: nothing that is there now says them.
std::vector<Shown> uncovered(const Report& report) {
  std::vector<Shown> out = gathered(report.left);
  std::set<std::string_view> now;
  for (const Finding& finding : report.diagnosis.findings) now.insert(finding.check);
  std::erase_if(out, [&](const Shown& shown) {
    return shown.finding->severity < Severity::kWarning || now.contains(shown.finding->check);
  });
  return out;
}

void show_next(const Console& console, const Report& report) {
  const std::string command = fix_all_command(report);
  std::vector<std::string> left;
  EachOnce checks(left);
  for (const Finding& finding : report.left.findings) {
    if (finding.severity >= Severity::kUnsound) checks.add(finding.check);
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
    const std::string note = left.empty() || report.is_training
                                 ? std::string()
                                 : fmt::format("   (leaves {})", fmt::join(left, ", "));
    console.answer("Fix all: {}{}", command, note);
  }
  if (const std::string with_base = fix_with_base_command(report); !with_base.empty()) {
    if (command.empty()) console.answer("");
    console.answer("Fix {}: {}", command.empty() ? "all" : "the rest", with_base);
    console.answer("    BASE: the unquantized model's folder");
  }
  if (report.serve.empty() || !report.diagnosis.is_good()) return;
  if (command.empty()) console.answer("");
  for (const auto& [profile, serve] : report.serve) {
    console.answer("Serve with {}: {}", profile, serve);
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

// Prints the answer of `ckpt doctor` as text and as JSON objects.
#include "tools/doctor/doctor_report.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <unordered_set>

#include "core/base/counted.h"
#include "core/base/printable.h"
#include "tools/say/severity.h"
#include "tools/say/width.h"

namespace ckpt {
namespace {

constexpr size_t kPlacesShown = 3, kFindingsShown = 5, kProfilesNamed = 3;
constexpr std::string_view kFindingIndent = "    ";

// Wraps `text` to the terminal. Lines after the first are indented by the width of `lead`.
std::string in_lines(std::string_view lead, std::string_view text) {
  const size_t least = lead.size() + 20;
  const size_t width = std::max(terminal_columns().value_or(text.size() + least), least);
  return wrapped(std::string(lead) + printable(text), width, lead.size()).substr(lead.size());
}

void answer_wrapped(const Console& console, std::string_view lead, std::string_view text) {
  console.answer_lines(std::string(lead) + in_lines(lead, text));
}

// A line with a command, and a note on the checks that still fail after it. `head` is bold and has
// the color of `tone`.
struct CommandLine {
  std::string head, text, command, note;
  Tone tone = Tone::kPlain;
};

// If the line is wider than the terminal, the command goes to separate lines that a shell joins.
void answer_command(const Console& console, const CommandLine& line) {
  const auto& [head, text, command, note, tone] = line;
  const size_t width = shown_width(head + text + command + note);
  const auto columns = terminal_columns();
  const bool fits = !columns || width <= *columns || command.empty();
  const size_t end = text.find_last_not_of(' ') + 1;  // npos + 1 is 0
  const std::string rest = fits ? text + command + note : text.substr(0, end) + note;
  head.empty() ? console.answer(rest) : console.answer_headed(head, rest, tone);
  if (fits) return;
  console.answer_lines(wrapped(std::string(kFindingIndent) + command,
                               std::max<size_t>(*columns, 40), kFindingIndent.size() + 2));
}

// Orders verdicts: 0: does not load; 1: wrong results; 2: not checked; 3: correct.
size_t rank(const Verdict& verdict) {
  if (!verdict.loads) return 0;
  if (!verdict.sound) return 1;
  return verdict.not_checked.empty() ? 3 : 2;
}

std::string_view verdict_words(const Verdict& verdict) {
  constexpr std::string_view kWords[] = {"does not load", "loads  wrong results", "not checked",
                                         "loads  correct"};
  return kWords[rank(verdict)];
}

// Returns "   (leaves C02, T19)" for the checks that still fail after a command.
std::string left_words(const std::vector<std::string>& left, bool has_command) {
  if (left.empty()) return {};
  return fmt::format("{}({} {})", has_command ? "   " : "", has_command ? "leaves" : "see",
                     fmt::join(left, ", "));
}

void show_row(const Console& console, const ProgramRow& row, size_t names, size_t states) {
  const size_t place = rank(row.verdict);
  std::string head = fmt::format("{:<{}}  {}", release_label(row.verdict.profile), names,
                                 verdict_words(row.verdict));
  const std::string command = row.fix + row.serve + row.convert;
  const std::string note = left_words(row.left, !row.fix.empty());
  const bool is_alone = note.empty() && command.empty();
  std::string space(is_alone ? 0 : names + states + 4 - head.size(), ' ');
  const Tone tone = place < 2 ? Tone::kBad : place == 2 ? Tone::kPlain : Tone::kGood;
  answer_command(console, {std::move(head), std::move(space), command, note, tone});
}

// The command that runs the doctor for other programs.
std::string doctor_command(const Report& report, std::string_view profiles) {
  const std::string& base = report.typed.base;
  return fmt::format("ckpt doctor {}{}{} --for {}", shell_path(report.path.string()),
                     base.empty() ? base : " --base " + shell_path(base),
                     report.typed.deep ? " --deep" : "", profiles);
}

// Prints "8 older releases: 3 correct, 5 not loading: ckpt doctor m --for all".
void show_older(const Console& console, const Report& report) {
  if (report.older.empty()) return;
  constexpr std::string_view kStates[] = {"not loading", "with wrong results", "not checked",
                                          "correct"};
  size_t counts[4] = {};
  for (const Verdict& verdict : report.older) ++counts[rank(verdict)];
  std::vector<std::string> parts;
  for (size_t i = 4; i-- > 0;) {
    if (counts[i] > 0) parts.push_back(fmt::format("{} {}", counts[i], kStates[i]));
  }
  answer_command(console, {"",
                           fmt::format("{}: {}: ", counted(report.older.size(), "older release"),
                                       fmt::join(parts, ", ")),
                           doctor_command(report, "all"), ""});
}

void show_verdicts(const Console& console, const Report& report) {
  size_t names = 0, states = 0;
  std::map<std::string, std::vector<std::string>> reasons;
  for (const ProgramRow& row : report.rows) {
    const Verdict& verdict = row.verdict;
    names = std::max(names, release_label(verdict.profile).size());
    states = std::max(states, verdict_words(verdict).size());
    if (!verdict.not_checked.empty()) reasons[verdict.not_checked].push_back(verdict.profile);
    Json fields = verdict_fields(verdict);
    fields.update({{"fix", row.fix}, {"left", row.left}});
    console.object("verdict", std::move(fields));
  }
  if (report.is_would_be) console.answer("{}, once fixed:", report.path.string());
  for (const ProgramRow& row : report.rows) show_row(console, row, names, states);
  show_older(console, report);
  for (const auto& [reason, profiles] : reasons) {
    answer_wrapped(console, "",
                   fmt::format("not checked: {} ({})", reason, fmt::join(profiles, ", ")));
  }
  if (report.typed.profiles.empty()) return;
  for (const ProgramRow& row : report.rows) {
    if (row.verdict.note.empty()) continue;
    answer_wrapped(console, "", fmt::format("{}: {}", row.verdict.profile, row.verdict.note));
  }
}

auto finding_kind(const Finding& finding) {
  return std::tie(finding.check, finding.severity, finding.symptom, finding.fix.step,
                  finding.fix.advice);
}

// A list of distinct texts in order of first appearance; files may repeat a finding for each key.
class UniqueList {
 public:
  explicit UniqueList(std::vector<std::string>& list) : list_(list) {}
  void add(const std::string& entry) {
    if (seen_.insert(entry).second) list_.push_back(entry);
  }

 private:
  std::vector<std::string>& list_;
  std::unordered_set<std::string> seen_;
};

void gather(const std::vector<const Finding*>& findings, MergedFinding& shown) {
  UniqueList profiles(shown.profiles), places(shown.places);
  for (const Finding* finding : findings) {
    profiles.add(finding->profile);
    places.add(fmt::format("{}: {}", finding->place, finding->found));
  }
}

void show_places(const Console& console, const MergedFinding& shown) {
  const size_t count = std::min(shown.places.size(), kPlacesShown);
  for (size_t i = 1; i < count; ++i) {
    answer_wrapped(console, kFindingIndent, "and " + shown.places[i]);
  }
  if (shown.places.size() > count) {
    console.answer("    and {} more such places", shown.places.size() - count);
  }
}

void show_fix(const Console& console, const Report& report, const Finding& finding) {
  const std::string command = fix_command(report, finding), words = fix_words(report, finding);
  if (!command.empty()) answer_command(console, {"", "    fix: ", command, ""});
  if (!finding.fix.needs.empty()) {
    console.answer("    {}", finding.fix.needs);
  } else if (has_blank(command, "BASE")) {
    console.answer("    BASE: the unquantized model's folder");
  } else if (has_blank(command, "FOLDER")) {
    console.answer("    FOLDER: the Hugging Face folder that it was converted from");
  }
  if (words.empty()) return;
  answer_wrapped(console, kFindingIndent,
                 fmt::format("{}: {}", command.empty() ? "fix" : "or", words));
}

void show_finding(const Console& console, const MergedFinding& shown, const Report& report) {
  const Finding& finding = *shown.finding;
  console.answer("");
  const std::string head = fmt::format("{} {}", finding.check, severity_words(finding.severity));
  const std::string lines = in_lines(kFindingIndent, head + "  " + shown.places.front());
  const size_t end = std::min(lines.find('\n'), lines.size());
  console.answer_headed(head, lines.substr(head.size(), end - head.size()),
                        tone_of(finding.severity));
  if (end < lines.size()) console.answer_lines(lines.substr(end + 1));
  show_places(console, shown);
  answer_wrapped(console, kFindingIndent, fmt::format("for: {}", fmt::join(shown.profiles, ", ")));
  if (!finding.symptom.empty()) {
    answer_wrapped(console, kFindingIndent, "seen as: " + finding.symptom);
  }
  show_fix(console, report, finding);
}

// Prints the line of a finding. Adds its fix if no row shows a command for it.
void show_shortly(const Console& console, const MergedFinding& shown, const Report& report) {
  const Finding& finding = *shown.finding;
  const bool is_warning = finding.severity == Severity::kWarning;
  std::string text = (is_warning ? "warning: " : "") + shown.places.front();
  if (shown.places.size() > 1) text += fmt::format(", and {} more", shown.places.size() - 1);
  const bool is_for_all = shown.profiles.size() > 2 && shown.profiles.size() == report.rows.size();
  text += is_for_all ? " (all programs)" : fmt::format(" ({})", fmt::join(shown.profiles, ", "));
  answer_wrapped(console, finding.check + "  ", text);
  const std::string command = fix_command(report, finding), words = fix_words(report, finding);
  if (is_warning && !command.empty()) {
    answer_command(console, {"", "     fix: ", command, ""});
  } else if (command.empty() && !words.empty()) {
    answer_wrapped(console, "     ", "fix: " + words);
  }
}

// Prints the first findings for the current programs, if the user named none, and counts the rest.
void show_summary(const Console& console, const Report& report) {
  size_t shown_count = 0, more = 0, notes = 0;
  std::vector<std::string> profiles;
  UniqueList named(profiles);
  for (const MergedFinding& shown : gathered(report.diagnosis)) {
    for (const std::string& profile : shown.profiles) named.add(profile);
    const bool is_note = shown.finding->severity == Severity::kInfo;
    const bool is_shown = !is_note && shown_count < kFindingsShown;
    ++(is_shown ? shown_count : is_note ? notes : more);
    if (!is_shown) continue;
    if (shown_count == 1) console.answer("");
    show_shortly(console, shown, report);
  }
  if (profiles.empty()) return;
  std::vector<std::string> parts;
  if (more > 0) parts.push_back(counted(more, "more finding"));
  if (notes > 0) parts.push_back(counted(notes, "note"));
  if (shown_count > 0) console.answer("");
  const std::string asked =
      profiles.size() > kProfilesNamed ? "all" : fmt::format("{}", fmt::join(profiles, ","));
  const std::string head = parts.empty() ? "details" : fmt::format("{}", fmt::join(parts, ", "));
  answer_command(console, {"", head + ": ", doctor_command(report, asked), ""});
}

void show_objects(const Console& console, const Report& report) {
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
                             {"advice", fix_words(report, finding)},
                             {"rewrites_weights", finding.fix.rewrites_weights},
                             {"fix", is_fixed(report, finding.fix)}});
  }
}

// Findings that only appear after fixing: the present checkpoint does not show them.
std::vector<MergedFinding> uncovered(const Report& report) {
  std::vector<MergedFinding> out = gathered(report.all.left);
  std::set<std::string_view> now;
  for (const Finding& finding : report.diagnosis.findings) now.insert(finding.check);
  std::erase_if(out, [&](const MergedFinding& shown) {
    return shown.finding->severity < Severity::kWarning || now.contains(shown.finding->check);
  });
  return out;
}

// Returns "   (leaves Q14 for sglang)": checks that still fail after the command for all programs.
std::string left_of_all(const Report& report) {
  std::vector<std::string> left = failed_checks(report.all.left);
  if (report.rows.size() == 1) return left_words(left, true);
  for (std::string& check : left) {
    std::vector<std::string> profiles;
    UniqueList named(profiles);
    for (const Finding& finding : report.all.left.findings) {
      const bool is_it = finding.check == check && finding.severity >= Severity::kUnsound;
      if (is_it) named.add(finding.profile);
    }
    if (profiles.size() == report.rows.size()) continue;
    check += fmt::format(" for {}", fmt::join(profiles, " and "));
  }
  return left_words(left, true);
}

// Prints the commands that fix the checkpoint for all programs together. The rows show the commands
// for single programs.
void show_next(const Console& console, const Report& report) {
  const std::string& command = report.all.command;
  console.object(
      "next",
      {{"fix", command}, {"steps", report.all.steps}, {"left", failed_checks(report.all.left)}});
  for (const ProgramRow& row : report.rows) {
    if (row.serve.empty() || !report.diagnosis.is_good()) continue;
    console.object("serve", {{"profile", row.verdict.profile}, {"command", row.serve}});
  }
  const std::string with_base = fix_with_base_command(report);
  std::set<std::string> fixes;
  for (const ProgramRow& row : report.rows) fixes.insert(row.fix);
  fixes.erase("");
  const bool is_short = report.typed.profiles.empty();
  if (is_short && fixes.size() < 2) return;
  if (!command.empty()) {
    const std::vector<MergedFinding> later =
        is_short ? std::vector<MergedFinding>() : uncovered(report);
    if (!later.empty()) {
      console.answer("");
      console.answer("What the fixes uncover:");
    }
    for (const MergedFinding& shown : later) show_finding(console, shown, report);
    console.answer("");
    answer_command(console, {"", "Fix all: ", command, left_of_all(report)});
  }
  if (with_base.empty()) return;
  if (command.empty()) console.answer("");
  answer_command(console, {"", command.empty() ? "Fix all: " : "Fix the rest: ", with_base, ""});
  console.answer("    BASE: the unquantized model's folder");
}

}  // namespace

std::vector<MergedFinding> gathered(const Diagnosis& diagnosis) {
  std::vector<MergedFinding> out;
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
  std::ranges::stable_sort(out, [](const MergedFinding& a, const MergedFinding& b) {
    return a.finding->severity > b.finding->severity;
  });
  return out;
}

std::string_view verdict_word(bool value, const Verdict& verdict) {
  if (!value) return "no";
  return verdict.not_checked.empty() ? "yes" : "not checked";
}

Json verdict_fields(const Verdict& verdict) {
  return {{"profile", verdict.profile},
          {"loads", verdict.loads},
          {"sound", verdict.loads ? Json(verdict.sound) : Json()},
          {"weights_checked", verdict.not_checked.empty()},
          {"not_checked", verdict.not_checked},
          {"note", verdict.note}};
}

void show_diagnosis(const Console& console, const Report& report) {
  show_verdicts(console, report);
  if (report.typed.profiles.empty()) {
    show_summary(console, report);
  } else {
    for (const MergedFinding& shown : gathered(report.diagnosis))
      show_finding(console, shown, report);
  }
  show_objects(console, report);
  show_next(console, report);
}

}  // namespace ckpt

// ckpt doctor PATH: will it load there, is it sound, and what mends it.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "checks/checks.h"
#include "formats/formats.h"
#include "quantizers/quantizers.h"
#include "tools/commands.h"
#include "tools/doctor_fix.h"
#include "tools/follow_links.h"
#include "tools/profile_names.h"
#include "transforms/transforms.h"

namespace ckpt {
namespace {

struct Typed {
  std::filesystem::path path;
  std::vector<std::string> profiles;
  std::string base;
  bool deep = false;
  bool fix = false, rewrite_weights = false;
};

bool has_step(std::string_view name) { return find_transform(name) != nullptr; }

Result<Diagnosis> examine(const Typed& typed) {
  const Examination examination{typed.profiles, typed.deep, typed.base, has_step};
  CKPT_ASSIGN(const Format* format, recognise(typed.path));
  auto checkpoint = format->read(typed.path, all_codecs());
  if (checkpoint) return diagnose(*checkpoint, examination);
  if (checkpoint.error().code != ErrorCode::kCorrupt) return Failure(checkpoint.error());
  return unreadable(checkpoint.error(), examination);
}

// The command line that takes a finding away; empty where a person must.
std::string mend_command(const Mend& mend, const std::filesystem::path& path) {
  if (mend.step.empty()) return {};
  const std::string word = shell_word(path.string());
  if (mend.rewrites_weights) {
    return fmt::format("ckpt convert {} OUT --step {}", word, shell_word(mend.step));
  }
  return fmt::format("ckpt patch {} --step {}", word, shell_word(mend.step));
}

std::string_view yes_or_no(bool value) { return value ? "yes" : "no"; }

void show_verdicts(const Console& console, const Diagnosis& diagnosis) {
  Table table({"profile", "loads", "sound"});
  for (const Verdict& verdict : diagnosis.verdicts) {
    table.add({verdict.profile, std::string(yes_or_no(verdict.loads)),
               std::string(yes_or_no(verdict.sound))});
    console.object(
        "verdict",
        {{"profile", verdict.profile}, {"loads", verdict.loads}, {"sound", verdict.sound}});
  }
  for (const std::string& line : table.lines({false, false, false})) console.answer(line);
}

// The same finding for several programs is shown once.
struct Shown {
  const Finding* finding;
  std::vector<std::string> profiles;
};

std::vector<Shown> gathered(const Diagnosis& diagnosis) {
  std::vector<Shown> out;
  for (const Finding& finding : diagnosis.findings) {
    const auto at = std::find_if(out.begin(), out.end(), [&](const Shown& shown) {
      return shown.finding->check == finding.check && shown.finding->place == finding.place &&
             shown.finding->severity == finding.severity &&
             shown.finding->symptom == finding.symptom;
    });
    if (at == out.end()) {
      out.push_back({&finding, {finding.profile}});
    } else {
      at->profiles.push_back(finding.profile);
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const Shown& a, const Shown& b) {
    return a.finding->severity > b.finding->severity;
  });
  return out;
}

void show_finding(const Console& console, const Shown& shown, const Typed& typed) {
  const Finding& finding = *shown.finding;
  console.answer("");
  console.answer_headed(finding.check, fmt::format(" {}  {}: {}", severity_name(finding.severity),
                                                   finding.place, finding.found));
  console.answer(fmt::format("    for: {}", fmt::join(shown.profiles, ", ")));
  if (!finding.symptom.empty()) console.answer(fmt::format("    seen as: {}", finding.symptom));
  const std::string command = mend_command(finding.mend, typed.path);
  if (!command.empty()) console.answer(fmt::format("    mend: {}", command));
  if (!finding.mend.needs.empty()) console.answer(fmt::format("    {}", finding.mend.needs));
  if (!finding.mend.advice.empty()) {
    console.answer(fmt::format("    {}: {}", command.empty() ? "mend" : "or", finding.mend.advice));
  }
}

void show_objects(const Console& console, const Diagnosis& diagnosis, const Typed& typed) {
  for (const Finding& finding : diagnosis.findings) {
    console.object("check", {{"check", finding.check},
                             {"profile", finding.profile},
                             {"severity", severity_name(finding.severity)},
                             {"place", finding.place},
                             {"found", finding.found},
                             {"symptom", finding.symptom},
                             {"mend", mend_command(finding.mend, typed.path)},
                             {"step", finding.mend.step},
                             {"needs", finding.mend.needs},
                             {"advice", finding.mend.advice},
                             {"rewrites_weights", finding.mend.rewrites_weights},
                             {"fix", finding.mend.is_automatic()}});
  }
}

void show(const Console& console, const Diagnosis& diagnosis, const Typed& typed) {
  show_verdicts(console, diagnosis);
  for (const Shown& shown : gathered(diagnosis)) show_finding(console, shown, typed);
  show_objects(console, diagnosis, typed);
}

Result<int> doctor(const Typed& typed, const Console& console, const CommonOptions& common) {
  if (typed.rewrite_weights && !typed.fix) {
    return fail(ErrorCode::kUsage, "--rewrite-weights without --fix");
  }
  if (typed.fix) {
    const Mending mending{typed.profiles, typed.base, typed.rewrite_weights};
    CKPT_TRY(fix_in_place({typed.path, mending}, console, common));
  }
  CKPT_ASSIGN(const Diagnosis diagnosis, examine(typed));
  show(console, diagnosis, typed);
  console.object("summary", {{"path", typed.path.string()},
                             {"good", diagnosis.is_good()},
                             {"findings", diagnosis.findings.size()}});
  return diagnosis.is_good() ? 0 : 1;
}

Run declare(CLI::App& app) {
  auto typed = std::make_shared<Typed>();
  app.add_option("PATH", typed->path, "Hugging Face folder, .safetensors or .gguf")->required();
  app.add_option("--for", typed->profiles,
                 "PROFILE of a program (ckpt list profiles; may repeat); default: all")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
  app.add_option("--base", typed->base, "the unquantized model, for mends that need it");
  app.add_flag("--fix", typed->fix, "apply the mends in place, then look again");
  app.add_flag("--rewrite-weights", typed->rewrite_weights,
               "with --fix: also mends that change weights");
  app.add_flag("--deep", typed->deep, "read the tensors too: NaN, scales, rows of zeros");
  declare_follow_links(app);
  return [typed](const Console& console, const CommonOptions& common) -> Result<int> {
    CKPT_ASSIGN(typed->profiles, profiles_named(typed->profiles));
    return doctor(*typed, console, common);
  };
}

}  // namespace

constinit const Command kDoctor{
    "doctor", "Says whether a checkpoint will load in a program and is sound, and what mends it.",
    "  ckpt doctor Qwen3.5-9B-NVFP4/\n"
    "  ckpt doctor Qwen3.5-9B-NVFP4/ --for vllm-0.17 --for sglang\n"
    "  ckpt doctor Qwen3.5-9B-NVFP4/ --for vllm --fix",
    declare};

}  // namespace ckpt

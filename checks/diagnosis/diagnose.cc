// Lists the checks and runs them for a diagnosis.
#include <algorithm>
#include <array>

#include "checks/checks.h"
#include "checks/quantization/serving.h"
#include "checks/subject/subject.h"
#include "core/base/find.h"
#include "core/base/words.h"
#include "core/model/adapter.h"

namespace ckpt {

extern const std::string_view kCheckPages;  // data/checks.txt

namespace {

// Returns the rest of the line "ID KEY ..." of data/checks.txt, such as "Q34 cause ...".
std::string_view page_text(std::string_view id, std::string_view key) {
  const std::string start = fmt::format("\n{} {} ", id, key);
  const size_t at = kCheckPages.find(start);
  if (at == kCheckPages.npos) return {};
  const std::string_view rest = kCheckPages.substr(at + start.size());
  return rest.substr(0, rest.find('\n'));
}

// Checks in the order in which a person would look: files, statements in them, then values.
// clang-format off
constexpr std::span<const Check> (*kThemes[])() = {
    file_checks, config_checks, tied_head_checks, config_word_checks, config_number_checks,
    strict_type_checks, rope_checks, older_field_checks, layer_field_checks, table_field_checks,
    computed_field_checks, weight_checks, parameter_checks, quantization_checks,
    quantization_statement_checks, scale_shape_checks, scheme_checks, served_checks,
    tokenizer_checks, chat_template_checks, tokenizer_schema_checks, tokenizer_value_checks,
    class_rule_checks, token_file_checks, processor_checks, gguf_checks, ollama_checks,
    value_checks};
// clang-format on

std::vector<const Check*> check_list() {
  std::vector<const Check*> out;
  for (const auto theme : kThemes) {
    for (const Check& check : theme()) out.push_back(&check);
  }
  return out;
}

bool is_named(std::string_view name, const Profile& profile) {
  return name == "all" || std::ranges::any_of(profile.rated, [&](std::string_view own) {
           return name.ends_with('*') ? own.starts_with(name.substr(0, name.size() - 1))
                                      : own == name;
         });
}

std::optional<Severity> rating(const Check& check, const Profile& profile) {
  constexpr std::pair<char, Severity> kLetters[] = {{'U', Severity::kUnloaded},
                                                    {'S', Severity::kUnsound},
                                                    {'W', Severity::kWarning},
                                                    {'I', Severity::kInfo}};
  char letter = '-';
  for (std::string_view word : split_words(check.ratings)) {
    if (word.ends_with(':')) {
      letter = word[0];
      continue;
    }
    if (word.ends_with(',')) word.remove_suffix(1);
    if (!is_named(word, profile)) continue;
    const auto* found = find_by(kLetters, &std::pair<char, Severity>::first, letter);
    if (found != nullptr) return found->second;
  }
  return std::nullopt;
}

// Steps in the order in which they must be applied: names and nesting before lists of names,
// weights before lists of weights, changes for servers last.
constexpr std::array<std::string_view, 10> kStepOrder = {
    "awq-fold-repair", "mixed-to-nvfp4", "graft",     "drop",           "rename",
    "vl-wrap",         "config",         "tokenizer", "serving-config", "preprocessor"};
constexpr std::array<std::string_view, 3> kPayloadSteps = {"awq-fold-repair", "mixed-to-nvfp4",
                                                           "graft"};

std::string_view step_name(std::string_view step) { return step.substr(0, step.find(':')); }

int order_of(std::string_view step) {
  const auto at = std::ranges::find(kStepOrder, step_name(step));
  return static_cast<int>(at - kStepOrder.begin());
}

// The conversion that makes a folder like this one. Input scales after AWQ are not maxima.
std::string conversion_again(const Subject& on) {
  const Quantization* declared = on.quantization();
  const bool is_fp8 = declared != nullptr && declared->algo.starts_with("FP8");
  const bool has_inputs = std::ranges::any_of(on.modules, [](const auto& entry) {
    return entry.second.has_input_scale && !entry.second.has_pre_quant_scale;
  });
  const bool has_awq = std::ranges::any_of(
      on.modules, [](const auto& entry) { return entry.second.has_pre_quant_scale; });
  return fmt::format("ckpt convert BASE OUT --to {}{}", is_fp8 ? "fp8" : "nvfp4",
                     has_awq      ? " --amax-from FILE.json"
                     : has_inputs ? " --amax-from IN"
                                  : " --preset default-input-scale1");
}

Fix fix_of(const Check& check, const CheckFinding& found, const Subject& on,
           const DiagnosisOptions& options) {
  Fix fix = found.fix.value_or(Fix{});
  if (!found.fix) {
    fix.step = check.step;
    fix.advice = check.advice;
    if (fix.step.find("=BASE") != fix.step.npos) fix.needs = "BASE: the unquantized model's folder";
  }
  if (const size_t at = fix.advice.find(kAgain); at != fix.advice.npos) {
    fix.advice.replace(at, kAgain.size(), conversion_again(on));
  }
  if (fix.step.empty()) return fix;
  const size_t blank = fix.step.find("BASE");
  if (blank != fix.step.npos && !options.base.empty()) {
    fix.step.replace(blank, 4, fmt::format("\"{}\"", options.base));
    fix.needs.clear();
  }
  const std::string_view name = step_name(fix.step);
  fix.rewrites_weights |= std::ranges::count(kPayloadSteps, name) != 0;
  fix.order = order_of(fix.step);
  if (options.has_step != nullptr && !options.has_step(name)) fix.step.clear();
  return fix;
}

Result<std::vector<ProfileMatch>> chosen(const DiagnosisOptions& options, bool is_gguf) {
  std::vector<ProfileMatch> out;
  const bool is_open = options.profiles.empty();
  for (const std::string& name : is_open ? current_profiles(is_gguf) : options.profiles) {
    ProfileMatch asked = match_profile(name);
    if (asked.profile == nullptr) {
      return misuse_hint("ckpt list profiles", "profile '{}' is not known", name);
    }
    if (find_by(out, &ProfileMatch::name, asked.name) == nullptr) out.push_back(std::move(asked));
  }
  return out;
}

Finding finding_of(const Error& error, const Profile& profile, Severity severity,
                   const char* symptom) {
  Finding out{"W08", std::string(profile.name), severity, error.where, error.what, symptom, {}};
  out.fix = advised(error.hint);
  return out;
}

// Appends the findings of `checks` to `out`, whose last verdict is that of the profile.
Status run_checks(const Subject& on, const Profile& profile, const DiagnosisOptions& options,
                  const std::vector<const Check*>& checks, Diagnosis& out) {
  Verdict& verdict = out.verdicts.back();
  const ServedModules served = served_modules(on, profile);
  for (const Check* check : checks) {
    const auto rated = rating(*check, profile);
    if (!rated || (check->is_deep && !options.deep)) continue;
    std::vector<CheckFinding> found;
    Status failed;
    check->run({on, profile, served, found, failed});
    CKPT_TRY(std::move(failed));
    for (CheckFinding& entry : found) {
      Fix fix = fix_of(*check, entry, on, options);
      const Severity severity = entry.severity.value_or(*rated);
      verdict.loads &= severity != Severity::kUnloaded;
      verdict.sound &= severity != Severity::kUnsound;
      out.findings.push_back(
          {std::string(check->id), verdict.profile, severity, std::move(entry.place),
           std::move(entry.found),
           entry.symptom.empty() ? std::string(check->symptom) : std::move(entry.symptom),
           std::move(fix)});
    }
  }
  return {};
}

Status diagnose_for(const Subject& on, const Profile& profile, const DiagnosisOptions& options,
                    Diagnosis& out) {
  Verdict& verdict = out.verdicts.emplace_back(Verdict{std::string(profile.name)});
  for (auto* reason : {weights_not_checked, head_not_checked, tokenizer_not_checked,
                       scheme_not_checked, cache_not_checked, scales_not_checked,
                       layer_types_not_checked}) {
    if (verdict.not_checked.empty()) verdict.not_checked = reason(on, profile);
  }
  // llama.cpp runs a folder as the GGUF made of it, so tensors are checked in that GGUF.
  const bool is_converted =
      profile.program == Program::kLlamaCpp && !on.is_gguf && options.run_to_gguf;
  const auto made = is_converted ? options.run_to_gguf(on.checkpoint) : Checkpoint();
  const std::span<const Check> of_parameters = parameter_checks();
  std::vector<const Check*> checks = check_list();
  std::erase_if(checks, [&](const Check* check) {
    return is_converted && made && find_by(of_parameters, &Check::id, check->id) != nullptr;
  });
  CKPT_TRY(run_checks(on, profile, options, checks, out));
  if (!is_converted || !out.verdicts.back().loads) return {};
  if (!made) {
    out.verdicts.back().loads = false;
    out.findings.push_back(finding_of(made.error(), profile, Severity::kUnloaded,
                                      "ckpt convert rejects the folder"));
    return {};
  }
  if (made->first_with_scales() != nullptr) return {};  // parts are not joined yet
  checks.clear();
  for (const Check& check : gguf_checks()) checks.push_back(&check);
  const size_t before = out.findings.size();
  const Subject file(*made);
  CKPT_TRY(run_checks(file, profile, options, checks, out));
  std::string& not_checked = out.verdicts.back().not_checked;
  if (not_checked.empty()) not_checked = gguf_not_checked(file, profile);
  for (size_t i = before; i < out.findings.size(); ++i) {
    out.findings[i].place.insert(0, "the GGUF made of it: ");
    out.findings[i].fix = advised(kTakeConfig);
  }
  return {};
}

void add_unreadable(const Error& error, const Profile& profile, Diagnosis& out) {
  out.verdicts.push_back({std::string(profile.name), false, false, {}});
  out.findings.push_back(finding_of(error, profile, Severity::kUnloaded,
                                    "invalid header, missing files or incomplete metadata"));
}

// No program runs an adapter as a model, so no check of models applies.
void add_adapter(const std::string& words, bool is_gguf, const Profile& profile, Diagnosis& out) {
  std::string advice = fmt::format("merge it into its base model: {}", kMergedAdapter);
  if (is_gguf && words.ends_with(" files")) {
    advice = "make one file of it: ckpt convert IN adapter.gguf";
  } else if (is_gguf && profile.program == Program::kLlamaCpp) {
    advice = "llama-cli -m MODEL.gguf --lora IN";
  } else if (is_gguf && profile.program == Program::kOllama) {
    advice = "in the Modelfile: FROM MODEL.gguf, then ADAPTER IN";
  }
  out.verdicts.push_back({std::string(profile.name), false, false, {}});
  out.findings.push_back({is_gguf ? "G01" : "C01", std::string(profile.name), Severity::kUnloaded,
                          is_gguf ? "general.type" : "adapter_config.json",
                          fmt::format("this is a {}, not a model", words),
                          is_gguf ? "unknown model architecture" : "Unrecognized model",
                          advised(std::move(advice))});
}

std::string note_of(const ProfileMatch& asked) {
  const Profile& profile = *asked.profile;
  if (asked.is_newer) {
    return fmt::format("newer than {}, which answers for it", profile.title());
  }
  if (profile.read.empty()) return {};
  return fmt::format("facts of {}, read on {}", profile.title(), profile.read);
}

// Combines the answers of a release's two neighbors; findings of only one become warnings.
void add_older(const ProfileMatch& asked, Diagnosis older, Diagnosis& made) {
  Verdict& verdict = made.verdicts.front();
  const Verdict& other = older.verdicts.front();
  if (verdict.loads != other.loads || verdict.sound != other.sound) {
    verdict.not_checked = fmt::format("differs between {} and {}", asked.older->release(),
                                      asked.profile->release());
  } else if (verdict.not_checked.empty()) {
    verdict.not_checked = other.not_checked;
  }
  verdict.loads |= other.loads;
  verdict.sound |= other.sound;
  const size_t own = made.findings.size();
  for (Finding& finding : older.findings) {
    const bool is_same = std::any_of(
        made.findings.begin(), made.findings.begin() + static_cast<ptrdiff_t>(own),
        [&](const Finding& known) {
          return known.check == finding.check && known.place == finding.place;
        });
    if (!is_same) made.findings.push_back(std::move(finding));
  }
  for (Finding& finding : made.findings) {
    const bool is_open = finding.severity == Severity::kUnloaded   ? verdict.loads
                         : finding.severity == Severity::kUnsound ? verdict.sound
                                                                   : false;
    if (is_open) finding.severity = Severity::kWarning;
  }
}

// Findings that often follow from another one: an index that omits a file, names with another
// prefix, or weights in MLX's form also make tensors appear missing or unknown.
struct Consequences {
  std::string_view cause, checks;
};
constexpr Consequences kConsequences[] = {
    {"W08", "W02 W13 C10"}, {"W01", "W02 W10 W13 C10"}, {"W18", "W02 W09 W10 Q05 Q15"}};

// If no step fixes a consequence, advises to fix its cause first.
void advise_by_causes(std::vector<Finding>& findings) {
  for (const auto& [cause, checks] : kConsequences) {
    if (find_by(findings, &Finding::check, cause) == nullptr) continue;
    for (Finding& finding : findings) {
      if (!has_word(checks, finding.check) || !finding.fix.step.empty()) continue;
      finding.fix = advised(fmt::format("that of {} first; it may mend this too", cause));
    }
  }
}

// `one` adds a profile's verdict and findings.
template <class One>
Status answer(const std::vector<ProfileMatch>& all, Diagnosis& out, const One& one) {
  for (const ProfileMatch& asked : all) {
    Diagnosis made;
    CKPT_TRY(one(*asked.profile, made));
    made.verdicts.front().sound &= made.verdicts.front().loads;  // sound requires loads
    if (asked.older != nullptr) {
      Diagnosis older;
      CKPT_TRY(one(*asked.older, older));
      older.verdicts.front().sound &= older.verdicts.front().loads;
      add_older(asked, std::move(older), made);
    }
    advise_by_causes(made.findings);
    made.verdicts.front().profile = asked.name;
    made.verdicts.front().note = note_of(asked);
    out.verdicts.push_back(std::move(made.verdicts.front()));
    for (Finding& finding : made.findings) {
      finding.profile = asked.name;
      out.findings.push_back(std::move(finding));
    }
  }
  return {};
}

}  // namespace

std::vector<ProfileInfo> all_profiles() {
  std::vector<ProfileInfo> out;
  for (const Profile& profile : profiles()) {
    const bool is_dated = profile.read.empty();
    out.push_back({profile.name, profile.help, name_of(profile.program), profile.version,
                   is_dated ? profile.released : profile.read, is_dated});
  }
  return out;
}

std::vector<std::string> current_profiles(bool is_gguf) {
  std::vector<std::string> out;
  for (const Profile& profile : profiles()) {
    const bool takes = is_gguf ? profile.runs_llama_server() : profile.program != Program::kOllama;
    const bool is_newest =
        &profile == &profiles().back() || (&profile + 1)->program != profile.program;
    if (takes && is_newest) out.emplace_back(profile.name);
  }
  return out;
}

std::string release_label(std::string_view name) {
  if (const Profile* known = find_profile(name)) {
    return fmt::format("{} {}", name_of(known->program), known->release());
  }
  std::string out(name);
  std::replace(out.begin() + static_cast<ptrdiff_t>(out.rfind('-')), out.end(), '-', ' ');
  return out;
}

std::string release_named(std::string_view name) {
  ProfileMatch asked = match_profile(name);
  return asked.profile == nullptr ? std::string() : std::move(asked.name);
}

bool is_for_gguf(std::string_view profile) {
  const Profile* found = match_profile(profile).profile;
  return found != nullptr && found->runs_llama_server();
}

std::vector<CheckInfo> all_checks() {
  std::vector<CheckInfo> out;
  for (const Check* check : check_list()) {
    CheckInfo info{check->id, check->title, page_text(check->id, "cause"), check->symptom,
                   check->step, std::string(check->advice), page_text(check->id, "example"),
                   check->is_deep, {}};
    if (info.effect.empty()) info.effect = page_text(check->id, "effect");
    if (const std::string_view cure = page_text(check->id, "cure"); !cure.empty()) {
      info.step = {};
      info.advice = cure;
    }
    if (const size_t at = info.advice.find(kAgain); at != info.advice.npos) {
      const bool has_options = info.advice.compare(at + kAgain.size(), 3, " --") == 0;
      info.advice.replace(at, kAgain.size(),
                          has_options ? "quantize again with" : "quantize again");
    }
    for (const Profile& profile : profiles()) info.severities.push_back(rating(*check, profile));
    out.push_back(std::move(info));
  }
  return out;
}

namespace {

// Unpacks weights. If that fails they stay packed, because other checks report such faults, for
// example missing groups of inputs.
Result<Checkpoint> unpacked_weights(const Checkpoint& checkpoint, const DiagnosisOptions& options,
                                    PackedForms& packed) {
  if (packed.by_codes.empty() || !options.unpacked) return checkpoint;
  auto out = options.unpacked(checkpoint);
  if (out) return out;
  if (out.error().code != ErrorCode::kCorrupt) return Failure(std::move(out.error()));
  packed.fault = out.error().what;
  return checkpoint;
}

}  // namespace

Result<Diagnosis> diagnose(const Checkpoint& checkpoint, const DiagnosisOptions& options) {
  PackedForms packed;
  if (options.packed_forms != nullptr) packed = options.packed_forms(checkpoint);
  Checkpoint unpacked;
  if (options.deep) CKPT_SET(unpacked, unpacked_weights(checkpoint, options, packed));
  Subject on(checkpoint, std::move(packed));
  if (options.files_to_write) CKPT_SET(on.files_to_write, options.files_to_write(checkpoint));
  CKPT_ASSIGN(const auto asked, chosen(options, on.is_gguf));
  if (const std::string words = adapter_words(checkpoint); !words.empty()) {
    Diagnosis adapter;
    CKPT_TRY(answer(asked, adapter, [&](const Profile& profile, Diagnosis& made) {
      add_adapter(words, on.is_gguf, profile, made);
      return Status();
    }));
    return adapter;
  }
  const bool asks_llama = std::ranges::any_of(
      asked, [](const ProfileMatch& each) { return each.profile->runs_llama_server(); });
  if (asks_llama && options.tokenizer_findings != nullptr) {
    Status compared = options.tokenizer_findings(checkpoint, options.base, on.llama_tokenizer);
    if (!compared) {
      compared.error().hint.clear();  // that hint is about conversions
      on.base_not_compared = compared.error().text();
    }
  }
  CKPT_SET(on.head_values, compare_tied_head(on, options));
  CKPT_SET(on.values, options.deep ? read_value_facts(on, unpacked, options) : scales_at_hand(on));
  Diagnosis out;
  CKPT_TRY(answer(asked, out, [&](const Profile& profile, Diagnosis& made) {
    return diagnose_for(on, profile, options, made);
  }));
  return out;
}

Result<Diagnosis> diagnose_files(const Checkpoint& checkpoint, const FileMisfit& misfit,
                                 const Error& error, const DiagnosisOptions& options) {
  Subject on(checkpoint,
             options.packed_forms != nullptr ? options.packed_forms(checkpoint) : PackedForms());
  CKPT_ASSIGN(const auto asked, chosen(options, on.is_gguf));
  CKPT_SET(on.head_values, compare_tied_head(on, options));
  Diagnosis out;
  CKPT_TRY(answer(asked, out, [&](const Profile& profile, Diagnosis& made) {
    if (!profile.takes(misfit)) {
      add_unreadable(error, profile, made);
      return Status();
    }
    if (preferred_weights(on, profile) == nullptr) {  // W17
      made.findings.push_back(finding_of(error, profile, Severity::kWarning,
                                         "passed over: this program reads all tensors of the files "
                                         "that the index names; others may refuse the folder"));
    }
    return diagnose_for(on, profile, options, made);
  }));
  for (Finding& finding : out.findings) {  // no command fixes a part of a model
    Fix& fix = finding.fix;
    const bool is_part =
        misfit.lacks_tensors || misfit.has_conflict || (misfit.has_more && finding.check != "W08");
    if (is_part && (!fix.step.empty() || fix.advice.starts_with("ckpt "))) fix = {};
  }
  return out;
}

Result<Diagnosis> unreadable(const Error& error, const DiagnosisOptions& options) {
  CKPT_ASSIGN(const auto asked, chosen(options, false));
  Diagnosis out;
  CKPT_TRY(answer(asked, out, [&](const Profile& profile, Diagnosis& made) {
    add_unreadable(error, profile, made);
    return Status();
  }));
  return out;
}

std::vector<Fix> fixes(const Diagnosis& diagnosis, bool rewrite_weights) {
  std::vector<Fix> out;
  for (const Finding& finding : diagnosis.findings) {
    const Fix& fix = finding.fix;
    if (fix.step.empty() || finding.severity == Severity::kInfo) continue;
    if (fix.rewrites_weights && !rewrite_weights) continue;
    const bool is_new =
        std::ranges::none_of(out, [&](const Fix& other) { return other.step == fix.step; });
    if (is_new) out.push_back(fix);
  }
  std::ranges::stable_sort(out, {}, &Fix::order);
  return out;
}

}  // namespace ckpt

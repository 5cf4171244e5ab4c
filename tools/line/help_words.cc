// Makes the pages of `ckpt help WORD` for topics, steps, types, checks, profiles, families and
// architectures, from the tables that the rest of the program uses.
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "checks/checks.h"
#include "core/base/nearest.h"
#include "core/base/printable.h"
#include "core/base/words.h"
#include "core/model/usual_type.h"
#include "plan/text/type_names.h"
#include "quantizers/quantizers.h"
#include "tools/line/help.h"
#include "tools/line/topics.h"
#include "tools/line/typed_words.h"
#include "tools/say/severity.h"
#include "tools/say/width.h"
#include "transforms/transforms.h"

namespace ckpt {
namespace {

// Builds a page from a title, paragraphs, and rows with a term and a text.
class HelpPage {
 public:
  HelpPage(std::string_view title, size_t width) : width_(width) { paragraph(title); }
  void paragraph(std::string_view text) {
    const bool is_typed = text.starts_with(' ');  // preformatted text for a shell or a file
    text_ += (is_typed ? std::string(text) : wrapped(text, width_)) + "\n\n";
  }
  void row(std::string_view term, std::string_view text) {
    if (!text.empty()) text_ += help_entry(term, text, width_);
  }
  void heading(std::string_view text) { text_ += fmt::format("{}\n", text); }
  std::string text() const { return text_.substr(0, text_.find_last_not_of('\n') + 1) + "\n"; }

 private:
  std::string text_;
  size_t width_;
};

std::string of_topic(const Topic& topic, size_t width) {
  HelpPage page(topic.title, width);
  bool is_in_rows = false;
  for (const TopicRow& row : topic.rows) {
    if (row.term.empty() && is_in_rows) page.heading("");
    if (row.term.empty()) page.paragraph(row.text);
    page.row(row.term, row.term.empty() ? "" : row.text);
    is_in_rows = !row.term.empty();
  }
  return page.text();
}

std::string of_step(const Transform& step, size_t width) {
  HelpPage page(fmt::format("{} ({}): {}", step.name, step.effect(), step.help), width);
  const std::string word =
      fmt::format("{}{}", step.name, step.options.empty() ? "" : ":KEY=VALUE,...");
  page.paragraph(fmt::format(
      "Usage: ckpt convert IN OUT --step {}\n       ckpt patch PATH --step {}", word, word));
  if (!step.options.empty()) page.heading("Keys");
  for (const OptionRule& rule : step.options) {
    page.row(fmt::format("{}={}", rule.name, rule.value()), rule.whole_help());
  }
  return page.text();
}

// Lists up to three types of the same kind that are nearest in size: "q4_k_s (4.67 bits, 6.8 %)".
std::string relatives_of(const TargetType& type, bool are_smaller) {
  std::vector<TargetType> others;
  for (const TargetType& other : target_types()) {
    const bool is_smaller =
        other.bits < type.bits || (other.bits == type.bits && other.error > type.error);
    if (other.kind == type.kind && other.name != type.name && is_smaller == are_smaller)
      others.push_back(other);
  }
  std::ranges::sort(others, {},
                    [&](const TargetType& other) { return std::abs(other.bits - type.bits); });
  std::string out;
  for (size_t i = 0; i < std::min<size_t>(others.size(), 3); ++i) {
    out += fmt::format("{}{} ({:.3g} bits, {:.2g} %)", i == 0 ? "" : ", ", others[i].name,
                       others[i].bits, others[i].error);
  }
  return out;
}

std::string of_type(const TargetType& type, size_t width) {
  HelpPage page(fmt::format("{} ({}): {}", type.name, type.kind, type.help), width);
  const bool is_folder = type.kind == "export";
  page.paragraph(
      fmt::format("Usage: ckpt convert IN {} --to {}", is_folder ? "OUT/" : "OUT.gguf", type.name));
  page.row("bits per weight", fmt::format("{:.3g} in a model of 8 B parameters", type.bits));
  page.row(
      "typical error",
      fmt::format("{:.2g} % of the weights' size, for normally distributed weights", type.error));
  if (!is_folder)
    page.row("most tensors",
             fmt::format("{}, the others by llama-quantize's rules (docs/MIXTURES.md)", type.base));
  page.row("smaller", relatives_of(type, true));
  page.row("larger", relatives_of(type, false));
  page.row("for a size", "--target-size SIZE chooses types of tensors (docs/TARGETS.md)");
  return page.text();
}

// The profiles by the severity that they give the check, the worst first.
std::map<Severity, std::string, std::greater<>> profiles_by_severity(const CheckInfo& check) {
  std::map<Severity, std::string, std::greater<>> out;
  const auto profiles = all_profiles();
  for (size_t i = 0; i < check.severities.size(); ++i) {
    if (!check.severities[i]) continue;
    std::string& names = out[*check.severities[i]];
    names += fmt::format("{}{}", names.empty() ? "" : ", ", profiles[i].name);
  }
  return out;
}

// The command whose step fixes a finding, and the advice for people.
std::string fix_of(const CheckInfo& check) {
  if (check.step.empty()) return std::string(check.advice);
  const Transform* step = find_transform(check.step.substr(0, check.step.find(':')));
  const bool is_payload = step != nullptr && step->effect() == "payload";
  return fmt::format("ckpt {} --step {}{}{}", is_payload ? "convert PATH OUT" : "patch PATH",
                     shell_word(check.step), check.advice.empty() ? "" : "; or ", check.advice);
}

std::string of_check(const CheckInfo& check, size_t width) {
  HelpPage page(fmt::format("{}: {}", check.id, check.title), width);
  const std::string deep = check.is_deep ? " --deep" : "";
  page.paragraph(fmt::format("Usage: ckpt doctor PATH{} --for PROFILE", deep));
  page.row("cause", check.cause);
  page.row("effect", check.effect);
  page.row("fix", fix_of(check));
  page.row("example", check.example);
  for (const auto& [severity, profiles] : profiles_by_severity(check)) {
    page.row(severity_words(severity), profiles);
  }
  return page.text();
}

std::string of_profile(const ProfileInfo& profile, size_t width) {
  HelpPage page(fmt::format("{}: {}", profile.name, profile.help), width);
  page.paragraph(
      fmt::format("Usage: ckpt doctor PATH --for {}\n       ckpt convert IN OUT --for {}",
                  profile.name, profile.name));
  page.row("release", fmt::format("{} {}, {} {}", profile.program, profile.version,
                                  profile.is_released ? "of" : "its source read on", profile.date));
  std::string others;
  const auto profiles = all_profiles();
  size_t place = 0;
  for (size_t i = 0; i < profiles.size(); ++i) {
    if (profiles[i].name == profile.name)
      place = i;
    else if (profiles[i].program == profile.program)
      others += fmt::format("{}{}", others.empty() ? "" : ", ", profiles[i].name);
  }
  page.row("other releases", others);
  std::map<Severity, std::vector<std::string_view>, std::greater<>> checks;
  for (const CheckInfo& check : all_checks()) {
    if (check.severities[place]) checks[*check.severities[place]].push_back(check.id);
  }
  for (const auto& [severity, ids] : checks)
    page.row(severity_words(severity), fmt::format("{}", fmt::join(ids, " ")));
  page.row("one of these", "explained by ckpt help CHECK");
  return page.text();
}

std::string of_family(const FamilyInfo& family, size_t width) {
  HelpPage page(fmt::format("{}: a family of models that ckpt converts to GGUF", family.name),
                width);
  page.paragraph("Usage: ckpt convert IN OUT.gguf --to " CKPT_USUAL_TYPE);
  page.row("architectures", family.architectures);
  page.row("--mmproj", family.has_projector ? "yes: a projector for vision" : "no");
  page.row("--step vl-wrap", family.has_wrapper ? "yes: its vision class is known" : "no");
  page.row("from GGUF", family.comes_back ? "yes: ckpt convert OUT.gguf FOLDER/" : "no");
  page.row("--to nvfp4", family.not_in_nvfp4.empty() ? std::string("all linear layers")
                                                     : fmt::format("all linear layers but {}",
                                                                   family.not_in_nvfp4));
  page.row("--to fp8",
           family.has_fp8_export ? "all linear layers" : "all linear layers but experts");
  return page.text();
}

bool has_architecture(const FamilyInfo& family, std::string_view word) {
  return has_word(lower_case(family.architectures), word);
}

}  // namespace

Result<std::string> help_of_word(std::string_view typed, size_t width) {
  const std::string word = lower_case(typed);
  std::vector<std::string> known = names_in(all_commands());
  const auto find = [&](const auto& list, auto fits) {
    const auto found = std::ranges::find_if(list, fits);
    for (const auto& name : names_in(list)) known.push_back(name);
    return found == list.end() ? nullptr : &*found;
  };
  const auto has_name = [&](const auto& each) { return lower_case(each.name) == word; };
  const auto points_to_name = [&](const auto* each) { return each->name == word; };
  if (word == "options") return help_of_common(width);
  if (const auto* topic = find(all_topics(), has_name)) return of_topic(*topic, width);
  if (const auto* step = find(all_transforms(), points_to_name)) return of_step(**step, width);
  const auto types = target_types();
  const auto type_name = target_type_named("", typed);
  const auto is_type = [&](const TargetType& type) { return type_name && type.name == *type_name; };
  if (const auto* type = find(types, is_type)) return of_type(*type, width);
  const auto profiles = all_profiles();
  const auto profile_name = profiles_named({std::string(typed)});
  const auto is_profile = [&](const ProfileInfo& profile) {
    return profile_name && profile_name->size() == 1 && profile.name == profile_name->front();
  };
  if (const auto* profile = find(profiles, is_profile)) return of_profile(*profile, width);
  const auto families = all_families();
  const auto is_family = [&](const FamilyInfo& family) {
    return has_name(family) || has_architecture(family, word);
  };
  if (const auto* family = find(families, is_family)) return of_family(*family, width);
  for (const CheckInfo& check : all_checks()) {
    if (check.id == upper_case(word)) return of_check(check, width);
    known.emplace_back(check.id);
  }
  if (const auto* codec = find(all_codecs(), points_to_name)) {
    return HelpPage(fmt::format("{}: {}", word, (*codec)->help), width).text();
  }
  return misuse_hint(near_hint(word, known, "ckpt help ", "ckpt list"),
                     "'{}' is not a command, step, type, check, profile, family or architecture "
                     "(ckpt list), or one "
                     "of the topics {} and options",
                     typed, fmt::join(names_in(all_topics()), ", "));
}

}  // namespace ckpt

#include "plan/conversion/steps.h"

#include <algorithm>
#include <utility>

#include "core/base/nearest.h"
#include "core/base/printable.h"
#include "core/io/paths.h"
#include "core/io/remote_files.h"
#include "core/resume/unfinished.h"
#include "formats/formats.h"
#include "quantizers/quantizers.h"
#include "transforms/transforms.h"

namespace ckpt {
namespace {

Result<std::string> read_file_text(const std::filesystem::path& path, uint64_t limit_bytes) {
  CKPT_TRY(refuse_unfinished_output(path));
  return read_small(path, limit_bytes);
}

// Whether the value ends here: at the end of the text, or at a comma and another option.
bool ends_value(std::string_view rest, const Transform& transform) {
  if (rest.empty()) return true;
  if (rest[0] != ',') return false;
  constexpr size_t kLongestKey = 64;
  const size_t equals = rest.substr(0, kLongestKey).find('=');
  const std::string_view key = rest.substr(1, equals == rest.npos ? equals : equals - 1);
  return find_rule(transform.options, key) != nullptr;
}

// Returns the position of the quote that ends a quoted value: the first one before the end of the
// text or another option, so that the value may contain JSON; npos if none does.
size_t closing_quote(std::string_view text, const Transform& transform) {
  size_t quote = text.find('"', 1);
  while (quote != text.npos && !ends_value(text.substr(quote + 1), transform))
    quote = text.find('"', quote + 1);
  return quote;
}

// Returns the position of the matching bracket, brace or double quote; npos if there is none.
size_t partner_of(std::string_view text, size_t open) {
  std::string expected;  // closing characters; the last one comes next
  for (size_t i = open; i < text.size(); ++i) {
    const char c = text[i];
    const bool in_text = !expected.empty() && expected.back() == '"';
    if (in_text && c == '\\') {
      ++i;
    } else if (!expected.empty() && c == expected.back()) {
      expected.pop_back();
      if (expected.empty()) return i;
    } else if (!in_text && (c == '[' || c == '{' || c == '"')) {
      expected += c == '[' ? ']' : c == '{' ? '}' : c;
    }
  }
  return text.npos;
}

// Returns the end of the value at the start of `text`: the next comma before another option that is
// not within a list, an object or a string of JSON.
size_t value_end(std::string_view text, const Transform& transform) {
  size_t protected_to = 0;
  bool is_balanced = true;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (i >= protected_to && is_balanced && (c == '[' || c == '{' || c == '"')) {
      const size_t partner = partner_of(text, i);
      is_balanced = partner != text.npos;
      if (is_balanced) protected_to = partner + 1;
    }
    if (c == ',' && (i >= protected_to || ends_value(text.substr(i), transform))) return i;
  }
  return text.npos;
}

}  // namespace

Status add_option(Step& step, std::string_view key, std::string value) {
  const Transform& transform = *step.transform;
  const OptionRule* rule = find_rule(transform.options, key);
  if (rule == nullptr) return unknown_option(transform.options, transform.name, key);
  auto checked = check_value(*rule, value, fmt::format("{}:{}=", transform.name, key));
  if (!checked) {
    if (checked.error().hint.empty()) checked.error().hint = "ckpt list steps";
    return checked;
  }
  step.options.add(std::string(key), std::move(value));
  return {};
}

Result<Step> parse_step(std::string_view text) {
  const size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  Step step{find_transform(name), {}};
  if (step.transform == nullptr) {
    return misuse_hint(near_hint(name, names_in(all_transforms()), "--step ", "ckpt list steps"),
                       "step '{}' is not known", name);
  }
  std::string_view rest = colon == text.npos ? "" : text.substr(colon + 1);
  while (!rest.empty()) {
    const size_t equals = rest.find('=');
    const std::string_view key = rest.substr(0, equals);
    const OptionRules rules = step.transform->options;
    if (equals == rest.npos || find_rule(rules, key) == nullptr) {
      return unknown_option(rules, name, key);
    }
    rest.remove_prefix(equals + 1);
    const bool quoted = !rest.empty() && rest[0] == '"';
    const size_t end =
        quoted ? closing_quote(rest, *step.transform) : value_end(rest, *step.transform);
    if (quoted && end == rest.npos) {
      return misuse("step '{}': a double quote is not closed", text);
    }
    std::string value(rest.substr(quoted ? 1 : 0, end - (quoted ? 1 : 0)));
    CKPT_TRY(add_option(step, key, std::move(value)));
    rest.remove_prefix(std::min(rest.size(), end == rest.npos ? end : end + (quoted ? 1 : 0)));
    if (!rest.empty() && rest[0] == ',') rest.remove_prefix(1);
  }
  return step;
}

Result<std::vector<Step>> parse_steps(const std::vector<std::string>& texts) {
  std::vector<Step> steps;
  for (const std::string& text : texts) CKPT_SET(steps.emplace_back(), parse_step(text));
  return steps;
}

std::string_view path_in(const OptionRule& rule, std::string_view value) {
  if (rule.is_path(value)) return value;
  const bool takes_file = rule.kind == ValueKind::kPair && rule.value_name.ends_with("@FILE");
  const size_t equals = takes_file ? value.find('=') : value.npos;
  const bool is_text_of_file = equals != value.npos && value.substr(equals + 1).starts_with('@');
  return is_text_of_file ? value.substr(equals + 2) : std::string_view();
}

std::vector<Step> with_paths(std::vector<Step> steps, const ResolvePath& resolve) {
  for (Step& step : steps) {
    const Options given = std::exchange(step.options, {});
    for (const auto& [key, value] : given.pairs()) {
      const std::string_view path = path_in(*find_rule(step.transform->options, key), value);
      const std::string before = value.substr(0, value.size() - path.size());
      step.options.add(key, path.empty() ? value : before + resolve(std::string(path)));
    }
  }
  return steps;
}

std::string path_from(const std::filesystem::path& folder, const std::string& text) {
  const std::filesystem::path path(text);
  return path.is_absolute() || is_url(path) ? text : (folder / path).string();
}

ChangeScope touches(const std::vector<Step>& steps) {
  ChangeScope most = ChangeScope::kDocuments;
  for (const Step& step : steps) most = std::max(most, step.transform->touches);
  return most;
}

Result<Checkpoint> read_checkpoint(const std::filesystem::path& path, const ReadOptions& reading) {
  CKPT_ASSIGN(const Format* format, recognize(path));
  return format->read(path, all_codecs(), reading);
}

Status refuse_parts(const std::filesystem::path& path, const Checkpoint& read,
                    const FileMisfit& misfit) {
  bool is_part = misfit.lacks_tensors || misfit.has_conflict;
  if (misfit.has_more && !is_part) {
    CKPT_ASSIGN(const auto missing, missing_names(read, all_codecs()));
    is_part = !missing.empty();
  }
  return is_part ? Status(Failure(misfit.error().in(path.string()))) : Status();
}

Result<Checkpoint> read_whole_checkpoint(const std::filesystem::path& path,
                                         const ReadOptions& reading,
                                         std::vector<std::string>* notes) {
  CKPT_TRY(recognize(path));
  FileMisfit misfit;
  CKPT_ASSIGN(Checkpoint out, read_despite_misfit(path, all_codecs(), reading, misfit));
  CKPT_TRY(refuse_parts(path, out, misfit));
  if (!misfit.found.empty() && notes != nullptr) {
    notes->push_back(misfit.found + (misfit.lacks_file      ? "; other files have its tensors"
                                     : misfit.has_key_twice ? ""
                                     : misfit.is_fault      ? "; read as transformers reads it"
                                                            : ""));
  }
  if (out.layout.empty() && reading.weights != WeightValues::kUsual) {
    return misuse("--weights: {} has its weights once; expected a trainer's checkpoint",
                  path.string());
  }
  if (const std::string trainer = std::exchange(out.layout, {}); !trainer.empty()) {
    const std::string others = fmt::format("{}", fmt::join(out.not_read, ", "));
    if (notes != nullptr) {
      notes->push_back(fmt::format("{}: {}{}{}", path.string(), trainer,
                                   others.empty() ? "" : "; not read: ", others));
    }
  }
  const std::string words = out.shard_words();
  if (words.empty()) {
    return in(path.string(), from_mlx(std::move(out), {.codecs = all_codecs(), .notes = notes}));
  }
  const std::string folder = shell_path(parent_of(path).string());
  return misuse_hint(fmt::format("the same command with {}{}", folder,
                                 is_url(path) ? ""
                                              : ", or with a link of another name to this "
                                                "file alone"),
                     "{}: {}", path.string(), words);
}

Context step_context(std::vector<std::string>* notes, const ReadOptions& reading) {
  const auto open = [reading](const auto& path) { return read_whole_checkpoint(path, reading); };
  const auto documents = [reading](const auto& folder) { return read_documents(folder, reading); };
  return {all_codecs(), nullptr, notes, open, documents, read_file_text, low_rank_product};
}

Result<Checkpoint> apply_steps(const std::vector<Step>& steps, Checkpoint checkpoint,
                               const Context& context) {
  if (steps.size() > kMaxSteps) {
    return misuse("{} steps; expected at most {}", steps.size(), kMaxSteps);
  }
  for (const Step& step : steps) {
    CKPT_ASSIGN(checkpoint,
                in(fmt::format("step {}", step.transform->name),
                   step.transform->apply(std::move(checkpoint), step.options, context)));
  }
  return checkpoint;
}

}  // namespace ckpt

// rename: gives tensors other names, by prefix or by a glob with one star.
//
//   rename:from=model.,to=model.language_model.          names that start with "model."
//   rename:from=*.gamma,to=*.weight                      what the star stands for is kept
//   rename:from=a.,to=b.,from=c.,to=d.                   several rules; a name fits one at most
//
// Scales of a quantized weight follow its name, and so do the lists of modules in what the
// checkpoint says of its quantization (rename_modules.h).

#include <algorithm>
#include <set>

#include "core/base/glob.h"
#include "core/model/transform.h"
#include "transforms/edit/rename_modules.h"

namespace ckpt {
namespace {

constexpr OptionRule kRenameOptions[] = {
    option::glob("from", "how names start, or a glob with one *")
        .called("PREFIX|GLOB")
        .repeated()
        .required(),
    option::glob("to", "what stands there instead")
        .called("PREFIX|GLOB")
        .repeated()
        .required()
        .or_empty(),
};

struct Rule {
  std::string from, to;
  bool used = false;
};

struct Rules {
  std::vector<Rule> all;
  GlobList globs;  // of `from`, alike
};

// The glob of names that `from` is about: the star alone is a wildcard.
std::string glob_of(const std::string& from) {
  std::string out;
  for (const char c : from) out += c == '[' || c == '?' ? std::string{'[', c, ']'} : std::string{c};
  return from.find('*') == from.npos ? out + "*" : out;
}

Result<Rules> read_rules(const OptionValues& options) {
  const std::vector<std::string> from = options.all("from"), to = options.all("to");
  if (from.size() != to.size()) {
    return fail(ErrorCode::kUsage, "{} from=, {} to=; expected pairs", from.size(), to.size());
  }
  Rules rules;
  std::vector<std::string> globs;
  for (size_t i = 0; i < from.size(); ++i) {
    const auto stars = std::count(from[i].begin(), from[i].end(), '*');
    if (stars > 1 || stars != std::count(to[i].begin(), to[i].end(), '*')) {
      return fail(ErrorCode::kUsage, "from={}, to={}; expected one * in both, or none", from[i],
                  to[i]);
    }
    rules.all.push_back({from[i], to[i]});
    globs.push_back(glob_of(from[i]));
  }
  rules.globs = GlobList(globs);
  return rules;
}

// The new name; nullopt when the rule is about other names.
std::optional<std::string> renamed(const Rule& rule, const std::string& name) {
  const size_t star = rule.from.find('*');
  if (star == rule.from.npos) {
    if (!name.starts_with(rule.from)) return std::nullopt;
    return rule.to + name.substr(rule.from.size());
  }
  const std::string_view head = std::string_view(rule.from).substr(0, star);
  const std::string_view tail = std::string_view(rule.from).substr(star + 1);
  if (name.size() < head.size() + tail.size() || !name.starts_with(head) || !name.ends_with(tail)) {
    return std::nullopt;
  }
  const size_t at = rule.to.find('*');
  return rule.to.substr(0, at) + name.substr(head.size(), name.size() - head.size() - tail.size()) +
         rule.to.substr(at + 1);
}

Status rename(Tensor& tensor, Rules& rules) {
  const Rule* by = nullptr;
  std::string name;
  for (const uint32_t number : rules.globs.matching(tensor.name)) {
    Rule& rule = rules.all[number];
    auto found = renamed(rule, tensor.name);
    if (!found) continue;
    if (by != nullptr) {
      return fail(ErrorCode::kUsage, "tensor '{}' fits from={} and from={}; expected one",
                  tensor.name, by->from, rule.from);
    }
    if (found->empty()) {
      return fail(ErrorCode::kUsage, "tensor '{}' would have no name", tensor.name);
    }
    rule.used = true;
    by = &rule;
    name = std::move(*found);
  }
  if (by == nullptr) return {};
  if (tensor.source_name.empty()) tensor.source_name = tensor.name;
  tensor.name = std::move(name);
  return {};
}

Result<Checkpoint> rename_tensors(Checkpoint checkpoint, const OptionValues& options,
                                  const Context& context) {
  CKPT_ASSIGN(Rules rules, read_rules(options));
  std::set<std::string> names;
  for (Tensor& tensor : checkpoint.tensors) {
    CKPT_TRY(rename(tensor, rules));
    if (!names.insert(tensor.name).second) {
      return fail(ErrorCode::kUsage, "two tensors would be called '{}'", tensor.name);
    }
  }
  for (const Rule& rule : rules.all) {
    if (!rule.used) return fail(ErrorCode::kUsage, "no tensor fits from={}", rule.from);
  }
  const auto by_rules = [&](const std::string& name) -> std::optional<std::string> {
    for (const uint32_t number : rules.globs.matching(name)) {
      if (auto found = renamed(rules.all[number], name)) return found;
    }
    return std::nullopt;
  };
  CKPT_ASSIGN(const RenamedModules modules, rename_quant_modules(checkpoint, by_rules));
  if (!modules.unclear.empty()) {
    context.note(fmt::format("rename: entries of quantization lists that keep their names: {}",
                             fmt::join(modules.unclear, ", ")));
  }
  return checkpoint;
}

}  // namespace

extern constinit const Transform kRename{"rename", "gives tensors other names", kRenameOptions,
                                         rename_tensors, Touches::kNames};

}  // namespace ckpt

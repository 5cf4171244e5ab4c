// rename: gives tensors other names, by prefix or by a glob.
//
//   rename:from=model.,to=model.language_model.          names that start with "model."
//   rename:from=*.gamma,to=*.weight                      the text that the star matches is kept
//   rename:from=model.layers.*._orig_mod.*,to=model.layers.*.*   each star matches the least it can
//   rename:from=a.,to=b.,from=c.,to=d.                   several rules; at most one may match a
//   name
//
// The scales of a quantized weight are renamed with it, and also the modules in the lists of its
// quantization configuration.

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "core/base/glob.h"
#include "core/base/result.h"
#include "core/model/checkpoint.h"
#include "core/model/quant_lists.h"
#include "core/model/tensor_names.h"
#include "core/model/transform.h"
#include "transforms/facts/quant_statement.h"

namespace ckpt {
namespace {

// Returns the new name for a tensor or a prefix; nullopt: it keeps its name.
using NewName = std::function<std::optional<std::string>(const std::string& name)>;

// Renames a module by its weight's name, or as a prefix of longer names ("model.layers.0").
std::optional<std::string> renamed_module(const std::string& name, const NewName& rename) {
  const auto weight = rename(name + std::string(kWeight));
  if (weight && weight->ends_with(kWeight)) return module_of(*weight);
  return std::nullopt;
}

// Renames a glob "name*" by the name before the star.
std::optional<std::string> renamed_glob(const std::string& entry, const NewName& rename) {
  const size_t star = entry.find_first_of("*?[");
  const std::string front = entry.substr(0, star);
  if (front.empty()) return std::nullopt;
  if (const auto out = rename(front)) return *out + entry.substr(star);
  // the glob "model*" for the prefix "model."
  if (const auto out = rename(front + "."); out && out->ends_with('.')) {
    return out->substr(0, out->size() - 1) + entry.substr(star);
  }
  return std::nullopt;
}

// Renames "re:^model\.layers\..*" by the name at its start, whether or not its dots are escaped.
std::optional<std::string> renamed_expression(const std::string& entry, const NewName& rename) {
  size_t at = expression_mark(entry);
  if (at < entry.size() && entry[at] == '^') ++at;
  const bool escapes = entry.find("\\.") != entry.npos;
  std::string front;
  size_t end = at;
  while (end < entry.size()) {
    if (entry.compare(end, 2, "\\.") == 0) {
      front += '.';
      end += 2;
    } else if (std::isalnum(static_cast<unsigned char>(entry[end])) != 0 || entry[end] == '_' ||
               (entry[end] == '.' && !escapes && entry.compare(end, 2, ".*") != 0)) {
      front += entry[end++];
    } else {
      break;
    }
  }
  if (front.empty()) return std::nullopt;
  const bool is_whole = end == entry.size() || entry.substr(end) == "$";
  const auto out = is_whole ? renamed_module(front, rename) : rename(front);
  if (!out) return std::nullopt;
  return entry.substr(0, at) + (escapes ? escaped_dots(*out) : *out) + entry.substr(end);
}

// Renames entries in lists of modules (quant_lists.h): names of modules, globs with the star after
// a name, and expressions that begin with a name. Returns the expressions and globs that do not
// begin with a name. Fails: kCorrupt: a document is not JSON.
Result<std::set<std::string>> rename_quant_modules(Checkpoint& checkpoint, const NewName& rename) {
  std::set<std::string> unclear;
  const auto renamed = [&](const std::string& entry) {
    const size_t mark = expression_mark(entry);
    const bool is_glob = mark == 0 && entry.find_first_of("*?[") != entry.npos;
    const EntryFront front = front_of(entry);
    const auto name = front != EntryFront::kName ? std::nullopt
                      : mark != 0                ? renamed_expression(entry, rename)
                      : is_glob                  ? renamed_glob(entry, rename)
                                                 : renamed_module(entry, rename);
    const bool is_unclear = !name && front != EntryFront::kAnywhere && (mark != 0 || is_glob);
    if (is_unclear) unclear.insert(entry);
    return name.value_or(entry);
  };
  CKPT_TRY(edit_quant_statements(checkpoint, [&](JsonText& declared, std::string_view) {
    edit_module_lists(declared, renamed);
  }));
  return unclear;
}

constexpr OptionRule kRenameOptions[] = {
    option::glob("from", "how names start, or a glob").called("PREFIX|GLOB").repeated().required(),
    option::glob("to", "the replacement, with as many *")
        .called("PREFIX|GLOB")
        .repeated()
        .required()
        .or_empty(),
};

struct Rule {
  std::string given;     // `from` as typed
  std::string from, to;  // with as many stars, at least one
  bool used = false;
};

struct Rules {
  std::vector<Rule> all;
  GlobList globs;  // one glob per rule, for its `from`
};

// The glob that matches the names of `from`; only stars are wildcards.
std::string glob_of(const std::string& from) {
  std::string out;
  for (const char c : from) out += c == '[' || c == '?' ? std::string{'[', c, ']'} : std::string{c};
  return out;
}

Result<Rules> read_rules(const OptionValues& options) {
  const std::vector<std::string> from = options.all("from"), to = options.all("to");
  if (from.size() != to.size()) {
    return misuse("{} from=, {} to=; expected pairs", from.size(), to.size());
  }
  Rules rules;
  std::vector<std::string> globs;
  for (size_t i = 0; i < from.size(); ++i) {
    const auto stars = std::ranges::count(from[i], '*');
    if (stars != std::ranges::count(to[i], '*')) {
      return misuse("from={}, to={}; expected as many * in both", from[i], to[i]);
    }
    const char* star = stars == 0 ? "*" : "";  // after a prefix
    rules.all.push_back({from[i], from[i] + star, to[i] + star});
    globs.push_back(glob_of(rules.all.back().from));
  }
  rules.globs = GlobList(globs);
  return rules;
}

// Returns the new name; nullopt if the rule does not match the name.
std::optional<std::string> renamed(const Rule& rule, const std::string& name) {
  std::string_view from = rule.from, to = rule.to;
  const auto take_piece = [](std::string_view& text) {
    const std::string_view piece = text.substr(0, text.find('*'));
    text.remove_prefix(std::min(text.size(), piece.size() + 1));
    return piece;
  };
  const std::string_view head = take_piece(from);
  if (!name.starts_with(head)) return std::nullopt;
  std::string out(take_piece(to));
  size_t at = head.size();
  for (auto stars = std::ranges::count(rule.from, '*'); stars > 0; --stars) {
    const std::string_view piece = take_piece(from);
    const size_t end = stars > 1               ? name.find(piece, at)
                       : name.ends_with(piece) ? name.size() - piece.size()
                                               : name.npos;
    if (end == name.npos || end < at) return std::nullopt;
    out.append(name, at, end - at).append(take_piece(to));
    at = end + piece.size();
  }
  return out;
}

Status rename(Tensor& tensor, Rules& rules) {
  const Rule* by = nullptr;
  std::string name;
  for (const uint32_t number : rules.globs.matching(tensor.name)) {
    Rule& rule = rules.all[number];
    auto found = renamed(rule, tensor.name);
    if (!found) continue;
    if (by != nullptr) {
      return misuse("tensor '{}' fits from={} and from={}; expected one", tensor.name, by->given,
                    rule.given);
    }
    if (found->empty()) {
      return misuse("tensor '{}' would have no name", tensor.name);
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
      return misuse("two tensors would be called '{}'", tensor.name);
    }
  }
  for (const Rule& rule : rules.all) {
    if (!rule.used) return misuse("no tensor fits from={}", rule.given);
  }
  const auto by_rules = [&](const std::string& name) -> std::optional<std::string> {
    for (const uint32_t number : rules.globs.matching(name)) {
      if (auto found = renamed(rules.all[number], name)) return found;
    }
    return std::nullopt;
  };
  CKPT_ASSIGN(const std::set<std::string> unclear, rename_quant_modules(checkpoint, by_rules));
  if (!unclear.empty()) {
    context.note("rename: entries of quantization lists that keep their names: {}",
                 fmt::join(unclear, ", "));
  }
  return checkpoint;
}

}  // namespace

extern constinit const Transform kRename{"rename", "gives tensors other names", kRenameOptions,
                                         rename_tensors, ChangeScope::kNames};

}  // namespace ckpt

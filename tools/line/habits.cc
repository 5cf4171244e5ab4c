#include "tools/line/habits.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <functional>
#include <span>
#include <utility>

#include "core/base/nearest.h"
#include "core/base/printable.h"
#include "core/base/words.h"
#include "core/model/adapter.h"
#include "plan/conversion/steps.h"
#include "plan/text/other_words.h"
#include "plan/text/type_names.h"
#include "tools/line/commands.h"
#include "tools/line/suggested.h"
#include "tools/line/typed_words.h"
#include "transforms/transforms.h"

namespace ckpt {
namespace {

std::optional<OtherWord> other_option(const ForeignWord& asked, const CommandOptions& own) {
  return other_word(asked, [&](auto name) { return own.find_declared(name) != nullptr; });
}

std::string name_of(std::string_view word) { return std::string(word.substr(0, word.find('='))); }

// The value of the option at `at`: the text after its '=', or the next word unless that is an
// option, or "".
std::string value_of(std::span<const std::string> words, size_t at) {
  const size_t equals = words[at].find('=');
  if (equals != std::string::npos) return words[at].substr(equals + 1);
  const bool follows = at + 1 < words.size() && !words[at + 1].starts_with('-');
  return follows ? words[at + 1] : std::string();
}

// Calls `see` with the place of each option that the command does not have or whose value is
// missing. Returns the places of words that are neither options nor values.
std::vector<size_t> walk(const std::vector<std::string>& words, const CommandOptions& own,
                         const std::function<void(size_t)>& see) {
  std::vector<size_t> alone;
  for (size_t i = 1; i < words.size(); ++i) {
    if (!words[i].starts_with('-') || words[i].size() == 1) {
      alone.push_back(i);
      continue;
    }
    const auto takes_next = [&] {
      const Option* option = own.find_declared(words[i]);
      return option != nullptr && takes_value(*option) && !option->is_value_optional;
    };
    const bool is_own = own.find_declared(name_of(words[i])) != nullptr;
    if (!is_own || (takes_next() && value_of(words, i).empty())) see(i);
    if (takes_next()) ++i;
  }
  return alone;
}

// Replaces options of other programs that ckpt accepts by ckpt's own.
std::vector<size_t> translate_options(std::vector<std::string>& words, const CommandOptions& own) {
  return walk(words, own, [&](size_t at) {
    const ForeignWord asked{name_of(words[at]), value_of(words, at), words[0]};
    const auto row = other_option(asked, own);
    if (!row || !row->is_same || own.find_declared(asked.word) != nullptr) return;
    const bool is_apart = words[at].find('=') == std::string::npos;
    const bool has_value = takes_value(*own.find_declared(row->ours)) && !row->value.empty();
    if (has_value && is_apart) words.erase(words.begin() + static_cast<ptrdiff_t>(at) + 1);
    words[at] = has_value ? fmt::format("{}={}", row->ours, row->value) : row->ours;
  });
}

// Turns llama-quantize's IN [OUT] TYPE [THREADS] into options. Without OUT, llama-quantize names
// the file by its type.
void place_type(std::vector<std::string>& words, const std::vector<size_t>& alone) {
  const auto is_type = [&](size_t at) {
    return target_type_named("", words[alone[at]]).has_value();
  };
  const bool has_out = alone.size() > 2 && !is_type(1);
  const size_t place = has_out ? 2 : 1;
  if (alone.size() <= place || (!has_out && !is_type(1))) return;
  const std::string type = words[alone[place]];
  if (alone.size() > place + 1) words[alone[place + 1]].insert(0, "--threads=");
  words[alone[place]] = "--to=" + type;
  const std::filesystem::path in = words[alone[0]];
  const auto out = in.parent_path() / fmt::format("ggml-model-{}.gguf", upper_case(type));
  if (!has_out) words.insert(words.begin() + static_cast<ptrdiff_t>(alone[0]) + 1, out.string());
}

// Fills the typed command, the first path and a repository of the Hub into advice from the table.
std::string completed(std::string advice, const std::vector<std::string>& words) {
  const auto replace = [&](std::string_view word, const std::string& by) {
    const size_t at = advice.find(word);
    if (at != advice.npos) advice.replace(at, word.size(), by);
  };
  replace("ckpt VERB ", fmt::format("ckpt {} ", words[0]));
  bool has_path = false;
  for (size_t i = 1; i < words.size(); ++i) {
    std::error_code ignored;
    const bool is_path = std::filesystem::exists(words[i], ignored);
    const bool is_repository = !is_path && std::ranges::count(words[i], '/') == 1;
    if (is_repository && std::isalnum(static_cast<unsigned char>(words[i][0])) != 0) {
      replace("ORG/NAME", shell_word(words[i]));
    }
    if (!is_path || std::exchange(has_path, true)) continue;
    for (const char* name : {" IN", " FOLDER", " FILE.gguf"}) {
      replace(name, " " + shell_path(words[i]));
    }
  }
  return advice;
}

Failure answered(const OtherWord& row, std::string_view what,
                 const std::vector<std::string>& words) {
  const std::string hint = row.ours.empty() ? "the same command without it"
                                            : with_typed_words(completed(row.ours, words), words);
  return misuse_hint(hint, "{}{}{}", what, row.why.empty() ? "" : "; ", row.why);
}

// Moves common options before the verb, with their values, to the end.
void move_common(std::vector<std::string>& words) {
  CommonOptions common;
  CommandOptions shared;
  declare_common(shared, common);
  std::vector<std::string> moved;
  while (!words.empty()) {
    const std::string name = words[0].substr(0, words[0].find('='));
    const Option* found = shared.find_declared(name);
    if (found == nullptr) break;
    const bool has_value = takes_value(*found) && name == words[0] && words.size() > 1;
    const auto end = words.begin() + (has_value ? 2 : 1);
    moved.insert(moved.end(), words.begin(), end);
    words.erase(words.begin(), end);
  }
  words.insert(words.begin() + (words.empty() ? 0 : 1), moved.begin(), moved.end());
}

bool is_adapter(const std::string& path) {
  const auto checkpoint = read_checkpoint(path);
  return checkpoint && !adapter_words(*checkpoint).empty();
}

// Reads a `split` or `merge` command line, in any order of its words. People type `split IN OUT
// --split-max-size 2G` as for llama-gguf-split, also for folders, and `merge MODEL ADAPTER OUT` for
// PEFT adapters.
struct SplitMergeLine {
  explicit SplitMergeLine(const std::vector<std::string>& words) : splits(words[0] == "split") {
    const CommandOptions convert = options_of("convert");
    for (size_t i = 1; i < words.size(); ++i) {
      const std::string name = words[i].substr(0, words[i].find('='));
      if (!name.starts_with("-")) paths.push_back(words[i]);
      std::string* const value = name.ends_with("-size")                         ? &size
                                 : name.ends_with("-tensors")                    ? &tensors
                                 : has_word("-o --out --outfile --output", name) ? &out
                                 : has_word(kOtherPaths, name) ? &paths.emplace_back()
                                                               : nullptr;
      if (!name.starts_with("-")) continue;
      const Option* const own = value == nullptr ? convert.find_declared(name) : nullptr;
      if (own != nullptr && takes_value(*own) && name == words[i]) ++i;  // skips its value
      if (value == nullptr) continue;
      if (name != words[i]) {
        *value = words[i].substr(name.size() + 1);
      } else if (i + 1 < words.size()) {
        *value = words[++i];
      }
    }
    // Merging reads one path or all parts; a further path is the output.
    const bool are_read = paths.size() > 1 && ((is_part(paths[0]) && is_part(paths.back())) ||
                                               (!splits && is_adapter(paths.back())));
    if (out.empty() && paths.size() > 1 && !are_read) {
      out = paths.back();
      paths.pop_back();
    }
  }
  static bool is_part(std::string_view path) {  // NAME-00001-of-00004.gguf
    return path.find("-of-") != path.npos;
  }

  // Options by which merging tools take a model and an adapter.
  static constexpr std::string_view kOtherPaths =
      "-m --model --base --base-model --base_model --adapter --lora --lora-adapter --peft "
      "--peft-model --lora_model";
  bool splits;
  std::vector<std::string> paths;
  std::string out, size, tensors;
};

// The equivalent line of ckpt. A size that everything fits into yields one .safetensors file.
std::string resized(SplitMergeLine asked) {
  std::string adapters;
  std::erase_if(asked.paths, [&](const std::string& path) {
    if (asked.splits || !is_adapter(path)) return false;
    adapters += " --step " + shell_word("lora:from=" + path);
    return true;
  });
  const std::string example = asked.splits ? "IN.gguf" : "NAME-00001-of-00004.gguf";
  const auto first = std::ranges::min_element(asked.paths);
  const std::string model = adapters.empty() ? example : "MODEL";
  const std::string in = first == asked.paths.end() ? model : *first;
  const bool is_gguf = has_ending(in, ".gguf");
  std::string out = asked.out.empty() ? "OUT" : asked.out;
  if (is_gguf && !out.ends_with(".gguf")) out += ".gguf";
  const auto name = [](const std::string& path) {
    return path == "OUT" || path == "OUT.gguf" ? path : shell_path(path);
  };
  const std::string from = in == "MODEL" ? in : shell_path(in);
  std::string line = fmt::format("ckpt convert {} {}{}", from, name(out), adapters);
  const std::string_view size = asked.size.empty() ? "5G" : std::string_view(asked.size);
  if (asked.splits && is_gguf && !asked.tensors.empty()) {
    line += fmt::format(" --split-tensors {}", shell_word(asked.tensors));
  } else if (asked.splits) {
    line += fmt::format(" {} {}", is_gguf ? "--split-size" : "--shard-size", shell_word(size));
  } else if (!is_gguf && adapters.empty()) {
    line += " --shard-size 1000T";
  }
  return line;
}

// Programs that edit GGUF metadata: `gguf_set_metadata FILE KEY VALUE`, and `gguf_new_metadata IN
// OUT --general-name NAME`, whose options become keys.
constexpr std::string_view kSetFile = "ckpt set FILE.gguf ";

std::string metadata_line(const std::vector<std::string>& words) {
  std::vector<std::string> alone, edits;
  for (size_t i = 1; i < words.size(); ++i) {
    const auto row = other_word({name_of(words[i]), value_of(words, i), "set"}, {});
    if (row && row->ours.starts_with(kSetFile)) {
      edits.push_back(row->ours.substr(kSetFile.size()));
      if (name_of(words[i]) == words[i]) ++i;
    } else if (!words[i].starts_with("-")) {
      alone.push_back(words[i]);
    }
  }
  const bool is_new = words[0].find("new") != std::string::npos;
  std::string line = "ckpt set " + (alone.empty() ? "FILE" : shell_path(alone[0]));
  for (size_t i = 1; i < alone.size(); ++i) {
    const bool is_key = !is_new && alone[i].find('=') == std::string::npos && i + 1 < alone.size();
    const std::string pair = is_key ? alone[i] + "=" + alone[i + 1] : alone[i];
    line += is_new ? " --out " + shell_path(alone[i]) : " " + shell_word(pair);
    if (is_key) ++i;
  }
  for (const std::string& edit : edits) line += " " + edit;  // already quoted for a shell
  return edits.empty() && (alone.size() < 2 || is_new) ? line + " KEY=VALUE" : line;
}

// Whether `word` is a subcommand, such as "merge" of imatrix.
bool is_first_word(std::string_view verb, std::string_view word) {
  const CommandOptions own = options_of(verb);
  const auto first = std::ranges::find_if(own.declared(), stands_alone);
  return first != own.declared().end() && std::ranges::count(first->choices, word) > 0;
}

}  // namespace

Status check_help_words(const std::vector<std::string>& words) {
  if (words.empty() || !has_word("help --help -h", words[0])) return {};
  CommonOptions common;
  CommandOptions shared;
  declare_common(shared, common);
  std::vector<std::string> asked;
  for (size_t i = 1; i < words.size(); ++i) {
    const Option* option = shared.find_declared(words[i]);
    if (option != nullptr && takes_value(*option)) ++i;
    if (i < words.size() && !words[i].starts_with('-') && option == nullptr) {
      asked.push_back(words[i]);
    }
  }
  if (asked.size() < 2 || (asked.size() == 2 && is_first_word(asked[0], asked[1]))) return {};
  return misuse_hint(fmt::format("ckpt help {}", asked[0]), "{}: too many arguments for ckpt {}",
                     fmt::join(asked.begin() + 1, asked.end(), " "), words[0]);
}

std::vector<std::string> in_own_words(std::vector<std::string> words) {
  if (words.empty()) return words;
  const bool asks_first = words[0] == "--help" || words[0] == "-h";
  if (asks_first && words.size() > 1 && !words[1].starts_with('-')) {
    std::ranges::rotate(words, words.begin() + 1);  // --help VERB
  }
  if (words[0] == "help") {
    words.erase(words.begin());
    words.push_back("--help");
    if (words.size() == 1) return words;
  }
  move_common(words);
  const std::string verb = words[0];
  const bool is_version = verb == "--version" || verb == "-v" || verb == "-V";
  if (is_version && words.size() == 1) return {"--version"};
  if (is_version) words[0] = "version";
  const bool is_known = std::ranges::count(all_commands(), verb, &Command::name) > 0;
  const auto row = is_known ? std::nullopt : other_word({verb, {}, {}}, {});
  if (row && row->is_same) words[0] = row->ours;
  const std::vector<size_t> alone = translate_options(words, options_of(words[0]));
  if (row && row->is_same && verb.find("quantize") != verb.npos) place_type(words, alone);
  return words;
}

Failure unknown_verb(const std::vector<std::string>& words, const std::vector<std::string>& verbs) {
  const std::string& word = words[0];
  std::string hint;
  if (word == "split" || word == "merge") hint = resized(SplitMergeLine(words));
  const auto row = hint.empty() ? other_word({word, {}, {}}, {}) : std::nullopt;
  if (row && row->ours.starts_with(kSetFile)) {
    hint = metadata_line(words);
  } else if (row) {
    return answered(*row, fmt::format("'{}' is not a command", word), words);
  } else if (find_transform(word) != nullptr) {
    hint = "ckpt convert IN OUT --step " + word;
  }
  hint = with_typed_words(completed(std::move(hint), words), words);
  if (hint.empty()) hint = near_hint(word, verbs, "ckpt ", "ckpt --help");
  return misuse_hint(hint, "'{}' is not a command; expected one of {}", word,
                     fmt::join(verbs, ", "));
}

Status check_other_options(const std::vector<std::string>& words, const CommandOptions& own) {
  Status out;
  std::vector<std::string> typed{words[0]};  // the verb and words that are not options
  for (const size_t at : walk(words, own, [](size_t) {})) typed.push_back(words[at]);
  walk(words, own, [&](size_t at) {
    const std::string name = name_of(words[at]);
    auto row = other_option({name, value_of(words, at), words[0]}, own);
    const bool is_off = name.starts_with("--no-") && !row;
    if (is_off) row = other_option({"--" + name.substr(5), {}, words[0]}, own);
    const bool is_own = own.find_declared(name) != nullptr;  // its value is missing
    if (!out || !row || (is_own && (row->is_same || !row->ours.starts_with("--")))) return;
    out = answered(*row,
                   is_own ? fmt::format("{}: its value is missing", name)
                          : fmt::format("{}: ckpt {} has no such option", name, words[0]),
                   typed);
  });
  return out;
}

Failure unknown_option(std::string_view word, std::string_view verb,
                       const std::vector<std::string>& options) {
  const std::string_view name = word.substr(0, word.find('='));
  return misuse_hint(near_hint(name, options, "", fmt::format("ckpt help {}", verb)),
                     "{}: ckpt {} has no such option", name, verb);
}

}  // namespace ckpt

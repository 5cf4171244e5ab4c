#include "tools/line/habits.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "core/base/nearest.h"
#include "core/base/printable.h"
#include "core/base/words.h"
#include "core/model/adapter.h"
#include "plan/conversion/steps.h"
#include "tools/line/commands.h"
#include "tools/line/suggested.h"
#include "tools/line/typed_words.h"

namespace ckpt {
namespace {

struct WordPair {
  std::string_view from, to;
};
constexpr WordPair kVerbs[] = {
    {"quantize", "convert"}, {"info", "show"}, {"inspect", "show"}, {"dump", "show"}};
// Words of other programs that have another spelling here.
constexpr WordPair kOtherVerbs[] = {{"download", "hf download ORG/NAME --local-dir NAME"},
                                    {"hash", "ckpt publish PATH, and ckpt verify PATH"},
                                    {"check", "ckpt doctor PATH, or ckpt verify PATH"},
                                    {"validate", "ckpt doctor PATH, or ckpt verify PATH"}};
// Understood, and shown by help: the command, what is typed, and what it is called here.
struct OtherName {
  std::string_view verb, from, to;
};
constexpr OtherName kOtherNames[] = {{"convert", "--outtype", "--to"}};
// Not understood, but answered with what it is called here.
constexpr WordPair kOtherOptions[] = {
    {"-v", "without it: progress and notes are shown, and -q hides them"},
    {"--verbose", "without it: progress and notes are shown, and -q hides them"},
    {"--type", "--to"},
    {"--dtype", "--to"},
    {"--output", "-o"},
    {"--split-max-size", "--split-size"},
    {"--split-max-tensors", "--split-tensors"},
    {"--max-shard-size", "--shard-size"},
    {"--override-kv", "--step metadata:set=KEY=VALUE"},
    {"--set", "ckpt set PATH KEY=VALUE"},
    {"--chat-template", "ckpt set FILE.gguf tokenizer.chat_template=@TEMPLATE"},
    {"--chat-template-file", "ckpt set FILE.gguf tokenizer.chat_template=@TEMPLATE"},
    {"--general-name", "ckpt set FILE.gguf general.name=NAME"},
    {"--general-description", "ckpt set FILE.gguf general.description=TEXT"},
    {"--remove-metadata", "ckpt set FILE.gguf --remove KEY"},
    {"--key", "ckpt publish PATH --sign KEY.pem; a public key goes to ckpt verify"},
    {"--private-key", "--sign"},
    {"--private_key", "--sign"},
    {"--svg", "the button \"Save as SVG\" below each figure of the page"},
    {"--yes", "--force"},
    {"--overwrite", "--force"}};

template <size_t kCount>
std::string_view find(const WordPair (&pairs)[kCount], std::string_view word) {
  const auto found = std::ranges::find(pairs, word, &WordPair::from);
  return found == std::end(pairs) ? std::string_view() : found->to;
}

// Common options before the verb, each with its value, go to the end.
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

// `split IN OUT --split-max-size 2G` of llama-gguf-split, and what people type for folders; `merge
// MODEL ADAPTER OUT` of PEFT, in any order.
struct Resizing {
  explicit Resizing(const std::vector<std::string>& words) : splits(words[0] == "split") {
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
      if (own != nullptr && takes_value(*own) && name == words[i]) ++i;  // kept with its option
      if (value == nullptr) continue;
      if (name != words[i]) {
        *value = words[i].substr(name.size() + 1);
      } else if (i + 1 < words.size()) {
        *value = words[++i];
      }
    }
    // Merging takes one path or all parts; where there are more, the last is what is made.
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

  // How merging tools name a model and an adapter.
  static constexpr std::string_view kOtherPaths =
      "-m --model --base --base-model --base_model --adapter --lora --lora-adapter --peft "
      "--peft-model --lora_model";
  bool splits;
  std::vector<std::string> paths;
  std::string out, size, tensors;
};

// The line that does it here. A size that everything fits into makes one .safetensors file.
std::string resized(Resizing asked) {
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

// Programs that edit a GGUF's metadata: `gguf_set_metadata FILE KEY VALUE`, and
// `gguf_new_metadata IN OUT --general-name NAME`, whose options become keys.
constexpr std::string_view kMetadataVerbs[] = {
    "gguf-set-metadata", "gguf_set_metadata", "gguf-set-metadata.py", "gguf_set_metadata.py",
    "gguf-new-metadata", "gguf_new_metadata", "gguf-new-metadata.py", "gguf_new_metadata.py",
    "set-metadata",      "metadata",          "edit-metadata"};
constexpr WordPair kMetadataOptions[] = {{"--general-name", "general.name="},
                                         {"--general-description", "general.description="},
                                         {"--chat-template", "tokenizer.chat_template="},
                                         {"--chat-template-file", "tokenizer.chat_template=@"},
                                         {"--pre-tokenizer", "tokenizer.ggml.pre="},
                                         {"--remove-metadata", "--remove="}};

std::string metadata_line(const std::vector<std::string>& words) {
  std::vector<std::string> alone, edits;
  for (size_t i = 1; i < words.size(); ++i) {
    const std::string name = words[i].substr(0, words[i].find('='));
    const std::string_view key = find(kMetadataOptions, name);
    if (!key.empty() && (name != words[i] || i + 1 < words.size())) {
      const std::string value = name != words[i] ? words[i].substr(name.size() + 1) : words[++i];
      edits.push_back(std::string(key) + value);
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
  for (const std::string& edit : edits) line += " " + shell_word(edit);
  return edits.empty() && (alone.size() < 2 || is_new) ? line + " KEY=VALUE" : line;
}

// Whether `word` is one of those that stand first behind the command: "merge" of imatrix.
bool is_first_word(std::string_view verb, std::string_view word) {
  const CommandOptions own = options_of(verb);
  const auto first = std::ranges::find_if(own.declared(), stands_alone);
  return first != own.declared().end() && std::ranges::count(first->choices, word) > 0;
}

}  // namespace

std::string other_names(std::string_view verb, std::string_view name) {
  std::string out;
  for (const OtherName& other : kOtherNames) {
    if (other.verb == verb && other.to == name) out += fmt::format(",{}", other.from);
  }
  return out;
}

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
  const std::string_view own = find(kVerbs, verb);
  if (own.empty()) return words;
  words[0] = own;
  // llama-quantize's third word is the type.
  const auto is_plain = [](const std::string& word) { return !word.starts_with("-"); };
  if (verb == "quantize" && words.size() > 3 &&
      std::all_of(words.begin() + 1, words.begin() + 4, is_plain)) {
    words.insert(words.begin() + 3, "--to");
  }
  return words;
}

Failure unknown_verb(const std::vector<std::string>& words, const std::vector<std::string>& verbs) {
  const std::string& word = words[0];
  std::string hint(find(kOtherVerbs, word));
  if (word == "split" || word == "merge") hint = resized(Resizing(words));
  const auto edits = std::ranges::find(kMetadataVerbs, word);
  if (edits != std::end(kMetadataVerbs)) hint = metadata_line(words);
  hint = with_typed_words(hint, words);
  if (hint.empty()) hint = near_hint(word, verbs, "ckpt ", "ckpt --help");
  return misuse_hint(hint, "'{}' is not a command; expected one of {}", word,
                     fmt::join(verbs, ", "));
}

Failure unknown_option(std::string_view word, std::string_view verb,
                       const std::vector<std::string>& options) {
  const std::string_view name = word.substr(0, word.find('='));
  std::string hint(find(kOtherOptions, name));
  const bool is_option = hint.starts_with("-");
  const std::string first = hint.substr(0, hint.find(' '));
  if (is_option && std::ranges::find(options, first) == options.end()) hint.clear();
  if (hint.empty() && name.starts_with("--")) hint = nearest(name, options);
  if (hint.empty()) hint = fmt::format("ckpt help {}", verb);
  return misuse_hint(hint, "{}: ckpt {} has no such option", name, verb);
}

}  // namespace ckpt

// Reads data/profiles/*.txt, which cmake/embed_profiles.cmake puts into the program:
//
//   key value                    order, help, program, rules, rated, algos
//   rated NAME ...               the names in the ratings of checks that it goes by; its own
//                                without this key. Programs may share one: "llama-server"
//   [section]                    words follow, between spaces and over any number of lines
//   also PROFILE                 the words of that profile's section count too
//   without WORD ...             but not these
//   # comment
//
// A release that goes by the rules of one that is known here is one more file.
#include "checks/profiles/profiles.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "core/base/find.h"
#include "core/base/lines.h"
#include "core/base/result.h"
#include "core/base/words.h"

namespace ckpt {

// Every file, each after a line "profile NAME".
extern const std::string_view kProfileFiles;

namespace {

template <class Value, size_t kCount>
Value value_named(const std::pair<std::string_view, Value> (&named)[kCount],
                  std::string_view name) {
  const auto* found = find_by(named, &std::pair<std::string_view, Value>::first, name);
  CKPT_CHECK(found != nullptr);  // a profile names a program and rules that the checks know
  return found->second;
}

constexpr std::pair<std::string_view, Program> kPrograms[] = {
    {"vllm", Program::kVllm},
    {"sglang", Program::kSglang},
    {"tensorrt-llm", Program::kTensorrt},
    {"llama.cpp", Program::kLlamaCpp},
    {"ollama", Program::kOllama},
    {"transformers", Program::kTransformers}};
constexpr std::pair<std::string_view, Rules> kRules[] = {{"vllm-0.16", Rules::kVllm16},
                                                         {"vllm-0.17", Rules::kVllm17},
                                                         {"vllm-0.32", Rules::kVllm32},
                                                         {"sglang", Rules::kSglang},
                                                         {"transformers-4", Rules::kTransformers4},
                                                         {"transformers-5", Rules::kTransformers5}};

// Before the first section of a file.
void read_key(std::string_view key, std::string_view value, Profile& profile) {
  if (key == "order") {
    std::from_chars(value.data(), value.data() + value.size(), profile.order);
  } else if (key == "help") {
    profile.help = value;
  } else if (key == "program") {
    profile.program = value_named(kPrograms, value);
  } else if (key == "rules") {
    profile.rules = value_named(kRules, value);
  } else if (key == "rated") {
    profile.rated = split_words(value);
  } else {
    CKPT_CHECK(key == "algos");
    profile.algos = fmt::format(" {} ", value);
  }
}

void read_words(std::string_view line, WordList& list) {
  std::string_view rest = line;
  const std::string_view first = take_word(rest);
  if (first == "also") {
    list.also.push_back(rest);
    return;
  }
  auto& words = first == "without" ? list.without : list.words;
  if (first != "without") rest = line;
  for (const std::string_view word : split_words(rest)) words.insert(word);
}

void read_line(std::string_view line, std::vector<Profile>& out, WordList*& section) {
  std::string_view value = line;
  const std::string_view key = take_word(value);
  if (key == "profile") {
    Profile& made = out.emplace_back();
    made.name = value;
    made.rated = {value};
    section = nullptr;
  } else if (line.starts_with('[')) {
    section = &out.back().lists[line.substr(1, line.size() - 2)];
  } else if (section != nullptr) {
    read_words(line, *section);
  } else {
    value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
    read_key(key, value, out.back());
  }
}

std::vector<Profile> read_profiles() {
  std::vector<Profile> out;
  WordList* section = nullptr;
  std::string_view text = kProfileFiles;
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    if (!line.empty() && line[0] != '#') read_line(line, out, section);
  }
  std::ranges::sort(out, {}, &Profile::order);
  return out;
}

}  // namespace

std::span<const Profile> profiles() {
  static const std::vector<Profile> read = read_profiles();
  return read;
}

const Profile* find_profile(std::string_view name) {
  const std::span<const Profile> all = profiles();
  return find_by(all, &Profile::name, name);
}

// Sources: vLLM and SGLang 0.5.12 model_loader/weight_utils.py
// (filter_duplicate_safetensors_files); llama.cpp conversion/base.py (index_tensors); transformers
// 5.17 src/transformers/utils/hub.py.
bool Profile::takes(const IndexMisfit& misfit) const {
  switch (program) {
    case Program::kVllm: return !misfit.lacks_file || rules != Rules::kVllm32;
    case Program::kSglang:
      return true;  // lists the files, and keeps those that the index names
    case Program::kLlamaCpp:
      return !misfit.lacks_file && !misfit.has_ghosts && !misfit.omits_tensors;
    case Program::kTransformers:  // 4.57 passes over tensors that the index omits
      return !misfit.lacks_file && !(misfit.omits_tensors && rules == Rules::kTransformers4);
    default: return false;
  }
}

bool has_listed(const Profile& profile, std::string_view list, std::string_view word,
                bool if_absent) {
  const WordList* own = find_mapped(profile.lists, list);
  if (own == nullptr) return if_absent;
  if (own->words.contains(word)) return true;
  if (own->without.contains(word)) return false;
  return std::ranges::any_of(own->also, [&](std::string_view other) {
    const Profile* more = find_profile(other);
    CKPT_CHECK(more != nullptr);
    return has_listed(*more, list, word, false);
  });
}

std::vector<std::string_view> listed_words(const Profile& profile, std::string_view list) {
  std::vector<std::string_view> out;
  const WordList* own = find_mapped(profile.lists, list);
  if (own == nullptr) return out;
  for (const std::string_view other : own->also) {
    const Profile* more = find_profile(other);
    CKPT_CHECK(more != nullptr);
    for (const std::string_view word : listed_words(*more, list)) {
      if (!own->without.contains(word)) out.push_back(word);
    }
  }
  out.insert(out.end(), own->words.begin(), own->words.end());
  return out;
}

std::string_view section_with(const Profile& profile, std::string_view start,
                              std::string_view word) {
  auto at = profile.lists.lower_bound(start);
  for (; at != profile.lists.end() && at->first.starts_with(start); ++at) {
    if (at->second.words.contains(word)) return at->first.substr(start.size());
  }
  return {};
}

bool knows_model_class(const Profile& profile, std::string_view name) {
  constexpr std::string_view kClasses = "classes";
  if (has_listed(profile, kClasses, name, true)) return true;
  const WordList* endings = find_mapped(profile.lists, "endings with adapters");
  const WordList* adapted = find_mapped(profile.lists, "endings of adapted classes");
  if (endings == nullptr || adapted == nullptr) return false;
  return std::ranges::any_of(endings->words, [&](std::string_view ending) {
    if (!name.ends_with(ending)) return false;
    const std::string_view stem = name.substr(0, name.size() - ending.size());
    return std::ranges::any_of(adapted->words, [&](std::string_view other) {
      return has_listed(profile, kClasses, fmt::format("{}{}", stem, other), false);
    });
  });
}

bool runs_by_fallback(const Profile& profile, std::string_view name) {
  if (has_listed(profile, "classes without code", name, false)) return true;
  return !knows_model_class(profile, name) && has_fallback_class(profile, name);
}

bool knows_tokenizer_class(const Profile& profile, std::string_view name) {
  constexpr std::string_view kList = "tokenizer classes";
  return has_listed(profile, kList, name, true) ||
         has_listed(profile, kList, fmt::format("{}Fast", name), true);
}

}  // namespace ckpt

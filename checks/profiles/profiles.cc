// Reads data/profiles/*.txt, which cmake/embed_profiles.cmake puts into the program. A file's name
// is that of a release: vllm-0.32.
//
//   key value                    help, version, released, program, reader, rated
//   read DAY                     replaces `released` if nobody looks for newer releases
//   kind NAME                    the program; its newest release is shown by this name
//   rated NAME ...               ratings of checks that name one of these apply (default: the
//                                profile's own name); programs may share one, as "llama-server"
//   like PROFILE                 that profile has all keys, traits and sections not stated here
//   does TRAIT                   one of kTraits; `does not TRAIT` removes one that PROFILE has
//   [section]                    words follow, separated by spaces, on any number of lines
//   also PROFILE                 adds the words of the same section of PROFILE
//   without WORD ...             removes these words from them
//   # comment
//
// A release is one more file; data/profiles/refresh writes it.
#include "checks/profiles/profiles.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "core/base/find.h"
#include "core/base/lines.h"
#include "core/base/result.h"
#include "core/base/words.h"
#include "models/models.h"

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

// Every file by its name.
using Files = std::map<std::string_view, std::string_view>;

Files files_of(std::string_view all) {
  constexpr std::string_view kStart = "profile ";
  Files out;
  while (!all.empty()) {
    const std::string_view name = take_line(all).substr(kStart.size());
    const size_t end = std::min(all.find("\nprofile ") + 1, all.size());
    out[name] = all.substr(0, end == 0 ? all.size() : end);
    all.remove_prefix(out[name].size());
  }
  return out;
}

void read_trait(std::string_view value, Profile& profile) {
  const bool is_absent = value.starts_with("not ");
  if (is_absent) value.remove_prefix(4);
  CKPT_CHECK(std::ranges::find(kTraits, value) != std::end(kTraits));
  is_absent ? void(profile.traits.erase(value)) : void(profile.traits.insert(value));
}

// Before the first section of a file.
void read_key(std::string_view key, std::string_view value, Profile& profile) {
  using Field = std::pair<std::string_view, std::string_view Profile::*>;
  constexpr Field kTexts[] = {{"kind", &Profile::kind},
                              {"help", &Profile::help},
                              {"version", &Profile::version},
                              {"released", &Profile::released},
                              {"read", &Profile::read},
                              {"like", &Profile::like},
                              {"reader", &Profile::reader}};
  const Field* text = find_by(kTexts, &Field::first, key);
  if (text != nullptr) {
    profile.*text->second = value;
  } else if (key == "program") {
    profile.program = value_named(kPrograms, value);
  } else if (key == "rated") {
    profile.rated = split_words(value);
  } else {
    CKPT_CHECK(key == "does");
    read_trait(value, profile);
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

void read_file(const Files& files, std::string_view name, bool has_sections, Profile& out) {
  constexpr std::string_view kLike = "\nlike ";
  std::string_view text = files.at(name);
  WordList* section = nullptr;
  // First, wherever the line is: this file goes before the other.
  const std::string_view keys = text.substr(0, text.find("\n["));
  if (const size_t at = keys.find(kLike); at != keys.npos) {
    std::string_view like = keys.substr(at + kLike.size());
    like.remove_prefix(std::min(like.find_first_not_of(' '), like.size()));
    read_file(files, take_line(like), false, out);
  }
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    std::string_view value = line;
    const std::string_view key = take_word(value);
    value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
    if (line.empty() || line[0] == '#') continue;
    if (line[0] == '[' && !has_sections) return;
    if (line[0] == '[') {
      section = &out.lists[line.substr(1, line.size() - 2)];
    } else if (section != nullptr) {
      read_words(line, *section);
    } else {
      read_key(key, value, out);
    }
  }
}

std::vector<uint64_t> numbers_of(std::string_view version) {
  std::vector<uint64_t> out;
  while (!version.empty()) {
    const std::string_view number = take_word(version, '.');
    std::from_chars(number.data(), number.data() + number.size(), out.emplace_back());
  }
  return out;
}

std::vector<Profile> read_profiles() {
  std::vector<Profile> out;
  const Files files = files_of(kProfileFiles);
  for (const auto& [name, text] : files) {
    Profile& made = out.emplace_back();
    made.file = made.name = made.reader = name;
    read_file(files, name, true, made);
    if (made.rated.empty()) made.rated = {name};
  }
  std::ranges::sort(out, {}, [](const Profile& profile) {
    return std::pair(profile.program, numbers_of(profile.version));
  });
  for (Profile& profile : out) {  // the releases before it come first
    const Profile* like = find_by(out, &Profile::file, profile.like);
    if (like == nullptr) continue;
    for (const auto& [section, list] : like->lists) {
      profile.lists.try_emplace(section, WordList{{}, {}, {profile.like}});
    }
  }
  std::set<std::string_view> kinds;
  for (auto newest = out.rbegin(); newest != out.rend(); ++newest) {
    if (!newest->kind.empty() && kinds.insert(newest->kind).second) newest->name = newest->kind;
  }
  return out;
}

}  // namespace

std::span<const Profile> profiles() {
  static const std::vector<Profile> read = read_profiles();
  return read;
}

const Profile* find_profile(std::string_view name) {
  const std::span<const Profile> all = profiles();
  const Profile* named = find_by(all, &Profile::name, name);
  return named != nullptr ? named : find_by(all, &Profile::file, name);
}

std::string_view name_of(Program program) {
  return find_by(kPrograms, &std::pair<std::string_view, Program>::second, program)->first;
}

std::string_view Profile::title() const {
  const size_t end = std::min(help.find(' ', help.find(' ') + 1), help.size());
  return help.substr(0, help.find_last_not_of(",:", end - 1) + 1);
}

std::string_view Profile::release() const {
  const size_t mark = file.rfind('-') + 1;  // of "tensorrt-llm" no number follows
  const bool is_number = mark != 0 && file.find_first_not_of(".0123456789", mark) == file.npos;
  return is_number ? file.substr(mark) : version;
}

ProfileMatch match_profile(std::string_view name) {
  if (const Profile* known = find_profile(name)) return {std::string(known->name), known};
  ProfileMatch out{std::string(name)};
  const size_t mark = name.rfind('-');
  if (mark == name.npos) return out;
  const auto asked = numbers_of(name.substr(mark + 1));
  const auto* program = find_by(kPrograms, &std::pair<std::string_view, Program>::first,
                                name.substr(0, mark));
  if (program == nullptr || asked.size() < 2) return out;
  const Profile *before = nullptr, *after = nullptr;
  for (const Profile& profile : profiles()) {
    if (profile.program != program->second) continue;
    const auto own = numbers_of(profile.release());
    if (own.size() <= asked.size() && std::equal(own.begin(), own.end(), asked.begin())) {
      return {std::string(profile.name), &profile};  // a patch release behaves as its release
    }
    if (own < asked) before = &profile;
    if (after == nullptr && asked < own) after = &profile;
  }
  if (before == nullptr) return out;
  out.profile = after == nullptr ? before : after;
  out.older = after == nullptr ? nullptr : before;
  out.is_newer = after == nullptr;
  return out;
}

std::string release_with(const Profile& profile, bool (*has)(const Profile&, std::string_view),
                         std::string_view word) {
  const Profile* newest = &profile;
  for (const Profile& other : profiles()) {
    if (other.program != profile.program || &other < &profile) continue;
    newest = &other;
    if (&other != &profile && has(other, word)) {
      return fmt::format("needs {} or later", other.title());
    }
  }
  const bool is_later = std::ranges::any_of(families(), [&](const Family* family) {
    const bool is_it = family->name == word || has_word(family->architectures, word);
    return is_it && newest->program == Program::kLlamaCpp &&
           !has_listed(*newest, "gguf architectures", family->name, false);
  });
  if (is_later) return fmt::format("needs a newer release than {}", newest->title());
  return fmt::format("not known to {}; newer releases were not checked", newest->title());
}

const Profile& Profile::transformers() const { return *find_profile(reader); }

// Sources: vLLM and SGLang 0.5.12 model_loader/weight_utils.py
// (filter_duplicate_safetensors_files); transformers 5.17 src/transformers/utils/hub.py.
bool Profile::takes(const FileMisfit& misfit) const {
  if (misfit.has_key_twice) return false;
  switch (program) {
    case Program::kVllm: return !misfit.lacks_file || !does("need_every_indexed_file");
    case Program::kSglang:
      return true;  // lists the files, and keeps those that the index names
    case Program::kLlamaCpp:  // as the GGUF that is made of it
      return !misfit.lacks_tensors && !misfit.has_conflict;
    case Program::kTransformers:  // 4.57 passes over tensors that the index omits
      return !misfit.lacks_file && !(misfit.omits_tensors && has_transformers_4());
    default: return false;
  }
}

bool has_listed(const Profile& profile, std::string_view list, std::string_view word,
                bool if_absent) {
  const WordList* own = find_mapped(profile.lists, list);
  if (own == nullptr) return if_absent;
  if (own->without.contains(word)) return false;
  if (own->words.contains(word)) return true;
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

std::vector<std::string_view> listed_for(const Profile& profile, std::string_view list,
                                         std::string_view type) {
  std::vector<std::string_view> out;
  for (std::string_view word : listed_words(profile, list)) {
    if (take_word(word, ':') == type) out.push_back(word);
  }
  return out;
}

std::string_view section_with(const Profile& profile, std::string_view start,
                              std::string_view word) {
  auto at = profile.lists.lower_bound(start);
  for (; at != profile.lists.end() && at->first.starts_with(start); ++at) {
    if (has_listed(profile, at->first, word, false)) return at->first.substr(start.size());
  }
  return {};
}

bool knows_model_class(const Profile& profile, std::string_view name) {
  constexpr std::string_view kClasses = "classes";
  if (has_listed(profile, kClasses, name, true)) return true;
  if (has_listed(profile, "classes under other names", name, false)) return true;
  const auto adapted = listed_words(profile, "endings of adapted classes");
  const auto endings = listed_words(profile, "endings with adapters");
  return std::ranges::any_of(endings, [&](std::string_view ending) {
    if (!name.ends_with(ending)) return false;
    const std::string_view stem = name.substr(0, name.size() - ending.size());
    return std::ranges::any_of(adapted, [&](std::string_view other) {
      return has_listed(profile, kClasses, fmt::format("{}{}", stem, other), false);
    });
  });
}

bool has_fallback_class(const Profile& profile, std::string_view name) {
  constexpr std::string_view kList = "fallback classes", kBare = "Model";
  if (has_listed(profile, kList, name, false)) return true;
  if (!name.ends_with(kBare) || !profile.does("run_bare_models_by_fallback")) return false;
  const std::string stem = fmt::format("{}For", name.substr(0, name.size() - kBare.size()));
  return std::ranges::any_of(listed_words(profile, kList),
                             [&](std::string_view each) { return each.starts_with(stem); });
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

// Facts about other programs, as data/profiles/ has them.
#include "checks/profiles/profiles.h"

#include <gtest/gtest.h>

#include <fstream>

#include "checks/checks.h"
#include "checks/subject/subject.h"
#include "core/base/words.h"

namespace ckpt {
namespace {

TEST(Profiles, TypesWithHyphensAreFound) {
  for (const char* type : {"audio-spectrogram-transformer", "data2vec-vision", "xlm-roberta-xl",
                           "xlm-roberta", "wav2vec2-bert"}) {
    for (const Profile& profile : profiles()) {
      EXPECT_TRUE(knows_model_type(profile, type)) << profile.name << ' ' << type;
    }
  }
  for (const char* part :
       {"audio-", "data2vec-", "xlm-", "spectrogram-transformer", "roberta-xl"}) {
    EXPECT_FALSE(knows_model_type(*find_profile("transformers-5"), part)) << part;
  }
}

TEST(Profiles, ReleasesDifferWhereTheirFilesDo) {
  const auto knows = [](std::string_view profile, std::string_view list, std::string_view word) {
    return has_listed(*find_profile(profile), list, word, true);
  };
  EXPECT_FALSE(knows("vllm-0.16", "classes", "Qwen3_5ForConditionalGeneration"));
  EXPECT_TRUE(knows("vllm-0.17", "classes", "Qwen3_5ForConditionalGeneration"));
  EXPECT_TRUE(knows("vllm-0.16", "classes", "LlamaForCausalLM"));
  EXPECT_FALSE(knows("vllm-0.16", "model types", "qwen3_5"));
  EXPECT_TRUE(knows("vllm-0.17", "model types", "qwen3_5"));
  EXPECT_TRUE(knows("vllm", "quantization methods", "humming"));
  EXPECT_FALSE(knows("vllm-0.16", "quantization methods", "humming"));
  EXPECT_TRUE(knows("sglang", "gguf architectures", "gpt-oss"));
  EXPECT_FALSE(knows("vllm-0.17", "gguf architectures", "gpt-oss"));
  // No such section: the program does not go by these words, or they are not known.
  EXPECT_TRUE(knows("llama.cpp", "model types", "anything"));
  EXPECT_TRUE(knows("transformers-5", "classes", "Anything"));
  EXPECT_FALSE(has_fallback_class(*find_profile("llama.cpp"), "Anything"));
}

// "OLDER NEWER" of two that answer, "NEWEST+" for a release after all, or one name.
std::string answered_by(std::string_view name) {
  const ProfileMatch asked = match_profile(name);
  if (asked.profile == nullptr) return "";
  if (asked.older != nullptr) return fmt::format("{} {}", asked.older->file, asked.profile->file);
  return fmt::format("{}{}", asked.profile->file, asked.is_newer ? "+" : "");
}

TEST(Profiles, OtherReleasesAreAnsweredByTheirNeighbors) {
  constexpr std::pair<const char*, const char*> kNames[] = {
      {"vllm", "vllm-0.33"},
      {"vllm-0.33", "vllm-0.33"},
      {"vllm-0.17.0", "vllm-0.17"},
      {"vllm-0.30", "vllm-0.17 vllm-0.32"},
      {"vllm-0.16.5", "vllm-0.16"},
      {"vllm-0.40.1", "vllm-0.33+"},
      {"vllm-0.9", ""},
      {"sglang-0.5.20", "sglang-0.5.12 sglang-0.5.23"},
      {"sglang-0.6", "sglang-0.5.23+"},
      {"transformers-5.0", "transformers-4.57 transformers-5.17"},
      {"transformers-5.20.1", "transformers-5.19 transformers-5.24"},
      {"transformers-6.0", "transformers-5.24+"},
      {"tensorrt-llm-1.4", "tensorrt-llm+"},
      {"llama.cpp-0.5.0", "llama.cpp"},
      {"ollama-1.0", "ollama+"},
      {"vllm-", ""},
      {"other-1.0", ""}};
  for (const auto& [name, expected] : kNames) EXPECT_EQ(answered_by(name), expected) << name;
}

TEST(Profiles, LaterReleasesAreNamedForWhatTheyAdd) {
  const auto said = [](const char* profile, const char* name) {
    return release_with(*find_profile(profile), knows_model_class, name);
  };
  EXPECT_EQ(said("vllm-0.17", "DoryForCausalLM"), "needs vLLM 0.33 or later");
  EXPECT_EQ(said("vllm-0.16", "Qwen3_5ForConditionalGeneration"), "needs vLLM 0.17 or later");
  EXPECT_EQ(said("vllm-0.32", "NoSuchForCausalLM"),
            "not known to vLLM 0.33; newer releases were not checked");
  EXPECT_EQ(said("sglang-0.5.12", "MuseGlimmerForCausalLM"), "needs SGLang 0.5.23 or later");
  EXPECT_EQ(said("ollama", "NoSuchForCausalLM"),
            "not known to Ollama 0.32; newer releases were not checked");
}

// Without --for only the newest release of a program answers; its file states differences alone.
TEST(Profiles, NewerReleasesStateDifferences) {
  const Profile &older = *find_profile("vllm-0.32"), &newer = *find_profile("vllm");
  EXPECT_EQ(newer.file, "vllm-0.33");
  EXPECT_TRUE(takes_algo(newer, "W4A16_NVFP4"));  // the older release takes it, too
  const std::vector<std::string> of_folders = {"vllm", "sglang", "tensorrt-llm", "llama.cpp",
                                               "transformers-5"};
  EXPECT_EQ(current_profiles(false), of_folders);
  EXPECT_EQ(current_profiles(true), (std::vector<std::string>{"llama.cpp", "ollama"}));
  EXPECT_TRUE(newer.does("refuse_extra_weights"));
  EXPECT_FALSE(has_listed(newer, "classes", "MedusaModel", true));
  EXPECT_TRUE(has_listed(older, "classes", "MedusaModel", false));
  const Profile& five = *find_profile("transformers-5");
  EXPECT_EQ(section_with(five, "tokenizer class ", "qwen2"), "Qwen2Tokenizer");
  EXPECT_TRUE(has_listed(five, "tokenizer class by model type", "internlm3", false));
  EXPECT_FALSE(has_listed(five, "tokenizer class by model type", "deepseek_v3", true));
}

void check_section(const std::string& place, std::string_view section, const WordList& list) {
  for (const std::string_view other : list.also) {
    const Profile* more = find_profile(other);
    ASSERT_NE(more, nullptr) << place << ' ' << other;
    EXPECT_FALSE(listed_words(*more, section).empty()) << place << ' ' << other;
    for (const std::string_view word : list.words) {
      EXPECT_FALSE(has_listed(*more, section, word, false)) << place << ' ' << word;
    }
    for (const std::string_view word : list.without) {
      const bool is_there = list.words.contains(word) || has_listed(*more, section, word, false);
      EXPECT_TRUE(is_there) << place << ' ' << word;
    }
  }
}

TEST(Profiles, SectionsBuildOnOthersThatExist) {
  for (const Profile& profile : profiles()) {
    EXPECT_FALSE(profile.help.empty()) << profile.name;
    EXPECT_FALSE(profile.version.empty()) << profile.name;
    EXPECT_NE(profile.released.empty(), profile.read.empty()) << profile.name;
    EXPECT_NE(find_profile(profile.reader), nullptr) << profile.name;
    for (const std::string_view name : profile.rated) {
      const auto sharing = std::ranges::count_if(profiles(), [&](const Profile& other) {
        return std::ranges::count(other.rated, name) != 0;
      });
      const bool is_own = name.starts_with(name_of(profile.program));
      EXPECT_TRUE(is_own || sharing > 1) << profile.name << ' ' << name;
    }
    for (const auto& [section, list] : profile.lists) {
      check_section(fmt::format("{} [{}]", profile.name, section), section, list);
    }
  }
}

// Words that were collected name where they are from.
TEST(Profiles, SectionsOfWordsNameTheirSource) {
  for (const Profile& profile : profiles()) {
    std::ifstream file(std::string(CKPT_TESTDATA) + "/../data/profiles/" +
                       std::string(profile.file) + ".txt");
    ASSERT_TRUE(file) << profile.name;
    std::string line, section;
    bool has_source = true;
    while (std::getline(file, line)) {
      if (line.starts_with('[')) {
        section = line;
        // Each of these was made by one script as a whole (data/profiles/*.py).
        const auto starts = [&](const char* start) { return line.starts_with(start); };
        has_source =
            std::ranges::any_of(
                std::initializer_list<const char*>{"[field ", "[words ", "[stops ", "[fails ",
                                                   "[unmade ", "[windows ", "[rotates ",
                                                   // a comment above the first of several
                                                   "[names ", "[head", "[endings ", "[unclear ",
                                                   "[classes that read", "[kv scales ",
                                                   "[parts]", "[attention kv scales "},
                starts) ||
            (starts("[tokenizer ") && line != "[tokenizer classes]");
      } else if (line.starts_with("also ") || line.starts_with('#')) {
        has_source = true;
      } else if (!section.empty() && !line.empty()) {
        EXPECT_TRUE(has_source) << profile.name << ' ' << section;
      }
    }
  }
}

// "U: vllm* sglang, W: llama.cpp": letters and names of profiles, each profile once.
void check_ratings(const Check& check) {
  std::set<std::string_view> rated;
  std::string_view rest = check.ratings;
  while (!rest.empty()) {
    std::string_view word = take_word(rest);
    if (word.ends_with(',')) word.remove_suffix(1);
    if (word.ends_with(':')) {
      EXPECT_TRUE(word == "U:" || word == "S:" || word == "W:" || word == "I:") << check.id;
      continue;
    }
    const size_t before = rated.size();
    for (const Profile& profile : profiles()) {
      const bool is_meant =
          word == "all" || std::ranges::any_of(profile.rated, [&](std::string_view name) {
            return word.ends_with('*') ? name.starts_with(word.substr(0, word.size() - 1))
                                       : name == word;
          });
      if (!is_meant) continue;
      EXPECT_TRUE(rated.insert(profile.name).second) << check.id << ' ' << word;
    }
    EXPECT_GT(rated.size(), before) << check.id << ": no profile is named by " << word;
  }
}

TEST(Profiles, RatingsNameProfiles) {
  for (const auto theme : {config_checks,
                           tied_head_checks,
                           config_number_checks,
                           config_word_checks,
                           rope_checks,
                           older_field_checks,
                           layer_field_checks,
                           table_field_checks,
                           computed_field_checks,
                           strict_type_checks,
                           tokenizer_checks,
                           tokenizer_schema_checks,
                           tokenizer_value_checks,
                           processor_checks,
                           quantization_checks,
                           quantization_statement_checks,
                           scale_shape_checks,
                           served_checks,
                           weight_checks,
                           parameter_checks,
                           file_checks,
                           gguf_checks,
                           ollama_checks,
                           value_checks}) {
    for (const Check& check : theme()) check_ratings(check);
  }
}

TEST(Ollama, OnlySomeArchitecturesHaveRenderers) {
  EXPECT_EQ(ollama_family("nemotron_h_moe").renderer, "nemotron-3-nano");
  EXPECT_EQ(ollama_family("laguna").parser, "laguna");
  EXPECT_EQ(ollama_family("qwen3").renderer, "");
  EXPECT_EQ(ollama_family("gemma3").parser, "");
}

}  // namespace
}  // namespace ckpt

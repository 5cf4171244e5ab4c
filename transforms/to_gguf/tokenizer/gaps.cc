// Finds rules of tokenizer.json that llama.cpp does not implement.
//
//   by pre      unchanged text ─▶ the rules of the name in tokenizer.ggml.pre ─▶ merges
//   by pieces   a leading space (add_space_prefix) ─▶ spaces become U+2581 ─▶ merges by scores
//   both        added tokens are found first, anywhere; spaces around them stay
//
// Source: llama.cpp v0.5.0 src/llama-vocab.cpp (llm_tokenizer_bpe_session,
// llm_tokenizer_spm_session, tokenizer_st_partition), which never composes or lowers characters
// here.
#include "transforms/to_gguf/tokenizer/gaps.h"

#include <algorithm>
#include <initializer_list>

#include "transforms/to_gguf/tokenizer/pre.h"

namespace ckpt {
namespace {

constexpr std::string_view kSpaceBar = "\xe2\x96\x81";  // U+2581
constexpr const char* kNormalizer = "normalizer";
constexpr const char* kPreTokenizer = "pre_tokenizer";

bool is_space_pattern(const JsonValue& step) {
  return text_in(known(step, "pattern"), "String") == " ";
}

std::string place_of(std::string_view part) { return fmt::format("tokenizer.json: {}", part); }

// Appends the steps of a part; a sequence as its individual steps.
void append_steps_of(const JsonValue& step, std::vector<const JsonValue*>& out) {
  if (text_in(step, "type") != "Sequence") {
    out.push_back(&step);
    return;
  }
  for (const char* key : {"normalizers", "pretokenizers"}) {
    for (const JsonValue& one : list_in(step, key)) append_steps_of(one, out);
  }
}

std::vector<const JsonValue*> steps_of(const JsonValue& tokenizer, const char* part) {
  std::vector<const JsonValue*> out;
  if (const JsonValue* found = known(tokenizer, part)) append_steps_of(*found, out);
  return out;
}

bool puts_space(const JsonValue& step) {
  const std::string_view type = text_in(step, "type");
  if (type == "Prepend") return text_in(step, "prepend") == kSpaceBar;
  if (type != "Metaspace") return false;
  const JsonValue* scheme = known(step, "prepend_scheme");
  const JsonValue* older = known(step, "add_prefix_space");
  return scheme != nullptr ? *scheme != "never" : older == nullptr || is_truthy(older);
}

// Whether a step is equivalent to llama.cpp's handling of pieces.
bool is_of_pieces(const JsonValue& step) {
  const std::string_view type = text_in(step, "type");
  if (type == "Replace") return is_space_pattern(step) && text_in(step, "content") == kSpaceBar;
  if (type == "Split") return is_space_pattern(step);  // has no effect, because no spaces are left
  return type == "Metaspace" || puts_space(step);
}

TokenizerGap gap_of_step(const char* part, const JsonValue& step) {
  const std::string* type = text_of(step, "type");
  if (type != nullptr && *type == "NFC") {
    return {place_of(part),
            "NFC, which llama.cpp does not do: it splits decomposed characters (e and a combining "
            "accent) differently",
            true};
  }
  return {place_of(part),
          fmt::format("{} is a rule that llama.cpp does not have; texts that it changes are split "
                      "differently",
                      type == nullptr ? "a step without a type" : *type)};
}

void find_gaps_of_pieces(const JsonValue& tokenizer, std::vector<TokenizerGap>& out) {
  for (const char* part : {kNormalizer, kPreTokenizer}) {
    for (const JsonValue* step : steps_of(tokenizer, part)) {
      if (!is_of_pieces(*step)) out.push_back(gap_of_step(part, *step));
      if (!puts_space(*step) || text_in(*step, "type") != "Metaspace") continue;
      const bool is_first = text_in(*step, "prepend_scheme") == "first";
      out.push_back({place_of(part),
                     is_first ? "a space only at the beginning of a text that has none; llama.cpp "
                                "puts one there and behind each special token"
                              : "a space only in front of a text that begins with none; llama.cpp "
                                "always puts one"});
    }
  }
}

// Whether the pattern includes combining marks in upper- and lower-case letters, unlike llama.cpp's
// patterns of "tekken" and "gpt-4o". Kimi's pattern, with intersections, is implemented separately.
bool has_marks_among_letters(const JsonValue& step) {
  const std::string_view regex = text_in(known(step, "pattern"), "Regex");
  return regex.find(R"(\p{Lo}\p{M})") != regex.npos && regex.find("&&") == regex.npos;
}

// tokenizer.ggml.pre covers the other steps of the pre-tokenizer, or its search fails.
void find_gaps_of_pre(const JsonValue& tokenizer, std::string_view pre,
                      std::vector<TokenizerGap>& out) {
  for (const JsonValue* step : steps_of(tokenizer, kNormalizer)) {
    out.push_back(gap_of_step(kNormalizer, *step));
  }
  for (const JsonValue* step : steps_of(tokenizer, kPreTokenizer)) {
    if (has_marks_among_letters(*step)) {
      out.push_back({place_of(kPreTokenizer),
                     "combining marks among letters, which llama.cpp's pattern does not have: it "
                     "splits words with them (Hindi, decomposed accents) differently",
                     true});
    }
    if (text_in(*step, "type") != "ByteLevel") continue;
    if (!is_truthy(known(*step, "add_prefix_space"))) continue;
    out.push_back(
        {place_of(kPreTokenizer), "add_prefix_space; llama.cpp puts no space in front of a text"});
  }
  const bool ignores = is_truthy(known(known(tokenizer, "model"), "ignore_merges"));
  if (pre.empty() || ignores == pre_ignores_merges(pre)) return;
  // Merges of a trained vocabulary make nearly every token, so both methods mostly agree.
  out.push_back(
      {place_of("model.ignore_merges"),
       fmt::format("{}; llama.cpp {} for the pre-tokenizer '{}'", ignores ? "true" : "false",
                   ignores ? "merges words that are tokens too"
                           : "takes words that are tokens without merging",
                   pre),
       !ignores});
}

void find_gaps_of_added(const JsonValue& tokenizer, LlamaSplitting splitting,
                        std::vector<TokenizerGap>& out) {
  // Reports added tokens with one of the flags.
  const auto report_flagged = [&](std::initializer_list<const char*> flags, std::string_view what) {
    uint64_t count = 0;
    std::string first;
    for (const JsonValue& token : list_in(tokenizer, "added_tokens")) {
      const bool has_one = std::ranges::any_of(
          flags, [&](const char* flag) { return is_truthy(known(token, flag)); });
      const std::string* text = has_one ? text_of(token, "content") : nullptr;
      if (text != nullptr && count++ == 0) first = *text;
    }
    if (count == 0) return;
    out.push_back({place_of("added_tokens"),
                   count == 1 ? fmt::format("'{}' {}", first, what)
                              : fmt::format("{} tokens, the first '{}', {}", count, first, what)});
  };
  report_flagged(
      {"lstrip", "rstrip"},
      "with lstrip or rstrip; llama.cpp keeps the spaces around it, but in models that it "
      "knows by name (Phi-3)");
  report_flagged({"single_word"}, "with single_word; llama.cpp finds it inside words too");
  if (splitting == LlamaSplitting::kByPre || !puts_space_in_front(tokenizer)) return;
  report_flagged({"normalized"},
                 "with normalized, found where a space is in front; llama.cpp finds it anywhere");
}

}  // namespace

bool puts_space_in_front(const JsonValue& tokenizer) {
  for (const char* part : {kNormalizer, kPreTokenizer}) {
    for (const JsonValue* step : steps_of(tokenizer, part)) {
      if (puts_space(*step)) return true;
    }
  }
  return false;
}

std::vector<TokenizerGap> find_tokenizer_gaps(const JsonValue& tokenizer, LlamaSplitting splitting,
                                              std::string_view pre) {
  std::vector<TokenizerGap> out;
  if (splitting == LlamaSplitting::kByPieces) {
    find_gaps_of_pieces(tokenizer, out);
  } else {
    find_gaps_of_pre(tokenizer, pre, out);
  }
  find_gaps_of_added(tokenizer, splitting, out);
  return out;
}

std::vector<TokenizerGap> find_tokenizer_gaps(const JsonValue& tokenizer,
                                              const Metadata& metadata) {
  const std::string* model = metadata.find_text("tokenizer.ggml.model");
  if (tokenizer.is_null() || model == nullptr) return {};
  const std::string* pre = metadata.find_text("tokenizer.ggml.pre");
  if (*model == "bert" || *model == "t5") return {};  // split as in their libraries
  const bool is_by_pre = *model == "gpt2";
  auto out =
      find_tokenizer_gaps(tokenizer, is_by_pre ? LlamaSplitting::kByPre : LlamaSplitting::kByPieces,
                          pre == nullptr ? "" : *pre);
  const bool wanted = puts_space_in_front(tokenizer);
  if (*model == "llama" && adds_space_prefix(metadata) != wanted) {
    out.push_back(
        {kSpacePrefixKey, fmt::format("{}, but tokenizer.json puts {} space in front of a text",
                                      !wanted, wanted ? "a" : "no")});
  }
  return out;
}

bool adds_space_prefix(const Metadata& metadata) {
  const MetaValue* found = metadata.find(kSpacePrefixKey);
  return found == nullptr || *found == MetaValue::boolean(true);  // llama.cpp's default
}

}  // namespace ckpt

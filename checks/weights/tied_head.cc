// Checks of the head that gives logits: its own weights, or the embedding's.
//
// Source: vLLM 0.17.1 vllm/model_executor/models/*.py (tie_word_embeddings, skip_prefixes).
#include "checks/subject/subject.h"
#include "core/base/words.h"

namespace ckpt {
namespace {

// How classes of vLLM 0.17.1 and GGUF files treat tie_word_embeddings where they ignore its value.
//   kAssertTied, kAssertUntied   stop at anything else
//   kNeverTied                   have a head of their own, and read it
//   kNeverFilled                 the same, and pass over what the file has of it
enum class Ties : uint8_t { kAsSaid, kAssertTied, kAssertUntied, kNeverTied, kNeverFilled };
constexpr std::pair<std::string_view, Ties> kTieQuirks[] = {
    {"asserts_tied", Ties::kAssertTied},
    {"asserts_untied", Ties::kAssertUntied},
    {"never_fills_tied", Ties::kNeverFilled},
    {"never_ties", Ties::kNeverTied},
};

Ties ties_of(const Look& look) {
  const bool is_converted = look.is(Program::kLlamaCpp);
  if (is_converted && look.on.parameters.table != nullptr && look.on.checkpoint.has_head() &&
      !look.on.parameters.table->has_gguf_head) {
    return Ties::kAssertTied;  // a GGUF has no place for the head
  }
  if (!look.is(Program::kVllm) || look.on.parameters.table == nullptr) return Ties::kAsSaid;
  for (const auto& [quirk, ties] : kTieQuirks) {
    if (has_quirk(ruling_type(look), quirk)) return ties;
  }
  return Ties::kAsSaid;
}

// Why the class refuses this value; empty where it takes it.
std::string_view fault_of_ties(const Look& look, bool is_tied) {
  switch (ties_of(look)) {
    case Ties::kAsSaid: return {};
    case Ties::kAssertTied: return is_tied ? "" : "this class has no head of its own";
    case Ties::kAssertUntied: return is_tied ? "this class has a head of its own" : "";
    case Ties::kNeverTied:
      return is_tied && !look.on.checkpoint.has_head()
                 ? "this server does not tie this class's head"
                 : "";
    case Ties::kNeverFilled:
      return is_tied ? "this server passes over the head then, and does not tie it" : "";
  }
  return {};
}

// Of the class of configuration, which is another one than the model's where the two disagree.
bool is_tied_by_default(const Examined& on) {
  const Family* configuration = table_of_model_type(on.text_type);
  return ties_head_by_default(configuration == nullptr ? *on.parameters.table : *configuration);
}

void look_tied(const Look& look) {
  const Examined& on = look.on;
  if (on.config.is_null()) return;
  const JsonValue* outer = known(on.config, "tie_word_embeddings");
  const JsonValue* inner = on.text_field("tie_word_embeddings");
  if (outer != nullptr && inner != nullptr && *outer != *inner) {
    return look.report("config.json: tie_word_embeddings",
                       "differs between the wrapper and text_config");
  }
  const JsonValue* said = member(on.text_config(), "tie_word_embeddings");
  if (said == nullptr) said = outer;
  const bool is_compared = on.parameters.is_compared();
  if (said != nullptr || is_compared) {
    const bool is_tied = said == nullptr ? is_tied_by_default(on) : is_truthy(said);
    const std::string_view fault = fault_of_ties(look, is_tied);
    if (!fault.empty()) {
      return look.report("config.json: tie_word_embeddings",
                         fmt::format("{}; {}", said == nullptr ? "absent" : said->dump(), fault),
                         Severity::kUnloaded);
    }
  }
  const bool is_causal = on.model_class.ends_with("ForCausalLM") ||
                         on.model_class.ends_with("ForConditionalGeneration");
  const bool is_untied = is_compared && !is_tied_by_default(on);
  const bool is_known = said == nullptr ? is_untied : !is_truthy(said);
  if (!is_known || !is_causal || on.checkpoint.has_head()) return;
  // Without quantization vLLM looks for parameters that nothing filled.
  const bool is_refused = look.is(Program::kVllm) && look.on.quantization() == nullptr;
  look.report("config.json: tie_word_embeddings",
              fmt::format("{}, but lm_head.weight is missing: the head would be random",
                          said == nullptr ? "absent" : said->dump()),
              is_refused ? Severity::kUnloaded : Severity::kUnsound);
}

// Whether the program multiplies with the head of the folder though it is tied. Otherwise it takes
// the embedding.
bool reads_tied_head(const Look& look) {
  switch (look.profile.program) {
    case Program::kTransformers: return look.profile.rules == Rules::kTransformers5;
    case Program::kVllm: return ties_of(look) == Ties::kNeverTied;
    case Program::kLlamaCpp: return ties_of(look) != Ties::kAssertTied;
    default: return false;
  }
}

void look_head_values(const Look& look) {
  if (look.on.head_values != HeadValues::kDiffer ||
      !head_not_checked(look.on, look.profile).empty())
    return;
  if (!fault_of_ties(look, true).empty()) return;  // C10
  constexpr const char* kTied = "config.json: tie_word_embeddings";
  constexpr std::string_view kFound =
      "the head is tied to the embedding, but lm_head.weight has other values";
  if (reads_tied_head(look)) {
    return look.report(kTied,
                       fmt::format("{}; this program uses them, and others the embedding", kFound),
                       Severity::kWarning, "other answers than in vLLM and transformers 4.57");
  }
  look.report(kTied, fmt::format("{}; this program uses the embedding", kFound));
}

constexpr Check kTiedHeadChecks[] = {
    {"C10", "tie_word_embeddings agrees with the tensors", "S: all", "a head of random weights", "",
     look_tied, "serving-config"},
    {"C48", "a tied head has the embedding's values", "S: vllm* sglang transformers* llama.cpp",
     "other answers than in transformers 5 and in a GGUF",
     "if the head was trained: ckpt patch IN --step config:set=tie_word_embeddings=false; if not: "
     "ckpt convert IN OUT --step drop:tensors=lm_head.weight",
     look_head_values},
};

}  // namespace

bool is_head_tied(const Examined& on) {
  const JsonValue* said = member(on.text_config(), "tie_word_embeddings");
  if (said == nullptr) said = known(on.config, "tie_word_embeddings");
  if (said != nullptr) return is_truthy(said);
  return on.parameters.is_compared() && is_tied_by_default(on);
}

std::string head_not_checked(const Examined& on, const Profile& profile) {
  if (on.head_values == HeadValues::kUnknown) {
    return "the head: lm_head.weight is tied to the embedding, but not compared with it";
  }
  if (profile.program == Program::kTensorrt && on.head_values == HeadValues::kDiffer) {
    return "the head: lm_head.weight is tied to the embedding and differs; which of them this "
           "program uses is not known";
  }
  return {};
}

std::span<const Check> tied_head_checks() { return kTiedHeadChecks; }

}  // namespace ckpt

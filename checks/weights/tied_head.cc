// Checks the head that computes logits: it has its own weights, or uses those of the embedding.
//
// Sources: vLLM vllm/model_executor/models/*.py (tie_word_embeddings, skip_prefixes), vllm/config
// (maybe_untie_word_embeddings, with_hf_config); transformers src/transformers/modeling_utils.py
// (tie_weights).
#include "checks/subject/subject.h"
#include "core/base/find.h"
#include "core/base/words.h"
#include "core/model/tensor_names.h"

namespace ckpt {
namespace {

// How the program treats the head of a class, by the section [head KIND] of its profile.
//   kAssertTied, kAssertUntied   stops at any other value
//   kNeverTied                   has a separate head and reads it
//   kNeverFilled                 has a separate head but ignores that of the file
//   kEmbedding                   uses the embedding and ignores a head
//   kNone                        uses the embedding and stops at a head
enum class Ties : uint8_t {
  kAsSaid,
  kAssertTied,
  kAssertUntied,
  kNeverTied,
  kNeverFilled,
  kEmbedding,
  kNone
};
constexpr std::pair<std::string_view, Ties> kTieKinds[] = {
    {"asserted tied", Ties::kAssertTied}, {"asserted untied", Ties::kAssertUntied},
    {"never filled", Ties::kNeverFilled}, {"never tied", Ties::kNeverTied},
    {"embedding", Ties::kEmbedding},      {"none", Ties::kNone},
};

Ties ties_of(const CheckContext& context) {
  const Family* table = context.on.parameters.table;
  if (table == nullptr) return Ties::kAsSaid;
  if (context.is(Program::kLlamaCpp)) {  // a GGUF may have no place for the head
    return context.on.checkpoint.has_head() && !table->head.is_in_gguf ? Ties::kAssertTied
                                                                       : Ties::kAsSaid;
  }
  const auto kind = section_with(context.profile, "head ", ruling_type(context));
  const auto* found = find_by(kTieKinds, &std::pair<std::string_view, Ties>::first, kind);
  return found == nullptr ? Ties::kAsSaid : found->second;
}

// Whether the section [heads] has the word: "kept" means that a head in the file is read although
// it is tied; "outer" and "inner" tell which of a wrapper's two values counts.
bool has_head_rule(const CheckContext& context, std::string_view word) {
  return has_listed(context.profile, "heads", word, false);
}

// Whether the wrapper's own value counts instead of that of its text part.
bool follows_wrapper(const CheckContext& context) {
  return context.on.has_text_config() && has_head_rule(context, "outer") &&
         !has_listed(context.profile, "heads tied inside", context.on.model_type, false);
}

bool is_tied_for(const CheckContext& context) {
  const HeadTies ties = head_ties(context.on.config);
  return follows_wrapper(context) ? ties.of_wrapper() : ties.of_text();
}

// Why the class rejects this value, or "".
std::string_view fault_of_ties(const CheckContext& context, bool is_tied) {
  const bool has_head = context.on.checkpoint.has_head();
  switch (ties_of(context)) {
    case Ties::kAsSaid:
    case Ties::kEmbedding: return {};
    case Ties::kAssertTied: return is_tied ? "" : "this class has no head of its own";
    case Ties::kAssertUntied: return is_tied ? "this class has a head of its own" : "";
    case Ties::kNeverTied:
      return is_tied && !has_head ? "this server does not tie this class's head" : "";
    case Ties::kNeverFilled:
      return is_tied ? "this server passes over the head then, and does not tie it" : "";
    case Ties::kNone: return has_head ? "this class has no place for lm_head.weight" : "";
  }
  return {};
}

constexpr const char* kTie = "config.json: tie_word_embeddings";

std::string describe_ties(const CheckContext& context) {
  const JsonValue* declared = member(context.on.text_config(), "tie_word_embeddings");
  const JsonValue* outer = member(context.on.config, "tie_word_embeddings");
  if (declared == nullptr || follows_wrapper(context)) declared = outer;
  return declared == nullptr ? "absent" : declared->dump();
}

void check_tied(const CheckContext& context) {
  const Subject& on = context.on;
  if (on.config.is_null()) return;
  const HeadTies ties = head_ties(on.config);
  const bool is_known_level = has_head_rule(context, "outer") || has_head_rule(context, "inner");
  if (ties.outer && ties.inner && *ties.outer != *ties.inner && !is_known_level) {
    return context.report(kTie, "differs between the wrapper and text_config");
  }
  const bool is_compared = on.parameters.is_compared();
  const bool is_declared = ties.outer || ties.inner;
  const bool is_tied = is_tied_for(context);
  const std::string_view fault = is_declared || is_compared ? fault_of_ties(context, is_tied) : "";
  if (!fault.empty()) {
    return context.report(kTie, fmt::format("{}; {}", describe_ties(context), fault),
                          Severity::kUnloaded);
  }
  const bool is_embedding = ties_of(context) == Ties::kEmbedding || ties_of(context) == Ties::kNone;
  if (is_embedding && !is_tied && on.checkpoint.has_head()) {
    return context.report(kTie,
                          "false; this class multiplies with the embedding, not with the head");
  }
  const bool is_causal = on.model_class.ends_with("ForCausalLM") ||
                         on.model_class.ends_with("ForConditionalGeneration");
  // Other families may name the head differently, as they do with the embedding.
  const bool is_named = is_compared || std::ranges::any_of(on.modules, [](const auto& entry) {
                          return last_word(entry.first) == "embed_tokens";
                        });
  const bool is_known = is_named && (is_declared || is_compared) && !is_tied && !is_embedding;
  if (!is_known || !is_causal || on.checkpoint.has_head()) return;
  // vLLM builds an embedding model without a head. Source: model_executor/models/adapters.py.
  if (context.is(Program::kVllm) && on.is_embedding_model()) return;
  // vLLM looks for unfilled parameters only if the model is unquantized.
  const bool is_refused = context.is(Program::kVllm) && context.on.quantization() == nullptr;
  context.report(kTie,
                 fmt::format("{}, but lm_head.weight is missing: the head would be random",
                             describe_ties(context)),
                 is_refused ? Severity::kUnloaded : Severity::kUnsound);
}

// Whether the program uses the head of the folder although it is tied; otherwise it uses the
// embedding.
bool reads_tied_head(const CheckContext& context) {
  const Ties ties = ties_of(context);
  if (context.is(Program::kLlamaCpp)) return ties != Ties::kAssertTied;
  return ties == Ties::kNeverTied || (ties == Ties::kAsSaid && has_head_rule(context, "kept"));
}

void check_head_values(const CheckContext& context) {
  if (context.on.head_values != HeadValues::kDiffer ||
      !head_not_checked(context.on, context.profile).empty())
    return;
  if (!is_tied_for(context) || !fault_of_ties(context, true).empty()) return;  // C10
  constexpr std::string_view kFound =
      "the head is tied to the embedding, but lm_head.weight has other values";
  if (reads_tied_head(context)) {
    return context.report(
        kTie, fmt::format("{}; this program uses them, and others the embedding", kFound),
        Severity::kWarning, "other answers than in programs that use the embedding");
  }
  context.report(kTie, fmt::format("{}; this program uses the embedding", kFound));
}

constexpr Check kTiedHeadChecks[] = {
    {"C10", "tie_word_embeddings agrees with the tensors", "S: all", "a head of random weights", "",
     check_tied, "serving-config"},
    {"C48", "a tied head has the embedding's values", "S: vllm* sglang transformers* llama.cpp",
     "other answers than in transformers 5 and in a GGUF",
     "if the head was trained: ckpt patch IN --step config:set=tie_word_embeddings=false; if not: "
     "ckpt convert IN OUT --step drop:tensors=lm_head.weight",
     check_head_values},
};

}  // namespace

std::string head_not_checked(const Subject& on, const Profile& profile) {
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

// The input of checks: a checkpoint, its documents parsed once, its linear modules, and the
// profile that asks.
//
//   modules   tensors whose names differ in the last word belong to one module:
//             X.mlp.up_proj.weight (with its scales), X.mlp.up_proj.input_scale -> X.mlp.up_proj
//
// The quantization section can be in three places, and readers take the first they know:
// config.json, its text_config, hf_quant_config.json.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "checks/checks.h"
#include "checks/profiles/profiles.h"
#include "core/base/find.h"
#include "core/json/json_read.h"
#include "core/model/checkpoint.h"
#include "core/model/findings.h"
#include "core/model/packed_forms.h"
#include "models/models.h"

namespace ckpt {

// All parameters that the model class of config.json has, against the tensors that are there;
// private to checks/.
//
// Shapes are those of the values; a quantized tensor is compared by the shape that its codes decode
// to.

class Subject;

struct Deviation {
  std::string name;                       // as it is, or would be, in this checkpoint
  std::vector<uint64_t> expected, found;  // `found` is empty where the tensor is missing
  ServerCut cut = ServerCut::kWhole;
  ModelPart part = ModelPart::kText;
  // Missing, but another piece is there of what a server runs as one parameter.
  bool is_partly_there = false;
};

// Before a part of the names of parameters that only transformers' class has: a quirk. Servers and
// llama.cpp do not read the field that switches them on.
inline constexpr std::string_view kInTransformersAlone = "transformers_alone:";

// A tensor that the class has no parameter for.
struct ExtraTensor {
  std::string name;
  bool is_bias = false;
  bool is_tower = false;      // of a vision tower
  bool is_in_layer = false;   // of one of the model's layers, or of a layer beyond the last
  bool is_beyond = false;     // of a layer beyond the last
  bool is_of_expert = false;  // below the name of an expert that the model has
  bool is_outermost = false;  // not below "model."
  bool is_in_transformers = false;  // whose class has it, and whose class alone
};

// The part of a model that a name belongs to, by the word at which a table begins it.
enum class NameKind : uint8_t { kText, kHead, kTower, kDraft, kOther };

// Names of one kind with the same words before them.
struct NameForm {
  NameKind kind = NameKind::kOther;
  std::string lead;              // "model.language_model."
  std::set<std::string> stems;  // the words behind it: "layers", "norm"
};

struct ParameterReport {
  const Family* table = nullptr;  // of the class; null: no table, nothing was compared
  std::string root = "model.";    // before the names of the text part
  // As profiles list them: "model.*" of the text part, else "lm_head", "model.visual".
  std::map<std::string, NameForm> forms;
  std::string bad_field;          // why the table could not be followed
  bool is_beyond_limits = false;  // `bad_field` is a number larger than any model's
  std::vector<Deviation> missing, wrong;
  std::vector<ExtraTensor> extra;
  bool has_nextn = false;          // layers for multi-token prediction behind the last
  bool has_unknown_codes = false;  // some weights are stored in ways whose shape is not known here

  bool is_compared() const { return table != nullptr; }
};

ParameterReport compare_parameters(const Subject& on);
// The same with the class of `table`, whatever class config.json names.
ParameterReport compare_parameters(const Subject& on, const Family& table);

// The step that makes the missing names of the unknown ones; empty where they do not fit.
std::string renaming_step(const Subject& on);

// A file of weights that the program reads instead of those that were read here; or null.
const std::string* preferred_weights(const Subject& on, const Profile& profile);
// Why it is not known whether the program has the scheme of the weights; empty when it is.
std::string scheme_not_checked(const Subject& on, const Profile& profile);
// The same of the scales of its KV cache.
std::string cache_not_checked(const Subject& on, const Profile& profile);
// The same of scales of experts.
std::string scales_not_checked(const Subject& on, const Profile& profile);
// Why the weights were not compared for this profile; empty when they were.
std::string weights_not_checked(const Subject& on, const Profile& profile);

// How the weight of a module is stored.
enum class Form : uint8_t {
  kPlain,        // floats
  kNvfp4,        // ModelOpt's codes and scales
  kFp8,          // E4M3 with one scale, or one a row
  kPackedNvfp4,  // compressed-tensors' names
  kOther,        // any other codes
};
std::string_view form_name(Form form);

struct Module {
  std::string name;
  const Tensor* weight = nullptr;
  Form form = Form::kPlain;
  bool has_input_scale = false;
  bool has_pre_quant_scale = false;
  bool is_linear() const;  // multiplied with activations; not an embedding, norm or convolution
};

// ModelOpt's statement (or another's) about quantization.
struct Quantization {
  std::string place;       // "config.json: quantization_config"
  std::string method;      // quant_method, lower case; "" when it does not say
  std::string algo;        // quant_algo, upper case
  bool is_nested = false;  // as hf_quant_config.json has it
  // The first list of modules that the method leaves unquantized and that has entries.
  std::vector<std::string> exclude;
  std::string_view exclude_key;               // its key, or that of the list to write
  std::map<std::string, std::string> layers;  // quant_algo by module
  std::optional<uint64_t> group_size;
  bool has_kv_scheme = false;  // an FP8 cache is asked for
  const JsonValue* json = nullptr;
  const std::string& algo_of(const std::string& module) const {
    const std::string* own = find_mapped(layers, module);
    return own != nullptr ? *own : algo;
  }
};

// The results of reading the tensors: of all in deep checks, else of scales_at_hand().
struct ValueFacts {
  struct Rows {
    std::string tensor;
    uint64_t rows;
  };
  std::vector<std::string> nonfinite;       // tensors with NaN or Inf, or scales that make them
  std::vector<Rows> zero_rows;              // quantized tensors with rows of zeros
  std::vector<std::string> bad_scales;      // scales that are zero, negative, NaN or Inf
  std::vector<std::string> unequal_scales;  // the first of parts run as one with unlike scales,
  std::vector<std::string> far_scales;      // and with scales too far from each other
  bool are_inputs_constant = false;         // one input_scale for nearly all modules
};

// Of a head in the folder that config.json ties to the embedding, next to the embedding's.
enum class HeadValues : uint8_t { kEqual, kDiffer, kUnknown };

// The parts of tokenizer.json that the library "tokenizers" rejects.
struct TokenizerFault {
  std::string place, found;
};
// Of an object and its lists; null: the file does not exist.
std::vector<TokenizerFault> find_tokenizer_faults(const JsonValue& tokenizer,
                                                  const TokenLists& lists);
// Of all parts but the lists in "model".
void find_part_faults(const JsonValue& tokenizer, std::vector<TokenizerFault>& out);

// Everything that does not depend on a profile.
class Subject {
 public:
  // Documents that cannot be parsed are kept in `broken`, with the reason.
  explicit Subject(const Checkpoint& checkpoint, PackedForms packed = {});

  const Checkpoint& checkpoint;
  const PackedForms packed;
  std::map<std::string, std::string> broken;
  std::map<std::string, std::string> set_twice;  // keys, by document; programs use the last value
  std::map<std::string, Document> repaired;      // documents that only Python reads as they are
  // Of the files named so, with .json; null if there is none, and of a GGUF.
  const JsonValue &config, &tokenizer_config, &tokenizer, &generation_config, &preprocessor;
  std::shared_ptr<const TokenLists> token_lists;  // of `tokenizer`; empty ones without it
  std::map<std::string, Module> modules;
  std::map<std::string, Module> packed_modules;  // those of `packed` that are not in `modules`
  std::vector<const Tensor*> stray;  // of no module: _amax and the like keep their full names
  std::vector<Quantization> quantizations;  // all there are, in the order vLLM looks
  std::string model_type, model_class, text_type;
  bool is_wrapper = false;  // model_type is that of a wrapper
  bool is_gguf = false;
  std::vector<Finding> llama_tokenizer;  // texts that llama.cpp splits differently
  std::string base_not_compared;         // why its tokenizer was not; empty: none, or it was
  ValueFacts values;
  HeadValues head_values = HeadValues::kEqual;
  MlxTensors mlx;
  ParameterReport parameters;  // not compared where MLX saved the weights

  const JsonValue& text_config() const;  // config.text_config if it is an object, else config
  bool has_text_config() const { return &text_config() != &config; }
  // Of text_config(); null where it is absent or null.
  const JsonValue* text_field(std::string_view field) const { return known(text_config(), field); }
  // "config.json: text_config.hidden_size", for findings: where a field of text_config() is.
  std::string text_place(std::string_view field = {}) const {
    return fmt::format("config.json: {}{}", has_text_config() ? "text_config." : "", field);
  }
  const Tensor* tensor(std::string_view name) const;
  bool has_document(std::string_view path) const;
  // Whether sentence-transformers saved the model.
  bool is_embedding_model() const { return has_document("modules.json"); }
  // Looked for once, when first asked: a large vocabulary takes longer than all other checks.
  const std::vector<TokenizerFault>& tokenizer_faults() const;
  bool has_vision_tensors() const { return has_vision_; }
  const Quantization* quantization() const {
    return quantizations.empty() ? nullptr : &quantizations.front();
  }
  bool is_quantized() const { return is_quantized_; }  // some weight is stored as codes with scales
  std::vector<std::string> layer_types() const;  // empty where there are none

 private:
  const JsonValue& object_of(std::string_view path);
  void read_token_lists();
  void read_quantizations();
  void collect_modules();
  std::unordered_map<std::string_view, const Tensor*> by_name_;
  bool has_vision_ = false, is_quantized_ = false;
  mutable std::optional<std::vector<TokenizerFault>> tokenizer_faults_;
};

// In advice: the command that quantizes the unquantized model again, as this folder was.
inline constexpr std::string_view kAgain = "{again}";

struct CheckFinding {
  std::string place, found;
  // Otherwise as the check's entry says.
  std::optional<Severity> severity = {};
  std::string symptom = {};
  std::optional<Fix> fix = {};
};

// Modules of one kind of mismatch: how many, and the first.
struct Mismatch {
  size_t count = 0;
  std::string first;
  void add(const std::string& name);
  std::string text(std::string_view what) const;           // names the first
  std::string text_at_first(std::string_view what) const;  // where the place names it
};

// Modules that the server runs as one.
struct ServedModule {
  std::vector<const Module*> shards;
  std::string algo;           // what the server expects: "" floats, else "NVFP4", "FP8", ...
  bool is_partial = false;    // the list names some shards of it only; the server stops
  bool is_unclear = false;    // the server's choice is not known here
  bool has_no_group = false;  // no group of compressed-tensors is for it
};
using ServedModules = std::map<std::string, ServedModule>;  // by the server's names

// The context of one run of one check: read only, findings go out.
struct CheckContext {
  const Subject& on;
  const Profile& profile;
  const ServedModules& served;
  std::vector<CheckFinding>& out;
  Status& failed;  // set by a check that cannot finish; the diagnosis fails then
  bool is(Program program) const { return profile.program == program; }
  bool does(Trait trait) const { return profile.does(trait); }
  bool is_server() const { return is(Program::kVllm) || is(Program::kSglang); }
  // report() with a sentence made of `format`.
  template <class... Args>
  void tell(std::string place, fmt::format_string<Args...> format, Args&&... args) const {
    report(std::move(place), fmt::format(format, std::forward<Args>(args)...));
  }
  // Without a severity, symptom or fix: as the entry of the check says.
  void report(std::string place, std::string found, std::optional<Severity> severity = {},
              std::string symptom = {}, std::optional<Fix> fix = {}) const {
    out.push_back(
        {std::move(place), std::move(found), severity, std::move(symptom), std::move(fix)});
  }
  // Reports nothing without a mismatch.
  void report(const Mismatch& found, std::string_view what) const {
    if (found.count != 0) report(found.first, found.text_at_first(what));
  }
};

// For a person; `rewrites_weights`: what the advice does.
inline Fix advised(std::string advice, bool rewrites_weights = false) {
  return {{}, {}, std::move(advice), rewrites_weights, 0};
}

// The text of a finding about JSON that is not an object.
inline std::string no_object(const JsonValue& found) {
  return fmt::format("a JSON {}; expected an object", found.type_name());
}

// The text model's type whose rules hold: vLLM goes by the class, whatever type config.json names;
// the class of a wrapper's text part follows from its type.
std::string_view ruling_type(const CheckContext& context);
// The family that has the type, of its text part, its wrapper or a model of other code; or null.
const Family* family_of_type(std::string_view model_type);
// Whether the class rotates nothing because config.json does not ask for it.
bool rotates_nothing(const Subject& on);

// One entry of a check list.
//   ratings   "U: vllm* sglang, W: llama.cpp": a letter (U unloaded, S unsound, W warning, I info)
//             and the profiles that it holds for, by a name that they are rated by; "vllm*" is each
//             release, "llama-server" each program that runs GGUF files by it, "all" every
//             profile. Other profiles are not asked.
struct Check {
  std::string_view id, title, ratings, symptom;
  std::string_view advice;  // for a person
  void (*run)(const CheckContext&);
  std::string_view step = {};  // that fixes it
  bool is_deep = false;
};

// A check of what a folder says about its quantization, for those that say something.
template <void (*kCheck)(const CheckContext&, const Quantization&)>
void stated(const CheckContext& context) {
  if (const Quantization* declared = context.on.quantization()) kCheck(context, *declared);
}

inline constexpr char kTakeConfig[] = "take config.json from the source model";  // an advice

// Of scales that are one number, in files of this machine: some thousand at most, evenly chosen.
// Fails: kIo.
Result<ValueFacts> scales_at_hand(const Subject& on);
// Reads every tensor once, in pieces of rows. Fails: kIo; kInterrupted.
Result<ValueFacts> read_value_facts(const Subject& on, const Checkpoint& unpacked,
                                    const DiagnosisOptions& options);

// Reads some rows of the two, and all of them if these are equal. kEqual without a tied head of its
// own. Fails: kInterrupted.
Result<HeadValues> compare_tied_head(const Subject& on, const DiagnosisOptions& options);
// Why the head was not compared for this profile; empty when it was.
std::string layer_types_not_checked(const Subject& on, const Profile& profile);
std::string head_not_checked(const Subject& on, const Profile& profile);

// The class of transformers 5 that reads tokenizer.json and may build other rules than the file's,
// without "Fast"; empty where the class takes all of the file, or is code that the folder names.
std::string tokenizer_class_of_5(const Subject& on, const Profile& profile);
// Whether it takes only the vocabulary of the file, and adds tokens by the other files.
bool rebuilds_tokenizer(const Subject& on, const Profile& profile);
// Why it is not known which ids that class gives; empty when it is.
std::string tokenizer_not_checked(const Subject& on, const Profile& profile);

// Requirements of llama.cpp for a GGUF that are not known here; empty: all are known.
std::string gguf_not_checked(const Subject& on, const Profile& profile);
// A model with tensors of a projector in its file, which Ollama reads with changes of its own to
// llama.cpp; the first such tensor, or null.
const Tensor* patched_by(const Subject& on, const Profile& profile);
// Of a GGUF: whether it was read from several files.
bool is_split(const Checkpoint& checkpoint);
// Of a folder that a program does not convert as it is: the command that makes a GGUF of it.
Fix gguf_instead(const Subject& on);
// A file of its own goes before tokenizer_config.json's; null if there is neither.
const std::string* chat_template(const Subject& on);
const std::string* listed_template(const Subject& on);  // that of tokenizer_config.json
// vLLM's parser of the tool calls that the chat template teaches; empty: it teaches none.
std::string_view tool_parser(const Subject& on);

// The themes, one file each.
// clang-format off
std::span<const Check> config_checks(), tied_head_checks(), config_number_checks(),
    config_word_checks(), rope_checks(), older_field_checks(), layer_field_checks(),
    table_field_checks(), computed_field_checks(), strict_type_checks(), tokenizer_checks(),
    chat_template_checks(), tokenizer_schema_checks(), tokenizer_value_checks(),
    class_rule_checks(), token_file_checks(), processor_checks(), quantization_checks(),
    quantization_statement_checks(), scale_shape_checks(), scheme_checks(), served_checks(),
    weight_checks(), parameter_checks(), file_checks(), gguf_checks(), ollama_checks(),
    value_checks();
// clang-format on

// The kind of a value that stops constructors: t text, l list or object, n null, z zero, m a number
// below zero, f a fraction, w a whole number with a point, a absent; - another number.
char bad_value_letter(const JsonValue* value);

std::string shape_text(const std::vector<uint64_t>& shape);  // "[2, 3]"
bool is_list_of_texts(const JsonValue& json);
// Those of a list that are texts.
std::vector<std::string> texts_in(const JsonValue& json, std::string_view key);
bool is_token_id(const JsonValue& json);
inline bool is_true(const JsonValue& json, std::string_view key) {
  const JsonValue* value = member(json, key);
  return value != nullptr && *value == true;
}
// Whether some of the words is anywhere in the name.
template <class Words = std::initializer_list<std::string_view>>
bool names_any(std::string_view name, const Words& words) {
  return std::ranges::any_of(
      words, [name](std::string_view word) { return name.find(word) != name.npos; });
}
// At least one digit, and nothing else.
inline bool are_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

}  // namespace ckpt

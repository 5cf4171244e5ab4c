// The input of checks: a checkpoint, its parsed documents, its linear modules, and the profile.
//
//   modules   tensors whose names differ in the last word belong to one module:
//             X.mlp.up_proj.weight (with its scales), X.mlp.up_proj.input_scale -> X.mlp.up_proj
//
// The quantization section can be in three places, and readers use the first that they know:
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

// The parameters of the model class in config.json, compared with the existing tensors. Private to
// checks/.
//
// Shapes are those of values: a quantized tensor is compared by the shape that its codes decode to.

class Subject;

struct Deviation {
  std::string name;                       // name in this checkpoint, or the name it would have
  std::vector<uint64_t> expected, found;  // `found` is empty for a missing tensor
  ServerCut cut = ServerCut::kWhole;
  ModelPart part = ModelPart::kText;
  // The tensor is missing, but the server joins it with another one that exists.
  bool is_partly_there = false;
  // The name in the file of a tensor that transformers 5 takes for this one; empty: there is none.
  std::string other_name;
};

// A tensor without a parameter in the class.
struct ExtraTensor {
  std::string name;
  bool is_bias = false;
  bool is_tower = false;      // in a vision tower
  bool is_in_layer = false;   // in a layer of the model, or beyond the last
  bool is_beyond = false;     // in a layer beyond the last
  bool is_of_expert = false;  // named below an expert that the model has
  bool is_outermost = false;  // not below "model."
  bool is_in_transformers = false;  // only transformers' class has it
  bool is_renamed = false;    // transformers 5 takes it for a parameter of another name
};

// The part of a model that a name belongs to, by the word with which it begins in a table.
enum class NameKind : uint8_t { kText, kHead, kTower, kDraft, kOther };

// Names of one kind with the same prefix.
struct NameForm {
  NameKind kind = NameKind::kOther;
  std::string lead;              // "model.language_model."
  std::set<std::string> stems;  // the words after it: "layers", "norm"
};

struct ParameterReport {
  const Family* table = nullptr;  // of the class; null: none, nothing was compared
  std::string root = "model.";    // prefix of the text part's names
  // Keys are as in profiles: "model.*" for the text part, "lm_head", "model.visual" and so on.
  std::map<std::string, NameForm> forms;
  std::string bad_field;          // why the table could not be followed
  bool is_beyond_limits = false;  // `bad_field` is larger than in any model
  std::vector<Deviation> missing, wrong;
  std::vector<ExtraTensor> extra;
  bool has_nextn = false;          // layers for multi-token prediction at the end
  bool has_unknown_codes = false;  // some weights are stored in forms of unknown shape
  bool has_unlisted_tower = false;  // some tensors are of a tower that no table lists

  bool is_compared() const { return table != nullptr; }
};

ParameterReport compare_parameters(const Subject& on);
// Compares with the class of `table`, whatever class config.json names.
ParameterReport compare_parameters(const Subject& on, const Family& table);

// The step that renames the unknown tensors to the missing names; empty if they do not fit.
std::string renaming_step(const Subject& on);

// A weight file that the program would read instead of those that were read here, or null.
const std::string* preferred_weights(const Subject& on, const Profile& profile);
// Why it is unknown whether the program supports the scheme of the weights; empty if known.
std::string scheme_not_checked(const Subject& on, const Profile& profile);
// Does the same for the scales of its KV cache.
std::string cache_not_checked(const Subject& on, const Profile& profile);
// Does the same for scales of experts.
std::string scales_not_checked(const Subject& on, const Profile& profile);
struct CheckContext;
// Whether transformers reads the weights by the names of the model without quantization: floats,
// and the methods that its profile lists.
bool reads_weight_names(const CheckContext& context);
// Why the names that a class of wrappers reads are unknown; empty if they are known.
std::string names_not_checked(const Subject& on, const Profile& profile);
// Why the weights were not compared for this profile; empty if they were.
std::string weights_not_checked(const Subject& on, const Profile& profile);

// How the weight of a module is stored.
enum class Form : uint8_t {
  kPlain,        // floats
  kNvfp4,        // ModelOpt's codes and scales
  kFp8,          // E4M3 with one scale, or one per row
  kPackedNvfp4,  // NVFP4 under compressed-tensors' names
  kOther,        // any other codes
};
std::string_view form_name(Form form);

struct Module {
  std::string name;
  const Tensor* weight = nullptr;
  Form form = Form::kPlain;
  bool has_input_scale = false;
  bool has_pre_quant_scale = false;
  bool is_linear() const;  // a matrix of products; not an embedding, norm or convolution
};

// The quantization that ModelOpt or another program declares.
struct Quantization {
  std::string place;       // "config.json: quantization_config"
  std::string method;      // quant_method in lower case; "" if absent
  std::string algo;        // quant_algo in upper case
  bool is_nested = false;  // nested as in hf_quant_config.json
  // Modules that stay unquantized: the first of the method's lists that is not empty.
  std::vector<std::string> exclude;
  std::string_view exclude_key;               // key of `exclude`, or of the list to write
  std::map<std::string, std::string> layers;  // quant_algo by module
  std::optional<uint64_t> group_size;
  bool has_kv_scheme = false;  // requests an FP8 cache
  const JsonValue* json = nullptr;
  const std::string& algo_of(const std::string& module) const {
    const std::string* own = find_mapped(layers, module);
    return own != nullptr ? *own : algo;
  }
};

// The results of reading tensors: all of them in deep checks, otherwise those of scales_at_hand().
struct ValueFacts {
  struct Rows {
    std::string tensor;
    uint64_t rows;
  };
  std::vector<std::string> nonfinite;       // tensors with NaN or Inf, or scales that cause them
  std::vector<Rows> zero_rows;              // quantized tensors with rows of zeros
  std::vector<std::string> bad_scales;      // scales that are zero, negative, NaN or Inf
  std::vector<std::string> unequal_scales;  // first of joined parts with unequal scales,
  std::vector<std::string> far_scales;      // and with scales too far from each other
  bool are_inputs_constant = false;         // one input_scale for nearly all modules
};

// How a stored head that config.json ties to the embedding compares with the embedding.
enum class HeadValues : uint8_t { kEqual, kDiffer, kUnknown };

// The parts of tokenizer.json that the library "tokenizers" rejects.
struct TokenizerFault {
  std::string place, found;
};
// Finds faults of tokenizer.json and its lists; null: the file does not exist.
std::vector<TokenizerFault> find_tokenizer_faults(const JsonValue& tokenizer,
                                                  const TokenLists& lists);
// Finds faults of all parts except the lists in "model".
void find_part_faults(const JsonValue& tokenizer, std::vector<TokenizerFault>& out);

// The part of the input that does not depend on a profile.
class Subject {
 public:
  // Stores documents that cannot be parsed in `broken`, with the reason.
  explicit Subject(const Checkpoint& checkpoint, PackedForms packed = {});

  const Checkpoint& checkpoint;
  const PackedForms packed;
  std::map<std::string, std::string> broken;
  std::optional<std::vector<std::string>> files_to_write;  // of a checkpoint that is only planned
  std::map<std::string, std::string> set_twice;  // duplicate keys by document; the last one counts
  std::map<std::string, Document> repaired;      // documents that only Python can parse unchanged
  // The documents with these names (.json); null if absent, and for a GGUF.
  const JsonValue &config, &tokenizer_config, &tokenizer, &generation_config, &preprocessor;
  std::shared_ptr<const TokenLists> token_lists;  // of `tokenizer`; without it, empty
  std::map<std::string, Module> modules;
  std::map<std::string, Module> packed_modules;  // modules of `packed` that `modules` lacks
  std::vector<const Tensor*> stray;  // outside modules, such as _amax; full names
  std::vector<Quantization> quantizations;  // all sections, in vLLM's order of precedence
  std::string model_type, model_class, text_type;
  bool is_wrapper = false;  // model_type names a wrapper
  bool is_gguf = false;
  std::vector<Finding> llama_tokenizer;  // texts that llama.cpp splits differently
  std::string base_not_compared;         // why the base's tokenizer was not compared; or empty
  ValueFacts values;
  HeadValues head_values = HeadValues::kEqual;
  MlxTensors mlx;
  ParameterReport parameters;  // not compared if MLX saved the weights

  const JsonValue& text_config() const;  // config.text_config if it is an object, else config
  bool has_text_config() const { return &text_config() != &config; }
  // A field of text_config(); null if it is absent or null.
  const JsonValue* text_field(std::string_view field) const { return known(text_config(), field); }
  // Of the text part; nullopt: config.json has no such number.
  std::optional<uint64_t> layers() const { return layer_count(text_config()); }
  // The place of a field in findings: "config.json: text_config.hidden_size".
  std::string text_place(std::string_view field = {}) const {
    return fmt::format("config.json: {}{}", has_text_config() ? "text_config." : "", field);
  }
  const Tensor* tensor(std::string_view name) const;
  bool has_document(std::string_view path) const;
  // Whether sentence-transformers saved the model.
  bool is_embedding_model() const { return has_document("modules.json"); }
  // Found on the first call only: a large vocabulary takes longer than all other checks.
  const std::vector<TokenizerFault>& tokenizer_faults() const;
  // Whether the weights hold a part of a tower or projector.
  bool has_vision_tensors() const { return has_vision_; }
  const Quantization* quantization() const {
    return quantizations.empty() ? nullptr : &quantizations.front();
  }
  bool is_quantized() const { return is_quantized_; }  // some weight has codes with scales
  std::vector<std::string> layer_types() const;  // empty if absent

 private:
  const JsonValue& object_of(std::string_view path);
  void read_token_lists();
  void read_quantizations();
  void collect_modules();
  std::unordered_map<std::string_view, const Tensor*> by_name_;
  bool has_vision_ = false, is_quantized_ = false;
  mutable std::optional<std::vector<TokenizerFault>> tokenizer_faults_;
};

// A placeholder in advice for the command that quantizes the base as this folder was quantized.
inline constexpr std::string_view kAgain = "{again}";

struct CheckFinding {
  std::string place, found;
  // Empty fields: as in the check's entry.
  std::optional<Severity> severity = {};
  std::string symptom = {};
  std::optional<Fix> fix = {};
};

// How many modules have a mismatch, and the first of them.
struct Mismatch {
  size_t count = 0;
  std::string first;
  void add(const std::string& name);
  std::string text(std::string_view what) const;           // includes the first module's name
  std::string text_at_first(std::string_view what) const;  // for findings whose place names it
};

// Modules that the server joins.
struct ServedModule {
  std::vector<const Module*> shards;
  std::string algo;           // expected form: "" floats, else "NVFP4", "FP8", ...
  bool is_partial = false;    // the list names only some shards; the server stops
  bool is_unclear = false;    // the server's choice is not known here
  bool has_no_group = false;  // no group of compressed-tensors applies
  bool is_unlisted = false;   // the server asks for a name that no list of this file can have
  std::string listed_as;      // the entry that names it in lists, where its own name does not
};
using ServedModules = std::map<std::string, ServedModule>;  // by the server's names

// The context of one run of one check: the input and where findings go.
struct CheckContext {
  const Subject& on;
  const Profile& profile;
  const ServedModules& served;
  std::vector<CheckFinding>& out;
  Status& failed;  // set by a check that cannot finish; the diagnosis then fails
  bool is(Program program) const { return profile.program == program; }
  bool does(Trait trait) const { return profile.does(trait); }
  bool is_server() const { return is(Program::kVllm) || is(Program::kSglang); }
  // report() with a sentence made of `format`.
  template <class... Args>
  void tell(std::string place, fmt::format_string<Args...> format, Args&&... args) const {
    report(std::move(place), fmt::format(format, std::forward<Args>(args)...));
  }
  // A missing severity, symptom or fix is that of the check's entry.
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

// A fix by a person; `rewrites_weights` tells whether following the advice does so.
inline Fix advised(std::string advice, bool rewrites_weights = false) {
  return {{}, {}, std::move(advice), rewrites_weights, 0};
}

// The text of a finding about JSON that is not an object.
inline std::string no_object(const JsonValue& found) {
  return fmt::format("a JSON {}; expected an object", found.type_name());
}

// The type of the text model that counts: vLLM chooses by the class, whatever type config.json
// names; for a wrapper, the type of the text part decides its class.
std::string_view ruling_type(const CheckContext& context);
// Whether the loader of the model type looks up tensors of this kind alone that the model lacks.
inline bool looks_up(const CheckContext& context, std::string_view type, std::string_view kind) {
  return has_listed(context.profile, "extra tensors looked up", fmt::format("{}:{}", type, kind),
                    false);
}
// The family that has the type as text part, wrapper or model of other code; null if none.
const Family* family_of_type(std::string_view model_type);
// Whether the class rotates nothing because config.json does not ask for it.
bool rotates_nothing(const Subject& on);

// One entry of a check list.
//   ratings   "U: vllm* sglang, W: llama.cpp": a letter (U unloaded, S unsound, W warning, I info)
//             and the profiles that it applies to, by the names under which they are rated; "vllm*"
//             is each release, "llama-server" each program that runs GGUF files with it, "all"
//             every
//             profile. The check does not apply to other profiles.
struct Check {
  std::string_view id, title, ratings, symptom;
  std::string_view advice;  // for a person
  void (*run)(const CheckContext&);
  std::string_view step = {};  // the step that fixes it
  bool is_deep = false;
};

// Runs a check of the declared quantization, for each section that exists.
template <void (*kCheck)(const CheckContext&, const Quantization&)>
void stated(const CheckContext& context) {
  if (const Quantization* declared = context.on.quantization()) kCheck(context, *declared);
}

inline constexpr char kTakeConfig[] = "take config.json from the source model";  // an advice

// Reads scales of one number in local files: at most some thousand, evenly spaced. Fails: kIo.
Result<ValueFacts> scales_at_hand(const Subject& on);
// Reads every tensor once, in blocks of rows. Fails: kIo; kInterrupted.
Result<ValueFacts> read_value_facts(const Subject& on, const Checkpoint& unpacked,
                                    const DiagnosisOptions& options);

// Compares some rows of head and embedding, and all rows if these are equal. kEqual without a
// separate tied head. Fails: kInterrupted.
Result<HeadValues> compare_tied_head(const Subject& on, const DiagnosisOptions& options);
// Why the head was not compared for this profile; empty if it was.
std::string layer_types_not_checked(const Subject& on, const Profile& profile);
std::string head_not_checked(const Subject& on, const Profile& profile);

// The class with which transformers 5 reads tokenizer.json and may replace its rules, without
// "Fast"; empty if the class uses the entire file, or is code of the folder.
std::string tokenizer_class_of_5(const Subject& on, const Profile& profile);
// Whether that class uses only the file's vocabulary, and adds tokens from the other files.
bool rebuilds_tokenizer(const Subject& on, const Profile& profile);
// Whether the program needs code from the model's folder for `document`, which is config.json or
// tokenizer_config.json: the document names such code, and the program's transformers has no class
// of its own in its place.
bool needs_own_code(const Subject& on, const Profile& profile, std::string_view document);
// Whether only code in the model's folder cuts texts into the tokens that the model was trained on.
// Without that code, transformers may take a tokenizer of its own, which cuts them differently.
bool has_tokens_by_own_code(const Subject& on, const Profile& profile);
// Why the ids from that class are unknown; empty if they are known.
std::string tokenizer_not_checked(const Subject& on, const Profile& profile);

// Requirements of llama.cpp for the GGUF that are unknown here; empty if all are known.
std::string gguf_not_checked(const Subject& on, const Profile& profile);
// The first tensor of a projector within a model's file, or null. Ollama reads such a file with
// changes of its own to llama.cpp.
const Tensor* patched_by(const Subject& on, const Profile& profile);
// Whether a GGUF was read from several files.
bool is_split(const Checkpoint& checkpoint);
// The fix for a folder that a program cannot convert: a command that makes a GGUF of it.
Fix gguf_instead(const Subject& on);
// The chat template: a separate file precedes tokenizer_config.json; null if neither has one.
const std::string* chat_template(const Subject& on);
const std::string* listed_template(const Subject& on);  // that in tokenizer_config.json
// vLLM's parser for the tool calls in the chat template; empty if it has none.
std::string_view tool_parser(const Subject& on);

// The lists of checks by theme, each defined in its own file.
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

// The letter for a kind of value that may stop constructors: t text, l list or object, n null, z
// zero, m negative number, f fraction, w whole number with a point, a absent; - another number.
char bad_value_letter(const JsonValue* value);

std::string shape_text(const std::vector<uint64_t>& shape);  // "[2, 3]"
bool is_list_of_texts(const JsonValue& json);
// The items of a list that are texts.
std::vector<std::string> texts_in(const JsonValue& json, std::string_view key);
bool is_token_id(const JsonValue& json);
inline bool is_true(const JsonValue& json, std::string_view key) {
  const JsonValue* value = member(json, key);
  return value != nullptr && *value == true;
}
// Whether the name contains any of the words.
template <class Words = std::initializer_list<std::string_view>>
bool names_any(std::string_view name, const Words& words) {
  return std::ranges::any_of(
      words, [name](std::string_view word) { return name.find(word) != name.npos; });
}
// Whether the text consists of at least one digit and nothing else.
inline bool are_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

}  // namespace ckpt

// The folder that a GGUF becomes: which model it is, and its tensors.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/json/json_read.h"
#include "core/model/checkpoint.h"
#include "core/model/transform.h"
#include "models/models.h"
#include "transforms/facts/keep_rules.h"
#include "transforms/from_gguf/rows.h"
#include "transforms/to_gguf/model.h"
#include "transforms/vl/families.h"

namespace ckpt {

// A folder's headers without its bytes (skeleton.cc): what to-gguf is run on, to learn what it does
// with each tensor and to prove a configuration.
//
//   config.json ─▶ parameters of the model ─▶ tensors without bytes ─▶ to-gguf ─▶ names, changes

// `family`, or its earlier form where a converter of earlier years wrote `file`.
const Family& form_of_file(const Family& family, const Checkpoint& file);

// Runs to-gguf over the headers of `folder`, as the converter that wrote `file` would.
struct ForwardResult {
  Model model;
  std::vector<Tensor> tensors;
  // Keys that the file lacks, with what llama.cpp takes then; those that nothing reads.
  std::vector<std::string> absent = {}, unread = {};
};
Result<ForwardResult> run_forward(const Checkpoint& folder, const Checkpoint& file,
                                  const Context& context);

// The folder that `config` describes: config.json, and a tensor for each parameter that the GGUF
// `file` has the values of; of a family without a whole table of parameters those that rows of
// names give of the file's tensors. Experts are MXFP4 where `config` says so. The bytes are never
// there; reading them fails.
// Fails: kCorrupt: parameters that `file` has no tensor for.
Result<Checkpoint> make_skeleton(const Checkpoint& file, const JsonValue& config,
                                 const Family& family, const Context& context);

// Parameters that checkpoints hold in F32 whatever the type of the others (transformers
// _keep_in_fp32_modules_strict).
bool keeps_f32(std::string_view name);

// Proves that `forward`, made from a folder, has the tensors and keys of `file`; names the first
// that differs. Sets `absent` and `unread`. Fails: kUnsupported.
Status check_forward(const Checkpoint& file, const Checkpoint& folder, ForwardResult& forward);

struct ReturnedFolder {
  Checkpoint folder;      // headers and config.json; return_tensors gives them the file's values
  ForwardResult forward;  // what to-gguf makes of it
  uint64_t kept = 0;      // tensors of the base that no GGUF of the text model has
};

// The first family of the file's architecture whose configuration gives the file's keys and
// tensors. Several share one: Llama, Mistral and Mixtral. `floats`: the type of its weights;
// `keeps_mxfp4`: but experts stay so. Fails: kUnsupported, naming the first key or tensor that
// differs.
Result<ReturnedFolder> find_folder(const Checkpoint& file, const Codec& floats, bool keeps_mxfp4,
                                   const Context& context);

// Notes which keys of the file were absent or not read.
void note_other_keys(const ForwardResult& forward, const Context& context);

// Fails: kUsage: the base is of another architecture than the file.
Status check_architecture(const Checkpoint& file, const Family& family);

// Documents of the base, its tensors as names and types. Fails: kUsage: another model's.
Result<ReturnedFolder> folder_of_base(const Checkpoint& file, Checkpoint base,
                                      const Context& context);

// How tensors of the folder are stored. Those that `keep` matches, by their name in the folder or
// in the file, have the file's type; where that is not a plain float, `unkept`.
struct ReturnedTypes {
  const Codec* type = nullptr;  // nullptr: each as the folder has it
  KeepRules* keep = nullptr;    // null: none; requires `type` and `unkept`
  const Codec* unkept = nullptr;
};
Status return_tensors(const Checkpoint& file, const ReturnedTypes& as, ReturnedFolder& found,
                      const Context& context);

// How a model of `architecture` comes back: itself, or of a wrapper ("...ForConditionalGeneration")
// its text part; nullopt where that has no class of its own.
struct ReturnedClass {
  const VlFamily* wrapper = nullptr;  // null: it is none
  std::string_view architecture;
};
std::optional<ReturnedClass> returned_class(std::string_view architecture);

// The text part of a wrapped model gets its own class in config.json; the keys of the file are
// those of the wrapper. Gives the class; "" for what is a text model. Fails: kUnsupported: a
// wrapper whose text part has no class.
Result<std::string> name_text_class(ReturnedFolder& found);

// config.json of a model of `family`. `dtype` is what its weights will be: "bfloat16".
// Fails: kCorrupt for keys of another type than the family's; kUnsupported for factors of rotary
// frequencies that follow no known rule.
Result<JsonValue> returned_config(const Checkpoint& file, const Family& family,
                                  std::string_view dtype);

// Ids of special tokens, those that end a text as a list if there are several, and how llama.cpp
// would sample ("general.sampling.*").
JsonValue returned_generation_config(const Checkpoint& file);

// tokenizer.json and tokenizer_config.json from the keys of a GGUF.
//
//   tokens, token_type ─▶ model.vocab, added_tokens      pre ─▶ pre_tokenizer
//   merges, scores     ─▶ model.merges                   bos, add_bos_token ─▶ post_processor
//
// Sources: llama.cpp src/llama-vocab.cpp (rules and flags of each name); transformers 5
// convert_slow_tokenizer.py (SentencePiece's models as BPE). What the file does not say: the
// normalizer (taken from the name of the rules), lstrip and rstrip of added tokens, the class.

// Adds tokenizer.json, tokenizer_config.json, chat_template.jinja and, for SentencePiece's kind,
// tokenizer.model to the documents of `folder`; says in `guessed` what the file does not tell.
// Fails: kUnsupported: a kind of tokenizer, or rules, that are not known; kCorrupt.
Status add_tokenizer_documents(const Checkpoint& file, Checkpoint& folder,
                               std::vector<std::string>& guessed);
// Names the tokens of those `keys` that a tokenizer_config.json may name and that add_*() left to
// the family's own rules; returns whether it names more. Fails: kCorrupt.
Result<bool> name_tokens(const Checkpoint& file, std::span<const std::string> keys,
                         Checkpoint& folder);

// The tensors of a folder from those of a GGUF: to-gguf's changes, undone.
//
//   folder's q_proj, rows 0 1 2 3 ──▶ GGUF's attn_q, rows 0 2 1 3
//   attn_q's rows 0 2 1 3         ──▶ q_proj, in the GGUF's own type or decoded
//
// Rows move as bytes of the file, whatever their type; columns, sums and exponentials are undone in
// F32 and rounded once. Values whose axes were exchanged move as bytes too where they are plain,
// and are decoded where they are not.

// Positions: to-gguf's tensors, and the file's of the same names, by number.
struct TensorPairs {
  const std::vector<Tensor>& made;
  const std::vector<const Tensor*>& found;
};

struct TargetTypes {
  const Codec& target;
  const Codec& f32;
};

// `tensor` without the changes of values that to-gguf made for `made`. Fails: kUnsupported: one
// that has no inverse.
Result<Tensor> undo_changes(Tensor tensor, const Tensor& made);

// `like` of the folder, whose rows lie where `rows` say, stored as `types.target`; one that is
// MXFP4 as ggml's blocks of it. Fails: kUnsupported: values that were changed in a way that has no
// inverse, and MXFP4 of another type.
Result<Tensor> returned_tensor(const Tensor& like, const std::vector<MovedRows>& rows,
                               const TensorPairs& pairs, const TargetTypes& types);
// The same for values in another order.
Result<Tensor> returned_tensor(const Tensor& like, const std::vector<MovedGrid>& grids,
                               const TensorPairs& pairs, const TargetTypes& types);

// A ModelOpt folder with the NVFP4 weights of `file`; all other tensors are those of `base`, the
// unquantized folder that the file was made from. Fails: kUsage: a folder of another model;
// kUnsupported: rows with several scales.
Result<Checkpoint> nvfp4_into_base(const Checkpoint& file, Checkpoint base, const Context& context);

// The same without a base: `skeleton` has the headers and documents that the file's keys give,
// `others` its tensors with the file's values, of which those that are not NVFP4 are taken.
Result<Checkpoint> nvfp4_into_skeleton(const Checkpoint& file, Checkpoint skeleton,
                                       const std::vector<Tensor>& others, const Context& context);

// Both tensors in which folders store MXFP4 experts. `tensor` is Stored as MXFP4: in ggml's blocks,
// or already in these parts.
std::vector<Tensor> split_mxfp4(const Tensor& tensor, Codecs codecs);
// Whether all stacks of experts in the file are MXFP4, so that they can stay so.
bool has_mxfp4_experts(const Checkpoint& file);
// config.json's statement about them.
void add_mxfp4_statement(JsonValue& config);

// The keys tokenizer.* and general.sampling.* of a GGUF against those that a conversion of the
// folder writes, so that every loss is reported.
struct ReturnedKeys {
  Metadata made;  // by a conversion of the folder
  std::vector<std::string>
      absent;  // the file's that `made` lacks, or has by other rules of splitting
  std::vector<std::string> other;  // that have another value there
  std::string first_difference;    // of `other`: "tokenizer.ggml.eos_token_id: 7 here, 6 there"
};

// `model`: of the folder. `is_own`: the folder's tokenizer is made of the file's keys, so that its
// pre-tokenizer is the file's. Fails: as add_tokenizer_keys.
Result<ReturnedKeys> find_returned_keys(const Checkpoint& file, const Checkpoint& folder,
                                        const Model& model, bool is_own, const Context& context);

// One note that lists the keys that the folder does not give back, if there are any.
void note_lost_keys(const ReturnedKeys& keys, const Context& context);

// Fails: kUsage: a key of the file that BASE contradicts, as a key of the architecture would.
Status refuse_other_keys(const ReturnedKeys& keys);

// Ids of config.json and generation_config.json that are another token in `made`.
Status follow_token_ids(const Metadata& made, const Checkpoint& file, Checkpoint& folder);

}  // namespace ckpt

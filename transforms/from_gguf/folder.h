// The folder that a GGUF becomes: its model and its tensors.
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

// A folder's headers without its bytes (skeleton.cc). Running to-gguf on them shows what it does
// with each tensor and verifies a configuration.
//
//   config.json ─▶ parameters of the model ─▶ tensors without bytes ─▶ to-gguf ─▶ names, changes

// Joins the experts of a file that has a tensor for each (single_experts.cc). Returns how many
// tensors were joined. Requires: its tensors are Stored. Fails: kCorrupt: an expert is missing, or
// has another shape.
Result<uint64_t> stack_single_experts(Checkpoint& file, Codecs codecs);

// Returns `family`, or its earlier form if an older converter wrote `file`.
const Family& form_of_file(const Family& family, const Checkpoint& file);

// The result of running to-gguf on the headers of `folder` as the converter of `file` would.
struct ForwardResult {
  Model model;
  std::vector<Tensor> tensors;
  // Keys that the file lacks, with the value that llama.cpp assumes, or with BASE's, which differs;
  // keys that nothing reads.
  std::vector<std::string> absent = {}, of_base = {}, unread = {};
};
Result<ForwardResult> run_forward(const Checkpoint& folder, const Checkpoint& file,
                                  const Context& context);

// The folder that `config` describes: config.json, and a tensor for each parameter whose values the
// GGUF `file` has. If the family's table of parameters is incomplete, the rows of names give the
// parameters of the file's tensors. Experts are MXFP4 if `config` says so. Reading the tensors
// fails, because they have no bytes. Fails: kCorrupt: `file` has no tensor for a parameter.
Result<Checkpoint> make_skeleton(const Checkpoint& file, const JsonValue& config,
                                 const Family& family, const Context& context);

// Parameters that checkpoints store in F32 even if the others have another type (transformers
// _keep_in_fp32_modules_strict).
bool keeps_f32(std::string_view name);

// Verifies that `forward`, made from a folder, has the tensors and keys of `file`; reports the
// first difference. Keys that the file lacks say nothing against a BASE. Sets `absent`, `of_base`
// and `unread`. Fails: kUnsupported.
enum class MadeFrom : uint8_t { kFile, kBase };
Status check_forward(const Checkpoint& file, const Checkpoint& folder, MadeFrom source,
                     ForwardResult& forward);

struct ReturnedFolder {
  Checkpoint folder;      // headers and config.json; return_tensors adds values
  ForwardResult forward;  // the result of to-gguf for this folder
  uint64_t kept = 0;      // tensors of the base that GGUFs of text models omit
};

// Finds the first family of the file's architecture whose configuration gives the keys and tensors
// of the file. Several families share an architecture: Llama, Mistral and Mixtral. `floats`: the
// type of its weights. `keeps_mxfp4`: MXFP4 experts keep their type. Fails: kUnsupported, naming
// the first key or tensor that differs.
Result<ReturnedFolder> find_folder(const Checkpoint& file, const Codec& floats, bool keeps_mxfp4,
                                   const Context& context);

// Notes the absent and unread keys of the file.
void note_other_keys(const ForwardResult& forward, const Context& context);

// Fails: kUsage: the base has another architecture than the file.
Status check_architecture(const Checkpoint& file, const Family& family);

// The base's documents, and names and types of its tensors. Fails: kUsage: another model.
Result<ReturnedFolder> folder_of_base(const Checkpoint& file, Checkpoint base,
                                      const Context& context);

// The types of a folder's tensors. A tensor that `keep` matches, by its name in the folder or in
// the file, keeps the file's type or, if that is not a plain float, gets `unkept`.
struct ReturnedTypes {
  const Codec* type = nullptr;  // nullptr: the types of the folder
  KeepRules* keep = nullptr;    // null: none; requires `type` and `unkept`
  const Codec* unkept = nullptr;
  bool is_auto = false;  // F32 matrices stay F32 in families that keep the types of folders
};
Status return_tensors(const Checkpoint& file, const ReturnedTypes& as, ReturnedFolder& found,
                      const Context& context);

// Whether a folder of the family can be made from a GGUF without a BASE. It cannot if a GGUF stores
// the product of two tensors instead of both.
bool turns_back(const Family& family);

// The class for a model of `architecture`: its own, or for a wrapper
// ("...ForConditionalGeneration") that of its text part; nullopt if the text part has no class.
struct ReturnedClass {
  const VlFamily* wrapper = nullptr;  // null: not a wrapper
  std::string_view architecture;
};
std::optional<ReturnedClass> returned_class(std::string_view architecture);

// Names the class of a wrapped model's text part in config.json, although the file's keys are those
// of the wrapper. Returns the class; "" if the model is not wrapped. Fails: kUnsupported: the text
// part has no class.
Result<std::string> name_text_class(ReturnedFolder& found);

// Makes config.json for a model of `family`. `dtype` is the future type of its weights: "bfloat16".
// Fails: kCorrupt for keys of another type than the family's; kUnsupported for factors of rotary
// frequencies that follow no known rule.
Result<JsonValue> returned_config(const Checkpoint& file, const Family& family,
                                  std::string_view dtype);

// Ids of special tokens, as a list if several end a text, and the sampling settings of llama.cpp
// ("general.sampling.*").
JsonValue returned_generation_config(const Checkpoint& file);

// tokenizer.json and tokenizer_config.json from the keys of a GGUF.
//
//   tokens, token_type ─▶ model.vocab, added_tokens      pre ─▶ pre_tokenizer
//   merges, scores     ─▶ model.merges                   bos, add_bos_token ─▶ post_processor
//
// Sources: llama.cpp src/llama-vocab.cpp (rules and flags of each name); transformers 5
// convert_slow_tokenizer.py (SentencePiece's models as BPE). The file lacks the normalizer (guessed
// from the name of the rules), lstrip and rstrip of added tokens, and the class.

// Adds tokenizer.json, tokenizer_config.json, chat_template.jinja and, for SentencePiece,
// tokenizer.model to the documents of `folder`; `guessed` lists the facts that the file lacks.
// Fails: kUnsupported: an unknown type of tokenizer or unknown rules; kCorrupt.
Status add_tokenizer_documents(const Checkpoint& file, Checkpoint& folder,
                               std::vector<std::string>& guessed);
// Adds names for the tokens of `keys` that tokenizer_config.json may name and add_*() left to the
// rules of the family. Returns whether it added any. Fails: kCorrupt.
Result<bool> name_tokens(const Checkpoint& file, std::span<const std::string> keys,
                         Checkpoint& folder);

// Makes the tensors of a folder from those of a GGUF by undoing the changes of to-gguf.
//
//   folder's q_proj, rows 0 1 2 3 ──▶ GGUF's attn_q, rows 0 2 1 3
//   attn_q's rows 0 2 1 3         ──▶ q_proj, in the GGUF's own type or decoded
//
// Rows move as bytes of the file, in any type; changed columns, sums and exponentials are undone in
// F32 and rounded once. Values with exchanged axes move as bytes if they are plain, and are decoded
// otherwise.

// Pairs tensors of to-gguf with the file's tensors of the same name, by index.
struct TensorPairs {
  const std::vector<Tensor>& made;
  const std::vector<const Tensor*>& found;
};

struct TargetTypes {
  const Codec& target;
  const Codec& f32;
};

// Undoes the changes of values that to-gguf made for `made`. Fails: kUnsupported: a change has no
// inverse.
Result<Tensor> undo_changes(Tensor tensor, const Tensor& made);

// Makes tensor `like` of the folder from the file's `rows`, stored as `types.target`; MXFP4 becomes
// ggml's blocks. Fails: kUnsupported: a change of values has no inverse, or MXFP4 needs another
// type.
Result<Tensor> returned_tensor(const Tensor& like, const std::vector<MovedRows>& rows,
                               const TensorPairs& pairs, const TargetTypes& types);
// Does the same for values in another order.
Result<Tensor> returned_tensor(const Tensor& like, const std::vector<MovedGrid>& grids,
                               const TensorPairs& pairs, const TargetTypes& types);

// Returns integers that to-gguf cut to 32 bits with 64 bits again. They number experts, so none is
// negative. Requires: `numbers` is Stored as I32.
Result<Tensor> as_wide_numbers(const Tensor& numbers, const Tensor& like, Codecs codecs);

// Makes a ModelOpt folder with the NVFP4 weights of `file`. All other tensors come from `base`, the
// unquantized folder that the file was made from. Fails: kUsage: a folder of another model;
// kUnsupported: rows with several scales.
Result<Checkpoint> nvfp4_into_base(const Checkpoint& file, Checkpoint base, const Context& context);

// Does the same without a base. `skeleton`: headers and documents from the file's keys; `others`:
// its tensors with the file's values, which supply all tensors that are not NVFP4.
Result<Checkpoint> nvfp4_into_skeleton(const Checkpoint& file, Checkpoint skeleton,
                                       const std::vector<Tensor>& others, const Context& context);

// Makes the two tensors in which folders store MXFP4 experts. `tensor` is Stored as MXFP4: in
// ggml's blocks, or already in these parts.
std::vector<Tensor> split_mxfp4(const Tensor& tensor, Codecs codecs);
// Whether all stacks of experts in the file are MXFP4 and can therefore keep their type.
bool has_mxfp4_experts(const Checkpoint& file);
// Adds the declaration of MXFP4 experts to config.json.
void add_mxfp4_statement(JsonValue& config);

// Compares the keys tokenizer.* and general.sampling.* of a GGUF with those that a conversion of
// the folder would write, so that every loss is reported.
struct ReturnedKeys {
  Metadata made;  // from a conversion of the folder
  std::vector<std::string>
      absent;  // keys of the file that `made` lacks, or has with another pre-tokenizer
  std::vector<std::string> other;  // keys with other values there
  // How added tokens differ. Not in `other`, because converters of different years give them
  // different types, scores and spaces.
  std::string other_added;
  std::string first_difference;    // in `other`: "tokenizer.ggml.eos_token_id: 7 here, 6 there"
};

// `model`: the folder's model. `is_own`: the folder's tokenizer was made from the file's keys, so
// it has the same pre-tokenizer. Fails: as add_tokenizer_keys.
Result<ReturnedKeys> find_returned_keys(const Checkpoint& file, const Checkpoint& folder,
                                        const Model& model, bool is_own, const Context& context);

// Adds one note that lists the keys that the folder cannot restore, if there are any.
void note_lost_keys(const ReturnedKeys& keys, const Context& context);

// Fails: kUsage: BASE contradicts a key of the file.
Status refuse_other_keys(const ReturnedKeys& keys);

// Updates ids in config.json and generation_config.json that mean another token in `made`.
Status follow_token_ids(const Metadata& made, const Checkpoint& file, Checkpoint& folder);

}  // namespace ckpt

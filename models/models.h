// Which parameters a model has, and of which shape, as data: one table a family; the only header of
// this folder that others include.
//
//   config.json ── table of the family ──▶ "model.layers.3.self_attn.q_proj.weight" [4096, 2560]
//   ...
//
// A field that config.json lacks is not unknown; the model's class fills it in, and the shapes then
// follow from its default.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/base/words.h"
#include "core/json/json_read.h"
#include "core/model/checkpoint.h"
#include "core/model/metadata.h"
#include "models/class_defaults.h"
#include "models/class_names.h"
#include "models/gguf_tables.h"
#include "models/linear_experts.h"
#include "models/mlx_rules.h"
#include "models/projections.h"
#include "models/resolved.h"
#include "models/row_lists.h"
#include "models/tokenizer_rules.h"
#include "models/towers.h"
#include "models/traits.h"

namespace ckpt {

// A model family as data: the names and shapes of its parameters, what they are called in GGUF and
// which values change on the way, and which fields of config.json become keys.
//
//   model.layers.3.self_attn.q_proj.weight
//   └────────── stem, {} = 3 ─────────┘└──┴─ suffix, kept          blk.3.attn_q.weight
//
// Source of names in GGUF: llama.cpp conversion/{base,qwen,llama}.py,
// gguf-py/gguf/tensor_mapping.py. Rows name stems, so ".weight" and ".bias" both match a row and
// keep their suffix; a row that ends in one of these itself, or whose target does, is exact.

enum class ModelPart : uint8_t { kText, kVision, kMtp };

// A parameter as transformers names it; one a layer where the name starts with a dot, and there one
// an expert where it has {}: ".mlp.experts.{}.up_proj.weight". "per:FIELD" among the words: as many
// as the field says.
//   shape   dimensions between spaces: fields of the configuration and numbers, with + * / between
//           them, from left to right, + last: "2*linear_num_key_heads*linear_key_head_dim"; a.b is
//           field b within the object a
//   when    words that must all hold, or the model does not have the parameter:
//             full_attention, conv, ...   the type of the layer
//             sparse, dense               whether the layer's MLP has experts
//             separate, stacked           how the files store experts
//             head, classifier            the class has a head; the class classifies texts
//             nextn                       a layer behind the last, for multi-token prediction
//             encoder, decoder            the stack that the layer belongs to
//             in:, at:, below:, from:     the layer is one of those of a field (models/expected.cc)
//             any other word              a field that is true
//           and "optional": files may lack the parameter
struct ParameterRule {
  std::string_view name;
  std::string_view shape;
  ServerCut cut = ServerCut::kWhole;
  std::string_view when = {};
};

// How the values of a tensor change, in addition to its name. r = value heads a key head.
enum class Change : uint8_t {
  kNone,
  kAddOne,            // norms whose weights are stored minus one
  kRopeQuery,         // rows of each head from halves to pairs; heads = num_attention_heads
  kRopeKey,           // the same; heads = num_key_value_heads
  kUnpairQuery,       // the rotated rows of each head from pairs to halves, for M-RoPE
  kUnpairKey,         // the same; heads = num_key_value_heads
  kValueRows,         // value heads from grouped to tiled; a head is linear_value_head_dim rows
  kValueRowsAfterQk,  // the same, behind the rows of query and key
  kValueSingles,      // the same; a head is one row, or one value of a 1-D tensor
  kValueColumns,      // the same; a head is linear_value_head_dim columns
  kDecay,             // kValueSingles, then -exp(x)
  kConvolution,       // axes of length 1 dropped, then kValueRowsAfterQk
  kExpert,            // one expert of many: {} twice, layer and expert; stacked when all were seen
  kFilledTokenRows,   // rows of zeros behind, up to as many as config.json has tokens
  kStacked,           // one of NameRule::parts tensors, numbered by the last {}; they are stacked
  kFirst,             // several names hold copies of one tensor; the first that comes is written
  kWholeNumbers,      // I64 numbers become I32; written before all other tensors
  kProduct,           // two vectors with one target, which gets their product
  kRowParts,          // rows are cut into several tensors, by FamilySizes::row_parts
  kShards,            // the same, but their rows are joined
  kTokenRows,         // as many rows as config.json has tokens, where there are more
  kExpertsGateUp,     // {experts, gate and up, hidden}: two tensors, `to` and `second`
  kNegExp,            // -exp(x)
  kColumn,            // {n} as {n, 1}
  kDecayColumn,       // -exp(x), as {n, 1}
  kExpColumn,         // exp(x), as {n, 1}
  kByMixer,           // `to` in recurrent layers, `second` in those with attention
  kNormGroups,        // {n} as {n_groups, n / n_groups}, by Family::norm_groups
  kSqueeze,           // axes of length 1 dropped
  kConvolutionRows,   // {n, 1, k} as {1, n, 1, k}
  kKeyValue,          // MLA's kv_b_proj: `to` gets each head's keys transposed, `second` its values
  kSwap,              // the last two axes swapped
  kSwapHalves,        // the same, then the first half of the rows; the second half in `second`
  kSwapPairs,         // the same with even and odd rows
  kPairs,             // even and odd values of each row
  kAnswerRows,        // the rows of the tokens "yes" and "no"
  kAnswersAndAll,     // the same; in `second`, all rows
  kPositions,         // rows behind that of pad_token_id, the padding token
  kQkvOfHeads,        // rows of each head are q k v: all q, all k, all v
  kQkvOfGroups,       // rows of each head of keys are its q, k, v: all q and k in pairs, all v
  kQkvz,              // rows of each key head are q k v z: `to` gets all q, k, v; `second` all z
};

// How a tensor is stored: F32 whatever the outtype, or by the common rules.
enum class Store : uint8_t { kByRules, kF32 };

struct NameRule {
  std::string_view from;  // "model.layers.{}.self_attn.q_proj"
  std::string_view to;    // "blk.{}.attn_q"; empty: the tensor is left out
  Change change = Change::kNone;
  Store store = Store::kByRules;
  std::string_view second = {};  // where a change gives several tensors: words, the others
  // Fields of config.json that all values are multiplied by, "field/0" for an entry of a list; a
  // list has one number for each part of the rows (FamilySizes::row_parts). Absent: 1.
  std::string_view factors = {};
  std::string_view from_layer = {};  // a field: its number of first layers do not write the tensor
  std::string_view parts = {};       // how many tensors become one, made of fields as in a shape
};

// Where the value of a key comes from.
enum class KeySource : uint8_t {
  kField,         // the first of `fields` that is present; nothing when that is null
  kBlockCount,    // layers, with those for multi-token prediction
  kCausal,        // only when is_causal is false
  kRopeScaling,   // a run of keys: type, factor, original context, yarn's numbers
  kRopeSections,  // mrope_section filled up with zeros to four
  kRopeBase,
  kRopeBaseSliding,
  kGatingFunction,  // softmax 1, sigmoid 2, sqrtsoftplus 4
  kFileType,
  kNextnLayers,         // layers for multi-token prediction, when there are any
  kRecurrentLayers,     // one flag a block: layer_types says linear_attention
  kAttentionInterval,   // full_attention_interval, 4 when absent, not when null
  kPartialRotary,       // head size x partial_rotary_factor; when absent, the number in `fields`
  kRotary,              // head size
  kNumber,              // `fields` as in a shape: "hidden_size/num_attention_heads"
  kNumberUnlessZero,    // the same; nothing where it is 0
  kRopeNeeded,          // of the rope parameters; must be there
  kRopeTenth,           // a tenth of a field of the rope parameters, where it is there
  kConstant,            // `fields`: true or false, a number, or a text, by the type of the key
  kMlpWidths,           // one width a layer: `fields` where it has an MLP alone, else 0
  kExpertWidths,        // the same for layers that consist of experts
  kFieldIfTrue,         // only when the field is true
  // One flag a layer: whether the list `fields` says "full". Without the list there is no key, or
  // further fields give the flags, as in "LIST LETTERS STEP START": LETTERS is a text in which F
  // stands for full; without it, the layers up to START and each STEP-th behind it are full.
  kFullLayers,
  kNoWindow,            // 0 when all layers of layer_types have full attention
  kNextnSaid,           // num_nextn_predict_layers, be it 0; nothing when they are dropped
  kAttentionHeads,      // one count a layer: `fields` where it has attention, else 0
  kDefaultSections,     // 11 11 10 0, when mrope_section is absent
  kPooling,             // of a sentence-transformers model
  kFieldOrZero,         // 0 where it is absent or null
  kFieldUnlessZero,     // nothing where it is 0
  kRopeField,           // of rope_parameters or rope_scaling
  kPartialHidden,       // hidden_size x partial_rotary_factor (1 when absent) / attention heads
  kLongRopeAttention,   // the factor that goes with the tensors of has_long_rope
  kSlidingPattern,      // one flag a layer: layer_types says sliding_attention
  kSlidingLayers,       // the same where `fields` is there; without layer_types by a pattern
  kFullHead,            // size of a head where attention is full: global_head_dim, per_layer_config
  kFullOrSlidingHeads,  // key/value heads of each layer, when those of full attention are others
  kWideFeedForward,     // sizes by layer, when layers that share keys and values have twice as many
  kCountsOfKinds,       // "FULL SLIDING": one of two counts for each block, by its attention
  kCountsOfLayers,      // "LIST ONE": a count for each layer, or one for all
  kLimits,              // a real number for each block; nothing where one for all is 0
  kQuantiles,           // of the normal distribution, for each number of a list
  kLeadingDense,        // layers before the first with experts
  kRotaryOfKind,        // head size x partial_rotary_factor (1 when absent) of this kind
  kSlidingRotary,       // head_dim x partial_rotary_factor next to the kinds of attention, 1
  kDeepstack,           // entries of this list of vision_config; 3 when it does not say
  kSharedWidth,         // intermediate_size / key-value heads, when the field is not 0
  kRotaryPart,          // a field, which must be there, x hidden_size / attention heads
  kRatio,               // a field / another, a real number
  kByRootOfLayers,      // a field / the square root of num_hidden_layers
  kAlphaRope,           // several keys: dynamic RoPE with an alpha, usually `fields`, as a base
  kXdRope,              // several keys: the same with sections, which llama.cpp computes with
  kUnlessOne,           // takes the key away where it is 1
  kDeepstackMapping,    // for each block, which output of projectors is added before it; -1: none
  kLayerScalars,        // one number a layer: the value of the tensor `fields`; {} is the layer
  kSlidingWindow,       // sliding_window, unless sliding_window_pattern is 1
  kPositionCount,       // a field, less the rows that kPositions drops
  kDense,               // widths of dense layers behind pooling, two keys each
  kWholeList,           // a list of whole numbers
  kChatTemplate,        // TokenizerRules::chat, where the folder has none
  kLessOne,             // a list of numbers, each less one
  kLast,                // a field's number, or the last number of its list
  kTensorNumbers,       // the whole numbers in the first tensor that is called `fields`
  kWords,               // the words of `fields`
  kLabels,              // of a classifier, from id2label; nothing for two without names
};

// Holds `name` against `pattern`, in which each {} stands for digits: those go to `numbers`.
bool matches_pattern(std::string_view pattern, std::string_view name,
                     std::vector<std::string>& numbers);
// Returns `pattern` with each {} replaced by the next of `numbers`.
std::string fill_in(std::string_view pattern, const std::vector<std::string>& numbers);
// Returns the names in GGUF of a module like "model.layers.3.mlp.down_proj", two if it is split.
// The first family that has a module of this name within a layer decides, else the first that has a
// module with the same last word. Empty if no family has one.
std::vector<std::string> gguf_names_of(std::string_view module);

struct KeyRule {
  std::string_view key;  // without "<architecture>.", unless it starts with "general."
  MetaType type;
  std::string_view fields;  // of config.json, separated by spaces
  KeySource source = KeySource::kField;
  std::string_view model_type = {};  // only for configurations of this type
};

// Layers that config.json's num_nextn_predict_layers counts behind the last.
enum class NextnLayers : uint8_t { kUnknown, kKept, kLeftOut };

struct Family;

// A field of config.json that llama.cpp's graph of a family takes for granted: no key of a GGUF
// holds it, and a folder made from one gets it. `value` is JSON.
struct GraphConstant {
  std::string_view field, value;
  bool overridable = false;  // a key may say it, and then does
};
using GraphConstants = StaticVector<GraphConstant, 5>;
// The activation of the feed-forward part, which llama.cpp's graph fixes; no key of a GGUF has it.
//   fields   of config.json, which declare it, between spaces; transformers reads the first. Empty:
//            the class reads none
struct Activation {
  std::string_view name, fields = {};
  bool written_to_config = false;  // a folder made from a GGUF gets the last of `fields`
};
// Such a folder's configuration, while it is made: `config` has what the keys say, `rope` its
// rope_parameters.
struct GraphConfig {
  uint64_t layers = 0;
  JsonValue& config;
  JsonValue& rope;
};

// Chooses another family, or none, by config.json.
struct FamilyVariant {
  bool (*applies)(const JsonValue& config);
  const Family* family;  // nullptr: it is refused, as what
  std::string_view refused_as = {};
};

// Rotary positions: those of the class, and which of them a GGUF holds.
struct FamilyRope {
  // JSON: the class's rope_parameters where config.json has neither them nor rope_scaling. A null
  // counts as absent in transformers 5; 4.57, which the converter asks for, keeps it.
  std::string_view by_default = {};
  bool keeps_null = false;        // a class that 4.57 has
  bool has_factors = false;       // llama3 scaling becomes a tensor
  bool is_proportional = false;   // the part of a head that is not turned is divided by 1e30
  bool is_long = false;           // long_factor and short_factor become tensors
  std::string_view refused = {};  // rotary scaling that the file has no place for
};

// The keys of a GGUF that stand around Family::keys.
struct KeysAround {
  std::span<const KeyRule> early = {};  // right behind general.architecture
  bool has_common = true;               // kCommonKeys stand before `keys`
  std::span<const KeyRule> more = {};   // after `keys`, where a family adds to another's
  // The class's own spellings of fields, where a row of keys lists several.
  std::string_view own_spellings = {};
};

// Other tables by which models of the family are read, where one of these applies.
struct FamilyForms {
  std::span<const FamilyVariant> variants = {};  // the first that applies
  const Family* reranker = nullptr;              // where the model is one by its name
  // How converters of earlier years wrote this class. A file is read by it if the file has its
  // architecture or, where that is the same, the tensor that the first row of its `names` gives.
  const Family* earlier = nullptr;
  const Family* turned = nullptr;  // where stacked experts lie [expert, out, in]
  std::string_view unread = {};    // fields that its models may have, and nothing is read from
};

// Sizes that the common rows do not tell.
struct FamilySizes {
  std::string_view norm_groups = {};  // field that counts the groups of kNormGroups
  // Sizes of the parts that have factors of their own, or become tensors (kRowParts).
  std::string_view row_parts = {};
  // The fields that hold the size of a head, and the number of key heads, of layers with full
  // attention, in families where layers with windows have other ones.
  std::string_view full_head = {}, full_key_heads = {};
  bool ignores_head_dim = false;      // no sizes of heads among the common keys
  uint64_t vocabulary_multiple = 1;   // tokens are filled up to a multiple of it
};

// Layers for multi-token prediction.
struct FamilyDrafts {
  bool are_outside = false;      // mtp.* may exist outside the model; they become layers
  bool are_behind = false;       // num_nextn_predict_layers may stand behind the last layer
  std::string_view layers = {};  // in front of the number of one
  NextnLayers nextn = NextnLayers::kUnknown;
};

// A second stack of layers, which reads what the first one gives.
struct FamilyDecoder {
  std::string_view layers = {};  // in front of the number of one; empty: there is no such stack
  std::string_view count = {};   // the field that counts them
};

struct FamilyHead {
  bool is_dropped_if_tied = false;  // left out where config.json ties it
  bool is_in_gguf = true;           // false: llama.cpp takes the embeddings, and reads no head
};

// Parts of names in GGUF, between spaces, of tensors that llama-quantize treats otherwise in this
// architecture: those that it copies, and those that get no type below Q8_0.
struct FamilyMixtures {
  std::string_view copied = {}, at_least_q8_0 = {};
};

// Fields that llama.cpp's graph of the family takes for granted, because no key holds them.
struct FamilyGraph {
  GraphConstants constants = {};
  void (*add_fields)(const GraphConfig& made) = nullptr;  // that follow from other fields
  // Fields that a file of the family lacks, set as in released models; empty where nothing is.
  std::string_view absent_fields = {};
};

// Which layers attend to a window, if config.json has no layer_types.
struct FamilyWindows {
  // Each layer with a number that `period` divides has full attention, and the others have windows.
  // 1: all have full attention, unless use_sliding_window is true. 0: none.
  uint64_t period = 0;
  bool end_in_full = false;  // the last layer has full attention, too
};

struct Family {
  std::string_view name = {};           // general.architecture
  std::string_view architectures = {};  // of config.json, separated by spaces
  std::string_view headless = {};       // the same classes without a head: known, not converted
  // The text part's, then the wrapper's. Of several families with one type the first has it, and
  // the others are known by their classes.
  std::string_view model_types = {};
  Activation activation = {"silu", "hidden_act"};  // that of most
  FamilyTraits traits = {};
  // The first row that matches a name is used, so a family's own rows stand before the common ones.
  RowLists<NameRule> names = {};
  std::span<const KeyRule> keys = {};  // after the common ones
  KeysAround keys_around = {};
  std::span<const ClassDefault> defaults = {};
  FamilyRope rope = {};
  RowLists<ParameterRule> parameters = {};  // of the text part
  bool is_partial = false;  // shapes of some parameters are compared, nothing is missed
  // Names of tensors: `root` is in front of those of the model's body, and `layers` behind it, in
  // front of a layer's number. Files may have `prefixes`, between spaces, in front of all that;
  // tables omit them. has_bare_names: files may omit `root`.
  std::string_view root = "model.", layers = "layers.", prefixes = {};
  bool has_bare_names = false;
  FamilyDecoder decoder = {};
  FamilyForms forms = {};
  FamilySizes sizes = {};
  FamilyDrafts drafts = {};
  FamilyHead head = {};
  TokenizerRules tokenizer = {};
  std::string_view left_out_start = {};  // of names that llama.cpp's converter has no use for
  FamilyGraph graph = {};
  FamilyWindows windows = {};
  FamilyMixtures mixtures = {};

  std::string_view text_type() const { return model_types.substr(0, model_types.find(' ')); }
};

extern const std::span<const KeyRule> kCommonKeys;  // before those of a family

std::span<const Family* const> families();

// The first variant that applies to the configuration; nullptr: none does.
const FamilyVariant* variant_of(const Family& family, const JsonValue& config);

// nullptr where no whole table has it.
const Family* table_of_architecture(std::string_view architecture);
const Family* table_of_model_type(std::string_view model_type);
// The family of the type, or of its longest beginning that is a type and ends before a "_": Cohere
// 2's for cohere2_vision. nullptr: none.
const Family* family_by_prefix(std::string_view model_type);

// The name of a tensor of `family` as its tables spell it. Norms that TensorFlow named gamma and
// beta are weight and bias.
std::string own_name(const Family& family, std::string_view name);

// The labels of a classifier by their numbers: id2label of config.json, else LABEL_0 and so on.
// Fails: kCorrupt: id2label is not an object of numbers and texts; kUnsupported: too many.
Result<std::vector<std::string>> class_labels(const JsonValue& config);
Result<uint64_t> count_labels(const Fields& fields);
// Whether they are the two that transformers makes up where nobody names any.
bool has_unnamed_labels(const JsonValue& config);

// The rest of each word that starts with `start`.
std::vector<std::string_view> words_after(std::string_view words, std::string_view start);

// Facts of a checkpoint that decide which parameters are expected, and under which names.
struct ModelForm {
  std::string root = "model.";  // what "model." of the text part's names is here
  bool has_head = true;         // of a class that computes logits
  bool is_classifier = false;
  // Names of layers ("model.layers.7") whose experts are stacked, and of those that list them.
  std::set<std::string, std::less<>> stacked, listed;
  bool has_mtp = false;
  uint64_t held = 0;  // tensors that are there, each expert of a stack as one

  void note_experts(std::string_view name);  // of a tensor, as tables spell it
  // A layer without experts is as the others are.
  bool is_stacked(std::string_view layer) const {
    return stacked.contains(layer) || (!stacked.empty() && !listed.contains(layer));
  }
};
uint64_t held_by(const Tensor& tensor);
ModelForm form_of(const std::vector<Tensor>& tensors);  // all else as it is above

struct Parameter {
  std::string name;
  std::vector<uint64_t> shape;  // of the values, whatever they are stored as; empty: unknown
  ServerCut cut = ServerCut::kWhole;
  ModelPart part = ModelPart::kText;
  bool is_required = true;   // false: the head of a model that ties it to the embedding
  bool is_of_field = false;  // a bias that the model has because a field is true
};

// More layers, or experts of all layers, than any model has.
inline constexpr uint64_t kMaxModelLayers = 10'000;
inline constexpr uint64_t kMaxModelParameters = 4'000'000;
// A few bytes of config.json can ask for any number of parameters: those of a model of which few
// tensors are there have another bound, four times what is held and these.
inline constexpr uint64_t kMaxParametersBeyond = 100'000;

// Lists all parameters of a model by the table `rules`. `defaults` is the table of the
// configuration's class; the two differ if architectures and model_type disagree. `text` is the
// configuration of the text part.
// Fails: kCorrupt: a field is not an integer; kUnsupported: a number exceeds a limit above.
struct ModelConfigs {
  const Family& rules;
  const Family& defaults;
  const JsonValue& text;
};
Result<std::vector<Parameter>> expected_parameters(const ModelConfigs& configs,
                                                   const ModelForm& form);

// `hidden` is the text part's hidden_size, `root` config.json. Fails as expected_parameters() does.
Result<std::vector<Parameter>> expected_tower(const TowerTable& tower, const JsonValue& root,
                                              uint64_t hidden);

// The number that tokenizer.json's list of added tokens gives to the text that
// tokenizer_config.json has under `key` ("eos_token"); nullopt where one of them says nothing.
std::optional<uint64_t> added_token_id(const JsonValue& tokenizer_config,
                                       const JsonValue& tokenizer, std::string_view key);
// The number that tokenizer.json's list of added tokens gives to `text`; nullopt if it is not
// there.
std::optional<uint64_t> id_of_added(const JsonValue& tokenizer, std::string_view text);

// Whether the class takes the embedding for its head where config.json does not say.
bool ties_head_by_default(const Family& table);

// tie_word_embeddings of a configuration: what it says itself, what its text_config says, and what
// their classes do without either.
struct HeadTies {
  std::optional<bool> outer, inner;
  bool by_class = false, by_text_class = false;
  bool of_wrapper() const { return outer.value_or(by_class); }
  bool of_text() const { return inner.value_or(outer.value_or(by_text_class)); }
  bool is_anywhere() const {
    return outer || inner ? outer.value_or(false) || inner.value_or(false) : by_text_class;
  }
};
HeadTies head_ties(const JsonValue& config);

// The layers of the text part `config`. Without the number there is one for each entry of
// layers_block_type, which is all that transformers 5 saves of Nemotron-H.
std::optional<uint64_t> layer_count(const JsonValue& config);

// A number made of fields, as in a shape: "kv_lora_rank+qk_rope_head_dim". Fails: kCorrupt: a field
// that neither config.json nor its class has, or no whole number; kUnsupported beyond 64 bits.
Result<uint64_t> number_of_fields(const Family& table, const JsonValue& config,
                                  std::string_view text);
// Returns the numbers that several such texts give, with spaces between them in `text`.
Result<std::vector<uint64_t>> numbers_of_fields(const Family& table, const JsonValue& config,
                                                std::string_view text);

// Fields that count layers for multi-token prediction, behind the last layer or outside the model.
inline constexpr const char* kNextnCountField = "num_nextn_predict_layers";
inline constexpr const char* kMtpCountField = "mtp_num_hidden_layers";

// Names that classes have for the number of routed experts of a layer, with a space between two.
inline constexpr std::string_view kExpertCounts =
    "num_local_experts num_experts n_routed_experts moe_num_experts";

// ---- keys of GGUF ----------------------------------------------------------------------------

// A key that llama.cpp reads, or only converters write: the letter of its kind (gguf_keys.cc), and
// the type of a single value.
struct GgufKey {
  char kind;
  MetaType type;
  bool is_read = true;  // another type is an error in llama.cpp
};
// nullopt: no program has it. `architecture` as in general.architecture.
std::optional<GgufKey> find_gguf_key(std::string_view architecture, std::string_view key);
// The value that llama.cpp uses if `file` lacks the key, or that follows from its tensors; nullopt
// if no value is known or llama.cpp rejects the file.
std::optional<MetaValue> absent_gguf_value(const Checkpoint& file, std::string_view key);
// Whether a file may lack the key because llama.cpp computes nothing with its value.
bool computes_without(std::string_view architecture, std::string_view key);
// The key that was probably meant where find_gguf_key knows none. Certain: `key` lacks only the
// architecture's name in front.
struct KeySuggestion {
  std::string key;
  bool is_certain;
};
std::optional<KeySuggestion> suggest_gguf_key(std::string_view architecture, std::string_view key);
// "name:kind" of those without an architecture's name in front, between spaces.
std::string_view gguf_keys_of_file();

// ---- fields that transformers 5 saves under names, or in a form, that 4.57 does not read --------
//
// Sources: transformers 4.57.6 and 5.17.0 src/transformers/models/{qwen3_moe,qwen3_vl_moe,gemma3,
// gemma3n,olmo3}/configuration_*.py (attribute_map, convert_rope_params_to_dict).

// model_types, between spaces, whose class of 4.57 reads num_experts and has no second name for it;
// 5 saves num_local_experts.
inline constexpr std::string_view kReadNumExperts =
    " qwen2_moe qwen3_moe qwen3_next qwen3_vl_moe_text qwen3_omni_moe_text ";

// model_types whose rope_parameters 5 saves by type of layer. 4.57 reads rope_theta and
// rope_scaling of full attention, and the base of sliding attention from `local_base`; where that
// is empty both kinds have one base.
struct RopeByLayerType {
  std::string_view model_type, local_base;
};
inline constexpr RopeByLayerType kRopeByLayerType[] = {
    {"gemma3_text", "rope_local_base_freq"},
    {"gemma3n_text", "rope_local_base_freq"},
    {"olmo3", ""},
};

// The rotary dictionary of a configuration as transformers 4.57 and 5 read it: rope_scaling goes
// before rope_parameters; where those are by type of layer it is merged into full_attention. An
// object, empty where there is neither.
JsonValue rope_of_level(const JsonValue& level);

// A field about which rope_scaling and rope_parameters of one configuration disagree. A number
// that is only in rope_parameters counts too, unless the class (`table`, or null) has it anyway.
struct RopeConflict {
  std::string field;
  JsonValue scaling, parameters;  // what is computed with, null: nothing; what is not
  bool is_lost = false;           // rope_scaling does not say the field
};
std::optional<RopeConflict> rope_conflict(const JsonValue& level, const Family* table);

// Fields of released configurations that classes of SGLang and vLLM ask for and transformers 5 does
// not save. model_types between spaces.
struct UnsavedField {
  std::string_view name;
  std::string_view value;  // JSON: what transformers' class does
  std::string_view model_types;
  bool is_optional_in_vllm = false;  // its classes do the same without it
};
inline constexpr UnsavedField kUnsavedFields[] = {
    {"moe_layer_freq", "1", " deepseek_v2 deepseek_v3 glm_moe_dsa ", true},
    {"topk_method", "\"noaux_tc\"", " deepseek_v3 glm_moe_dsa "},
};

// Models whose first dense layers servers count by first_k_dense_replace, and transformers 5 lists
// in mlp_layer_types.
struct DenseLayersByCount {
  std::string_view model_type;
  uint64_t listed_by_class;                  // dense layers where config.json lists none
  std::optional<uint64_t> counted_by_class;  // first_k_dense_replace where it is absent
};
inline constexpr DenseLayersByCount kDenseLayersByCount[] = {
    {"glm_moe_dsa", 3, 3},
    {"glm4_moe_lite", 1, std::nullopt},
};

// Programs in Ollama that take the place of the chat template, for the architectures of GGUF that
// have one; empty for the others.
struct OllamaFamily {
  std::string_view architecture, renderer, parser;
};
OllamaFamily ollama_family(std::string_view architecture);

}  // namespace ckpt

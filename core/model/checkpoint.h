// A checkpoint is a value: ordered tensors, documents (config.json, tokenizer files), metadata.
//
// It contains descriptions, not tensor bytes. A tensor describes the origin of its bytes as data:
// slices of existing sources (Stored), or "decode that tensor, apply these operations, encode with
// this codec" (Recoded). Because it is data, a plan can be printed, compared and stored.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/result.h"
#include "core/io/bytes.h"
#include "core/model/codec.h"
#include "core/model/metadata.h"

namespace ckpt {

class JsonText;
struct TokenLists;

inline constexpr std::string_view kTokenizerJson = "tokenizer.json";

// A small file that accompanies the tensors, entirely in memory. It is a value: copies share the
// text and its JSON, which is parsed once. The text never changes; Checkpoint::set_document
// replaces the document.
class Document {
 public:
  // For a duplicate key in an object: whether the JSON is rejected, or the last value counts, as in
  // most programs.
  enum class Keys : uint8_t { kSetOnce, kLastCounts };
  Document(std::string its_path, std::string text, Keys keys = Keys::kSetOnce);

  std::string path;  // relative to the checkpoint's folder

  const std::string& text() const;
  // Return the text as JSON, as values or in editable form. The first call for any copy parses it.
  // Each call fails with kCorrupt, naming the path, if the text is not JSON, is nested deeper than
  // kMaxJsonDepth, or has a duplicate key.
  Result<std::shared_ptr<const nlohmann::json>> values() const;
  Result<std::shared_ptr<const JsonText>> tree() const;
  // The vocabulary and merges of tokenizer.json, which values() omits. Fails: as values().
  Result<std::shared_ptr<const TokenLists>> token_lists() const;

 private:
  struct Content;
  std::shared_ptr<Content> content_;
};

// Limits on what a file may declare (docs/LIMITS.md).
inline constexpr uint64_t kMaxTensors = 4'000'000;
inline constexpr uint64_t kMaxDimensions = 16;
inline constexpr uint64_t kMaxTensorBytes = uint64_t{1} << 62;

// ---- operations on decoded values, applied in order before encoding -------------------------
struct AddScalar {
  float value;
};
struct SignedExp {
  float sign = -1;
};  // x -> sign * exp(x), rounded once
struct SignedLog {
  float sign = -1;
};  // x -> log(sign * x), rounded once: the inverse of SignedExp
struct RoundTo {
  Dtype dtype;
};  // through kBF16 or kF16 and back
struct ScaleRows {
  std::shared_ptr<const std::vector<float>> factors;
};  // one per row
struct ScaleColumns {
  std::shared_ptr<const std::vector<float>> factors;
};  // one per value of a row
// The new value i of a row is the old value index[i].
struct PermuteColumns {
  std::shared_ptr<const std::vector<uint32_t>> index;
};
using ValueOp =
    std::variant<AddScalar, SignedExp, SignedLog, RoundTo, ScaleRows, ScaleColumns, PermuteColumns>;

struct Tensor;

// Existing bytes: for each part of the codec, consecutive slices.
struct Stored {
  std::vector<std::vector<Slice>> parts;
  // The shape of each part as it was read, if axes of length 1 make it differ from the part rules;
  // empty if it follows the rules. It belongs to these bytes, so code that makes new slices omits
  // it.
  std::vector<std::vector<uint64_t>> part_shapes = {};
};

// The importance of each column, for each matrix of a tensor (an expert is a matrix).
// weights.size() = matrices x row_values.
struct ColumnWeights {
  std::vector<float> weights;
};

// Decode `from`, apply `ops`, encode with the tensor's codec; or move its bits, if `repack` is set.
struct Recoded {
  std::shared_ptr<const Tensor> from;  // always Stored
  std::vector<ValueOp> ops;
  std::vector<std::shared_ptr<const Tensor>> peers;  // share tensor-wide statistics with it
  std::shared_ptr<const ColumnWeights> weights;      // may be null
  std::optional<Stats> stats = {};                   // known ones; else the engine scans the tensor
                                                     // and its peers, if the codec needs them
  EncodeOptions options = {};
  std::shared_ptr<const Tensor> block_amax = nullptr;  // one plain float per block of the
                                                       // codec, Stored; may be null
  const Repack* repack = nullptr;  // set: no floats; ops are PermuteColumns of whole blocks
  std::shared_ptr<const Tensor> moments = nullptr;  // second moments of the inputs of the
      // columns (core/chunks/error_feedback.h)
  uint64_t exact_blocks = 0;  // blocks of `from` that keep their values, if `repack` is not set
  // For values that were rounded before: the relative squared error, from a sample.
  std::optional<double> second_error = {};
};

// Whether an element is one plain floating-point number of 16 bits or more.
constexpr bool is_float(Dtype dtype) {
  return dtype == Dtype::kF64 || dtype == Dtype::kF32 || dtype == Dtype::kF16 ||
         dtype == Dtype::kBF16;
}

struct Tensor {
  std::string name;
  std::vector<uint64_t> shape;  // logical, outermost first; the last axis is a row; {} is one value
  const Codec* codec = nullptr;
  std::variant<Stored, Recoded> origin;
  std::string home;         // file it was read from, relative to the checkpoint; may be empty
  std::string source_name;  // name in the input checkpoint (a stack of experts: its first
                            // expert's); empty = same as name. Renaming transforms set it.

  const std::string& original_name() const { return source_name.empty() ? name : source_name; }
  uint64_t row_values() const { return shape.empty() ? 1 : shape.back(); }
  uint64_t rows() const;  // product of all axes except the last; 1 for rank 0 and 1
  uint64_t values() const { return rows() * row_values(); }
  bool has_scales() const { return codec->parts.size() > 1; }  // codes with separate scales
  bool is_plain_float() const { return !has_scales() && is_float(codec->parts[0].dtype); }
  bool is_stored() const { return std::holds_alternative<Stored>(origin); }
  const Stored& stored() const { return std::get<Stored>(origin); }
  const Recoded& recoded() const { return std::get<Recoded>(origin); }
  // The tensor itself, or the tensor that it is decoded from.
  const Tensor& stored_tensor() const { return is_stored() ? *this : *recoded().from; }
  std::span<const ValueOp> ops() const;  // none if Stored
};

// The size of part `part`, or of all parts.
uint64_t part_size_bytes(const Tensor& tensor, size_t part);
uint64_t size_bytes(const Tensor& tensor);

// Fails if `shape` cannot be stored with `codec`: a product overflows, a row is not a multiple of
// the block size, or there are too many dimensions. Must succeed before the functions below are
// called.
Status check_shape(const std::vector<uint64_t>& shape, const Codec& codec);

// Only the functions below edit slices. All of them split every part in the same way. Require: the
// tensor is Stored. Fail: kUnsupported if a cut splits a band of the codec, or a part belongs to
// the entire tensor.
//
// merged() joins slices that are adjacent in one source.
std::vector<Slice> merged(std::vector<Slice> slices);
// Returns rows [first, first + count) as a tensor of shape {count, row_values}.
Result<Tensor> take_rows(const Tensor& tensor, uint64_t first, uint64_t count);
// Returns the rows of all tensors in order, with shape {sum of rows, row_values}. Codecs and row
// lengths must be equal.
Result<Tensor> concatenate_rows(const std::vector<Tensor>& tensors);
// A run of source rows.
struct RowRun {
  uint64_t first, count;
};
// Returns one tensor of shape {number of tensors, their shape}. Fails: kCorrupt, naming the first
// tensor whose shape differs from the first; as concatenate_rows.
Result<Tensor> stack(const std::vector<Tensor>& tensors);
// Returns rows in the order of `runs`. The shape is kept if the number of rows stays.
Result<Tensor> reorder_rows(const Tensor& tensor, const std::vector<RowRun>& runs);
// Changes axes without changing values. Requires: the number of values and row cuts stay valid.
Result<Tensor> reshape(Tensor tensor, std::vector<uint64_t> shape);

// Returns `tensor`, to be stored with `codec`. `from` is always Stored: for a Recoded tensor only
// the target codec changes and its operations stay (values are not rounded to the codec in between;
// add RoundTo for that). Fails: kUnsupported if the source cannot be decoded, the target cannot be
// encoded, or the codes of the source do not exist yet; check_shape's errors.
Result<Tensor> recode(Tensor tensor, const Codec& codec);
// Turns a Stored tensor into a Recoded one with the same codec and itself as source.
Recoded& recode_itself(Tensor& tensor);
// Adds an operation; a Stored tensor becomes Recoded with its own codec.
Result<Tensor> with_op(Tensor tensor, ValueOp op);

// Makes each of the Recoded tensors a peer of the others.
void share_statistics(const std::vector<Tensor*>& tensors);

// Returns one part of a Stored tensor as a separate tensor: "X_scale" of "X".
Tensor part_as_tensor(const Tensor& tensor, size_t part, Codecs codecs);

// Returns a tensor whose bytes are made while planning.
Tensor make_tensor(std::string name, std::vector<uint64_t> shape, const Codec& codec,
                   std::vector<std::byte> bytes);

// Does the same with 32-bit floats.
Tensor make_f32_tensor(std::string name, std::vector<uint64_t> shape,
                       const std::vector<float>& values, Codecs codecs);

// ---- the checkpoint ---------------------------------------------------------------------------
// Returns the decoded values of a small Stored tensor: scales and maxima that a plan depends on.
// Fails: kUnsupported above `limit_values` or for a codec that cannot be decoded; kIo.
Result<std::vector<float>> read_values(const Tensor& tensor, uint64_t limit_values);
// Does the same for I32 and I64, which hold shapes and indexes; nullopt for other types.
Result<std::optional<std::vector<int64_t>>> read_integers(const Tensor& tensor,
                                                          uint64_t limit_values);
// Returns the bytes of a small Stored tensor with one part: a text in a tensor. Fails: kUnsupported
// above `limit_bytes`; kIo.
Result<std::string> read_bytes(const Tensor& tensor, uint64_t limit_bytes);

struct Checkpoint {
  std::string format;                             // the Format that read it or that it is for
  std::string name;                               // the name of its folder or of its file
  std::vector<Tensor> tensors;                    // in file order
  Metadata metadata;                              // GGUF's key/value pairs
  std::map<std::string, Metadata> file_metadata;  // safetensors' __metadata__, by file
  std::vector<Document> documents;
  // Names of Python files in its folder, which ckpt neither reads nor copies; nullopt if unknown.
  std::optional<std::vector<std::string>> code_files;
  // Files that some programs read instead of those that were read: "consolidated*.safetensors", and
  // "model.safetensors" next to an index.
  std::vector<std::string> other_weights = {};
  // For a trainer's checkpoint: its layout, and its unread content besides weights.
  std::string layout = {};
  std::vector<std::string> not_read = {};
  // For a file that was read alone: the number of files according to its name.
  unsigned files_by_name = 1;

  const Tensor* find_tensor(std::string_view name) const;  // linear search
  // The first tensor that is stored as codes with separate scales; nullptr if there is none.
  const Tensor* first_with_scales() const;
  bool is_projector() const;  // a GGUF with only vision and audio towers (general.type "mmproj")
  std::string shard_words() const;  // "one of 6 files ...", by its name; empty: all was read
  bool has_head() const;      // false: it uses the embeddings (tied), or has none
  // The embeddings of the text part: those of towers and draft layers have longer names. nullptr:
  // none.
  const Tensor* find_embeddings() const;
  const Document* find_document(std::string_view path) const;
  // Replace the document with that path, or append a new one.
  void set_document(Document document);
  void set_document(std::string path, std::string text);
  bool remove_document(std::string_view path);  // returns whether it existed
};

}  // namespace ckpt

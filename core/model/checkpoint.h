// A checkpoint is a value: ordered tensors, documents (config.json, tokenizer files), metadata.
//
// It holds descriptions, not tensor bytes. A tensor knows where its bytes come from as data: slices
// of sources that exist (Stored), or "decode that tensor, apply these operations, encode with my
// codec" (Recoded). Because it is data, a plan can be printed, compared and kept.
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

// A small file that accompanies the tensors, completely in memory. A value: copies share the text
// and its JSON, which is parsed once. The text never changes; Checkpoint::set_document replaces the
// document.
class Document {
 public:
  // Of a key that an object sets twice: whether the JSON fails, or the last value counts, as in
  // most programs.
  enum class Keys : uint8_t { kSetOnce, kLastCounts };
  Document(std::string its_path, std::string text, Keys keys = Keys::kSetOnce);

  std::string path;  // relative to the checkpoint's folder

  const std::string& text() const;
  // The text as JSON, as values or in editable form. The first call for any copy parses it. Each
  // call fails with kCorrupt, naming the path, if the text is not JSON, is nested deeper than
  // kMaxJsonDepth, or sets a key twice.
  Result<std::shared_ptr<const nlohmann::json>> values() const;
  Result<std::shared_ptr<const JsonText>> tree() const;
  // The vocabulary and merges of tokenizer.json, which values() omits. Fails: as values().
  Result<std::shared_ptr<const TokenLists>> token_lists() const;

 private:
  struct Content;
  std::shared_ptr<Content> content_;
};

// Limits on what a file may claim (docs/LIMITS.md).
inline constexpr uint64_t kMaxTensors = 4'000'000;
inline constexpr uint64_t kMaxDimensions = 16;
inline constexpr uint64_t kMaxTensorBytes = uint64_t{1} << 62;

// ---- operations on decoded values, applied in order before encoding -------------------------
struct AddScalar {
  float value;
};
struct NegExp {};      // x -> -exp(x), rounded once
struct LogNegated {};  // x -> log(-x), rounded once: what NegExp was made of
struct RoundTo {
  Dtype dtype;
};  // through kBF16 or kF16 and back
struct ScaleRows {
  std::shared_ptr<const std::vector<float>> factors;
};  // one a row
struct ScaleColumns {
  std::shared_ptr<const std::vector<float>> factors;
};  // one a value of a row
// New value i of a row is old value index[i].
struct PermuteColumns {
  std::shared_ptr<const std::vector<uint32_t>> index;
};
using ValueOp =
    std::variant<AddScalar, NegExp, LogNegated, RoundTo, ScaleRows, ScaleColumns, PermuteColumns>;

struct Tensor;

// Bytes that exist: for each part of the codec, slices that follow each other.
struct Stored {
  std::vector<std::vector<Slice>> parts;
  // Shape of each part as it was read, if axes of length 1 make it differ from the part rules;
  // empty if it follows the rules. It belongs to these bytes: code that makes new slices omits it.
  std::vector<std::vector<uint64_t>> part_shapes = {};
};

// Importance of each column, for each matrix of a tensor (an expert is a matrix).
// weights.size() = matrices x row_values.
struct ColumnWeights {
  std::vector<float> weights;
};

// Decode `from`, apply `ops`, encode with my codec; or move its bits, where `repack` is set.
struct Recoded {
  std::shared_ptr<const Tensor> from;  // always Stored
  std::vector<ValueOp> ops;
  std::vector<std::shared_ptr<const Tensor>> peers;  // share tensor-wide statistics with these
  std::shared_ptr<const ColumnWeights> weights;      // may be null
  std::optional<Stats> stats = {};                   // known ones; else the engine scans the tensor
                                                     // and its peers where the codec needs them
  EncodeOptions options = {};
  std::shared_ptr<const Tensor> block_amax = nullptr;  // one plain float for each block of the
                                                       // codec, Stored; may be null
  const Repack* repack = nullptr;  // set: no floats; ops are PermuteColumns of whole blocks
  std::shared_ptr<const Tensor> moments = nullptr;  // second moments of what the columns are
      // multiplied with (core/chunks/error_feedback.h)
  uint64_t exact_blocks = 0;  // of `from`: known to keep their values, where `repack` is not set
  // For values that were rounded before: relative squared error, on a sample.
  std::optional<double> second_error = {};
};

// One plain floating-point number an element, of 16 bits or more.
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
  uint64_t rows() const;  // product of all axes but the last; 1 for rank 0 and 1
  uint64_t values() const { return rows() * row_values(); }
  bool has_scales() const { return codec->parts.size() > 1; }  // codes with separate scales
  bool is_plain_float() const { return !has_scales() && is_float(codec->parts[0].dtype); }
  bool is_stored() const { return std::holds_alternative<Stored>(origin); }
  const Stored& stored() const { return std::get<Stored>(origin); }
  const Recoded& recoded() const { return std::get<Recoded>(origin); }
  // Itself, or the tensor that it is decoded from.
  const Tensor& stored_tensor() const { return is_stored() ? *this : *recoded().from; }
  std::span<const ValueOp> ops() const;  // none if it is Stored
};

// Bytes of part `part`, or of all parts.
uint64_t part_size_bytes(const Tensor& tensor, size_t part);
uint64_t size_bytes(const Tensor& tensor);

// Fails if `shape` cannot be stored with `codec`: a product overflows, a row is not a multiple of
// the block size, or there are too many dimensions. Must pass before a call of the functions below.
Status check_shape(const std::vector<uint64_t>& shape, const Codec& codec);

// The functions below are the only editors of slices. All of them cut every part in the same way.
// Require: the tensor is Stored. Fail: kUnsupported if a cut goes through a band of the codec, or a
// part belongs to the entire tensor.
//
// merged: the same slices, those that follow each other in one source joined.
std::vector<Slice> merged(std::vector<Slice> slices);
// Rows [first, first + count) as a tensor of shape {count, row_values}.
Result<Tensor> take_rows(const Tensor& tensor, uint64_t first, uint64_t count);
// The rows of all tensors in order; shape {sum of rows, row_values}. Codecs and row lengths must
// agree.
Result<Tensor> concatenate_rows(const std::vector<Tensor>& tensors);
// A run of source rows.
struct RowRun {
  uint64_t first, count;
};
// One tensor of shape {number of tensors, their shape}. Fails: kCorrupt, naming the first tensor
// whose shape differs from that of the first; as concatenate_rows.
Result<Tensor> stack(const std::vector<Tensor>& tensors);
// Rows in the order of `runs`; shape is kept when the number of rows is.
Result<Tensor> reorder_rows(const Tensor& tensor, const std::vector<RowRun>& runs);
// The same values with other axes. Requires: the number of values and row cuts stay sound.
Result<Tensor> reshape(Tensor tensor, std::vector<uint64_t> shape);

// `tensor`, to be stored with `codec`. `from` is always Stored: for a Recoded tensor only the
// target codec changes and its operations stay (values are not rounded to the codec in between; add
// RoundTo for that). Fails: kUnsupported if the source cannot be decoded, the target cannot be
// encoded, or the codes of the source do not exist yet; check_shape's errors.
Result<Tensor> recode(Tensor tensor, const Codec& codec);
// A Stored tensor becomes Recoded with its own codec, from what it was.
Recoded& recode_itself(Tensor& tensor);
// Adds an operation; a Stored tensor becomes Recoded with its own codec.
Result<Tensor> with_op(Tensor tensor, ValueOp op);

// Makes each of the tensors, which are Recoded, a peer of the others.
void share_statistics(const std::vector<Tensor*>& tensors);

// One part of a Stored tensor, as a tensor of its own: "X_scale" of "X".
Tensor part_as_tensor(const Tensor& tensor, size_t part, Codecs codecs);

// A tensor whose bytes are made while planning.
Tensor make_tensor(std::string name, std::vector<uint64_t> shape, const Codec& codec,
                   std::vector<std::byte> bytes);

// The same with 32-bit floats.
Tensor make_f32_tensor(std::string name, std::vector<uint64_t> shape,
                       const std::vector<float>& values, Codecs codecs);

// ---- the checkpoint ---------------------------------------------------------------------------
// The values of a small Stored tensor, decoded: scales and maxima that a plan depends on. Fails:
// kUnsupported above `limit_values` or for a codec that cannot be decoded; kIo.
Result<std::vector<float>> read_values(const Tensor& tensor, uint64_t limit_values);
// The same for I32 and I64, which hold shapes and indexes; nullopt for other types.
Result<std::optional<std::vector<int64_t>>> read_integers(const Tensor& tensor,
                                                          uint64_t limit_values);
// The bytes of a small Stored tensor of one part: a text in a tensor. Fails: kUnsupported above
// `limit_bytes`; kIo.
Result<std::string> read_bytes(const Tensor& tensor, uint64_t limit_bytes);

struct Checkpoint {
  std::string format;                             // the Format it was read by or is meant for
  std::string name;                               // its folder's name, or its file's without ending
  std::vector<Tensor> tensors;                    // in file order
  Metadata metadata;                              // GGUF's key/value pairs
  std::map<std::string, Metadata> file_metadata;  // safetensors' __metadata__, by file
  std::vector<Document> documents;
  // Names of Python files in its folder, which ckpt neither reads nor copies; nullopt: not known.
  std::optional<std::vector<std::string>> code_files;
  // Files that some programs read instead of those that were: "consolidated*.safetensors", and
  // "model.safetensors" next to an index.
  std::vector<std::string> other_weights = {};
  // Of a trainer's checkpoint: its layout, and what it holds besides weights, which is not read.
  std::string layout = {};
  std::vector<std::string> not_read = {};
  // Of one file that was read alone: of how many its name says that it is one.
  unsigned files_by_name = 1;

  const Tensor* find_tensor(std::string_view name) const;  // linear
  // The first tensor that is stored as codes with separate scales; nullptr if there is none.
  const Tensor* first_with_scales() const;
  bool is_projector() const;  // a GGUF with only vision and audio towers (general.type "mmproj")
  std::string shard_words() const;  // "one of 6 files ...", by its name; empty: all was read
  bool has_head() const;      // else the embeddings, which it is tied to, or none
  const Document* find_document(std::string_view path) const;
  // Both replace the document of that path, or append a new one.
  void set_document(Document document);
  void set_document(std::string path, std::string text);
  bool remove_document(std::string_view path);  // True when it was there.
};

}  // namespace ckpt

// Reads checkpoints of Megatron-core as Hugging Face models: renames tensors (data/megatron.txt),
// splits those that Megatron fuses, such as q, k and v, and joins the parts that ranks hold.
//
//   iter_0000100/.metadata, __0_0.distcp, common.pt          a distributed checkpoint (dcp.h); a
//                                                            tensor of all layers, or one of each
//   iter_0000100/mp_rank_01_002/model_optim_rng.pt           a torch.save for each rank of tensor
//                                                            parallelism (01) and each stage of
//                                                            the pipeline (002)
//
//   linear_qkv [groups (q... k v) d, in]    rows of each group: its heads of q, then k, then v
//   linear_fc1 [gate; up]                   of a rank: [its part of gate; its part of up]
//
// Mistakes to avoid: joining the ranks' linear_fc1 without taking gate and up apart gives another
// model without any error. Each pipeline stage counts its layers from 0. Embeddings have rows of
// padding.
// Source: megatron/core/models/gpt, megatron/core/transformer, megatron/training/checkpointing.py.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "core/base/arithmetic.h"
#include "core/base/find.h"
#include "core/base/lines.h"
#include "core/base/words.h"
#include "core/json/json_read.h"
#include "formats/chunk_grid.h"
#include "formats/dcp.h"
#include "formats/torch.h"

namespace ckpt {

extern const std::string_view kMegatronNames;  // data/megatron.txt

namespace {

using Node = Pickle::Node;
using Kind = Pickle::Kind;

constexpr std::string_view kRankFolders[] = {"mp_rank_[0-9][0-9]",
                                             "mp_rank_[0-9][0-9]_[0-9][0-9][0-9]"};
constexpr std::string_view kRankFile = "model_optim_rng.pt";
constexpr std::string_view kLayers = "decoder.layers.";
constexpr const char* kExportMegatron =
    "export_ckpt of Megatron Bridge, and then the folder it writes";

enum class MegatronPart : uint8_t {
  kSame,
  kVocabulary,
  kQkv,
  kGateUp,
  kField,   // this and the following are of args
  kConfig,  // `hf` is the key of config.json
  kFixed,   // `hf` is its only value in the classes that ckpt knows
  kClass,   // if it is true, `hf` is the class
  kKey,     // of config.json
};
constexpr std::string_view kMegatronParts[] = {"same",   "vocabulary", "groups", "gate-up", "field",
                                               "config", "fixed",      "class",  "key"};

struct MegatronRow {
  MegatronPart part = MegatronPart::kSame;
  size_t axis = kWhole;       // that tensor parallelism cuts
  std::string_view name, hf;  // of a layer's tensor those within the layer
  static constexpr size_t kWhole = SIZE_MAX;
};

const std::vector<MegatronRow>& megatron_rows() {
  enum : size_t { kPart, kAxis, kName, kHf, kColumns };
  static const std::vector<MegatronRow> kRows = [] {
    std::vector<MegatronRow> out;
    for (const auto& row : table_rows(kMegatronNames, kColumns)) {
      const auto* part = std::ranges::find(kMegatronParts, row[kPart]);
      CKPT_CHECK(part != std::end(kMegatronParts));
      const size_t axis = row[kAxis].empty() ? MegatronRow::kWhole : row[kAxis] == "1" ? 1 : 0;
      out.push_back({static_cast<MegatronPart>(part - std::begin(kMegatronParts)), axis, row[kName],
                     row[kHf]});
    }
    return out;
  }();
  return kRows;
}

// The field of args that counts this dimension of the model.
std::string_view field_of(std::string_view counted) {
  const MegatronRow* row = find_by(megatron_rows(), &MegatronRow::hf, counted);
  CKPT_CHECK(row != nullptr);
  return row->name;
}

struct MegatronArgs {
  uint64_t layers = 0, heads = 0, groups = 0, head_size = 0, gate_rows = 0, vocabulary = 0;
  uint64_t tensor_ranks = 1, stages = 1;
};

class ArgsReader {
 public:
  ArgsReader(const Pickle& pickle, const TrainerFolder& from) : pickle_(pickle), from_(from) {
    const Node* args = pickle.find(pickle.root(), "args");
    args_ = args == nullptr ? nullptr : pickle.state(*args);
  }

  Result<MegatronArgs> run() const {
    if (args_ == nullptr) return unsupported_hint(kExportMegatron, "no 'args' of the run");
    for (const char* flag : {"attention_output_gate", "rotary_interleaved"}) {
      if (!is_set(flag)) continue;
      return unsupported_hint(kExportMegatron, "args: {}, which is not read", flag);
    }
    if (!is_set("swiglu")) {
      return unsupported_hint(kExportMegatron, "args: not swiglu; only models with it are read");
    }
    MegatronArgs out;
    CKPT_ASSIGN(out.layers, number("layers"));
    CKPT_ASSIGN(out.heads, number("heads"));
    CKPT_ASSIGN(out.head_size, number("values of a head"));
    CKPT_ASSIGN(out.gate_rows, number("rows of gate"));
    const std::string_view grouped = field_of("grouped");
    const bool has_groups = pickle_.find(*args_, grouped) == nullptr || is_set(grouped);
    out.groups = has_groups ? number("groups").value_or(out.heads) : out.heads;
    out.tensor_ranks = number("ranks").value_or(1);
    out.stages = number("stages").value_or(1);
    CKPT_ASSIGN(out.vocabulary, vocabulary());
    if (out.heads % out.groups == 0 && out.layers % out.stages == 0) return out;
    return unsupported_hint(kExportMegatron, "args: {} heads in {} groups, {} layers in {} stages",
                            out.heads, out.groups, out.layers, out.stages);
  }

  // Makes config.json of `args`, or tells `weights` why they are not enough.
  void add_config(const MegatronArgs& args, TrainerWeights& weights) const {
    if (find_by(from_.documents, &Document::path, "config.json") != nullptr) return;
    auto config = config_of(args);
    if (config)
      weights.config = std::move(*config);
    else
      weights.without_config = std::move(config.error().what);
  }

 private:
  static constexpr int64_t kMost = 1 << 24;

  bool is_set(std::string_view key) const {
    const Node* found = pickle_.find(*args_, key);
    return found != nullptr && found->kind == Kind::kBool && found->whole != 0;
  }
  // The number in the saved arguments, or else in config.json if a row has the key for it.
  Result<uint64_t> number(std::string_view counted) const {
    const std::string_view field = field_of(counted);
    const Node* found = pickle_.find(*args_, field);
    if (found != nullptr && found->kind == Kind::kInt && found->whole > 0 && found->whole < kMost) {
      return static_cast<uint64_t>(found->whole);
    }
    const auto row = std::ranges::find_if(megatron_rows(), [&](const MegatronRow& each) {
      return each.part == MegatronPart::kConfig && each.name == field;
    });
    const auto* config = find_by(from_.documents, &Document::path, "config.json");
    if (row != megatron_rows().end() && config != nullptr) {
      CKPT_ASSIGN(const auto json, config->values());
      if (const auto value = whole(known(*json, row->hf))) return *value;
    }
    return unsupported_hint("--base MODEL, whose config.json has it",
                            "args of the run without a usable {}", field);
  }
  static std::string shown(const Node& node) {
    switch (node.kind) {
      case Kind::kBool: return node.whole != 0 ? "true" : "false";
      case Kind::kInt: return fmt::format("{}", node.whole);
      case Kind::kFloat: return fmt::format("{}", node.real);
      default: return node.text;
    }
  }

  Result<std::string> config_of(const MegatronArgs& args) const {
    nlohmann::ordered_json out;
    std::vector<std::string_view> missing;
    std::string_view name = "Llama";
    for (const MegatronRow& row : megatron_rows()) {
      const Node* found = pickle_.find(*args_, row.name);
      const bool has_value = found != nullptr && found->kind != Kind::kNone;
      if (row.part == MegatronPart::kFixed && has_value && shown(*found) != row.hf) {
        return unsupported("args: {} is {}", row.name, shown(*found));
      }
      if (row.part == MegatronPart::kClass && is_set(row.name)) name = row.hf;
      if (row.part != MegatronPart::kConfig) continue;
      if (!has_value)
        missing.push_back(row.name);
      else if (found->kind == Kind::kFloat)
        out[row.hf] = found->real;
      else
        out[row.hf] = found->whole;
    }
    const std::string_view untied = field_of("untied");
    if (pickle_.find(*args_, untied) == nullptr) missing.push_back(untied);
    if (!missing.empty()) return unsupported("args without {}", fmt::join(missing, ", "));
    out[field_of("classes")] = {fmt::format("{}ForCausalLM", name)};
    out[field_of("type")] = lower_case(name);
    out[field_of("heads of k")] = args.groups;
    out[field_of("activation")] = "silu";
    out[field_of("tied")] = !is_set(untied);
    return out.dump(2) + "\n";
  }

  // Removes the rows of padding.
  Result<uint64_t> vocabulary() const {
    if (const auto* config = find_by(from_.documents, &Document::path, "config.json")) {
      CKPT_ASSIGN(const auto json, config->values());
      if (const auto size = whole(known(*json, field_of("vocabulary")))) return *size;
    }
    return number("vocabulary");
  }

  const Pickle& pickle_;
  const TrainerFolder& from_;
  const Node* args_;
};

// A key in its parts, as in "decoder.layers.3.mlp.linear_fc2.weight".
struct MegatronKey {
  const MegatronRow* row = nullptr;
  std::optional<uint64_t> layer;  // none: not of a layer, or of all of them
  bool is_in_layer = false;
};

Result<MegatronKey> parse_key(const std::string& key) {
  MegatronKey out;
  std::string_view rest = key;
  out.is_in_layer = rest.starts_with(kLayers);
  if (out.is_in_layer) {
    rest.remove_prefix(kLayers.size());
    std::string_view after = rest;
    const std::string_view word = take_word(after, '.');
    uint64_t layer = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), layer);
    if (error == std::errc() && end == word.data() + word.size()) {
      out.layer = layer;
      rest = after;
    }
  }
  out.row = find_by(megatron_rows(), &MegatronRow::name, rest);
  if (out.row != nullptr && out.row->part < MegatronPart::kField) return out;
  return unsupported_hint(kExportMegatron, "'{}', whose place in the model is not known here", key);
}

class MegatronNaming {
 public:
  explicit MegatronNaming(const MegatronArgs& args) : args_(args) {}

  // Adds a complete tensor whose name is a key of Megatron.
  Status take(const Tensor& tensor) {
    CKPT_ASSIGN(const MegatronKey key, parse_key(tensor.name));
    if (!key.is_in_layer) return add(key, 0, tensor);
    if (key.layer) return add(key, *key.layer, tensor);
    if (tensor.shape.empty() || tensor.shape[0] != args_.layers) return other_shape(tensor);
    std::vector<uint64_t> shape(tensor.shape.begin() + 1, tensor.shape.end());
    const uint64_t rows = tensor.rows() / args_.layers;
    for (uint64_t layer = 0; layer < args_.layers; ++layer) {
      CKPT_ASSIGN(Tensor one, take_rows(tensor, layer * rows, rows));
      CKPT_ASSIGN(one, reshape(std::move(one), shape));
      CKPT_TRY(add(key, layer, one));
    }
    return {};
  }

  std::vector<Tensor> tensors() && { return std::move(out_); }

 private:
  static Failure other_shape(const Tensor& tensor) {
    return corrupt("tensor '{}' has shape [{}], which does not fit the run's args", tensor.name,
                   fmt::join(tensor.shape, ", "));
  }

  void keep(Tensor tensor, std::string name) {
    tensor.name = std::move(name);
    out_.push_back(std::move(tensor));
  }

  Status add(const MegatronKey& key, uint64_t layer, const Tensor& tensor) {
    if (key.is_in_layer && layer >= args_.layers) return other_shape(tensor);
    const std::string hf = key.is_in_layer ? fmt::format("model.layers.{}.{}", layer, key.row->hf)
                                           : std::string(key.row->hf);
    switch (key.row->part) {
      case MegatronPart::kSame: keep(tensor, hf); return {};
      case MegatronPart::kVocabulary: {
        if (tensor.shape.size() != 2 || tensor.shape[0] < args_.vocabulary) {
          return other_shape(tensor);
        }
        CKPT_ASSIGN(Tensor cut, take_rows(tensor, 0, args_.vocabulary));
        keep(std::move(cut), hf);
        return {};
      }
      case MegatronPart::kQkv: return add_qkv(tensor, hf);
      case MegatronPart::kGateUp: {
        const uint64_t rows = args_.gate_rows;
        return add_runs(tensor, hf, 2 * rows, {{"gate", {{0, rows}}}, {"up", {{rows, rows}}}});
      }
      default: break;  // of args
    }
    return {};
  }

  // The runs of rows that belong to each part, as in "q".
  struct RowPart {
    std::string_view name;
    std::vector<RowRun> runs;
  };
  Status add_runs(const Tensor& tensor, const std::string& hf, uint64_t rows,
                  const std::vector<RowPart>& parts) {
    if (tensor.shape.empty() || tensor.shape[0] != rows) return other_shape(tensor);
    const uint64_t row_values = tensor.values() / rows;  // a bias is a column
    CKPT_ASSIGN(const Tensor matrix, reshape(tensor, {rows, row_values}));
    for (const RowPart& part : parts) {
      CKPT_ASSIGN(Tensor one, reorder_rows(matrix, part.runs));
      std::vector<uint64_t> shape = tensor.shape;
      shape[0] = one.rows();
      CKPT_ASSIGN(one, reshape(std::move(one), std::move(shape)));
      keep(std::move(one), fmt::format(fmt::runtime(hf), part.name));
    }
    return {};
  }

  // In each group, the heads of q are followed by k and v.
  Status add_qkv(const Tensor& tensor, const std::string& hf) {
    const uint64_t size = args_.head_size, heads = args_.heads / args_.groups;
    const uint64_t group_rows = (heads + 2) * size;
    std::vector<RowPart> parts{{"q", {}}, {"k", {}}, {"v", {}}};
    for (uint64_t group = 0; group < args_.groups; ++group) {
      const uint64_t first = group * group_rows;
      parts[0].runs.push_back({first, heads * size});
      parts[1].runs.push_back({first + heads * size, size});
      parts[2].runs.push_back({first + (heads + 1) * size, size});
    }
    return add_runs(tensor, hf, args_.groups * group_rows, parts);
  }

  const MegatronArgs& args_;
  std::vector<Tensor> out_;
};

std::optional<uint64_t> iteration_of(const Pickle& pickle) {
  const Node* found = pickle.find(pickle.root(), "iteration");
  const bool is_count = found != nullptr && found->kind == Kind::kInt && found->whole >= 0;
  return is_count ? std::optional(static_cast<uint64_t>(found->whole)) : std::nullopt;
}

bool is_extra_state(std::string_view key) {
  return key.find(kExtraState) != key.npos;
}

constexpr std::string_view kCommonFile = "common.pt";

bool is_megatron(const std::vector<std::string>& names) {
  return std::ranges::count(names, kCommonFile) != 0 && has_dcp_files(names);
}

Result<TrainerWeights> read_megatron(const TrainerFolder& from) {
  CKPT_ASSIGN(const SharedSource source, open_file(from.path / kCommonFile));
  CKPT_ASSIGN(const TorchFile common,
              in(source->name(), TorchFile::open(entire(source), from.checks)));
  const ArgsReader reader(common.pickle(), from);
  CKPT_ASSIGN(const MegatronArgs args, in(source->name(), reader.run()));
  CKPT_ASSIGN(const DcpTensors read, read_dcp_tensors(from));
  MegatronNaming naming(args);
  for (const Tensor& tensor : read.tensors) {
    if (!is_extra_state(tensor.name)) CKPT_TRY(naming.take(tensor));
  }
  TrainerWeights out{std::move(naming).tensors(), read.not_read, read.values, read.ranks,
                     iteration_of(common.pickle())};
  reader.add_config(args, out);
  return out;
}

bool is_megatron_by_ranks(const std::vector<std::string>& names) {
  return std::ranges::any_of(
      kRankFolders, [&](std::string_view glob) { return !names_like(names, glob).empty(); });
}

class MegatronRanks {
 public:
  explicit MegatronRanks(const TrainerFolder& from) : from_(from) {}

  Result<TrainerWeights> run() {
    CKPT_TRY(open_rank(0, 0, names_like(from_.names, "mp_rank_00_000").empty()));
    TrainerWeights out{{}, {"optimizer", "states of random numbers"}};
    const ArgsReader reader(files_[0].file.pickle(), from_);
    CKPT_ASSIGN(args_, in(files_[0].path, reader.run()));
    reader.add_config(args_, out);
    files_.clear();
    size_t folders = 0;
    for (const std::string_view glob : kRankFolders)
      folders += names_like(from_.names, glob).size();
    if (folders > args_.tensor_ranks * args_.stages) {
      return corrupt_hint("the folders of one run alone", "{} folders of ranks; args say {}",
                          folders, args_.tensor_ranks * args_.stages);
    }
    MegatronNaming naming(args_);
    for (uint64_t stage = 0; stage < args_.stages; ++stage) {
      CKPT_TRY(take_stage(stage, naming));
    }
    if (from_.checks != nullptr) from_.checks->has_one_step = step_.has_value();
    out.tensors = std::move(naming).tensors();
    out.ranks = args_.tensor_ranks * args_.stages;
    out.step = step_;
    return out;
  }

 private:
  struct RankSave {
    std::string path;
    TorchFile file;
  };

  Status open_rank(uint64_t rank, uint64_t stage, bool has_one_stage) {
    std::string name = fmt::format("mp_rank_{:02}", rank);
    if (!has_one_stage) name += fmt::format("_{:03}", stage);
    if (std::ranges::count(from_.names, name) == 0) {
      return corrupt_hint("copying the files of all ranks", "the folder '{}' is missing", name);
    }
    CKPT_ASSIGN(const SharedSource source, open_file(from_.path / name / kRankFile));
    CKPT_ASSIGN(TorchFile file, in(source->name(), TorchFile::open(entire(source), from_.checks)));
    const auto found = iteration_of(file.pickle());
    if (found != step_ && has_step_) {
      return corrupt("{}: of iteration {}; another rank has {}", source->name(), found.value_or(0),
                     step_.value_or(0));
    }
    has_step_ = true;
    step_ = found;
    files_.push_back({source->name(), std::move(file)});
    return {};
  }

  // Joins the parts of each tensor that the ranks have.
  Status take_stage(uint64_t stage, MegatronNaming& naming) {
    files_.clear();
    for (uint64_t rank = 0; rank < args_.tensor_ranks; ++rank) {
      CKPT_TRY(open_rank(rank, stage, args_.stages == 1));
    }
    std::map<std::string, std::vector<TorchView>> views;
    for (RankSave& save : files_) CKPT_TRY(in(save.path, take_views(save, views)));
    for (const auto& [key, found] : views) {
      CKPT_ASSIGN(Tensor whole, in(fmt::format("tensor '{}'", key), join(key, found)));
      whole.name = in_model(key, stage);
      CKPT_TRY(naming.take(whole));
    }
    return {};
  }

  static Status take_views(RankSave& save, std::map<std::string, std::vector<TorchView>>& views) {
    const Pickle& pickle = save.file.pickle();
    const Node* version = pickle.find(pickle.root(), "checkpoint_version");
    const bool is_old = version == nullptr || version->real + double(version->whole) < 2;
    if (is_old) {
      return unsupported_hint(kExportMegatron, "a checkpoint_version before 2, which is not read");
    }
    const Node* model = pickle.find(pickle.root(), "model");
    if (model == nullptr || model->kind != Kind::kDict) {
      return unsupported_hint(kExportMegatron, "no dict 'model': a virtual pipeline is not read");
    }
    for (size_t i = 0; i + 1 < model->items.size(); i += 2) {
      const std::string& key = pickle.node(model->items[i]).text;
      if (is_extra_state(key)) continue;
      CKPT_ASSIGN(TorchView view, in(fmt::format("tensor '{}'", key),
                                     save.file.tensor(pickle.node(model->items[i + 1]))));
      views[key].push_back(std::move(view));
    }
    return {};
  }

  // Each stage counts its layers from 0.
  std::string in_model(const std::string& key, uint64_t stage) const {
    const auto parsed = parse_key(key);
    if (!parsed || !parsed->layer) return key;
    return fmt::format("{}{}.{}", kLayers, *parsed->layer + stage * (args_.layers / args_.stages),
                       parsed->row->name);
  }

  Result<Tensor> join(const std::string& key, const std::vector<TorchView>& views) const {
    CKPT_ASSIGN(const MegatronKey parsed, parse_key(key));
    const uint64_t ranks = parsed.row->axis == MegatronRow::kWhole ? 1 : args_.tensor_ranks;
    const size_t axis = ranks == 1 ? 0 : parsed.row->axis;
    const TorchView& first = views[0];
    if (views.size() != args_.tensor_ranks || axis >= first.shape.size()) {
      return corrupt("{} of {} ranks have it", views.size(), args_.tensor_ranks);
    }
    const bool is_paired = parsed.row->part == MegatronPart::kGateUp;
    Tensor like;
    like.name = key;
    like.shape = first.shape;
    like.codec = &plain_codec(from_.codecs, first.dtype);
    const auto size = multiply(first.shape[axis], ranks);
    if (!size) return corrupt("more rows than can be counted");
    like.shape[axis] = *size;
    std::vector<TensorChunk> chunks;
    for (uint64_t rank = 0; rank < ranks; ++rank) {
      const TorchView& view = views[rank];
      if (view.dtype != first.dtype || view.shape != first.shape) {
        return corrupt("[{}] on rank {}; expected [{}]", fmt::join(view.shape, ", "), rank,
                       fmt::join(first.shape, ", "));
      }
      CKPT_ASSIGN(const Slice bytes, in_row_order(view));
      add_chunks({std::vector<uint64_t>(view.shape.size(), 0), view.shape, bytes}, axis, rank,
                 is_paired ? *size / 2 : 0, chunks);
    }
    return from_chunks(std::move(like), std::move(chunks));
  }

  // Returns the chunk of `rank`; two chunks for linear_fc1, whose gate has `half` rows in all ranks
  // together.
  static void add_chunks(TensorChunk chunk, size_t axis, uint64_t rank, uint64_t half,
                         std::vector<TensorChunk>& out) {
    const uint64_t parts = half == 0 ? 1 : 2;
    chunk.sizes[axis] /= parts;
    chunk.bytes.size_bytes /= parts;
    for (uint64_t part = 0; part < parts; ++part) {
      chunk.offsets[axis] = part * half + rank * chunk.sizes[axis];
      out.push_back(chunk);
      chunk.bytes.offset_bytes += chunk.bytes.size_bytes;
    }
  }

  const TrainerFolder& from_;
  MegatronArgs args_;
  std::vector<RankSave> files_;  // of one stage
  bool has_step_ = false;        // a file was opened
  std::optional<uint64_t> step_;
};

Result<TrainerWeights> read_megatron_ranks(const TrainerFolder& from) {
  return MegatronRanks(from).run();
}

}  // namespace

extern constinit const TrainerLayout kMegatron{"a checkpoint of Megatron (torch_dist)", is_megatron,
                                               read_megatron, true};
extern constinit const TrainerLayout kMegatronRanks{
    "a checkpoint of Megatron with a file of each rank", is_megatron_by_ranks, read_megatron_ranks};

}  // namespace ckpt

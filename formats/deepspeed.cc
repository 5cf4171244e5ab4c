// DeepSpeed's ZeRO: 32-bit master weights in flat vectors, which are cut into equal parts for the
// ranks without regard to the borders of tensors.
//
//   latest                                             "global_step100", the newest folder
//   global_step100/mp_rank_00_model_states.pt          names and shapes; stage 3: one for each rank
//     [bf16_]zero_pp_rank_3_mp_rank_00_optim_states.pt the vectors of rank 3, and its moments
//
//   stages 1, 2   tensors follow each other in one vector, which the ranks divide
//                 rank 0 ├ a ┼ b...┤ rank 1 ├ ...b ┼ c ┼ padding ┤
//   stage 3       each tensor is cut into one piece for each rank, the last one padded
//                 rank 0 ├ a ┼ b ┼ c ┤ rank 1 ├ a ┼ b ┼ c ┤
//   universal     zero/NAME/fp32.pt has the entire tensor
//
// Mistakes to avoid: file names do not sort as their ranks do. Frozen parameters are in no vector.
// The 16-bit tensors in the files of names are rounded masters, and empty in stage 3.
// Source: deepspeed/utils/zero_to_fp32.py.
#include <algorithm>
#include <map>

#include "core/base/arithmetic.h"
#include "core/base/find.h"
#include "core/computed/decoded_source.h"
#include "formats/chunk_grid.h"
#include "formats/torch.h"
#include "formats/trainer.h"

namespace ckpt {
namespace {

using Node = Pickle::Node;
using Kind = Pickle::Kind;

constexpr std::string_view kOptimFiles = "*zero_pp_rank_[0-9]*_mp_rank_[0-9]*_optim_states.pt";
constexpr std::string_view kModelFiles = "*mp_rank_[0-9]*_model_states.pt";
constexpr const char* kConvertZero = "python zero_to_fp32.py . OUT in the folder with global_step*";
// Files of experts and of pipeline stages, which are not read.
constexpr std::string_view kOtherZeroFiles[] = {"layer_*_expert_*", "expp_rank_*",
                                                "layer_[0-9]*-model_*states.pt"};

// The folder that ds_to_universal writes.
bool is_universal(const std::vector<std::string>& names) {
  return std::ranges::count(names, "zero") != 0 && !names_like(names, kModelFiles).empty();
}

bool is_zero(const std::vector<std::string>& names) {
  return !names_like(names, kOptimFiles).empty() || is_universal(names);
}

// A parameter. `padding` values follow it in the vector.
struct ZeroParameter {
  std::string name;
  std::vector<uint64_t> shape;
  uint64_t values = 0, padding = 0;
  bool operator==(const ZeroParameter&) const = default;
};

// The dict in one file that torch.save wrote.
struct ZeroFile {
  std::string path;
  TorchFile file;

  const Node* find(std::string_view key) const {
    return file.pickle().find(file.pickle().root(), key);
  }
  const Node& item(const Node& list, size_t i) const {
    return file.pickle().node(list.items[i]);
  }
  Failure unlike(std::string_view key) const {
    return unsupported_hint(kConvertZero, "{}: '{}' is not as expected", path, key);
  }
};

Result<ZeroFile> open_zero(const TrainerFolder& from, const std::filesystem::path& name) {
  CKPT_ASSIGN(const SharedSource source, open_file(from.path / name));
  CKPT_ASSIGN(TorchFile file, in(source->name(), TorchFile::open(entire(source), from.checks)));
  return ZeroFile{source->name(), std::move(file)};
}

// The vectors of one rank.
struct ZeroRank {
  std::vector<Slice> vectors;
  std::vector<uint64_t> sizes;  // of each, in values
};

class ZeroReader {
 public:
  explicit ZeroReader(const TrainerFolder& from)
      : from_(from), f32_(plain_codec(from.codecs, Dtype::kF32)) {}

  Result<TrainerWeights> run() {
    CKPT_TRY(check_names());
    CKPT_TRY(read_ranks());
    CKPT_TRY(read_models());
    CKPT_TRY(from_.weights == WeightValues::kModel ? take_module() : take_masters());
    std::vector<TrainerPath> paths;
    for (const Tensor& tensor : out_.tensors) paths.push_back({tensor.name});
    CKPT_ASSIGN(const std::vector<std::string> names, names_of_weights(paths));
    for (size_t i = 0; i < names.size(); ++i) out_.tensors[i].name = names[i];
    const bool is_model = from_.weights == WeightValues::kModel;
    const std::string_view taken = is_model ? kModelWeights : kF32Masters;
    out_.values = taken;
    out_.not_read = {"moments of the optimizer"};
    out_.ranks = ranks_.size();
    const Node* step = models_[0].find("global_steps");
    if (step != nullptr && step->whole > 0) out_.step = static_cast<uint64_t>(step->whole);
    if (from_.checks != nullptr) from_.checks->has_one_step = optimizer_step_.has_value();
    if (is_model) out_.not_read.push_back(fmt::format("{} (--weights master)", kF32Masters));
    if (!is_model && stage_ != 3) {
      out_.not_read.push_back(fmt::format("{} (--weights model)", kModelWeights));
    }
    return std::move(out_);
  }

 private:
  static constexpr uint64_t kMaxRanks = 1 << 20;

  Status check_names() const {
    for (const std::string_view pattern : kOtherZeroFiles) {
      const auto found = names_like(from_.names, pattern);
      if (found.empty()) continue;
      return unsupported_hint(kConvertZero,
                              "'{}' belongs to a run with MoE or a pipeline, which is not read",
                              found.front());
    }
    for (const std::string& name : from_.names) {
      const auto rank = number_after_mark(name, "mp_rank_");
      if (!rank.value_or(0)) continue;
      return unsupported_hint("saving the model's own files with the trainer",
                              "'{}' belongs to a run with tensor parallelism, which is not read",
                              name);
    }
    return {};
  }

  // ---- files ------------------------------------------------------------------------------------
  Status read_ranks() {
    std::map<uint64_t, std::string> files;
    for (const std::string& name : names_like(from_.names, kOptimFiles)) {
      files.emplace(number_after_mark(name, "zero_pp_rank_").value_or(kMaxRanks), name);
    }
    for (const auto& [rank, name] : files) {
      if (rank != ranks_.size()) return missing_rank(ranks_.size(), name);
      CKPT_ASSIGN(ZeroFile file, open_zero(from_, name));
      CKPT_TRY(in(file.path, read_rank(file, files.size())));
    }
    return {};
  }

  static Failure missing_rank(uint64_t rank, std::string_view like) {
    return corrupt_hint("copying the files of all ranks",
                        "the file of rank {} is missing; expected one like '{}'", rank, like);
  }

  Status read_rank(ZeroFile& file, size_t count) {
    const Pickle& pickle = file.file.pickle();
    const Node* state = file.find("optimizer_state_dict");
    const Node* stage = state == nullptr ? nullptr : pickle.find(*state, "zero_stage");
    if (stage == nullptr) return file.unlike("optimizer_state_dict");
    const bool is_enum = pickle.made_by(*stage).ends_with(" ZeroStageEnum");
    const auto stages = is_enum ? pickle.numbers(&file.item(*stage, 1), 1) : std::nullopt;
    const uint64_t found = stages && stages->size() == 1 ? stages->front() : 0;
    if (found < 1 || found > 3 || (stage_ != 0 && found != stage_)) {
      return file.unlike("zero_stage");
    }
    stage_ = found;
    CKPT_TRY(check_count(file, *state, count));
    CKPT_TRY(check_optimizer_step(file, *state));
    const char* key = stage_ == 3 ? "fp32_flat_groups" : "single_partition_of_fp32_groups";
    const Node* vectors = pickle.find(*state, key);
    if (vectors == nullptr || vectors->kind != Kind::kList) return file.unlike(key);
    ZeroRank& rank = ranks_.emplace_back();
    for (size_t i = 0; i < vectors->items.size(); ++i) {
      CKPT_ASSIGN(const TorchView view, in(key, file.file.tensor(file.item(*vectors, i))));
      if (view.dtype != Dtype::kF32 || view.shape.size() != 1 || !view.is_contiguous()) {
        return file.unlike(key);
      }
      rank.vectors.push_back(view.bytes);
      rank.sizes.push_back(view.shape[0]);
    }
    if (ranks_.size() == 1) read_paddings(file, pickle.find(*state, "param_alignment_paddings"));
    return {};
  }

  Status check_count(const ZeroFile& file, const Node& state, size_t count) const {
    const Node* found = file.file.pickle().find(state, "partition_count");
    if (found != nullptr && found->kind == Kind::kList && !found->items.empty()) {
      found = &file.item(*found, 0);
    }
    if (found == nullptr || found->kind != Kind::kInt) return file.unlike("partition_count");
    if (found->whole == static_cast<int64_t>(count)) return {};
    return corrupt_hint("copying the files of all ranks",
                        "of {} ranks; {} files are there: some are missing", found->whole, count);
  }

  // Compares the number of steps that the optimizer of each rank has made, if it is stored.
  Status check_optimizer_step(ZeroFile& file, const Node& state) {
    const Pickle& pickle = file.file.pickle();
    const Node* optimizer =
        pickle.find(state, stage_ == 3 ? "optimizer_state_dict" : "base_optimizer_state");
    const Node* moments = optimizer == nullptr ? nullptr : pickle.find(*optimizer, "state");
    const bool has_moments = moments != nullptr && moments->items.size() > 1;
    const Node* step = has_moments ? pickle.find(file.item(*moments, 1), "step") : nullptr;
    if (step == nullptr) return {};
    double found = step->real + static_cast<double>(step->whole);
    if (step->kind == Kind::kCall) {
      CKPT_ASSIGN(const TorchView view, in(file.path, file.file.tensor(*step)));
      if (view.dtype != Dtype::kF32 || view.bytes.size_bytes != sizeof(float)) return {};
      float value = 0;
      CKPT_TRY(view.bytes.source->read(view.bytes.offset_bytes,
                                       std::as_writable_bytes(std::span(&value, 1))));
      found = value;
    }
    if (optimizer_step_.value_or(found) == found) {
      optimizer_step_ = found;
      return {};
    }
    return corrupt("its optimizer has made {} steps, and that of another rank {}", found,
                   *optimizer_step_);
  }

  void read_paddings(const ZeroFile& file, const Node* groups) {
    if (groups == nullptr || groups->kind != Kind::kList) return;
    for (size_t i = 0; i < groups->items.size(); ++i) {
      paddings_.push_back(
          file.file.pickle().numbers(&file.item(*groups, i), kMaxTensors).value_or(
              std::vector<uint64_t>()));
    }
  }

  // In stages 1 and 2 one file has the names and shapes of all parameters.
  Status read_models() {
    std::map<uint64_t, std::string> files;
    for (const std::string& name : names_like(from_.names, kModelFiles)) {
      files.emplace(number_after_mark(name, "zero_pp_rank_").value_or(0), name);
    }
    if (files.empty()) {
      return corrupt_hint("copying all files", "no file is called '{}'", kModelFiles);
    }
    const size_t expected = stage_ == 3 ? ranks_.size() : 1;
    for (const auto& [rank, name] : files) {
      if (rank != models_.size()) return missing_rank(models_.size(), name);
      CKPT_ASSIGN(ZeroFile file, open_zero(from_, name));
      models_.push_back(std::move(file));
      CKPT_TRY(check_step(models_.back()));
    }
    if (models_.size() >= expected) return {};
    return missing_rank(models_.size(), files.begin()->second);
  }

  Status check_step(const ZeroFile& file) const {
    const Node *mine = file.find("global_steps"), *first = models_[0].find("global_steps");
    if (mine == nullptr || first == nullptr || mine->whole == first->whole) return {};
    return corrupt("{}: of step {}; '{}' is of step {}", file.path, mine->whole, models_[0].path,
                   first->whole);
  }

  // ---- shapes -----------------------------------------------------------------------------------
  Result<std::vector<ZeroParameter>> parameters(const ZeroFile& file, const Node& shapes) const {
    std::vector<ZeroParameter> out;
    for (size_t i = 0; i + 1 < shapes.items.size(); i += 2) {
      const auto shape = file.file.pickle().numbers(&file.item(shapes, i + 1), kMaxDimensions);
      const auto values = shape ? product(*shape) : std::nullopt;
      if (!values || file.item(shapes, i).kind != Kind::kText) return file.unlike("param_shapes");
      CKPT_TRY(in(file.path, check_shape(*shape, f32_)));
      out.push_back({file.item(shapes, i).text, *shape, *values, 0});
    }
    return out;
  }

  Status read_shapes() {
    for (const ZeroFile& file : models_) {
      const Node* groups = file.find("param_shapes");
      if (groups == nullptr || groups->kind != Kind::kList) return file.unlike("param_shapes");
      std::vector<std::vector<ZeroParameter>> found;
      for (size_t g = 0; g < groups->items.size(); ++g) {
        CKPT_ASSIGN(found.emplace_back(), parameters(file, file.item(*groups, g)));
      }
      if (&file == &models_[0])
        groups_ = std::move(found);
      else if (found != groups_) {
        return corrupt("{}: param_shapes are not those of '{}'", file.path, models_[0].path);
      }
    }
    for (size_t g = 0; g < groups_.size(); ++g) {
      if (g >= paddings_.size() || paddings_[g].size() != groups_[g].size()) continue;
      for (size_t i = 0; i < groups_[g].size(); ++i) groups_[g][i].padding = paddings_[g][i];
    }
    return {};
  }

  Status take_masters() {
    CKPT_TRY(read_shapes());
    CKPT_TRY(stage_ == 0 ? take_files() : stage_ == 3 ? take_pieces() : take_runs());
    CKPT_TRY(take_frozen());
    CKPT_TRY(take_buffers());
    return take_shared();
  }

  // The weights that the model ran with. In stage 3 no file has them.
  Status take_module() {
    ZeroFile& file = models_[0];
    const Node* module = file.find("module");
    if (module == nullptr || module->kind != Kind::kDict) return file.unlike("module");
    if (stage_ == 3) {
      return unsupported_hint("--to bf16 without --weights model, which rounds the F32 masters",
                              "{}: ZeRO-3 saves no other weights than the F32 masters", file.path);
    }
    for (size_t i = 0; i + 1 < module->items.size(); i += 2) {
      const std::string& name = file.item(*module, i).text;
      CKPT_ASSIGN(const TorchView view, in(file.path, in(name, file.file.tensor(
                                                               file.item(*module, i + 1)))));
      CKPT_ASSIGN(const Slice bytes, in(file.path, in(name, in_row_order(view))));
      CKPT_TRY(add_tensor(name, view.shape, {bytes}, view.dtype));
    }
    return {};
  }

  // ---- values -----------------------------------------------------------------------------------
  Status add_tensor(std::string name, const std::vector<uint64_t>& shape,
                    std::vector<Slice> slices, Dtype dtype = Dtype::kF32) {
    uint64_t found = 0;
    for (const Slice& slice : slices) found += slice.size_bytes;
    const uint64_t expected = *product(shape) * size_bytes(dtype);
    if (found != expected) return other_size(name, found, expected);
    Tensor& tensor = out_.tensors.emplace_back();
    tensor.name = std::move(name);
    tensor.shape = shape;
    tensor.codec = &plain_codec(from_.codecs, dtype);
    tensor.origin = Stored{{merged(std::move(slices))}};
    return {};
  }

  // Cuts values [first, first + count) out of consecutive slices of F32; fewer if the slices end.
  static std::vector<Slice> values_of(const std::vector<Slice>& slices, uint64_t first,
                                      uint64_t count) {
    std::vector<Slice> out;
    uint64_t skip = first * sizeof(float), left = count * sizeof(float);
    for (const Slice& slice : slices) {
      const uint64_t passed = std::min(skip, slice.size_bytes);
      const uint64_t taken = std::min(left, slice.size_bytes - passed);
      if (taken != 0) out.push_back({slice.source, slice.offset_bytes + passed, taken});
      skip -= passed;
      left -= taken;
    }
    return out;
  }

  static Failure other_size(std::string_view what, uint64_t found, uint64_t expected) {
    return corrupt("{}: found {}, expected {}", what, found, expected);
  }

  // Stages 1 and 2: joins the ranks' vectors of each parameter group and cuts out its tensors.
  Status take_runs() {
    for (size_t g = 0; g < groups_.size(); ++g) {
      std::vector<Slice> slices;
      uint64_t found = 0, first = 0;
      for (const ZeroRank& rank : ranks_) {
        if (g >= rank.vectors.size()) return models_[0].unlike("param_shapes");
        slices.push_back(rank.vectors[g]);
        found += rank.sizes[g];
      }
      for (const ZeroParameter& each : groups_[g]) first += each.values + each.padding;
      // Older versions also store the padding, up to a multiple of twice the number of ranks.
      if (found < first || found - first > 2 * ranks_.size()) {
        return other_size(fmt::format("values in the vectors of group {}", g), found, first);
      }
      first = 0;
      for (const ZeroParameter& each : groups_[g]) {
        CKPT_TRY(add_tensor(each.name, each.shape, values_of(slices, first, each.values)));
        first += each.values + each.padding;
      }
    }
    return {};
  }

  // Stage 3: joins the pieces that all ranks have of each parameter.
  Status take_pieces() {
    const uint64_t count = ranks_.size();
    uint64_t needed = 0, first = 0;
    for (const auto& group : groups_) {
      for (const ZeroParameter& each : group) needed += divide_up(each.values, count);
    }
    for (size_t rank = 0; rank < count; ++rank) {
      uint64_t found = 0;
      for (const uint64_t size : ranks_[rank].sizes) found += size;
      if (found != needed) {
        return other_size(fmt::format("values in the vectors of rank {}", rank), found, needed);
      }
    }
    for (const auto& group : groups_) {
      for (const ZeroParameter& each : group) {
        const uint64_t piece = divide_up(each.values, count);
        std::vector<Slice> slices;
        for (size_t rank = 0; rank < count; ++rank) {
          const uint64_t before = std::min(each.values, rank * piece);
          const auto part =
              values_of(ranks_[rank].vectors, first, std::min(piece, each.values - before));
          slices.insert(slices.end(), part.begin(), part.end());
        }
        CKPT_TRY(add_tensor(each.name, each.shape, std::move(slices)));
        first += piece;
      }
    }
    return {};
  }

  // Takes the parameters of a universal checkpoint, which has a file for each of them.
  Status take_files() {
    for (const auto& group : groups_) {
      for (const ZeroParameter& each : group) {
        if (each.name.find('/') != each.name.npos) return models_[0].unlike("param_shapes");
        CKPT_ASSIGN(ZeroFile file,
                    open_zero(from_, std::filesystem::path("zero") / each.name / "fp32.pt"));
        const Node* value = file.find("param");
        if (value == nullptr) return file.unlike("param");
        CKPT_ASSIGN(const TorchView view, in(file.path, file.file.tensor(*value)));
        if (view.dtype != Dtype::kF32 || view.shape != each.shape || !view.is_contiguous()) {
          return file.unlike("param");
        }
        CKPT_TRY(add_tensor(each.name, each.shape, {view.bytes}));
      }
    }
    return {};
  }

  // Buffers become F32, like the parameters.
  Result<std::vector<Slice>> f32_values(const TorchView& view) const {
    if (view.dtype == Dtype::kF32) return std::vector<Slice>{view.bytes};
    const Codec& codec = plain_codec(from_.codecs, view.dtype);
    if (codec.decode == nullptr || !is_float(view.dtype)) {
      return unsupported("values of type {} among floats", info(view.dtype).name);
    }
    return std::vector<Slice>{entire(std::make_shared<const DecodedSource>(view.bytes, codec))};
  }

  // Frozen parameters: the first file has them entirely. In stage 3 each rank has a piece.
  Status take_frozen() {
    const Node* shapes = models_[0].find("frozen_param_shapes");
    if (shapes == nullptr || shapes->kind != Kind::kDict) return {};
    CKPT_ASSIGN(const std::vector<ZeroParameter> all, parameters(models_[0], *shapes));
    for (const ZeroParameter& each : all) {
      std::vector<Slice> slices;
      uint64_t found = 0;
      for (ZeroFile& file : models_) {
        const Node* fragments = file.find("frozen_param_fragments");
        const Node* one =
            fragments == nullptr ? nullptr : file.file.pickle().find(*fragments, each.name);
        if (one == nullptr) return file.unlike("frozen_param_fragments");
        CKPT_ASSIGN(const TorchView view, in(file.path, in(each.name, file.file.tensor(*one))));
        if (!view.is_contiguous()) return file.unlike("frozen_param_fragments");
        CKPT_ASSIGN(std::vector<Slice> part, in(file.path, in(each.name, f32_values(view))));
        found += *product(view.shape);
        std::ranges::move(part, std::back_inserter(slices));
        if (stage_ != 3) break;
      }
      if (found < each.values || found - each.values >= models_.size()) {
        return other_size(fmt::format("values of '{}', which is not trained", each.name), found,
                          each.values);
      }
      CKPT_TRY(add_tensor(each.name, each.shape, values_of(slices, 0, each.values)));
    }
    return {};
  }

  Status take_buffers() {
    ZeroFile& file = models_[0];
    const Node *names = file.find("buffer_names"), *module = file.find("module");
    for (size_t i = 0; names != nullptr && module != nullptr && i < names->items.size(); ++i) {
      const std::string& name = file.item(*names, i).text;
      const Node* value = file.file.pickle().find(*module, name);
      if (value == nullptr) continue;  // not saved with the model
      CKPT_ASSIGN(const TorchView view, in(file.path, in(name, file.file.tensor(*value))));
      if (!view.is_contiguous()) return file.unlike(name);
      if (is_float(view.dtype)) {
        CKPT_ASSIGN(std::vector<Slice> slices, in(file.path, in(name, f32_values(view))));
        CKPT_TRY(add_tensor(name, view.shape, std::move(slices)));
      } else {
        CKPT_TRY(add_tensor(name, view.shape, {view.bytes}, view.dtype));
      }
    }
    return {};
  }

  Status take_shared() {
    const Node* shared = models_[0].find("shared_params");
    for (size_t i = 0; shared != nullptr && i + 1 < shared->items.size(); i += 2) {
      const std::string& alias = models_[0].item(*shared, i).text;
      const std::string& name = models_[0].item(*shared, i + 1).text;
      const Tensor* same = find_by(out_.tensors, &Tensor::name, name);
      if (same == nullptr) return models_[0].unlike("shared_params");
      Tensor copy = *same;
      copy.name = alias;
      out_.tensors.push_back(std::move(copy));
    }
    return {};
  }

  const TrainerFolder& from_;
  const Codec& f32_;
  uint64_t stage_ = 0;  // of a universal checkpoint
  std::optional<double> optimizer_step_;
  std::vector<ZeroRank> ranks_;
  std::vector<ZeroFile> models_;
  std::vector<std::vector<uint64_t>> paddings_;
  std::vector<std::vector<ZeroParameter>> groups_;
  TrainerWeights out_;
};

Result<TrainerWeights> read_zero(const TrainerFolder& from) { return ZeroReader(from).run(); }

}  // namespace

extern constinit const TrainerLayout kDeepSpeed{"a checkpoint of DeepSpeed (ZeRO)", is_zero,
                                                read_zero, true};

}  // namespace ckpt

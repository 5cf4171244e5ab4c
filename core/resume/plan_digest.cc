#include "core/resume/plan_digest.h"

#include <sys/stat.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <map>
#include <optional>
#include <span>

#include "core/base/sha256.h"
#include "core/model/coded_matrix.h"
#include "core/model/decoded_source.h"
#include "core/model/mxfp4_blocks.h"
#include "core/model/strided_source.h"
#include "core/model/turned_source.h"

namespace ckpt {
namespace {

class Digester {
 public:
  Result<PlanDigest> run(const Plan& plan, std::string_view version) {
    say("ckpt-plan 1\nversion {}\n", version);
    for (const Output& output : plan.outputs) add_output(output);
    flush();
    if (error_) return Failure(std::move(*error_));
    return PlanDigest{sha256_.finish(), std::move(inputs_)};
  }

 private:
  template <class... Args>
  void say(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    if (text_.size() > kFlushBytes) flush();
  }
  void flush() {
    sha256_.add(std::as_bytes(std::span(text_)));
    text_.clear();
  }

  // The same thing, met again, is told by its number.
  bool is_known(const void* thing) {
    const auto [found, is_new] = known_.try_emplace(thing, known_.size());
    say("#{}{}", found->second, is_new ? "" : "\n");
    return !is_new;
  }

  template <class T>
  void add_values(const std::vector<T>& values) {
    if (is_known(&values)) return;
    Sha256 sha256;
    sha256.add(std::as_bytes(std::span(values)));
    say(" {} {}\n", values.size(), sha256.finish());
  }

  void add_input(const ByteSource& source, const ByteSource::Identity& identity) {
    InputFile file{source.name(), source.size_bytes(), 0, identity.inode};
    struct stat status {};
    const bool found = ::stat(file.path.c_str(), &status) == 0;
    if (!found || status.st_ino != identity.inode || status.st_dev != identity.device ||
        static_cast<uint64_t>(status.st_size) != file.size_bytes) {
      if (!error_) {
        error_ = Error{ErrorCode::kIo, file.path,
                       found ? "became another file while it was read" : std::strerror(errno),
                       "again when nobody writes to it"};
      }
      return;
    }
    file.modified_ns = int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
    inputs_.push_back(std::move(file));
  }

  void add_grid(const CodeGrid& grid) {
    say("codes {} {} {} {} {} {} {} {} ", grid.outer, grid.inner, grid.bits, grid.word_bytes,
        grid.is_across, grid.is_transposed, grid.is_signed, fmt::join(grid.places, " "));
    if (grid.outer != 0) add_slice(grid.bytes);
  }

  void add_coded(const CodedMatrix& matrix) {
    const ScaleGrid& scales = matrix.scales;
    say(" coded {} {} {} {} {:08x} {:08x}\n", matrix.rows, matrix.columns, matrix.zero,
        matrix.divides, std::bit_cast<uint32_t>(matrix.factor),
        std::bit_cast<uint32_t>(matrix.addend));
    add_grid(matrix.codes);
    add_grid(matrix.zeros);
    say("scales {} {} {} {} {} {} {:08x} ", static_cast<unsigned>(scales.dtype), scales.rows,
        scales.columns, scales.is_transposed, scales.tile_rows, scales.tile_columns,
        std::bit_cast<uint32_t>(scales.factor));
    add_slice(scales.bytes);
    if (matrix.table != nullptr) add_values(*matrix.table);
    if (matrix.groups != nullptr) add_values(*matrix.groups);
  }

  void add_parts(const Tensor& tensor) {
    for (const auto& part : tensor.stored().parts) {
      for (const Slice& slice : part) add_slice(slice);
    }
  }

  void add_source(const ByteSource& source) {
    if (is_known(&source)) return;
    if (const auto* decoded = dynamic_cast<const DecodedSource*>(&source)) {
      say(" decoded {} ", decoded->codec().name);
      return add_slice(decoded->encoded());
    }
    if (const auto* decoded = dynamic_cast<const DecodedTensor*>(&source)) {
      say(" decoded {} ", decoded->tensor().codec->name);
      return add_parts(decoded->tensor());
    }
    if (const auto* turned = dynamic_cast<const TurnedSource*>(&source)) {
      const Tensor& tensor = turned->tensor();
      say(" turned {} {} ", tensor.codec->name, fmt::join(tensor.shape, " "));
      return add_parts(tensor);
    }
    if (const auto* amax = dynamic_cast<const Mxfp4BlockAmax*>(&source)) {
      say(" mxfp4-amax {} {} ", amax->choice().smallest, amax->choice().when_zeros);
      return add_parts(amax->tensor());
    }
    if (const auto* coded = dynamic_cast<const CodedSource*>(&source)) {
      return add_coded(coded->matrix());
    }
    if (const auto* strided = dynamic_cast<const StridedSource*>(&source)) {
      const StridedGrid& grid = strided->grid();
      say(" strided {} {} {} {} ", strided->element_bytes(), grid.first, fmt::join(grid.sizes, " "),
          fmt::join(grid.strides, " "));
      return add_slice(strided->from());
    }
    if (const auto identity = source.identity()) {
      const std::string& name = source.name();
      say(" file {} {} {}\n", inputs_.size(), source.size_bytes(),
          name.substr(name.rfind('/') + 1));
      add_input(source, *identity);
      return;
    }
    Sha256 sha256;
    sha256.add(source.memory());
    say(" blob {} {}\n", source.size_bytes(), sha256.finish());
  }

  void add_slice(const Slice& slice) {
    say("slice {} {} ", slice.offset_bytes, slice.size_bytes);
    add_source(*slice.source);
    say("\n");
  }

  void add_op(const AddScalar& op) { say("add {:08x}\n", std::bit_cast<uint32_t>(op.value)); }
  void add_op(const NegExp&) { say("neg-exp\n"); }
  void add_op(const LogNegated&) { say("log-negated\n"); }
  void add_op(const RoundTo& op) { say("round-to {}\n", static_cast<unsigned>(op.dtype)); }
  void add_op(const ScaleRows& op) {
    say("scale-rows ");
    add_values(*op.factors);
  }
  void add_op(const ScaleColumns& op) {
    say("scale-columns ");
    add_values(*op.factors);
  }
  void add_op(const PermuteColumns& op) {
    say("permute-columns ");
    add_values(*op.index);
  }

  void add_tensor_behind(const char* what, const Tensor* tensor) {
    if (tensor == nullptr) return;
    say("{} ", what);
    add_tensor(*tensor);
  }

  void add_recoded(const Recoded& recoded) {
    add_tensor_behind("from", recoded.from.get());
    for (const ValueOp& op : recoded.ops) {
      std::visit([this](const auto& one) { add_op(one); }, op);
    }
    for (const auto& peer : recoded.peers) add_tensor_behind("peer", peer.get());
    if (recoded.weights != nullptr) {
      say("weights ");
      add_values(recoded.weights->weights);
    }
    if (recoded.stats.has_value()) {
      say("stats {:08x} {:08x}\n", std::bit_cast<uint32_t>(recoded.stats->amax),
          std::bit_cast<uint32_t>(recoded.stats->own_amax));
    }
    const EncodeOptions& options = recoded.options;
    say("encode {} {} {}\n", options.cpu_rounding, static_cast<unsigned>(options.search),
        options.searches_alone);
    add_tensor_behind("block-amax", recoded.block_amax.get());
    if (recoded.repack != nullptr) say("repack {}\n", recoded.repack->from->name);
    add_tensor_behind("moments", recoded.moments.get());
  }

  // A tensor's name matters where it stands in a header, which has a digest of its own.
  void add_tensor(const Tensor& tensor) {
    if (is_known(&tensor)) return;
    say(" tensor {} {}\n", tensor.codec->name, fmt::join(tensor.shape, ","));
    if (!tensor.is_stored()) return add_recoded(tensor.recoded());
    for (const auto& part : tensor.stored().parts) {
      say("part {}\n", part.size());
      for (const Slice& slice : part) add_slice(slice);
    }
  }

  void add_output(const Output& output) {
    say("output {} {}\n", output.layout.is_folder, output.layout.files.size());
    for (const Tensor& tensor : output.checkpoint.tensors) add_tensor(tensor);
    for (const OutputFile& file : output.layout.files) {
      say("file {} {}\nheader ", file.size_bytes, output.layout.is_folder ? file.path : "");
      add_values(file.header);
      for (const Extent& extent : file.extents) {
        say("extent {} {} {} {}\n", extent.tensor, extent.part, extent.offset_bytes,
            extent.size_bytes);
      }
      if (file.same_as.source != nullptr) add_slice(file.same_as);
    }
  }

  static constexpr size_t kFlushBytes = 64 << 10;
  Sha256 sha256_;
  std::string text_;
  std::map<const void*, size_t> known_;
  std::vector<InputFile> inputs_;
  std::optional<Error> error_;
};

}  // namespace

Result<PlanDigest> digest_of(const Plan& plan, std::string_view version) {
  return Digester().run(plan, version);
}

std::string changed_input(const std::vector<InputFile>& before, const std::vector<InputFile>& now,
                          bool same_machine) {
  for (size_t i = 0; i < before.size() && i < now.size(); ++i) {
    const InputFile &a = before[i], &b = now[i];
    if (a.size_bytes != b.size_bytes) {
      return fmt::format("{} has {} bytes; it had {}", b.path, b.size_bytes, a.size_bytes);
    }
    if (a.modified_ns != b.modified_ns) {
      return fmt::format("{} was written to in between", b.path);
    }
    if (same_machine && a.inode != b.inode) {
      return fmt::format("{} is another file than it was", b.path);
    }
  }
  if (before.size() == now.size()) return "";
  return fmt::format("{} files are read now, {} before", now.size(), before.size());
}

}  // namespace ckpt

#include "core/computed/computed_source.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <set>

#include "core/base/sha256.h"

namespace ckpt {
namespace {

class SourceWalk {
 public:
  explicit SourceWalk(const std::function<void(const ByteSource&)>& take) : take_(take) {}

  void add(const ByteSource& source) {
    if (!known_.insert(&source).second) return;
    take_(source);
    if (const ComputedSource* computed = source.computed()) {
      computed->each_input([this](const Slice& slice) { add(*slice.source); });
    }
  }
  void add(const Tensor& tensor) {
    if (!known_.insert(&tensor).second) return;
    if (tensor.is_stored()) {
      return each_slice(tensor, [this](const Slice& slice) { add(*slice.source); });
    }
    for (const TensorBehind& behind : tensors_behind(tensor.recoded())) add(*behind.tensor);
  }

 private:
  const std::function<void(const ByteSource&)>& take_;
  std::set<const void*> known_;
};

template <class T>
std::string digest_of(const std::vector<T>& values) {
  return sha256_of(std::as_bytes(std::span(values)));
}

struct DescribeOp {
  std::string operator()(const AddScalar& op) const {
    return fmt::format("add {:08x}", std::bit_cast<uint32_t>(op.value));
  }
  std::string operator()(const SignedExp& op) const { return op.sign < 0 ? "neg-exp" : "exp"; }
  std::string operator()(const SignedLog& op) const { return op.sign < 0 ? "log-negated" : "log"; }
  std::string operator()(const RoundTo& op) const {
    return fmt::format("round-to {}", static_cast<unsigned>(op.dtype));
  }
  std::string operator()(const ScaleRows& op) const { return "rows " + digest_of(*op.factors); }
  std::string operator()(const ScaleColumns& op) const {
    return "columns " + digest_of(*op.factors);
  }
  std::string operator()(const PermuteColumns& op) const {
    return "permute " + digest_of(*op.index);
  }
};

}  // namespace

void ComputedSource::take_window(std::span<const std::byte> window, uint64_t& offset_bytes,
                                 std::span<std::byte>& out) {
  const size_t size = std::min(out.size(), window.size());
  std::memcpy(out.data(), window.data(), size);
  out = out.subspan(size);
  offset_bytes += size;
}

// The memory of the input that needs most, since inputs are read one after the other. A request to
// an input is never larger than the remaining room.
uint64_t ComputedSource::scratch_bytes(uint64_t size_bytes) const {
  const uint64_t own = own_scratch_bytes(size_bytes);
  uint64_t most = 0;
  each_input([&](const Slice& slice) {
    const uint64_t asked = std::min(slice.size_bytes, std::max(own, size_bytes));
    most = std::max(most, slice.source->scratch_bytes(asked));
  });
  return own + most;
}

void each_slice(const Tensor& tensor, const ComputedSource::TakeInput& take) {
  for (const std::vector<Slice>& part : tensor.stored().parts) {
    for (const Slice& slice : part) take(slice);
  }
}

std::string described(const Tensor& tensor) {
  std::string out = fmt::format("{} [{}]", tensor.codec->name, fmt::join(tensor.shape, " "));
  if (!tensor.is_stored()) {
    for (const TensorBehind& behind : tensors_behind(tensor.recoded())) {
      out += fmt::format(" {} ({})", behind.what, described(*behind.tensor));
    }
    return out + described_change(tensor.recoded());
  }
  for (const std::vector<Slice>& part : tensor.stored().parts) {
    out += fmt::format(" {}", part.size());
  }
  return out;
}

std::string described_change(const Recoded& recoded) {
  std::string out;
  for (const ValueOp& op : recoded.ops) out += " " + std::visit(DescribeOp(), op);
  if (recoded.weights != nullptr) out += " weights " + digest_of(recoded.weights->weights);
  if (recoded.stats) {
    out += fmt::format(" stats {:08x} {:08x}", std::bit_cast<uint32_t>(recoded.stats->amax),
                       std::bit_cast<uint32_t>(recoded.stats->own_amax));
  }
  const EncodeOptions& options = recoded.options;
  out += fmt::format(" encode {} {} {}", options.cpu_rounding,
                     static_cast<unsigned>(options.search), options.searches_alone);
  if (recoded.repack != nullptr) out += fmt::format(" repack {}", recoded.repack->from->name);
  return out;
}

std::vector<TensorBehind> tensors_behind(const Recoded& recoded) {
  std::vector<TensorBehind> out{{"from", recoded.from.get()}};
  for (const auto& peer : recoded.peers) out.push_back({"peer", peer.get()});
  out.push_back({"block-amax", recoded.block_amax.get()});
  out.push_back({"moments", recoded.moments.get()});
  std::erase_if(out, [](const TensorBehind& each) { return each.tensor == nullptr; });
  return out;
}

void each_source(std::span<const Output> outputs,
                 const std::function<void(const ByteSource&)>& take) {
  SourceWalk walk(take);
  for (const Output& output : outputs) {
    for (const Tensor& tensor : output.checkpoint.tensors) walk.add(tensor);
    for (const OutputFile& file : output.layout.files) {
      if (file.same_as.source != nullptr) walk.add(*file.same_as.source);
    }
  }
}

void each_source(const Plan& plan, const std::function<void(const ByteSource&)>& take) {
  each_source(std::span(plan.outputs), take);
}

Status check_inputs_unchanged(const Plan& plan) {
  Status first;
  each_source(plan, [&](const ByteSource& source) {
    const FileState* state = source.file_state();
    if (first && state != nullptr) first = check_unchanged(source.name(), *state);
  });
  return first.and_then(check_files_read);
}

}  // namespace ckpt

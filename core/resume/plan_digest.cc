#include "core/resume/plan_digest.h"

#include <iterator>
#include <map>
#include <optional>
#include <span>

#include "core/base/sha256.h"
#include "core/computed/computed_source.h"
#include "core/io/files_read.h"

namespace ckpt {
namespace {

class Digester {
 public:
  Result<PlanDigest> run(const Plan& plan, std::string_view version) {
    say("ckpt-plan 3\nversion {}\n", version);
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

  // A source that occurs again is identified by its number.
  bool is_known(const void* thing) {
    const auto [found, is_new] = known_.try_emplace(thing, known_.size());
    say("#{}{}", found->second, is_new ? "" : "\n");
    return !is_new;
  }

  void add_input(const ByteSource& source, const FileState& state) {
    inputs_.push_back(
        {source.name(), state.size_bytes, state.modified_ns, state.inode, state.changed_ns});
  }

  void add_source(const ByteSource& source) {
    if (is_known(&source)) return;
    if (const ComputedSource* computed = source.computed()) {
      say(" computed {} {} ", static_cast<unsigned>(computed->kind()), computed->operation());
      return computed->each_input([this](const Slice& slice) { add_slice(slice); });
    }
    if (const FileState* state = source.file_state()) {
      const std::string& name = source.name();
      say(" file {} {} {}\n", inputs_.size(), source.size_bytes(),
          name.substr(name.rfind('/') + 1));
      return add_input(source, *state);
    }
    if (source.memory().size() != source.size_bytes()) {
      error_ =
          Error{ErrorCode::kUnsupported, source.name(), "bytes that nothing tells from others", ""};
      return;
    }
    say(" blob {} {}\n", source.size_bytes(), sha256_of(source.memory()));
  }

  void add_slice(const Slice& slice) {
    say("slice {} {} ", slice.offset_bytes, slice.size_bytes);
    add_source(*slice.source);
    say("\n");
  }

  void add_recoded(const Recoded& recoded) {
    for (const TensorBehind& behind : tensors_behind(recoded)) {
      say("{} ", behind.what);
      add_tensor(*behind.tensor);
    }
    say("{}\n", described_change(recoded));
  }

  // A tensor's name only matters in a header, which has a separate digest.
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
      say("file {} {}\nheader {} {}\n", file.size_bytes, output.layout.is_folder ? file.path : "",
          file.header.size(), sha256_of(file.header));
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
    if (b.modified_ns == kTimeUnknown) {
      return fmt::format(
          "{}: its server sends neither ETag nor Last-Modified, so it may have been replaced",
          b.path);
    }
    if (a.modified_ns != b.modified_ns) {
      return fmt::format("{} was written to in between", b.path);
    }
    if (same_machine && a.inode != b.inode) {
      return fmt::format("{} is another file than it was", b.path);
    }
    if (same_machine && a.changed_ns != b.changed_ns) {
      return fmt::format("{} was linked, given another mode, or written to with its time set back",
                         b.path);
    }
  }
  if (before.size() == now.size()) return "";
  return fmt::format("{} files are read now, {} before", now.size(), before.size());
}

}  // namespace ckpt

#include "plan/conversion/targets.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <set>

#include "core/base/counted.h"
#include "core/base/find.h"
#include "core/base/printable.h"
#include "core/base/words.h"
#include "core/computed/computed_source.h"
#include "core/io/folder.h"
#include "core/io/ownership.h"
#include "core/io/paths.h"
#include "core/io/remote_files.h"
#include "core/io/temporary.h"
#include "core/outputs/place.h"
#include "core/resume/ledger_files.h"
#include "formats/formats.h"
#include "plan/conversion/added_steps.h"
#include "quantizers/quantizers.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

// The name of each input file in messages, by device and inode.
using Inputs = std::map<std::pair<uint64_t, uint64_t>, std::string>;

// The status of the path without following a link; nullopt if nothing exists there.
Result<std::optional<struct stat>> path_status(const fs::path& path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) == 0) return status;
  if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
  return io_failure(path, "cannot be examined", errno);
}

void add_file(Inputs& inputs, const fs::path& path, const std::string& what) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return;
  inputs.try_emplace({status.st_dev, status.st_ino}, fmt::format("{} ({})", what, path.string()));
}

// Adds the files of a folder and its direct subfolders; the plan adds weights that are deeper.
void add_folder(Inputs& inputs, const InputPath& input) {
  std::error_code error, ignored;
  for (fs::directory_iterator entry(input.path, error), end; !error && entry != end;
       entry.increment(error)) {
    add_file(inputs, entry->path(), input.what);
    if (!entry->is_directory(ignored)) continue;
    fs::directory_iterator below(entry->path(), ignored);
    for (; !ignored && below != end; below.increment(ignored)) {
      add_file(inputs, below->path(), input.what);
    }
  }
}

Inputs files_read(const Plan& plan, const std::vector<InputPath>& paths) {
  Inputs inputs;
  std::error_code ignored;
  for (const InputPath& input : paths) {
    if (fs::is_directory(input.path, ignored)) {
      add_folder(inputs, input);
    } else {
      add_file(inputs, input.path, input.what);
    }
  }
  each_source(plan, [&](const ByteSource& source) {
    const FileState* state = source.file_state();
    if (state == nullptr) return;
    inputs.try_emplace({state->device, state->inode},
                       fmt::format("read for it ({})", source.name()));
  });
  return inputs;
}

}  // namespace

void note_unchecked_sources(std::span<const Output> outputs, const Context& context) {
  std::set<std::string> changing, in_pieces;
  bool may_resume = true;
  each_source(outputs, [&](const ByteSource& source) {
    const FileState* state = source.file_state();
    if (state == nullptr) return;
    if (state->has_listed_digest) in_pieces.insert(source.name());
    if (state->shows_changes) return;
    changing.insert(source.name());
    may_resume &= state->modified_ns != kTimeUnknown;
  });
  const auto named = [](const std::set<std::string>& names) {
    return names.size() == 1
               ? *names.begin()
               : fmt::format("{} (and {})", *names.begin(), counted(names.size() - 1, "more file"));
  };
  if (!changing.empty()) {
    context.note(
        "{}: the server sends neither ETag nor Last-Modified, so ckpt does not notice when it is "
        "replaced during the run{}",
        named(changing), may_resume ? "" : ", and cannot resume the run");
  }
  if (!in_pieces.empty()) {
    const std::string& first = *in_pieces.begin();
    context.note(
        "{}: read in pieces, so not compared with the digest that the server lists; "
        "'ckpt verify {}' compares it",
        named(in_pieces), shell_word(first.substr(0, first.rfind('/') + 1)));
  }
}

namespace {

Status refuse_input(const Inputs& inputs, const fs::path& target) {
  CKPT_ASSIGN(const auto status, path_status(target));
  if (!status || !S_ISREG(status->st_mode)) return {};
  const auto found = inputs.find({status->st_dev, status->st_ino});
  if (found == inputs.end()) return {};
  return misuse_hint("another OUT, in a folder without inputs", "{}: would be replaced, and is {}",
                     target.string(), found->second);
}

// Rejects a target that is an input file, or a folder that contains one.
Status refuse_inputs_in(const Inputs& inputs, const fs::path& target) {
  CKPT_ASSIGN(const auto status, path_status(target));
  if (!status) return {};
  if (!S_ISDIR(status->st_mode)) return refuse_input(inputs, target);
  CKPT_ASSIGN(const std::vector<FolderEntry> entries, list_folder(target, {}));
  for (const FolderEntry& entry : entries) CKPT_TRY(refuse_input(inputs, target / entry.path));
  return {};
}

// Whether a run, or a share of one, has left a ledger for this output.
Result<bool> has_ledger(const Output& output) {
  return ledgers_at(ledger_path(output)).map([](const auto& found) { return !found.empty(); });
}

// Rejects an "OUT.partial" without a ledger, which another program or user made. Shares have
// ledgers only next to the first output.
Status refuse_unknown_leftovers(const Plan& plan, const Output& output, const fs::path& partial) {
  CKPT_ASSIGN(const bool exists, is_there(partial));
  if (!exists) return {};
  for (const Output* one : {&output, &plan.outputs[0]}) {
    CKPT_ASSIGN(const bool is_known, has_ledger(*one));
    if (is_known) return {};
  }
  CKPT_TRY(refuse_at_work(partial));  // a patch to another folder has no ledger
  return misuse_hint(fmt::format("mv {} elsewhere, or another OUT", shell_path(partial.string())),
                     "{}: already exists and was not left by an interrupted run (it has no ledger)",
                     partial.string());
}

bool is_mount_point(const fs::path& path) {
  struct statx status{};
  return ::statx(AT_FDCWD, path.c_str(), AT_NO_AUTOMOUNT, STATX_TYPE, &status) == 0 &&
         (status.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

Status check_replaceable_folder(Output& output, const ReadOptions& reading) {
  if (is_mount_point(output.path)) {
    return misuse_hint(shell_path((output.path / "NAME").string()),
                       "{}: a mount point, which --force cannot replace", output.path.string());
  }
  CKPT_ASSIGN(output.replaced, replaceable_files(output, reading));
  return {};
}

// Judges by content, because a name must not decide what is removed.
Status check_replaceable_file(const fs::path& path) {
  const auto source = open_file(path);
  std::array<std::byte, 4> magic{};
  const bool is_gguf =
      source && (*source)->read(0, magic) && std::memcmp(magic.data(), "GGUF", 4) == 0;
  const Format* safetensors = find_format("safetensors");
  CKPT_CHECK(safetensors != nullptr);
  if (is_gguf || safetensors->read(path, all_codecs(), {})) return {};
  return not_a_checkpoint(path);
}

// `names` is the folder's name, or the names of all files.
Status check_replaceable(Output& output, const std::vector<fs::path>& names,
                         const ReadOptions& reading) {
  for (const fs::path& name : names) {
    CKPT_TRY(refuse_link(name, ""));
    CKPT_ASSIGN(const auto status, path_status(name));
    if (!status) continue;
    if (S_ISDIR(status->st_mode) && !output.layout.is_folder) {
      return misuse_hint(shell_path((name / "NAME.gguf").string()),
                         "{}: is a folder; expected a file or nothing", name.string());
    }
    CKPT_TRY(S_ISDIR(status->st_mode) ? check_replaceable_folder(output, reading)
                                      : check_replaceable_file(name));
  }
  return {};
}

Status check_output(const Plan& plan, Output& output, const Inputs& inputs,
                    const ReplaceOptions& replacing) {
  std::vector<fs::path> temporaries, finals;
  if (output.layout.is_folder) {
    temporaries.push_back(partial_path(output));
    finals.push_back(output.path);
  } else {
    for (const OutputFile& file : output.layout.files) {
      temporaries.push_back(partial_path(output, file));
      finals.push_back(final_path(output, file));
    }
  }
  for (const fs::path& path : temporaries) {
    CKPT_TRY(require_ours(path, Guard::kOwner));
    CKPT_TRY(refuse_inputs_in(inputs, path));
    CKPT_TRY(refuse_unknown_leftovers(plan, output, path));
  }
  if (output.layout.is_folder) CKPT_TRY(check_unfinished_folder(output));
  CKPT_TRY(refuse_input(inputs, ledger_path(output)));
  if (!replacing.force || output.goes_into) return {};
  for (const fs::path& path : finals) CKPT_TRY(refuse_inputs_in(inputs, path));
  return check_replaceable(output, finals, replacing.reading);
}

// Rejects outputs inside each other, because replacing one would remove the other.
Status check_outputs_apart(const Plan& plan) {
  std::map<fs::path, size_t> taken;  // by earlier outputs; content sorts after its folder
  for (size_t i = 0; i < plan.outputs.size(); ++i) {
    const fs::path own = real_place(plan.outputs[i].path),
                   partial = real_place(partial_path(plan.outputs[i]));
    size_t other = i;
    for (const fs::path* path : {&own, &partial}) {
      fs::path above;
      for (const fs::path& part : *path) {
        const size_t* found = find_mapped(taken, above /= part);
        if (found != nullptr) other = std::min(other, *found);
      }
    }
    for (auto inside = taken.lower_bound(own);
         inside != taken.end() && is_within(inside->first, own); ++inside) {
      other = std::min(other, inside->second);
    }
    if (other != i) {
      return misuse_hint("outputs next to each other", "{} and {}: one output is inside the other",
                         plan.outputs[i].path.string(), plan.outputs[other].path.string());
    }
    taken.emplace(own, i);
    taken.emplace(partial, i);
  }
  return {};
}

// File endings of weights: those that ckpt writes, and those of other programs.
constexpr std::string_view kOwnEndings[] = {".gguf", ".safetensors"};
constexpr std::string_view kOtherEndings[] = {".bin",  ".pt", ".pth", ".ckpt", ".pkl",
                                              ".onnx", ".h5", ".npz", ".ggml"};

// Rejects a file ending for a folder, because users who type it expect a file.
Status refuse_other_ending(const fs::path& out) {
  const std::string ending = out.extension().string(), lower = lower_case(ending);
  const bool is_own = std::ranges::find(kOwnEndings, lower) != std::end(kOwnEndings);
  const bool is_other = std::ranges::find(kOtherEndings, lower) != std::end(kOtherEndings);
  if (!(is_own && ending != lower) && !is_other) return {};
  if (is_folder(out)) return {};
  fs::path meant = out;
  meant.replace_extension(is_own ? lower : ".safetensors");
  const std::string hint = fmt::format("{}, or {} for a folder of that name",
                                       shell_path(meant.string()), shell_path(out.string() + "/"));
  if (is_own) {
    return misuse_hint(hint, "{}: ends in {}; expected {} for a file", out.string(), ending, lower);
  }
  return misuse_hint(hint,
                     "{}: ckpt does not write {} files; expected .gguf, .safetensors or a folder",
                     out.string(), ending);
}

}  // namespace

bool names_own_file(const fs::path& out) {
  const std::string ending = out.extension().string();
  return std::ranges::find(kOwnEndings, ending) != std::end(kOwnEndings);
}

Result<fs::path> target_path(const fs::path& typed) {
  CKPT_TRY(refuse_stdout(typed));
  fs::path out = typed;
  while (!out.has_filename() && out.has_relative_path()) out = out.parent_path();
  if (out != typed && names_own_file(out)) {
    return misuse_hint(shell_path(out.string()),
                       "{}: the name of a folder; '{}' is the name of one file", typed.string(),
                       out.filename().string());
  }
  if (out.filename() == "." || out.filename() == "..") return real_place(out);
  CKPT_TRY(refuse_file_above(out));
  if (out == typed) CKPT_TRY(refuse_other_ending(out));
  return out;
}

Status check_apart(const fs::path& in, const fs::path& out) {
  if (is_url(in)) return {};
  std::error_code error;
  const fs::path source = real_place(in), target = real_place(out);
  if (source.empty() || target.empty()) return {};
  if (source == target || fs::equivalent(in, out, error)) {
    return misuse_hint({"another OUT", Remedy::kOtherOut}, "{}: OUT is IN", out.string());
  }
  if (is_within(target, source)) {
    return misuse_hint("an OUT next to IN", "{}: OUT is inside IN ({})", out.string(), in.string());
  }
  if (is_within(source, target)) {
    return misuse_hint("an OUT next to IN", "{}: IN ({}) is inside OUT", out.string(), in.string());
  }
  return {};
}

Result<bool> goes_into(const fs::path& out, const Layout& layout) {
  constexpr std::string_view kTemporary = ".ckpt-partial";
  std::error_code error;
  if (!layout.is_folder || !fs::is_directory(out, error)) return false;
  bool is_empty = true, is_begun = false;
  fs::directory_iterator entry(out, error), end;
  for (; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    // Linux file systems have lost+found in their top folder.
    is_empty = is_empty && (name == "lost+found" || name.starts_with(kTemporary));
    is_begun = is_begun || name.starts_with(std::string(kTemporary) + ".ledger");
  }
  if (!error) return is_empty || is_begun;
  return io_failure(out, "cannot be listed", error.value());
}

Status check_new_out(const fs::path& typed) {
  CKPT_ASSIGN(const fs::path out, target_path(typed));
  CKPT_TRY(check_parent(out));
  Layout layout;
  layout.is_folder = !is_gguf_path(out);
  CKPT_ASSIGN(const bool into, goes_into(out, layout));
  return into ? Status() : refuse_existing(out, layout.is_folder);
}

Result<std::vector<std::string>> check_places(const Plan& plan, bool force) {
  std::vector<std::string> replaced;
  for (const Output& output : plan.outputs) {
    CKPT_TRY(check_place(output, true));
    const Status is_free = check_place(output, force);
    if (is_free) continue;
    if (is_free.error().remedy != Remedy::kForce) return Failure(is_free.error());
    replaced.push_back(is_free.error().text());
  }
  return replaced;
}

Status check_targets(Plan& plan, const std::vector<InputPath>& inputs,
                     const ReplaceOptions& replacing) {
  CKPT_TRY(check_outputs_apart(plan));
  const Inputs files = files_read(plan, inputs);
  for (Output& output : plan.outputs) CKPT_TRY(check_output(plan, output, files, replacing));
  return {};
}

}  // namespace ckpt

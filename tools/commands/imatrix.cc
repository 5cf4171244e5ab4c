// ckpt imatrix show|merge|fill FILE...: importance matrices, looked at, added up, completed.
#include <nlohmann/json.hpp>

#include "formats/formats.h"
#include "plan/conversion/targets.h"
#include "quantizers/quantizers.h"
#include "tools/imatrix/fill.h"
#include "tools/imatrix/merge.h"
#include "tools/imatrix/show.h"
#include "tools/line/commands.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

struct TypedImatrix {
  std::string what;
  std::vector<std::string> files;
  fs::path out;
  std::string with;
  unsigned chunk_size = 0, min_count = 0;  // 0: not typed
  bool force = false, tensors = false;
};

// An option that the word has no use for is refused.
Status check_imatrix_options(const TypedImatrix& typed) {
  struct Owned {
    std::string_view option, owners;
    bool is_typed;
  };
  const Owned all[] = {
      {"--out", "merge or fill", !typed.out.empty()},  {"--force", "merge or fill", typed.force},
      {"--chunk-size", "merge", typed.chunk_size > 0}, {"--with", "fill", !typed.with.empty()},
      {"--min-count", "fill", typed.min_count > 0},    {"--tensors", "show", typed.tensors}};
  for (const Owned& each : all) {
    if (!each.is_typed || each.owners.find(typed.what) != each.owners.npos) continue;
    return fail(ErrorCode::kUsage, "{} is an option of ckpt imatrix {}", each.option, each.owners);
  }
  if (typed.what != "merge" && typed.files.size() > 1) {
    return fail_with_hint(ErrorCode::kUsage,
                          "ckpt imatrix merge " + shell_path(typed.files[0]) + " " +
                              shell_path(typed.files[1]) + " -o all.gguf",
                          "imatrix {}: {} files; expected one", typed.what, typed.files.size());
  }
  if (typed.what == "show" || !typed.out.empty()) return {};
  return fail_with_hint(ErrorCode::kUsage, "-o imatrix.gguf", "imatrix {} without --out",
                        typed.what);
}

// Two names of one file would count it twice.
Status check_imatrix_files(const TypedImatrix& typed) {
  std::error_code error;
  for (size_t i = 0; i < typed.files.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (!fs::equivalent(typed.files[i], typed.files[j], error)) continue;
      return fail(ErrorCode::kUsage, "{}: is the same file as {}, and would count twice",
                  typed.files[i], typed.files[j]);
    }
    if (typed.out.empty() || !fs::equivalent(typed.files[i], typed.out, error)) continue;
    return fail_with_hint(ErrorCode::kUsage, "another name", "--out {}: is read for it",
                          typed.out.string());
  }
  return typed.out.empty() ? Status() : check_imatrix_target(typed.out, typed.force);
}

Status write_imatrix(const TypedImatrix& typed, const ImatrixSums& sums, const Console& console,
                     const CommonOptions& common) {
  Plan plan;
  CKPT_ASSIGN(Output output,
              in(typed.out.string(), lay_out_imatrix(sums, typed.out, all_codecs())));
  plan.outputs.push_back(std::move(output));
  std::vector<InputPath> inputs;
  for (const std::string& file : typed.files) inputs.push_back({"FILE", file});
  CKPT_TRY(check_targets(plan, inputs, false));
  ExecuteOptions options;
  options.threads = common.threads;
  options.memory_bytes = common.memory_bytes;
  options.force = typed.force;
  options.interrupted = &interrupted;
  CKPT_ASSIGN(const ExecuteReport report, execute(plan, options));
  for (const FileReport& file : report.files) {
    console.answer(fmt::format("{}  {}", file.sha256, file.path));
    console.object("file",
                   {{"path", file.path}, {"size_bytes", file.size_bytes}, {"sha256", file.sha256}});
  }
  console.talk("Next: ckpt imatrix show " + shell_path(typed.out.string()));
  return {};
}

Status merge(const TypedImatrix& typed, const Console& console, const CommonOptions& common) {
  std::vector<ImatrixSums> files;
  for (const std::string& file : typed.files) {
    CKPT_ASSIGN(ImatrixSums sums, read_imatrix_sums(file));
    files.push_back(std::move(sums));
  }
  std::vector<std::string> notes;
  CKPT_ASSIGN(const ImatrixSums merged, merge_imatrices(std::move(files), typed.chunk_size, notes));
  for (const std::string& note : notes) console.warn(note);
  return write_imatrix(typed, merged, console, common);
}

Status fill(const TypedImatrix& typed, const Console& console, const CommonOptions& common) {
  CKPT_ASSIGN(ImatrixSums sums, read_imatrix_sums(typed.files[0]));
  const FillWith with = typed.with == "mean" ? FillWith::kMean : FillWith::kOnes;
  const int64_t least = typed.min_count == 0 ? 1 : typed.min_count;
  CKPT_ASSIGN(const uint64_t filled, fill_imatrix(sums, with, least));
  if (sums.chunk_size == 0) {
    return fail(ErrorCode::kCorrupt, "{}: imatrix.chunk_size is 0", typed.files[0]);
  }
  if (!sums.other_tensors.empty()) {
    console.warn(fmt::format("left out, as they belong to no weight: {}",
                             fmt::join(sums.other_tensors, ", ")));
  }
  const std::string count = filled == 1 ? "one expert" : fmt::format("{} experts", filled);
  console.talk(filled == 0  ? "nothing to fill: the output says what the input does"
               : least == 1 ? fmt::format("filled {} that saw no input", count)
                            : fmt::format("filled {} that saw fewer than {} inputs", count, least));
  return write_imatrix(typed, sums, console, common);
}

Result<int> imatrix(const TypedImatrix& typed, const Console& console,
                    const CommonOptions& common) {
  CKPT_TRY(check_imatrix_options(typed));
  CKPT_TRY(check_imatrix_files(typed));
  if (typed.what == "show") {
    CKPT_ASSIGN(const ImatrixSums sums, read_imatrix_sums(typed.files[0]));
    show_imatrix(sums, typed.tensors, console);
  } else {
    CKPT_TRY(typed.what == "merge" ? merge(typed, console, common) : fill(typed, console, common));
  }
  return 0;
}

Run declare_imatrix(CommandOptions& options) {
  auto typed = std::make_shared<TypedImatrix>();
  Option& what = options.add("WHAT", &typed->what, "show, merge or fill");
  what.choices = {"show", "merge", "fill"};
  what.is_required = true;
  options.add("FILE", &typed->files, "importance matrices, GGUF or .dat").is_required = true;
  options.add("--tensors", &typed->tensors, "show: tensors without experts too");
  options.add("--out,-o FILE", &typed->out,
              "merge, fill: the file to write, GGUF, or legacy where it ends in .dat");
  options
      .add("--chunk-size", &typed->chunk_size,
           "merge: tokens of a chunk (default: the files'; 512 where all are .dat)")
      .bounds = {1, 1 << 30};
  options
      .add("--with", &typed->with,
           "fill: what an expert without statistics gets, ones (default) or the mean of those that "
           "have some")
      .choices = {"ones", "mean"};
  options
      .add("--min-count", &typed->min_count,
           "fill: also experts that saw fewer than N inputs (default: 1)")
      .bounds = {1, 1 << 30};
  options.add("--force", &typed->force, "merge, fill: replace an older importance matrix");
  return [typed](const Console& console, const CommonOptions& common) {
    return imatrix(*typed, console, common);
  };
}

}  // namespace

extern const Command kImatrixCommand{"imatrix", "Shows, merges and fills importance matrices.",
                                     "  ckpt imatrix show imatrix.gguf\n"
                                     "  ckpt imatrix merge prose.gguf code.dat -o all.gguf\n"
                                     "  ckpt imatrix fill imatrix.gguf --with mean -o filled.gguf",
                                     declare_imatrix};

}  // namespace ckpt

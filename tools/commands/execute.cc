// ckpt execute PLAN: executes a plan that `ckpt convert --plan-out` wrote, or one share of it.
#include "core/base/numbers.h"
#include "plan/conversion/option_table.h"
#include "plan/text/plan_file.h"
#include "tools/commands/carry_out.h"
#include "tools/line/commands.h"
#include "tools/published/send.h"

namespace ckpt {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kMaxShares = 1'000'000;

struct TypedExecute {
  fs::path plan;
  std::string part, index, cache_folder, cache_size;
  bool force = false;
  ReadOptions reading;
};

// Parses "I/N", where I counts from `first`.
Status read_part(std::string_view option, std::string_view text, uint32_t first,
                 ResumeOptions& resume) {
  if (text.empty()) return {};
  const size_t slash = std::min(text.find('/'), text.size());
  const auto number = number_from<uint32_t>(text.substr(0, slash));
  const auto count = number_from<uint32_t>(text.substr(std::min(slash + 1, text.size())));
  if (number && count && *number >= first && *number - first < *count && *count <= kMaxShares) {
    resume.share_number = *number + 1 - first;
    resume.share_count = *count;
    return {};
  }
  return misuse("{} '{}'; expected I/N, I from {}", option, text,
                first == 1 ? "1 to N" : "0 to N-1");
}

Result<int> run(const TypedExecute& typed, const Console& console, const CommonOptions& common) {
  CKPT_ASSIGN(PlanFile file, read_plan_file(typed.plan));
  file.conversion.force = typed.force;
  file.conversion.reading = typed.reading;
  ExecuteOptions options;
  options.allow_nonfinite = file.conversion.allow_nonfinite;
  options.force = typed.force;
  CKPT_TRY(read_part("--part", typed.part, 1, options.resume));
  CKPT_TRY(read_part("--index", typed.index, 0, options.resume));
  // The time at which the plan was written, by the clock of the file system.
  if (const auto state = state_now(typed.plan)) options.resume.since_ns = state->modified_ns;
  CKPT_ASSIGN(const PlannedConversion planned,
              in(typed.plan.string(), plan_again(file, with_common(options, common))));
  CKPT_TRY(set_cache(planned, typed.cache_folder, typed.cache_size, options));
  show_findings(planned, console);
  return carry_out(planned, file.conversion, options, console, common);
}

Run declare_execute(CommandOptions& options) {
  auto typed = std::make_shared<TypedExecute>();
  options.add("PLAN", &typed->plan, "a file that ckpt convert --plan-out wrote",
              {.is_required = true});
  options.add("--part I/N", &typed->part,
              "I/N: only this share of the work; the last of N completes the plan");
  options.add("--index I/N", &typed->index,
              "like --part but zero-based, as Kubernetes' JOB_COMPLETION_INDEX is",
              {.excludes = "--part"});
  for (auto [name, text] : {std::pair("cache-dir", &typed->cache_folder),
                            std::pair("cache-size", &typed->cache_size)}) {
    const ConvertOption& row = *find_convert_option(name);
    options.add(fmt::format("--{} {}", name, row.value), text, std::string(row.help)).place =
        row.value == "DIR" ? OptionPlace::kWritten : OptionPlace::kAnywhere;
  }
  options.add("--force", &typed->force, "replace OUT, if it holds nothing but a checkpoint");
  declare_follow_links(options, &typed->reading.follow_links);
  return run_with(std::move(typed), run);
}

}  // namespace

extern const Command kExecuteCommand{
    "execute", "Executes a plan, or one share of it per machine.",
    "  ckpt convert base/ out/ --to nvfp4-w4a16 --plan-out plan.json\n"
    "  ckpt execute plan.json\n"
    "  ckpt execute plan.json --part 3/8\n"
    "  ckpt execute plan.json --index 2/8",
    declare_execute};

}  // namespace ckpt

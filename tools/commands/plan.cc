// ckpt plan split PLAN: prints the job file that runs the shares of a plan under a scheduler.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "plan/conversion/option_table.h"
#include "plan/text/plan_file.h"
#include "tools/line/commands.h"

namespace ckpt {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kThreadsOfShare = 16;

struct TypedSplit {
  std::string verb, scheduler;
  fs::path plan;
  unsigned parts = 0;
};

// Slurm requeues the tasks of lost nodes by itself; this script requeues those that were killed or
// ran out of time. Tasks are named ARRAY_INDEX: the number of an array's last task alone names all
// of them. ckpt runs in the background because bash handles a signal only between commands.
constexpr std::string_view kSlurm = R"job(#!/bin/bash
#SBATCH --job-name=ckpt
#SBATCH --array=1-@PARTS@
#SBATCH --cpus-per-task=@THREADS@
#SBATCH --mem=@REQUEST@
#SBATCH --time=02:00:00
#SBATCH --signal=B:TERM@60
#SBATCH --requeue
#SBATCH --open-mode=append
# Submit with bash, not sbatch: a last job then does what is left, if anything.
if [ -z "${SLURM_ARRAY_TASK_ID:-}" ]; then
  shares=$(sbatch --parsable "$@" "$0") || exit
  echo "Submitted batch job $shares"
  exec sbatch "$@" --array=1 --dependency="afterok:${shares%%;*}" --kill-on-invalid-dep=yes "$0"
fi
# The last job: NFS may show the names of files a minute late.
[ "$SLURM_ARRAY_TASK_COUNT" -gt 1 ] || sleep 60
ckpt execute @PLAN@ --part "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT" \
  --threads "$SLURM_CPUS_PER_TASK" --memory @MEMORY@@RATE@ &
trap 'kill $!' TERM
wait $!
wait $!
code=$?
# Killed or out of time, but not canceled: start again, to resume.
task=${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID
if [ $code -ge 128 ] && [ "${SLURM_RESTART_COUNT:-0}" -lt 20 ] &&
  [ "$(squeue --noheader --format=%T --jobs="$task")" = RUNNING ]; then
  scontrol requeue "$task"
fi
exit $code
)job";

constexpr std::string_view kShell = R"job(#!/bin/sh
# @PARTS@ shares in parallel on this machine. Run it again to resume.
threads=@SHELL_THREADS@
shares=
trap 'kill $shares; wait' INT TERM
part=1
while [ $part -le @PARTS@ ]; do
  ckpt execute @PLAN@ --part $part/@PARTS@ --threads $threads --memory @MEMORY@@RATE@ &
  shares="$shares $!"
  part=$((part + 1))
done
code=0
for share in $shares; do wait "$share" || code=$?; done
[ $code -eq 0 ] || exit $code
# Does the remaining work, if any.
exec ckpt execute @PLAN@ --part 1/1 --threads $threads --memory @MEMORY@@RATE@
)job";

constexpr std::string_view kKubernetes =
    R"job(# Change the image and the claim (ReadWriteMany). Then:
#   kubectl apply -f FILE
#   kubectl wait --for=condition=complete --timeout=-1s job/ckpt
#   kubectl patch job/ckpt-finish --patch '{"spec": {"suspend": false}}'
# The second job does what is left, if anything.
apiVersion: batch/v1
kind: Job
metadata:
  name: ckpt
spec:
  completionMode: Indexed
  completions: @PARTS@
  parallelism: @PARTS@
  backoffLimit: 100
@TEMPLATE@---
apiVersion: batch/v1
kind: Job
metadata:
  name: ckpt-finish
spec:
  suspend: true
  backoffLimit: 100
@TEMPLATE@)job";

constexpr std::string_view kPod = R"job(  podFailurePolicy:
    rules:
      # An error of ckpt would come again; a lost node does not count.
      - {action: FailJob, onPodConditions: [],
         onExitCodes: {containerName: ckpt, operator: In, values: [2]}}
      - action: Ignore
        onPodConditions: [{type: DisruptionTarget, status: "True"}]
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: ckpt
          image: registry.example/ckpt:@VERSION@
          args: [execute, @YAML_PLAN@, --index, "@INDEX@",
                 --threads, "@THREADS@", --memory, @MEMORY@@YAML_RATE@]
          resources:
            requests: {cpu: "@THREADS@", memory: @REQUEST@i}
            limits: {memory: @REQUEST@i}
          volumeMounts:
            - {name: models, mountPath: @MOUNT@}
      volumes:
        - name: models
          persistentVolumeClaim: {claimName: models}
)job";

using JobWords = std::vector<std::pair<std::string_view, std::string>>;

std::string filled(std::string_view form, const JobWords& words) {
  std::string out;
  while (!form.empty()) {
    const auto is_next = [&](const auto& word) { return form.starts_with(word.first); };
    const auto word = std::ranges::find_if(words, is_next);
    if (word != words.end()) out += word->second;
    const size_t used = word == words.end() ? 1 : word->first.size();
    if (word == words.end()) out += form[0];
    form.remove_prefix(used);
  }
  return out;
}

// Formats a size as ckpt, Slurm and, with "i" appended, Kubernetes read it.
std::string size_word(uint64_t bytes) {
  const uint64_t mebibytes = std::max<uint64_t>(bytes >> 20, 1);
  return mebibytes % 1024 == 0 ? fmt::format("{}G", mebibytes >> 10)
                               : fmt::format("{}M", mebibytes);
}

// Quotes a string for YAML and escapes "$(NAME)", which Kubernetes replaces in arguments.
std::string yaml_argument(std::string_view text) {
  std::string escaped;
  for (const char c : text) escaped += c == '$' ? std::string("$$") : std::string(1, c);
  return Json(escaped).dump();
}

// Returns every local path that the conversion names.
std::vector<fs::path> paths_of(const PlanFile& file) {
  std::vector<fs::path> out;
  const auto add = [&](const std::string& path) {
    if (path.starts_with('/')) out.push_back(path);
    return path;
  };
  with_paths(file.conversion, add);
  for (const InputFile& input : file.inputs) add(input.path);
  return out;
}

// The folder that must be mounted so that a Pod finds the plan and all files that it names.
Result<fs::path> mount_of(const fs::path& plan, const PlanFile& file) {
  fs::path out = plan.parent_path();
  for (const fs::path& path : paths_of(file)) {
    const fs::path parent = path.lexically_normal().parent_path();
    const auto differ = std::mismatch(out.begin(), out.end(), parent.begin(), parent.end());
    fs::path common;
    for (auto part = out.begin(); part != differ.first; ++part) common /= *part;
    if (common == common.root_path()) {
      return misuse_hint("move them below one folder and plan again",
                         "{}: no folder holds the plan and {}; a Pod mounts one", plan.string(),
                         path.string());
    }
    out = std::move(common);
  }
  if (out.string().find(':') == std::string::npos) return out;
  return misuse_hint("another folder", "{}: Kubernetes mounts no path with a colon", out.string());
}

Result<std::string> kubernetes_job(JobWords words, const fs::path& plan, const PlanFile& file) {
  CKPT_ASSIGN(const fs::path mount, mount_of(plan, file));
  words.emplace_back("@YAML_PLAN@", yaml_argument(plan.string()));
  words.emplace_back("@MOUNT@", Json(mount.string()).dump());
  words.emplace_back("@VERSION@", CKPT_VERSION);
  const auto pod = [&](std::string index) {
    JobWords own = words;
    own.emplace_back("@INDEX@", std::move(index));
    return filled(kPod, own);
  };
  const size_t second = kKubernetes.find("---");
  words.emplace_back("@TEMPLATE@", pod(filled("$(JOB_COMPLETION_INDEX)/@PARTS@", words)));
  const std::string shares = filled(kKubernetes.substr(0, second), words);
  words.back().second = pod("0/1");
  return shares + filled(kKubernetes.substr(second), words);
}

Result<int> split(const TypedSplit& typed, const Console& console, const CommonOptions& common) {
  CKPT_ASSIGN(const PlanFile file, read_plan_file(typed.plan));
  std::error_code error;
  const fs::path plan = fs::absolute(typed.plan, error).lexically_normal();
  if (printable(plan.string()) != plan.string()) {
    return misuse_hint("mv it elsewhere",
                       "{}: a path with control characters or bytes that are not UTF-8 cannot "
                       "be written into a job file",
                       plan.string());
  }
  const unsigned threads = common.threads > 0 ? common.threads : kThreadsOfShare;
  JobWords words = {{"@PARTS@", fmt::format("{}", typed.parts)},
                    {"@PLAN@", shell_word(plan.string())},
                    {"@THREADS@", fmt::format("{}", threads)},
                    {"@MEMORY@", size_word(common.memory_bytes)},
                    {"@REQUEST@", size_word(2 * common.memory_bytes)}};
  const std::string& rate = common.typed_limit_rate;
  words.emplace_back("@RATE@", rate.empty() ? "" : " --limit-rate " + shell_word(rate));
  words.emplace_back("@YAML_RATE@", rate.empty() ? "" : ", --limit-rate, " + yaml_argument(rate));
  words.emplace_back("@SHELL_THREADS@",
                     common.threads > 0
                         ? fmt::format("{}", threads)
                         : fmt::format("$((($(nproc) + {} - 1) / {}))", typed.parts, typed.parts));
  std::string job = filled(typed.scheduler == "slurm" ? kSlurm : kShell, words);
  if (typed.scheduler == "k8s") CKPT_SET(job, kubernetes_job(std::move(words), plan, file));
  console.answer_lines(job);
  console.object("job", {{"for", typed.scheduler}, {"parts", typed.parts}, {"text", job}});
  return 0;
}

Run declare_plan(CommandOptions& options) {
  auto typed = std::make_shared<TypedSplit>();
  options.add("VERB", &typed->verb, "split: print a job file that runs the shares",
              {.choices = {"split"}, .is_required = true});
  options.add("PLAN", &typed->plan, "a file that ckpt convert --plan-out wrote",
              {.is_required = true});
  options.add("--parts N", &typed->parts, "number of shares",
              {.bounds = std::pair(1, 1'000'000), .is_required = true});
  options.add("--print SCHEDULER", &typed->scheduler,
              "slurm, k8s (Kubernetes) or sh (shares in parallel on one machine); --threads "
              "(default: 16; sh: all cores), --memory and --limit-rate are those of one share",
              {.choices = {"slurm", "k8s", "sh"}, .is_required = true});
  return run_with(std::move(typed), split);
}

}  // namespace

extern const Command kPlanCommand{
    "plan", "Prints a job file that runs the shares of a plan.",
    "  ckpt plan split plan.json --parts 8 --print slurm > ckpt.sbatch\n"
    "  ckpt plan split plan.json --parts 8 --print k8s > ckpt.yaml\n"
    "  ckpt plan split plan.json --parts 2 --print sh | sh",
    declare_plan};

}  // namespace ckpt

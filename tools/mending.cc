#include "tools/mending.h"

#include <algorithm>
#include <set>

#include "tools/pipeline.h"
#include "transforms/transforms.h"

namespace ckpt {
namespace {

constexpr int kMaxRounds = 4;

bool has_step(std::string_view name) { return find_transform(name) != nullptr; }

// True when something changed hands; a step that fails leaves the checkpoint as it was.
bool apply_step(Mended& mended, const std::string& text, const Context& context) {
  const auto step = parse_step(text);
  if (!step) {
    context.note(step.error().text());
    return false;
  }
  auto made = step->transform->apply(mended.checkpoint, step->options, context);
  if (!made) {
    context.note(std::move(made.error()).in(fmt::format("step {}", text)).text());
    return false;
  }
  mended.checkpoint = std::move(*made);
  mended.steps.push_back(text);
  return true;
}

}  // namespace

Result<Mended> mend(Checkpoint checkpoint, const Mending& mending, const Context& context) {
  Mended out{std::move(checkpoint), {}, {}};
  const Examination examination{mending.profiles, false, mending.base, has_step};
  std::set<std::string> tried;
  for (int round = 0; round < kMaxRounds; ++round) {
    CKPT_ASSIGN(out.left, diagnose(out.checkpoint, examination));
    bool changed = false;
    for (const Mend& each : mends(out.left, mending.rewrite_weights)) {
      if (!each.is_automatic() || !tried.insert(each.step).second) continue;
      changed |= apply_step(out, each.step, context);
    }
    if (!changed) break;
  }
  return out;
}

}  // namespace ckpt

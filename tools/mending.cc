#include "tools/mending.h"

#include <algorithm>
#include <set>

#include "tools/pipeline.h"
#include "transforms/transforms.h"

namespace ckpt {
namespace {

constexpr int kMaxRounds = 4;

bool has_step(std::string_view name) { return find_transform(name) != nullptr; }

bool is_same(const Tensor& a, const Tensor& b) {
  return a.name == b.name && a.shape == b.shape && a.codec == b.codec && a.is_stored() &&
         b.is_stored() && a.stored().parts == b.stored().parts;
}

bool is_same(const Checkpoint& a, const Checkpoint& b) {
  const auto are_documents_same = [](const Document& x, const Document& y) {
    return x.path == y.path && *x.content == *y.content;
  };
  const auto are_tensors_same = [](const Tensor& x, const Tensor& y) { return is_same(x, y); };
  return std::equal(a.documents.begin(), a.documents.end(), b.documents.begin(), b.documents.end(),
                    are_documents_same) &&
         a.metadata == b.metadata && a.file_metadata == b.file_metadata &&
         std::equal(a.tensors.begin(), a.tensors.end(), b.tensors.begin(), b.tensors.end(),
                    are_tensors_same);
}

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
  if (is_same(mended.checkpoint, *made)) return false;
  mended.checkpoint = std::move(*made);
  mended.steps.push_back(text);
  return true;
}

}  // namespace

Result<Mended> mend(Checkpoint checkpoint, const Mending& mending, const Context& context) {
  Mended out{std::move(checkpoint), {}, {}, {}, false};
  const Examination examination{mending.profiles, false, mending.base, has_step};
  std::set<std::string> tried;
  for (int round = 0; round < kMaxRounds; ++round) {
    CKPT_ASSIGN(out.left, diagnose(out.checkpoint, examination));
    bool changed = false;
    for (const Mend& each : mends(out.left, mending.rewrite_weights)) {
      if (!each.is_automatic() || !tried.insert(each.step).second) continue;
      if (apply_step(out, each.step, context)) {
        changed = true;
        out.rewrites_weights |= each.rewrites_weights;
      } else {
        out.idle.push_back(each.step);
      }
    }
    if (!changed) break;
  }
  return out;
}

}  // namespace ckpt

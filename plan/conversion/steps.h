// Steps as a person types them: parsing, and running one after the other.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/model/transform.h"

namespace ckpt {

// Each step may write a document anew; no recipe has a tenth of them.
inline constexpr size_t kMaxSteps = 1000;

// "name:key=value,key=value"; a value with a comma stands in double quotes.
struct Step {
  const Transform* transform;
  Options options;
};
// Fails: kUsage: no such step or option; a value of another kind; a quote that is not closed.
Result<Step> parse_step(std::string_view text);
Result<std::vector<Step>> parse_steps(const std::vector<std::string>& texts);

// Whether option `key` of a step names a file or a folder.
bool is_path_option(const Transform& step, std::string_view key, std::string_view value);

// Adds an option. Fails: kUsage: the step has none of that name, or the value is of another kind.
Status add_option(Step& step, std::string_view key, std::string value);

// What the steps together may change at most; kDocuments when there are none.
Touches touches(const std::vector<Step>& steps);

// What transforms may use: every codec, other checkpoints, documents. `notes` may be null.
Context step_context(std::vector<std::string>* notes);

// Fails: kUsage for more than kMaxSteps; as the first step that fails, naming it.
Result<Checkpoint> apply_steps(const std::vector<Step>& steps, Checkpoint checkpoint,
                               const Context& context);

}  // namespace ckpt

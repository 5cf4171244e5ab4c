// Steps as a person types them: parses them and runs them in order.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/format.h"
#include "core/model/transform.h"

namespace ckpt {

// A limit, because each step may rewrite a document; no real recipe has a tenth as many.
inline constexpr size_t kMaxSteps = 1000;

// "name:key=value,key=value"; a value with a comma needs double quotes, unless the comma is in a
// list, an object or a text of JSON: "config:set=a=[1,2],set=b=3".
struct Step {
  const Transform* transform;
  Options options;
};
// Fails: kUsage: no such step or option; a value of another kind; a quote that is not closed.
Result<Step> parse_step(std::string_view text);
Result<std::vector<Step>> parse_steps(const std::vector<std::string>& texts);

// The file or folder that a value of `rule` names: all of it, or FILE of KEY=@FILE where the rule
// takes one. A view into `value`; empty: none.
std::string_view path_in(const OptionRule& rule, std::string_view value);
// `steps` with `resolve` of each path in their options in its place.
using ResolvePath = std::function<std::string(const std::string&)>;
std::vector<Step> with_paths(std::vector<Step> steps, const ResolvePath& resolve);
// A path that a file in `folder` names: relative to it, unless it is absolute or a URL.
std::string path_from(const std::filesystem::path& folder, const std::string& text);

// Adds an option. Fails: kUsage: the step has none of that name, or the value is of another kind.
Status add_option(Step& step, std::string_view key, std::string value);

// The most that the steps together may change; kDocuments without steps.
ChangeScope touches(const std::vector<Step>& steps);

// The checkpoint at `path`, in the format that it has. Fails: as recognize() and reading do.
Result<Checkpoint> read_checkpoint(const std::filesystem::path& path,
                                   const ReadOptions& reading = {});
// Reads a checkpoint that has to be complete. One that MLX saved is converted back to the layout of
// the original release. `notes`, which may be null, receives a note about MLX, and one about an
// index that does not match the files. Fails: as read_checkpoint() and from_mlx(); kUsage: by its
// name, `path` is one shard of several; kCorrupt: files of the model are missing, or its index
// omits them.
Result<Checkpoint> read_whole_checkpoint(const std::filesystem::path& path,
                                         const ReadOptions& reading,
                                         std::vector<std::string>* notes = nullptr);

// The context of transforms: every codec, other checkpoints, documents, which are read as `reading`
// asks. `notes` may be null.
Context step_context(std::vector<std::string>* notes, const ReadOptions& reading);

// Fails: kUsage for more than kMaxSteps; as the first step that fails, naming it.
Result<Checkpoint> apply_steps(const std::vector<Step>& steps, Checkpoint checkpoint,
                               const Context& context);

}  // namespace ckpt

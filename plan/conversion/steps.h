// Parses steps as a user types them and runs them in order.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/format.h"
#include "core/model/findings.h"
#include "core/model/transform.h"

namespace ckpt {

// The limit on steps, because each may rewrite a document; no real recipe has a tenth as many.
inline constexpr size_t kMaxSteps = 1000;

// A step: "name:key=value,key=value". A value with a comma needs double quotes, unless the comma is
// within a list, an object or a string of JSON: "config:set=a=[1,2],set=b=3".
struct Step {
  const Transform* transform;
  Options options;
};
// Fails: kUsage: an unknown step or option; a value of another kind; an unclosed quote.
Result<Step> parse_step(std::string_view text);
Result<std::vector<Step>> parse_steps(const std::vector<std::string>& texts);

// The path in a value of `rule`: the entire value, or FILE of KEY=@FILE if the rule accepts that.
// The result is a view into `value`; empty: no path.
std::string_view path_in(const OptionRule& rule, std::string_view value);
// Returns `steps` with each path in their options replaced by `resolve` of it.
using ResolvePath = std::function<std::string(const std::string&)>;
std::vector<Step> with_paths(std::vector<Step> steps, const ResolvePath& resolve);
// Resolves a path in a file of `folder`: relative to the folder, unless it is absolute or a URL.
std::string path_from(const std::filesystem::path& folder, const std::string& text);

// Adds an option. Fails: kUsage: the step lacks this option, or the value is of another kind.
Status add_option(Step& step, std::string_view key, std::string value);

// The largest scope of change of all steps together; kDocuments if there are no steps.
ChangeScope touches(const std::vector<Step>& steps);

// Reads the checkpoint at `path` in its format. Fails: as recognize() and reading do.
Result<Checkpoint> read_checkpoint(const std::filesystem::path& path,
                                   const ReadOptions& reading = {});
// Reads a checkpoint that has to be complete. One that MLX saved is converted back to the layout of
// the original release. `notes`, which may be null, receives a note about MLX, and one about an
// index that does not match the files. Fails: as read_checkpoint(), from_mlx() and refuse_parts();
// kUsage: `path` is, by its name, one shard of several.
Result<Checkpoint> read_whole_checkpoint(const std::filesystem::path& path,
                                         const ReadOptions& reading,
                                         std::vector<std::string>* notes = nullptr);

// Fails: kCorrupt: `read` is not the entire model, or programs would read other values.
Status refuse_parts(const std::filesystem::path& path, const Checkpoint& read,
                    const FileMisfit& misfit);

// The context of transforms: every codec, and access to other checkpoints and documents, which are
// read with the options `reading`. `notes` may be null.
Context step_context(std::vector<std::string>* notes, const ReadOptions& reading);

// Fails: kUsage for more than kMaxSteps; as the first step that fails, which the error names.
Result<Checkpoint> apply_steps(const std::vector<Step>& steps, Checkpoint checkpoint,
                               const Context& context);

}  // namespace ckpt

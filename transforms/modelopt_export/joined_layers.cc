// Which layers servers run as one: experts of a layer, and the fused rows of the table in
// groups.cc.
#include "core/model/tensor_names.h"
#include "transforms/modelopt_export/groups.h"
#include "transforms/modelopt_export/select.h"

namespace ckpt {

Result<std::vector<std::string>> joined_layers(const Checkpoint& checkpoint,
                                               const std::vector<std::string>& modules) {
  CKPT_ASSIGN(const ExportModel model, read_export_model(checkpoint));
  std::vector<std::string> out;
  for (const std::string& module : modules) {
    const auto expert = expert_name(module);
    const SharedGroup group = find_group(module, model.model_type);
    const bool is_fused = group.rule != nullptr && group.rule->is_fused;
    out.push_back(expert ? std::string(expert->front) : is_fused ? group.key : module);
  }
  return out;
}

}  // namespace ckpt

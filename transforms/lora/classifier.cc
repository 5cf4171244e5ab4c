// Merges adapters for classifiers and reward models. PEFT trains a new head on a language model and
// saves it under modules_to_save. Merging changes the class of the model:
//
//   task_type SEQ_CLS     LlamaForCausalLM becomes LlamaForSequenceClassification
//   task_type TOKEN_CLS   LlamaForCausalLM becomes LlamaForTokenClassification
//
// The language model head is dropped, because the new class does not have it.
#include <algorithm>

#include "core/base/counted.h"
#include "core/model/json_documents.h"
#include "core/model/tensor_names.h"
#include "models/models.h"
#include "transforms/lora/model_weights.h"

namespace ckpt {
namespace {

struct ClassOfTask {
  std::string_view task, ending;
};
constexpr ClassOfTask kClasses[] = {{"SEQ_CLS", "ForSequenceClassification"},
                                    {"TOKEN_CLS", "ForTokenClassification"}};
// Endings of class names that the ending of the classifier replaces.
constexpr std::string_view kTaskEndings[] = {"ForCausalLM",
                                             "ForConditionalGeneration",
                                             "LMHeadModel",
                                             "ForMaskedLM",
                                             "ForPreTraining",
                                             "Model",
                                             "ForSequenceClassification",
                                             "ForTokenClassification"};

Status write_class(Checkpoint& model, std::string_view ending, uint64_t labels) {
  CKPT_ASSIGN(auto config, read_json(model, "config.json"));
  if (!config) return corrupt("the model has no config.json, which has to name the classifier");
  JsonText* classes = config->root.find("architectures");
  const bool has_one = classes != nullptr && classes->is_array() && classes->items().size() == 1;
  std::string name = has_one ? classes->items()[0].as_text().value_or("") : "";
  const auto ends_name = [&](std::string_view each) { return name.ends_with(each); };
  const auto old = std::ranges::find_if(kTaskEndings, ends_name);
  if (old == std::end(kTaskEndings)) {
    return unsupported("config.json: architectures is {}; expected a model of language",
                       classes == nullptr ? "absent" : classes->dump(0));
  }
  // The text model of a wrapper's family has a classifier of its own: Gemma3TextFor...
  const Family* family = table_of_architecture(name);
  const bool is_text = family != nullptr && old == std::begin(kTaskEndings) &&
                       family->text_type().ends_with("_text");
  name.resize(name.size() - old->size());
  name += is_text ? "Text" : "";
  name += ending;
  config->root.set("architectures", JsonText::texts({name}));
  config->root.set("num_labels", JsonText::number(labels));
  for (const char* key : {"id2label", "label2id"}) config->root.remove(key);
  write_json(model, "config.json", *config);
  return {};
}

}  // namespace

bool is_of_classifier(const Adapter& adapter, const AdapterModule& module) {
  const auto is_of_task = [&](const ClassOfTask& each) { return each.task == adapter.config.task; };
  const auto is_saved = [&](const std::string& name) { return is_within(module.name, name); };
  return std::ranges::any_of(kClasses, is_of_task) &&
         std::ranges::any_of(adapter.config.saved, is_saved);
}

Status use_classifier(const Adapter& adapter, Checkpoint& model, const Context& context) {
  const auto task = std::ranges::find(kClasses, adapter.config.task, &ClassOfTask::task);
  // Heads of several layers end in a matrix with a row for each label.
  const AdapterModule* head = nullptr;
  uint64_t labels = UINT64_MAX;
  for (const AdapterModule& module : adapter.modules) {
    const Tensor* weight = module.find(AdapterPart::kNewWeight);
    const bool is_matrix = weight != nullptr && weight->shape.size() == 2;
    if (!is_matrix || weight->rows() >= labels || !is_of_classifier(adapter, module)) continue;
    head = &module;
    labels = weight->rows();
  }
  if (task == std::end(kClasses) || head == nullptr) return {};
  CKPT_TRY(write_class(model, task->ending, labels));
  std::erase_if(model.tensors, [](const Tensor& tensor) { return is_of_head(tensor.name); });
  context.note("lora: the model becomes a classifier of {} ({}), with the adapter's '{}'",
               counted(labels, "label"), task->ending, head->name);
  return {};
}

}  // namespace ckpt

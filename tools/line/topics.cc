// Holds the texts of `ckpt help TOPIC` (topics.h).
#include "tools/line/topics.h"

namespace ckpt {
namespace {

constexpr TopicRow kExitCodes[] = {
    {"0", "Done; the same; sound."},
    {"1", "The answer is no: different, unsound, or a limit that was set is passed."},
    {"2", "It could not be done. One sentence on stderr says why, and what to try."},
    {"3", "doctor: nothing speaks against it, but not everything could be checked."},
    {"130", "Interrupted. Rerun the same command to resume."},
};

constexpr TopicRow kEnvironment[] = {
    {"CKPT_THREADS, CKPT_MEMORY, CKPT_LIMIT_RATE, CKPT_COLOR",
     "What --threads, --memory, --limit-rate and --color take, where they are not typed."},
    {"NO_COLOR", "When set, no colors, unless CKPT_COLOR or --color asks for them."},
    {"CKPT_TRACE", "A new file for a trace of the threads."},
    {"CKPT_SIMD",
     "The vector instructions to use: scalar, sse4, avx2, avx512 or neon; by default the best that "
     "the processor has. Output bytes are the same with each."},
    {"HF_TOKEN, HF_TOKEN_PATH, HF_HOME, HF_ENDPOINT, HF_HUB_CACHE, HF_HUB_OFFLINE",
     "For hf:// URLs: the token, or where hf auth login put it, another hub, the cache that is "
     "read, and 1 for no requests."},
    {"AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_PROFILE, AWS_REGION, "
     "AWS_ENDPOINT_URL",
     "For s3:// URLs: the keys, or the profile in ~/.aws that has them, the region, and another "
     "server. Without keys, requests are not signed."},
    {"AWS_ROLE_ARN, AWS_WEB_IDENTITY_TOKEN_FILE, AWS_ENDPOINT_URL_STS, "
     "AWS_CONTAINER_CREDENTIALS_FULL_URI, AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
     "In a pod or container: the service that gives the keys, which are renewed before they end."},
    {"https_proxy, http_proxy, no_proxy", "Proxies for all requests."},
    {"SSL_CERT_FILE, SSL_CERT_DIR", "Certificates, instead of those of the system."},
    {"OLLAMA_MODELS", "The folder that publish --to ollama://NAME writes into."},
};

constexpr TopicRow kRecipes[] = {
    {"",
     "A recipe is a JSON or YAML file with the options of convert or patch, so that a "
     "conversion is kept with its model. Comments are allowed."},
    {"",
     "  {\n    \"in\": \"model/\", \"out\": \"model-q4_k_m.gguf\", \"to\": \"q4_k_m\",\n"
     "    \"steps\": [{\"name\": \"drop\", \"tensors\": \"lm_head.*\"}],\n"
     "    \"also\": [{\"out\": \"model-q8_0.gguf\", \"to\": \"q8_0\"}]\n  }"},
    {"convert --recipe FILE [IN OUT]", "run it; what is typed replaces what the recipe has"},
    {"patch --recipe FILE PATH", "apply its steps to another folder"},
    {"in, out, to", "IN, OUT and --to"},
    {"steps", "objects with a name and the options of the step, or texts as after --step"},
    {"also", "further outputs of the same pass: {\"out\": OUT2, \"to\": TYPE2}"},
    {"for", "profiles, as for --for"},
    {"all others", "the names of options, without dashes: \"imatrix\": \"FILE\", \"pure\": true"},
    {"",
     "Paths are relative to the recipe. A repeatable option takes an array. ckpt rejects an "
     "unknown key before it writes anything. docs/RECIPES.md lists every key."},
};

constexpr TopicRow kJson[] = {
    {"",
     "With --json, stdout has one JSON object per line. Each has \"type\", and \"schema\": 1, "
     "which changes if a field is renamed or removed. Sizes are in bytes. Notes and progress "
     "stay on stderr."},
    {"file", "convert, patch, publish: a file that was written, with size and SHA-256"},
    {"summary", "the last object of convert, patch, diff, verify and doctor"},
    {"plan", "convert --dry-run: a tensor; patch --dry-run: a file"},
    {"tensor, checkpoint", "show"},
    {"difference, values", "diff"},
    {"verdict, check", "doctor: the answer for a profile, and a finding"},
    {"progress", "with --progress json, about ten per second"},
    {"error", "code, where, message and try; also printed on stderr"},
    {"", "  ckpt show model.gguf --json | jq 'select(.type == \"checkpoint\") | .types'"},
    {"", "docs/JSON.md lists every type with its fields."},
};

constexpr TopicRow kResume[] = {
    {"",
     "A conversion that was killed, ran out of disk space or lost power resumes when the same "
     "command runs again. The result has the bytes of an uninterrupted run."},
    {"OUT.partial", "the unfinished output; no command treats it as a checkpoint"},
    {"OUT.partial.ledger", "the finished bytes, the plan and the inputs"},
    {"another command", "stops, and names the command that began OUT.partial"},
    {"a changed input", "stops, and says which file changed"},
    {"--force", "starts over, and replaces OUT"},
    {"",
     "To give up a conversion, remove OUT.partial and its ledger. execute --part resumes in "
     "the same way. docs/RESUME.md has the details."},
};

constexpr Topic kTopics[] = {
    {"exit-codes", "What the exit code says", kExitCodes},
    {"environment", "Variables that ckpt reads", kEnvironment},
    {"recipes", "Options in a file (--recipe)", kRecipes},
    {"json", "Objects for programs (--json)", kJson},
    {"resume", "Resuming an interrupted run", kResume},
};

}  // namespace

std::span<const Topic> all_topics() { return kTopics; }
const Topic& exit_codes() { return kTopics[0]; }
const Topic& environment_topic() { return kTopics[1]; }

}  // namespace ckpt

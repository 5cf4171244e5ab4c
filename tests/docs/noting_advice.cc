// $ckpt of the scripts that tests/cli/run.py --try-advice runs: passes on what the program prints,
// and where there is advice in it asks advice_of_tools.py to try it (most calls print none). A
// shell with cat and grep would take as long as the call.
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

extern char** environ;

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) {
    std::fprintf(stderr, "noting_advice: %s is not set\n", name);
    std::exit(125);
  }
  return value;
}

bool is_same_file(int a, int b) {
  struct stat first {}, second {};
  return fstat(a, &first) == 0 && fstat(b, &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

// The program's exit code, as a shell gives it.
int run(char** words, const std::string& out, const std::string& err) {
  const int flags = O_WRONLY | O_CREAT | O_TRUNC;
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 1, out.c_str(), flags, 0666);
  if (is_same_file(1, 2)) {  // 2>&1: in the order in which both are written
    posix_spawn_file_actions_adddup2(&files, 1, 2);
    std::ofstream{err};
  } else {
    posix_spawn_file_actions_addopen(&files, 2, err.c_str(), flags, 0666);
  }
  pid_t child = 0;
  int status = 0;
  if (posix_spawn(&child, words[0], &files, nullptr, words, environ) != 0) return 127;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void pass_on(std::string_view text, int descriptor) {
  while (!text.empty()) {
    const ssize_t written = write(descriptor, text.data(), text.size());
    if (written <= 0) return;  // nobody reads it
    text.remove_prefix(static_cast<size_t>(written));
  }
}

bool has_advice(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const size_t indent = line.find_first_not_of(' ');
    if (line.starts_with("Next: ") || line.starts_with("Fix ") || line.find("Try: ") != line.npos ||
        (indent != 0 && indent != line.npos && line.substr(indent).starts_with("fix: ckpt "))) {
      return true;
    }
  }
  return false;
}

// Passes the words through pipes, since a script may limit the size of files.
void run_printed_advice(const std::string& printed, char** words) {
  for (const char* name : {".words", ".env", ".done"}) mkfifo((printed + name).c_str(), 0666);
  std::ofstream(variable("ADVICE_ASK")) << printed << "\n";
  std::ofstream call(printed + ".words", std::ios::binary);
  call << std::filesystem::current_path().native() << '\0';
  while (*++words != nullptr) call << *words << '\0';
  call.close();
  std::ofstream variables(printed + ".env", std::ios::binary);
  for (char** each = environ; *each != nullptr; ++each) variables << *each << '\0';
  variables.close();
  std::ifstream(printed + ".done").get();
}

}  // namespace

int main(int, char** words) {
  const std::string printed = variable("ADVICE_LOG") + "." + std::to_string(getpid());
  const std::string out = printed + ".out", err = printed + ".err";
  std::string program = variable("REAL_CKPT");
  words[0] = program.data();
  const int code = run(words, out, err);
  std::signal(SIGPIPE, SIG_IGN);  // the exit code is the program's when nobody reads on, too
  const std::string shown = text_of(out), said = text_of(err);
  pass_on(shown, 1);
  pass_on(said, 2);
  if (has_advice(shown) || has_advice(said)) run_printed_advice(printed, words);
  return code;
}

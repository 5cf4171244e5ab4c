#!/bin/sh
# Brings the programs that tests run next to ckpt, in pinned versions, and writes FOLDER/environment, which names them
# to the tests. Hashes are checked: of modules of Go, whose go.sum has those of what they import, and of each file from
# PyPI (packages/*.txt) and npm. Debian's packages are signed; root is needed to install them.
#
# usage: get_peers.sh [FOLDER [PEER...]]      default: build/peers, and all peers
#        . build/peers/environment            before tests that you run by hand
#
# Prints "peers: N of M" and names the others with the reason; exits 77 if one is missing.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
mkdir -p "${1:-$root/build/peers}/bin" && folder=$(cd "${1:-$root/build/peers}" && pwd) || exit 1
[ $# -eq 0 ] || shift
log=$folder/log

# Each of these returns 1 with the reason in `why`.

go_program() { # NAME MODULE@VERSION HASH
  [ -e "$folder/bin/$1" ] && return
  command -v go >/dev/null || { why="Go is not installed"; return 1; }
  got=$(cd / && GOWORK=off go mod download -json "$2" 2>>"$log") || { why="the module proxy does not have $2"; return 1; }
  field() { printf '%s\n' "$got" | sed -n "s/^.*\"$1\": \"\(.*\)\",*\$/\1/p"; }
  [ "$(field Sum)" = "$3" ] || { why="$2 has the hash $(field Sum), not $3"; return 1; }
  (cd "$(field Dir)" && GOWORK=off GOFLAGS=-mod=readonly nice go build -trimpath -ldflags '-s -w' \
    -o "$folder/bin/$1.new" "./cmd/$1") >>"$log" 2>&1 || { why="$2 does not build: $log"; return 1; }
  mv "$folder/bin/$1.new" "$folder/bin/$1"
}

python_packages() { # NAME
  "$here/python_packages.sh" "$folder/$1" "$here/packages/$1.txt" >>"$log" 2>&1 || { why="pip cannot install packages/$1.txt: $log"; return 1; }
}

debian_packages() { # COMMAND PACKAGE...
  command -v "$1" >/dev/null && return
  command=$1
  shift
  [ "$(id -u)" = 0 ] && "$root/cmake/install_dependencies.sh" "$@" >>"$log" 2>&1 && command -v "$command" >/dev/null && return
  why="apt-get install $*"
  return 1
}

converter() {
  [ -e "$folder/llama.cpp/convert_hf_to_gguf.py" ] && return
  why="npm cannot fetch node-llama-cpp, or not with its hash"
  unpacked=$(mktemp -d) || return 1
  "$here/npm_package.sh" "$unpacked" node-llama-cpp@3.22.1 \
    a0d9dd80eacd2ab1cfe71aee57ac8a806487fd70b3d2a38fbec637752d9e5c5f >>"$log" 2>&1 &&
    git clone -q "$unpacked/llama/gitRelease.bundle" "$folder/llama.cpp" >>"$log" 2>&1
  code=$?
  rm -rf "$unpacked"
  return $code
}

peer() {
  case $1 in
    registry) go_program registry github.com/distribution/distribution/v3@v3.1.2 h1:/Bv2YIqqSR00HiO49FT93hovy6r9IlrzwUDsJjCN5qg= ;;
    oras) go_program oras oras.land/oras@v1.3.6 h1:Lhsfr2tQLjsu/+CJZp6vYatwKT+62fbIUTlp4lUrfOA= ;;
    versitygw) go_program versitygw github.com/versity/versitygw@v1.8.0 h1:au+wI+aybno/STsQiSm35Uu6Q6iK5MWReQxgO6SEMFc= ;;
    huggingface_hub) python_packages hub ;;
    transformers) python_packages transformers ;;
    transformers457) python_packages transformers457 ;;
    converter) converter ;;
    containerd) debian_packages containerd containerd ;;
    slurm) debian_packages slurmctld slurm-wlm munge ;;
    bindfs) debian_packages bindfs bindfs ;;
    sshfs) debian_packages sshfs sshfs openssh-sftp-server ;;
    vllm) why="up to 8 GB: CKPT_VLLM_PYTHON names a Python that has it" && [ -n "${CKPT_VLLM_PYTHON:-}" ] ;;
    sglang) why="8 GB: CKPT_SGLANG_PYTHON names a Python that has it" && [ -n "${CKPT_SGLANG_PYTHON:-}" ] ;;
    modctl) why="not on Go's module proxy; no test runs it" && return 1 ;;
    ollama) why="compiles all of llama.cpp; no test runs it" && return 1 ;;
    *) why="not a peer" && return 1 ;;
  esac
}

[ $# -gt 0 ] || set -- registry oras versitygw huggingface_hub transformers transformers457 converter containerd slurm bindfs \
  sshfs vllm sglang modctl ollama
found=0 missing=
for name in "$@"; do
  if peer "$name"; then found=$((found + 1)); else missing="$missing; missing: $name ($why)"; fi
done

# Variables that are set already win.
name() { echo "export $1=\"\${$1:-$2}\""; }
{
  echo "PATH='$folder/bin':\$PATH"
  for named in CKPT_HUB_PYTHON:hub CKPT_TRANSFORMERS_PYTHON:transformers CKPT_TRANSFORMERS_5:transformers \
    CKPT_COMPRESSED_TENSORS_PYTHON:transformers CKPT_MODELOPT_PYTHON:transformers CKPT_TRANSFORMERS_457:transformers457; do
    [ ! -e "$folder/${named#*:}/done" ] || name "${named%%:*}" "$folder/${named#*:}/bin/python"
  done
  [ ! -d "$folder/llama.cpp" ] || name CKPT_LLAMA_CPP "$folder/llama.cpp"
} >"$folder/environment"
echo "peers: $found of $#$missing"
[ $found -eq $# ] || exit 77

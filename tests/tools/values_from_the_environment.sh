# CKPT_THREADS, CKPT_MEMORY and CKPT_COLOR hold what --threads, --memory and --color take; a wrong value is rejected, never ignored.
CKPT_COLOR=always "$ckpt" show "$testdata/llama-micro" | head -1 | grep -c "$(printf '\033')"
NO_COLOR=1 CKPT_COLOR=always "$ckpt" show "$testdata/llama-micro" | head -1 | grep -c "$(printf '\033')"
CKPT_COLOR=always "$ckpt" show "$testdata/llama-micro" --color never | head -1 | grep -c "$(printf '\033')"
CKPT_THREADS=1 CKPT_MEMORY=64M "$ckpt" convert "$testdata/llama-micro" out -q; echo "exit $?"
tried() { env "$1" "$ckpt" show "$testdata/llama-micro" 2>&1 | head -1; }
for value in '' 0 many 1025 1.5 -1; do tried "CKPT_THREADS=$value"; done
for value in '' lots; do tried "CKPT_MEMORY=$value"; done
for value in '' alway red; do tried "CKPT_COLOR=$value"; done
for value in '' sse9; do tried "CKPT_SIMD=$value" | sed 's/ has .*/ has .../'; done
echo "-- and with the option"
CKPT_THREADS=many "$ckpt" show "$testdata/llama-micro" -j 1 2>&1; echo "exit $?"

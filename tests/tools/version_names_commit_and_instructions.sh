# scripts take the first two words
"$ckpt" --version | cut -d' ' -f1,2
"$ckpt" --version | sed 's/[0-9a-f]\{12\}\(-dirty\)\?/COMMIT/; s/commit COMMIT, //; s/(\(avx512\|avx2\|sse4\|scalar\|neon\))/(SIMD)/'
[ "$("$ckpt" version)" = "$("$ckpt" --version)" ] && [ "$("$ckpt" -V)" = "$("$ckpt" --version)" ] && echo the same
CKPT_SIMD=scalar "$ckpt" version | grep -o 'scalar)'
"$ckpt" version --json | sed 's/"commit":"[^"]*","date":"[^"]*","machine":"[^"]*","simd":"[^"]*","static":[a-z]*/.../'

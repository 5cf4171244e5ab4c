# A file that is written to while it is hashed gets no sums, and no verdict.
mkdir m && truncate -s 300M m/big.bin && "$ckpt" publish m -q > /dev/null; echo $?
rm m/SHA256SUMS
(while :; do echo x >> m/big.bin; done) & writer=$!
"$ckpt" publish m -q 2>&1; echo $?; ls m
kill $writer; wait $writer 2> /dev/null; "$ckpt" publish m -q > /dev/null; echo $?
(while :; do echo x >> m/big.bin; done) & writer=$!
"$ckpt" verify m -q 2>&1; echo $?
kill $writer; wait $writer 2> /dev/null; true

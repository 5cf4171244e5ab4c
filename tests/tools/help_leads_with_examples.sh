"$ckpt" convert --help | head -4; "$ckpt" help show >/dev/null; "$ckpt" --version | cut -d" " -f1,2

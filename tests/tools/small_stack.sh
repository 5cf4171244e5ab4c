# A stack that is too small ends in a sentence. (Below about 12 KiB the system's own loader ends before the program starts.)
ulimit -s 128; "$ckpt" list types

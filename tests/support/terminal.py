"""Runs a program on a terminal, or on a pipe, of its own."""
import fcntl
import os
import pty
import signal
import struct
import subprocess
import termios
import threading

signal.signal(signal.SIGINT, signal.default_int_handler)   # ignored in the background, then by ckpt too
END = b"\0end of what the program printed\0"


def printed(words, columns=80, enough=None, seconds=60):
    """What it printed, as bytes, and its exit code. Where `enough(bytes)` is true, or after `seconds`, it is
    interrupted first. Without `columns` it writes to a pipe."""
    reader, writer = pty.openpty() if columns else os.pipe()
    if columns:
        fcntl.ioctl(writer, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=writer, stderr=writer,
                               env={**os.environ, "TERM": "xterm"})

    def end():
        # a terminal that nobody has open any more may drop what was not read yet: this side stays open until then
        process.wait()
        os.write(writer, END)

    threading.Thread(target=end).start()
    timer = threading.Timer(seconds, process.send_signal, [signal.SIGINT])
    timer.start()
    out = b""
    while END not in out:
        out += os.read(reader, 65536)
        if enough and enough(out):
            process.send_signal(signal.SIGINT)
            enough = None
    timer.cancel()
    os.close(reader)
    os.close(writer)
    return out[:out.index(END)], process.returncode

"""The command of `tests.warm`: hand over the standard streams, the folder and the environment, and end as the child does.

It is run without the site's packages and imports nothing that takes time: that is what it is for.
"""

import _socket
import os
import sys


def main(address: str, words: list[str]) -> int:
    """The exit code of the child, which gets these words as its command line."""
    said = [os.getcwd(), str(len(words)), *words, *(f"{name}={value}" for name, value in os.environ.items())]
    order = os.fsencode("\0".join(said))
    order = len(order).to_bytes(4, "big") + order
    streams = b"".join(file.to_bytes(4, sys.byteorder) for file in (0, 1, 2))
    line = _socket.socket(_socket.AF_UNIX)
    line.connect(address)
    sent = line.sendmsg([order], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)])
    line.sendall(order[sent:])
    for file in (0, 1, 2):  # their end is the end of the child's
        os.close(file)
    code = line.recv(1)
    return code[0] if code else 1


if __name__ == "__main__":
    os._exit(main(sys.argv[1], sys.argv[2:]))

"""A line from a search to the processes that fit for it elsewhere.

It is a TCP connection that the far end opens. Its end says that the search is over,
even if that was killed, and a number on it says that a task is not wanted any more.
Nothing else travels on it, and nothing depends on it: a far end that cannot reach the
search (behind a firewall, say) does without.
"""

import contextlib
import hmac
import secrets
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import wait

_HANDSHAKE_SECONDS = 5.0
"""How long either end waits for the other to say that it is the right one."""

_PAUSE = 0.1
"""Seconds before the next call is taken after one that could not be."""

_KEEPALIVE = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}
"""A machine that is gone without a word is missed after a minute."""


@dataclass(frozen=True)
class Number:
    """Where a search can be called."""

    host: str
    addresses: tuple[str, ...]
    port: int
    token: str


class Tether:
    """The end of the search. Use it in a ``with`` block.

    Attributes
    ----------
    number : Number
        To be given to the far ends.
    n_calls : int
        How many far ends have called so far.
    """

    def __init__(self) -> None:
        self._listener = socket.create_server(("", 0), backlog=128)
        self._lines: list[socket.socket] = []
        self._cancelled: list[int] = []
        self._lock = threading.Lock()
        self.n_calls = 0
        self._over = False
        self._closed = False
        port = self._listener.getsockname()[1]
        token = secrets.token_hex(16)
        self.number = Number(socket.gethostname(), _own_addresses(), port, token)
        self._thread = threading.Thread(target=self._answer, name="tether", daemon=True)
        self._thread.start()

    @property
    def n_held(self) -> int:
        """How many far ends hold the line."""
        with self._lock:
            self._drop_lines()
            return len(self._lines)

    def cancel(self, serial: int) -> None:
        """Say that a task is not wanted any more, also to who calls later."""
        with self._lock:
            self._cancelled.append(serial)
            self._lines = [line for line in self._lines if _tell(line, [serial])]

    def end(self) -> None:
        """Say that the search is over, also to who calls later."""
        with self._lock:
            self._over = True
            for line in self._lines:
                _hang_up(line)

    def close(self, seconds: float = 0.0) -> None:
        """Answer no more; wait so long for the far ends to be done."""
        end = time.monotonic() + seconds
        self.end()
        self._closed = True
        with contextlib.suppress(OSError):  # wakes the thread
            port = self.number.port
            socket.create_connection(("127.0.0.1", port), _HANDSHAKE_SECONDS).close()
        self._thread.join(_HANDSHAKE_SECONDS)
        self._listener.close()
        with self._lock:
            for line in self._lines:
                with contextlib.suppress(OSError), line:
                    line.settimeout(max(end - time.monotonic(), 0.0))
                    line.recv(1)  # ends with the line
            self._lines.clear()

    def close_later(self, seconds: float) -> None:
        """End, and close after this time; until then who calls is told of the end.

        Unless this process ends before.
        """
        self.end()
        timer = threading.Timer(seconds, self.close)
        timer.daemon = True
        timer.start()

    def _answer(self) -> None:
        while not self._closed:
            try:
                line, _ = self._listener.accept()
            except OSError:  # too many files are open, say
                time.sleep(_PAUSE)
                continue
            is_one_of_us = not self._closed and self._is_one_of_us(line)
            with self._lock:
                if not is_one_of_us or self._closed:
                    line.close()
                elif _tell(line, self._cancelled):
                    self._add(line)

    def _add(self, line: socket.socket) -> None:
        self.n_calls += 1
        self._drop_lines()
        self._lines.append(line)
        if self._over:
            _hang_up(line)

    def _drop_lines(self) -> None:
        """Forget far ends that are gone; those that hold the line say nothing."""
        for line in wait(self._lines, 0):
            assert isinstance(line, socket.socket)
            self._lines.remove(line)
            line.close()

    def _is_one_of_us(self, line: socket.socket) -> bool:
        token = self.number.token.encode()
        try:
            line.settimeout(_HANDSHAKE_SECONDS)
            said = _receive(line, len(token))
            if not hmac.compare_digest(said, token):
                return False
            line.sendall(token)
            _keep_alive(line)
        except OSError:
            return False
        return True


def hold(
    number: Number, on_cancel: Callable[[int], None], on_end: Callable[[], None]
) -> bool:
    """Hold the line at the far end until the search is over.

    Parameters
    ----------
    number : Number
        Where to call.
    on_cancel : callable
        Called with the number of a task that is not wanted any more.
    on_end : callable
        Called when the search is over, which may wait for its end.

    Returns
    -------
    bool
        False at once where the search cannot be reached.
    """
    line = _call(number)
    if line is None:
        return False
    with line:
        with contextlib.suppress(OSError), line.makefile("rb") as orders:
            for order in orders:
                if order.endswith(b"\n"):  # else the line broke within it
                    on_cancel(int(order))
        on_end()
    return True


def _call(number: Number) -> socket.socket | None:
    """Try the addresses of a search."""
    addresses = list(number.addresses)
    if socket.gethostname() == number.host:
        addresses.insert(0, "127.0.0.1")
    token = number.token.encode()
    for address in addresses:
        try:
            line = socket.create_connection((address, number.port), _HANDSHAKE_SECONDS)
        except OSError:
            continue
        try:
            line.sendall(token)
            if _receive(line, len(token)) == token:
                line.settimeout(None)
                _keep_alive(line)
                return line
        except OSError:
            pass
        line.close()
    return None


def _tell(line: socket.socket, serials: list[int]) -> bool:
    """Send numbers of tasks; close the line, and return False, if that fails."""
    try:
        line.sendall(b"".join(b"%d\n" % serial for serial in serials))
    except OSError:
        line.close()
        return False
    return True


def _hang_up(line: socket.socket) -> None:
    """Tell a far end that no more will come."""
    with contextlib.suppress(OSError):
        line.shutdown(socket.SHUT_WR)


def _receive(line: socket.socket, n: int) -> bytes:
    """Read ``n`` bytes, or fewer where the line ends."""
    found = b""
    while len(found) < n and (more := line.recv(n - len(found))):
        found += more
    return found


def _keep_alive(line: socket.socket) -> None:
    line.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEPALIVE.items():
        if hasattr(socket, name):  # not on every system
            line.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def _own_addresses() -> tuple[str, ...]:
    """Return the addresses under which other machines may know this one."""
    found = []
    with contextlib.suppress(OSError), socket.socket(type=socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))  # sends nothing, only chooses an interface
        found.append(probe.getsockname()[0])
    with contextlib.suppress(OSError):
        found += socket.gethostbyname_ex(socket.gethostname())[2]
    return tuple(dict.fromkeys(found))

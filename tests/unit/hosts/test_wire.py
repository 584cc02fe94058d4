"""Lines between driver and tasks: in order, and for nobody who does not know the secret."""

from __future__ import annotations

import pickle
import queue
import socket
import threading
from dataclasses import replace
from typing import Any

import pytest

from headrace.errors import JobError
from headrace.hosts.continuous import wire
from headrace.hosts.continuous.wire import Line, Switchboard, connect


class Driver:
    """Answers every message with the same."""

    def __init__(self) -> None:
        self.seen: queue.Queue[Any] = queue.Queue()
        self.switchboard = Switchboard("127.0.0.1", self._serve)
        self.address = self.switchboard.address("127.0.0.1")

    def _serve(self, line: Line) -> None:
        try:
            while True:
                message = line.receive()
                self.seen.put(message)
                line.send(*message)
        except (EOFError, OSError):
            self.seen.put("gone")


@pytest.fixture
def driver() -> Any:
    driver = Driver()
    yield driver
    driver.switchboard.close()


def test_messages_arrive_in_order_and_a_lost_task_is_noticed(driver: Driver) -> None:
    line = connect(driver.address)
    for number in range(100):
        line.send("number", number, b"x" * number)
    assert [line.receive()[1] for _ in range(100)] == list(range(100))
    assert not line.poll(0)
    line.close()
    seen = [driver.seen.get(timeout=10) for _ in range(101)]
    assert seen[-1] == "gone"


def test_a_task_that_does_not_know_the_secret_is_not_heard(driver: Driver) -> None:
    with pytest.raises(JobError, match="cannot reach its driver"):
        connect(replace(driver.address, secret=b"another"))
    assert driver.seen.empty()


def test_a_stranger_cannot_have_anything_unpickled(driver: Driver) -> None:
    stranger = socket.create_connection((driver.address.host, driver.address.port))
    content = pickle.dumps(("hello", 1))
    stranger.sendall(len(content).to_bytes(4, "big") + content)
    stranger.close()
    assert driver.seen.empty()


def test_a_stranger_who_says_nothing_does_not_keep_others_waiting(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire, "_HANDSHAKE_S", 0.2)
    with socket.create_connection((driver.address.host, driver.address.port)) as stranger:
        line = connect(driver.address)
        line.send("hello")
        assert line.receive() == ("hello",)
        line.close()
        stranger.settimeout(10)
        while stranger.recv(1024):  # the challenge, then the end
            pass


def test_a_driver_that_is_gone_is_told(driver: Driver) -> None:
    driver.switchboard.close()
    with pytest.raises(JobError, match=r"spark\.driver\.host"):
        connect(driver.address)


def test_who_hangs_up_ends_both_ends_and_takes_no_file_from_the_reader(driver: Driver) -> None:
    line = connect(driver.address)
    line.send("hello")
    line.receive()
    told: queue.Queue[Any] = queue.Queue()

    def receive() -> None:
        try:
            line.receive()
        except EOFError:
            told.put("over")

    threading.Thread(target=receive, daemon=True).start()
    line.hang_up()
    assert told.get(timeout=10) == "over"
    assert [driver.seen.get(timeout=10) for _ in range(2)] == [("hello",), "gone"]
    line.close()
    line.hang_up()  # as often as one likes

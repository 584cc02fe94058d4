"""What is uploaded and what is configured: taken, or refused with a reason."""

from __future__ import annotations

import io
import stat
import zipfile
from typing import TYPE_CHECKING

import pytest

from headrace.common.configuration import Configuration
from headrace.dispatcher import program_store
from headrace.dispatcher.program_store import ProgramStore, unpack
from headrace.dispatcher.settings import ClusterSettings
from headrace.errors import ConfigurationError, InvalidArgumentError

if TYPE_CHECKING:
    from pathlib import Path


def zipped(*names: str, link: str | None = None) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name in names:
            archive.writestr(name, "x = 1\n")
        if link is not None:
            member = zipfile.ZipInfo(link)
            member.external_attr = (stat.S_IFLNK | 0o777) << 16
            archive.writestr(member, "/etc/passwd")
    return content.getvalue()


def test_programs_are_kept_listed_and_deleted(tmp_path: Path) -> None:
    store = ProgramStore(tmp_path)
    script = store.add("C:\\jobs\\orders.py", b"x = 1")
    assert script.name == "orders.py"
    package = store.add("app.zip", zipped("__main__.py", "lib/part.py"))
    assert {program.id for program in store.all()} == {script.id, package.id}
    assert unpack(store.path(script.id), script.name, tmp_path / "a") == tmp_path / "a/orders.py"
    folder = unpack(store.path(package.id), package.name, tmp_path / "b")
    assert (folder / "lib" / "part.py").read_text() == "x = 1\n"
    store.delete(script.id)
    assert [program.id for program in store.all()] == [package.id]
    with pytest.raises(InvalidArgumentError, match="no program"):
        store.delete(script.id)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("orders.sh", b"", "cannot be named"),
        ("..", b"", "cannot be named"),
        ("orders.py", b"def (:", "not a Python script"),
        ("orders.py", b"\x00", "not a Python script"),
        ("app.zip", b"no zip", "not a zip"),
        ("app.zip", zipped("../evil.py"), "leads out of its folder"),
        ("app.zip", zipped("/etc/evil.py"), "leads out of its folder"),
        ("app.zip", zipped("a.py", link="escape"), "leads out of its folder"),
    ],
)
def test_what_is_no_program_is_refused(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        ProgramStore(tmp_path / "programs").add(name, content)
    assert not (tmp_path / "programs").exists()


def test_a_zip_that_would_fill_the_disk_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program_store, "_MOST_BYTES", 3)
    with pytest.raises(InvalidArgumentError, match="too large"):
        ProgramStore(tmp_path).add("app.zip", zipped("a.py"))


def settings(**options: str) -> ClusterSettings:
    return ClusterSettings.of(Configuration.from_dict(dict(options)))


def test_settings_of_a_cluster_are_read(tmp_path: Path) -> None:
    read = settings(
        **{
            "high-availability.type": "zookeeper",
            "high-availability.storageDir": f"file://{tmp_path}",
            "high-availability.zookeeper.quorum": "zk:2181",
            "high-availability.cluster-id": "/orders",
            "high-availability.zookeeper.path.root": "/teams/",
        }
    )
    assert read.folder == tmp_path / "orders"
    assert read.zookeeper_root == "/teams/orders"
    assert read.lease_s == 8.0
    assert settings(**{"headrace.cluster.dir": str(tmp_path)}).folder == tmp_path / "default"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"high-availability.type": "zookeeper"}, "no ZooKeeper is named"),
        ({"high-availability.type": "filesystem"}, "no directory is shared"),
        (
            {"high-availability.type": "filesystem", "high-availability.storageDir": "s3://b/x"},
            "no directory of this machine",
        ),
        ({"high-availability.cluster-id": "../other"}, "expected a name"),
        ({"high-availability.type": "kubernetes"}, "expected"),
        ({"headrace.cluster.slots": "-1"}, "at least 0"),
        ({"heartbeat.timeout": "1 s"}, "at least"),
    ],
)
def test_settings_that_cannot_be_are_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message) as refused:
        settings(**options)
    assert refused.value.fix

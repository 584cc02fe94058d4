"""What a dispatcher reads from its configuration, checked once.

In: a Configuration.  Out: ClusterSettings.  Next: dispatcher/dispatcher.py
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.common.home import headrace_home
from headrace.common.options import OPTIONS
from headrace.errors import ConfigurationError
from headrace.io.storage import local_path

if TYPE_CHECKING:
    from headrace.common.configuration import Configuration
    from headrace.common.opaque import OptionValue

# a cluster's id is the name of a folder and of a node of ZooKeeper
_CLUSTER_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """The settings of one dispatcher.

    Attributes:
        configuration: all that was set; jobs get it, too, unless their submission says otherwise.
        folder: where the cluster's programs and jobs are kept: its own, or shared with others.
        slots: how many all jobs may take together; 0 for no limit.
        kept_jobs: how many ended jobs are remembered.
        driver_timeout_s: how long a driver may be silent.
        availability: none, zookeeper or filesystem.
        lease_s: how long a leader may be silent.
        zookeeper: addresses of its servers.
        zookeeper_root: the node of this cluster.
    """

    configuration: Configuration
    folder: Path
    slots: int = 0
    kept_jobs: int = 200
    driver_timeout_s: float = 50.0
    availability: str = "none"
    lease_s: float = 8.0
    zookeeper: str | None = None
    zookeeper_root: str = "/headrace/default"
    cluster_id: str = field(default="default")

    @staticmethod
    def of(configuration: Configuration) -> ClusterSettings:
        """The settings that a configuration asks for.

        Raises:
            ConfigurationError: an option that another one needs is missing, or cannot be used.
        """

        def value(key: str) -> OptionValue:
            return configuration.get(OPTIONS[key])

        kind = value("high-availability.type")
        cluster_id = _cluster_id(value("high-availability.cluster-id"))
        quorum = value("high-availability.zookeeper.quorum")
        if kind == "zookeeper" and not quorum:
            raise ConfigurationError(
                "high-availability.type is zookeeper, but no ZooKeeper is named",
                fix="set high-availability.zookeeper.quorum to host:port,host:port",
            )
        lease = (
            "high-availability.zookeeper.client.session-timeout"
            if kind == "zookeeper"
            else "headrace.cluster.lease"
        )
        root = str(value("high-availability.zookeeper.path.root")).rstrip("/")
        return ClusterSettings(
            configuration=configuration,
            folder=_folder(
                kind, value("high-availability.storageDir"), value("headrace.cluster.dir")
            )
            / cluster_id,
            slots=value("headrace.cluster.slots"),
            kept_jobs=value("jobstore.max-capacity"),
            driver_timeout_s=value("heartbeat.timeout") / 1000,
            availability=kind,
            lease_s=value(lease) / 1000,
            zookeeper=quorum,
            zookeeper_root=f"{root}/{cluster_id}",
            cluster_id=cluster_id,
        )


def _cluster_id(text: str) -> str:
    cluster_id = text.strip("/")  # Flink's are written as /default
    if not _CLUSTER_ID.fullmatch(cluster_id):
        raise ConfigurationError(
            f"option high-availability.cluster-id is {text!r}, expected a name",
            fix="letters, digits, '.', '_' and '-', for instance orders-eu",
        )
    return cluster_id


def _folder(kind: str, shared: str | None, own: str | None) -> Path:
    if kind == "none":
        return Path(own).expanduser().absolute() if own else headrace_home() / "cluster"
    if not shared:
        raise ConfigurationError(
            f"high-availability.type is {kind}, but no directory is shared",
            fix="set high-availability.storageDir to a directory that all dispatchers see",
        )
    path = local_path(shared)
    if path is None:
        raise ConfigurationError(
            f"high-availability.storageDir is {shared!r}, which is no directory of this machine",
            fix="mount the shared storage on all machines, and give the path; checkpoints may be "
            "in an object store: execution.checkpointing.dir",
        )
    return path.expanduser().absolute()

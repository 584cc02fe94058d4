"""The options of a dispatcher: where it listens, what it keeps, how several of them share the work.

Out: ``CLUSTER_OPTIONS``, which common/options.py takes over.  Keys are Flink's where
Flink has the option.  Next: dispatcher/settings.py reads them
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.common.config_options import ConfigOption

if TYPE_CHECKING:
    from headrace.common.opaque import OptionValue

CLUSTER_OPTIONS: tuple[ConfigOption[OptionValue], ...] = (
    # --- where it listens
    ConfigOption(
        "rest.address",
        "string",
        "127.0.0.1",
        "Address under which clients and other dispatchers reach the REST API of `headrace cluster "
        "start`; it listens there, too, if rest.bind-address is not set.",
    ),
    ConfigOption(
        "rest.port", "int", 8081, "Port of the REST API; 0 for any that is free.", minimum=0
    ),
    ConfigOption(
        "rest.bind-address",
        "string",
        None,
        "Address to listen on, where it is another than the one that clients use.",
    ),
    ConfigOption(
        "rest.bind-port",
        "string",
        None,
        "Port, or range such as 8081-8090 of which the first free one is taken; if not set, "
        "rest.port.",
    ),
    # --- flame graphs
    ConfigOption(
        "rest.flamegraph.enabled",
        "boolean",
        default=False,
        doc="Whether the REST API draws flame graphs of the Python calls of vertices; of those "
        "that Spark itself runs (native) there are none.",
    ),
    ConfigOption(
        "rest.flamegraph.num-samples",
        "int",
        100,
        "How many times a flame graph looks at the tasks.",
        minimum=1,
    ),
    ConfigOption(
        "rest.flamegraph.delay-between-samples",
        "duration",
        "50 ms",
        "How long a flame graph waits between two looks at the tasks.",
        minimum=1,
    ),
    ConfigOption(
        "rest.flamegraph.stack-depth",
        "int",
        100,
        "How many calls of a stack a flame graph has; the innermost ones count.",
        minimum=1,
    ),
    ConfigOption(
        "rest.flamegraph.refresh-interval",
        "duration",
        "60 s",
        "How old a flame graph may be before a question for it has a new one made.",
        minimum=1,
    ),
    ConfigOption(
        "rest.flamegraph.cleanup-interval",
        "duration",
        "10 min",
        "A flame graph that nobody asked for in this time is forgotten.",
        minimum=1,
    ),
    # --- what it keeps and runs
    ConfigOption(
        "headrace.cluster.dir",
        "string",
        None,
        "Where a dispatcher without high availability keeps programs, jobs and their checkpoints; "
        "if not set, cluster/ in the directory that the variable HEADRACE_HOME names, or "
        "~/.headrace/cluster.",
    ),
    ConfigOption(
        "headrace.cluster.slots",
        "int",
        0,
        "How many slots the jobs of a dispatcher may take together; a job takes as many as its "
        "parallelism, and waits until they are free. 0 for no limit: Spark's master decides.",
        minimum=0,
    ),
    ConfigOption(
        "jobstore.max-capacity",
        "int",
        200,
        "How many ended jobs a dispatcher remembers; the oldest are forgotten first.",
        minimum=1,
    ),
    ConfigOption(
        "heartbeat.timeout",
        "duration",
        "50 s",
        "A driver without a sign of life for this long is taken for dead by its dispatcher, ended, "
        "and started again from the last checkpoint. Drivers give one at least every 15 s.",
        minimum=20_000,
    ),
    # --- several dispatchers, one leader
    ConfigOption(
        "high-availability.type",
        "enum",
        "none",
        "How several dispatchers agree on one leader: by ZooKeeper, or by files in a shared "
        "directory.",
        choices=("none", "zookeeper", "filesystem"),
    ),
    ConfigOption(
        "high-availability.storageDir",
        "string",
        None,
        "The directory that all dispatchers share: programs, settings, jobs, and checkpoints that "
        "have no directory of their own.",
    ),
    ConfigOption(
        "high-availability.cluster-id",
        "string",
        "default",
        "Which dispatchers belong together: a name below high-availability.storageDir.",
    ),
    ConfigOption(
        "high-availability.zookeeper.quorum",
        "string",
        None,
        "Addresses of ZooKeeper: host:port,host:port.",
    ),
    ConfigOption(
        "high-availability.zookeeper.path.root",
        "string",
        "/headrace",
        "The node of ZooKeeper below which clusters have theirs.",
    ),
    ConfigOption(
        "high-availability.zookeeper.client.session-timeout",
        "duration",
        "8 s",
        "A leader that ZooKeeper has not heard of for this long is replaced. Flink waits 60 s.",
        minimum=2000,
    ),
    ConfigOption(
        "headrace.cluster.lease",
        "duration",
        "8 s",
        "With files: a leader that has not renewed its lease for this long is replaced; a dead one "
        "on the same machine is replaced at once.",
        minimum=1000,
    ),
)

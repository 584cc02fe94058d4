"""Partitions and statistics of the tables of a catalog.

In: programs.  Out: what was put in; headrace plans without statistics.
Next: table/catalogs/catalog.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.table.catalogs import exceptions as x
from headrace.table.catalogs.objects import CatalogColumnStatistics, CatalogTableStatistics

if TYPE_CHECKING:
    from headrace.table.catalogs.names import ObjectPath
    from headrace.table.catalogs.objects import (
        CatalogBaseTable,
        CatalogPartition,
        CatalogPartitionSpec,
    )

_Place = tuple["ObjectPath", "CatalogPartitionSpec | None"]
_UNKNOWN = -1


class CatalogPartitions:
    """The part of a catalog that knows partitions."""

    _tables: dict[ObjectPath, CatalogBaseTable]
    _name: str

    def __init__(self) -> None:
        self._partitions: dict[ObjectPath, dict[CatalogPartitionSpec, CatalogPartition]] = {}
        self._sizes: dict[_Place, CatalogTableStatistics] = {}
        self._column_statistics: dict[_Place, CatalogColumnStatistics] = {}

    def _forget_partitions(self, path: ObjectPath) -> None:
        self._partitions.pop(path, None)

    def _partition_keys(self, table_path: ObjectPath) -> tuple[str, ...]:
        table = self._tables.get(table_path)
        if table is None:
            raise x.TableNotExistException(
                f"Table (or view) {table_path} does not exist in Catalog {self._name}."
            )
        if not table._partition_keys:
            raise x.TableNotPartitionedException(
                f"Table {table_path} in catalog {self._name} is not partitioned."
            )
        return table._partition_keys

    def list_partitions(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec | None = None
    ) -> list[CatalogPartitionSpec]:
        """The partitions of a table, or those of them that have some values."""
        self._partition_keys(table_path)
        wanted = {} if partition_spec is None else partition_spec.get_partition_spec()
        return [
            spec
            for spec in self._partitions.get(table_path, {})
            if wanted.items() <= spec.get_partition_spec().items()
        ]

    def get_partition(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec
    ) -> CatalogPartition:
        """A partition of a table."""
        found = self._partitions.get(table_path, {}).get(partition_spec)
        if found is None:
            raise self._no_partition(table_path, partition_spec)
        return found

    def partition_exists(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec
    ) -> bool:
        """Whether a table has a partition."""
        return partition_spec in self._partitions.get(table_path, {})

    def create_partition(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        partition: CatalogPartition,
        ignore_if_exists: bool,
    ) -> None:
        """A new partition of a table."""
        keys = self._partition_keys(table_path)
        if set(partition_spec.get_partition_spec()) != set(keys):
            raise x.PartitionSpecInvalidException(
                f"{partition_spec} does not say all of {', '.join(keys)}, by which {table_path} "
                "is partitioned"
            )
        partitions = self._partitions.setdefault(table_path, {})
        if partition_spec not in partitions:
            partitions[partition_spec] = partition
        elif not ignore_if_exists:
            raise x.PartitionAlreadyExistsException(
                f"Partition {partition_spec} of table {table_path} in catalog {self._name} "
                "already exists."
            )

    def drop_partition(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        ignore_if_not_exists: bool,
    ) -> None:
        """Remove a partition."""
        if self.partition_exists(table_path, partition_spec):
            del self._partitions[table_path][partition_spec]
        elif not ignore_if_not_exists:
            raise self._no_partition(table_path, partition_spec)

    def alter_partition(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        new_partition: CatalogPartition,
        ignore_if_not_exists: bool,
    ) -> None:
        """Put another partition in its place."""
        if self.partition_exists(table_path, partition_spec):
            self._partitions[table_path][partition_spec] = new_partition
        elif not ignore_if_not_exists:
            raise self._no_partition(table_path, partition_spec)

    def _no_partition(
        self, path: ObjectPath, spec: CatalogPartitionSpec
    ) -> x.PartitionNotExistException:
        return x.PartitionNotExistException(
            f"Partition {spec} of table {path} in catalog {self._name} does not exist."
        )

    # --- statistics --------------------------------------------------------------------------

    def get_table_statistics(self, table_path: ObjectPath) -> CatalogTableStatistics:
        """How large a table is, as somebody said; -1 where nobody did."""
        return self._size_of((table_path, None))

    def get_table_column_statistics(self, table_path: ObjectPath) -> CatalogColumnStatistics:
        """How values of columns are distributed, as somebody said."""
        return self._column_statistics.get((table_path, None), CatalogColumnStatistics())

    def get_partition_statistics(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec
    ) -> CatalogTableStatistics:
        """How large a partition is, as somebody said."""
        return self._size_of((table_path, partition_spec))

    def bulk_get_partition_statistics(
        self, table_path: ObjectPath, partition_specs: list[CatalogPartitionSpec]
    ) -> list[CatalogTableStatistics]:
        """How large partitions are, as somebody said."""
        return [self.get_partition_statistics(table_path, spec) for spec in partition_specs]

    def get_partition_column_statistics(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec
    ) -> CatalogColumnStatistics:
        """How values of columns are distributed in a partition, as somebody said."""
        place = (table_path, partition_spec)
        return self._column_statistics.get(place, CatalogColumnStatistics())

    def bulk_get_partition_column_statistics(
        self, table_path: ObjectPath, partition_specs: list[CatalogPartitionSpec]
    ) -> list[CatalogColumnStatistics]:
        """How values of columns are distributed in partitions, as somebody said."""
        return [self.get_partition_column_statistics(table_path, spec) for spec in partition_specs]

    def alter_table_statistics(
        self,
        table_path: ObjectPath,
        table_statistics: CatalogTableStatistics,
        ignore_if_not_exists: bool,
    ) -> None:
        """Say how large a table is."""
        self._sizes[table_path, None] = table_statistics

    def alter_table_column_statistics(
        self,
        table_path: ObjectPath,
        column_statistics: CatalogColumnStatistics,
        ignore_if_not_exists: bool,
    ) -> None:
        """Say how values of columns are distributed."""
        self._column_statistics[table_path, None] = column_statistics

    def alter_partition_statistics(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        partition_statistics: CatalogTableStatistics,
        ignore_if_not_exists: bool,
    ) -> None:
        """Say how large a partition is."""
        self._sizes[table_path, partition_spec] = partition_statistics

    def alter_partition_column_statistics(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        column_statistics: CatalogColumnStatistics,
        ignore_if_not_exists: bool,
    ) -> None:
        """Say how values of columns are distributed in a partition."""
        self._column_statistics[table_path, partition_spec] = column_statistics

    def _size_of(self, place: _Place) -> CatalogTableStatistics:
        unknown = CatalogTableStatistics(_UNKNOWN, _UNKNOWN, _UNKNOWN, _UNKNOWN)
        return self._sizes.get(place, unknown)

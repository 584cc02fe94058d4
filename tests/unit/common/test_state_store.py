"""Which of Spark's state stores a job gets."""

from __future__ import annotations

from headrace.hosts.spark.session import state_store_settings


def test_native_windows_may_keep_their_state_in_memory() -> None:
    assert state_store_settings("rocksdb", native=True) == {}
    [(key, provider)] = state_store_settings("hashmap", native=True).items()
    assert key == "spark.sql.streaming.stateStore.providerClass"
    assert provider.endswith("HDFSBackedStateStoreProvider")


def test_python_steps_need_rocksdb_whatever_is_asked() -> None:
    assert state_store_settings("hashmap", native=False) == {}

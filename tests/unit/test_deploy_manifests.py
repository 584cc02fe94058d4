"""The manifests of docs/deploy/kubernetes: valid for Kubernetes, and about the same things."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

import kubernetes_validate
import pytest
import yaml

from headrace.common.configuration import Configuration, checked_setting, read_environment
from headrace.dispatcher.settings import ClusterSettings

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.common.opaque import JsonObject

VERSIONS = ("1.31", "1.34")


@pytest.fixture(scope="module")
def manifests(repository: Path) -> list[JsonObject]:
    files = sorted((repository / "docs" / "deploy" / "kubernetes").glob("*.yaml"))
    assert len(files) == 5
    return [each for file in files for each in yaml.safe_load_all(file.read_text())]


def one(manifests: list[JsonObject], kind: str) -> JsonObject:
    (found,) = [each for each in manifests if each["kind"] == kind]
    return found


@pytest.mark.parametrize("version", VERSIONS)
def test_every_manifest_fits_the_schema_of_kubernetes(
    manifests: list[JsonObject], version: str
) -> None:
    for manifest in manifests:
        kubernetes_validate.validate(manifest, version, strict=True)


def test_a_manifest_with_a_mistake_is_found(manifests: list[JsonObject]) -> None:
    deployment = one(manifests, "Deployment")
    wrong = {**deployment, "spec": {**deployment["spec"], "replicas": "two"}}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, VERSIONS[0], strict=True)


def test_names_that_belong_together_are_the_same(manifests: list[JsonObject]) -> None:
    pod = one(manifests, "Deployment")["spec"]["template"]
    service = one(manifests, "Service")
    assert service["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
    assert pod["spec"]["serviceAccountName"] == one(manifests, "ServiceAccount")["metadata"]["name"]
    assert (
        one(manifests, "RoleBinding")["roleRef"]["name"]
        == one(manifests, "Role")["metadata"]["name"]
    )
    volumes = {each["name"]: each for each in pod["spec"]["volumes"]}
    claim = volumes["shared"]["persistentVolumeClaim"]["claimName"]
    assert claim == one(manifests, "PersistentVolumeClaim")["metadata"]["name"]
    assert volumes["config"]["configMap"]["name"] == one(manifests, "ConfigMap")["metadata"]["name"]
    (container,) = pod["spec"]["containers"]
    assert {mount["name"] for mount in container["volumeMounts"]} == set(volumes)


def test_the_configuration_is_one_that_a_dispatcher_takes(manifests: list[JsonObject]) -> None:
    settings = tomllib.loads(one(manifests, "ConfigMap")["data"]["headrace.toml"])
    for key, value in settings.items():
        checked_setting(key, value, "config.yaml")
    cluster = ClusterSettings.of(Configuration.from_dict(settings))
    (container,) = one(manifests, "Deployment")["spec"]["template"]["spec"]["containers"]
    mounts = {mount["mountPath"] for mount in container["volumeMounts"]}
    assert str(cluster.folder.parent) in mounts
    assert str(settings["headrace.rest.tokens"]).rpartition("/")[0] in mounts
    assert container["ports"][0]["containerPort"] == settings["rest.port"]
    variables = {each["name"]: each.get("value", "") for each in container["env"]}
    keys = read_environment(variables)
    assert {"rest.address", "spark.driver.host"} <= set(keys)
    for key in keys:
        checked_setting(key, "10.0.0.1", "dispatcher.yaml")

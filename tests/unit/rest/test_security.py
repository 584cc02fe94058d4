"""Who comes in: loopback, tokens with roles, TLS, names and origins."""

from __future__ import annotations

import base64
import logging
import ssl
import stat
import subprocess
from typing import TYPE_CHECKING

import httpx
import pytest

from headrace.common import Configuration
from headrace.common.options import OPTIONS
from headrace.errors import ConfigurationError, ConnectorError, InvalidArgumentError
from headrace.rest.access import Role, TokenFile, bearer_token
from headrace.rest.app import create_app
from headrace.rest.guard import needed_role
from headrace.rest.settings import RestSettings, TlsFiles, is_loopback
from patience import wait_until
from rest_fakes import JOB, FakeDispatcher
from rest_serving import serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rest_serving import Serving


# --- where it listens ----------------------------------------------------------------------------


def test_it_listens_on_loopback_if_nothing_is_said() -> None:
    assert is_loopback(str(OPTIONS["rest.address"].default))
    RestSettings().check()


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "10.1.2.3", "example.org"])
def test_the_network_without_authentication_is_refused(
    address: str, dispatcher: FakeDispatcher
) -> None:
    with pytest.raises(ConfigurationError, match="let everybody in"):
        create_app(dispatcher, RestSettings(address=address), views=dispatcher.views)
    RestSettings(address=address, allow_unauthenticated=True).check()


def test_strangers_bring_no_programs(dispatcher: FakeDispatcher) -> None:
    settings = RestSettings(address="0.0.0.0", port=0, allow_unauthenticated=True)
    assert not settings.takes_programs
    with serving(dispatcher, settings) as rest:
        address = f"http://127.0.0.1:{rest.server.port}"
        answer = httpx.post(f"{address}/jars/upload", files={"jarfile": ("a.py", b"1")})
        assert answer.status_code == 403
        assert answer.json()["kind"] == "UPLOADS_ARE_OFF"
        assert httpx.get(f"{address}/config").json()["features"]["web-submit"] is False


@pytest.mark.parametrize(
    ("address", "inside"),
    [("127.0.0.1", True), ("::1", True), ("[::1]", True), ("localhost", True), ("127.9.9.9", True),
     ("0.0.0.0", False), ("192.168.1.1", False), ("localhost.evil.example", False)],
)  # fmt: skip
def test_what_loopback_is(address: str, inside: bool) -> None:
    assert is_loopback(address) is inside


# --- tokens --------------------------------------------------------------------------------------


@pytest.fixture
def tokens(tmp_path: Path) -> TokenFile:
    return TokenFile(tmp_path / "secret" / "tokens.json")


def test_a_token_is_nowhere_kept(tokens: TokenFile) -> None:
    token = tokens.create("ci", Role.SUBMIT)
    assert token not in tokens.path.read_text()
    assert stat.S_IMODE(tokens.path.stat().st_mode) == 0o600
    assert tokens.role_of(token) is Role.SUBMIT
    assert tokens.role_of(token + "x") is None
    assert tokens.role_of("") is None


def test_a_revoked_token_is_wrong_at_once(tokens: TokenFile) -> None:
    token = tokens.create("ci", Role.READ)
    other = tokens.create("me", Role.OPERATE)
    assert tokens.role_of(token) is Role.READ
    TokenFile(tokens.path).revoke("ci")
    assert tokens.role_of(token) is None
    assert tokens.role_of(other) is Role.OPERATE
    with pytest.raises(InvalidArgumentError, match="no token named"):
        tokens.revoke("ci")
    with pytest.raises(InvalidArgumentError, match="already"):
        tokens.create("me", Role.READ)


def test_a_broken_file_lets_nobody_in(tokens: TokenFile, dispatcher: FakeDispatcher) -> None:
    token = tokens.create("me", Role.SUBMIT)
    settings = RestSettings(port=0, tokens=tokens.path)
    with serving(dispatcher, settings) as rest:
        tokens.path.write_text('{"tokens": [{"name": "a", "role": "god", "sha256": ""}]}')
        answer = rest.get("/jobs", headers={"Authorization": f"Bearer {token}"})
        assert answer.status_code == 503
        assert str(tokens.path) not in answer.text
    with pytest.raises(ConfigurationError, match="cannot be read"):
        settings.check()


@pytest.mark.parametrize(
    ("header", "token"),
    [("Bearer abc", "abc"), ("bearer  abc ", "abc"), ("Basic abc", None), ("", None),
     ("Bearer", None), ("Bearer ", None)],
)  # fmt: skip
def test_the_header(header: str, token: str | None) -> None:
    assert bearer_token(header) == token


@pytest.mark.parametrize(
    ("method", "path", "role"),
    [
        ("GET", "/jobs", Role.READ),
        ("HEAD", "/jobs", Role.READ),
        ("PATCH", f"/jobs/{JOB}", Role.OPERATE),
        ("POST", f"/v1/jobs/{JOB}/savepoints", Role.OPERATE),
        ("PUT", f"/jobs/{JOB}/resource-requirements", Role.OPERATE),
        ("POST", "/savepoint-disposal", Role.OPERATE),
        ("POST", "/jars/upload", Role.SUBMIT),
        ("POST", "/v1/jars/x/run", Role.SUBMIT),
        ("DELETE", "/jars/x", Role.SUBMIT),
        ("GET", "/jars/x/plan", Role.SUBMIT),
        ("DELETE", "/cluster", Role.SUBMIT),
        ("GET", "/jars", Role.READ),
    ],
)
def test_what_a_request_needs(method: str, path: str, role: Role) -> None:
    assert needed_role(method, path) is role


@pytest.fixture
def guarded(tokens: TokenFile, dispatcher: FakeDispatcher) -> Iterator[tuple[Serving, TokenFile]]:
    tokens.create("nobody", Role.READ)
    with serving(dispatcher, RestSettings(port=0, tokens=tokens.path)) as rest:
        yield rest, tokens


def test_roles_over_http(guarded: tuple[Serving, TokenFile]) -> None:
    rest, tokens = guarded

    def headers(role: Role) -> dict[str, str]:
        return {"Authorization": f"Bearer {tokens.create(role.name, role)}"}

    read, operate, submit = headers(Role.READ), headers(Role.OPERATE), headers(Role.SUBMIT)
    assert rest.get("/jobs").status_code == 401
    assert rest.get("/jobs", headers={"Authorization": "Bearer wrong"}).status_code == 401
    assert rest.get("/jobs").headers["www-authenticate"].startswith("Bearer")
    assert rest.get("/metrics", headers={}).status_code == 401
    assert rest.get("/jobs", headers=read).status_code == 200
    refused = rest.post(f"/jobs/{JOB}/savepoints", headers=read)
    assert refused.status_code == 403
    assert "--role operate" in refused.json()["fix"]
    assert rest.post(f"/jobs/{JOB}/savepoints", headers=operate).status_code == 202
    upload = {"jarfile": ("a.py", b"1")}
    assert rest.post("/jars/upload", files=upload, headers=operate).status_code == 403
    assert rest.post("/jars/upload", files=upload, headers=submit).status_code == 200


def test_everybody_hears_of_the_own_role(guarded: tuple[Serving, TokenFile]) -> None:
    """At once, too: what one was told is not kept for another."""
    rest, tokens = guarded
    for role in Role:
        mine = {"Authorization": f"Bearer {tokens.create(role.name, role)}"}
        assert rest.get("/config", headers=mine).json()["role"] == role.name.lower()
        assert rest.get("/v1/config", headers=mine).json()["role"] == role.name.lower()


def test_without_tokens_everybody_may_do_everything(rest: Serving) -> None:
    assert rest.get("/config").json()["role"] == "submit"


def test_the_page_to_sign_in_needs_no_token(guarded: tuple[Serving, TokenFile]) -> None:
    rest, _ = guarded
    for path in ("/", "/docs", "/docs/page.js", "/openapi.json"):
        assert rest.get(path).status_code == 200, path
    assert rest.get("/openapi.json").json()["components"]["securitySchemes"]
    assert rest.get("/health").status_code == 401


def test_tokens_are_in_no_log(
    guarded: tuple[Serving, TokenFile], caplog: pytest.LogCaptureFixture
) -> None:
    rest, tokens = guarded
    token = tokens.create("ci", Role.SUBMIT)
    with caplog.at_level(logging.DEBUG):
        for each in (token, "wrong-token"):
            rest.get("/jobs?x=y", headers={"Authorization": f"Bearer {each}"})
            rest.get(f"/jobs/{JOB}/nothing", headers={"Authorization": f"Bearer {each}"})
    ours = [r.getMessage() for r in caplog.records if not r.name.startswith(("httpcore", "httpx"))]
    assert not [line for line in ours if token in line or "wrong-token" in line]


# --- pages of others -----------------------------------------------------------------------------


def test_a_foreign_name_is_not_answered(rest: Serving) -> None:
    """DNS rebinding: a page of evil.example whose name leads to 127.0.0.1."""
    answer = rest.get("/jobs", headers={"Host": "evil.example"})
    assert answer.status_code == 421
    for name in ("localhost", "127.0.0.1:8081", "[::1]:8081", "LOCALHOST:1"):
        assert rest.get("/jobs", headers={"Host": name}).status_code == 200, name


def test_further_names_can_be_set(dispatcher: FakeDispatcher) -> None:
    settings = RestSettings(port=0, host_names=("jobs.example.org",))
    with serving(dispatcher, settings) as rest:
        assert rest.get("/jobs", headers={"Host": "jobs.example.org"}).status_code == 200
        assert rest.get("/jobs", headers={"Host": "other.example.org"}).status_code == 421


@pytest.mark.parametrize(
    "headers",
    [{"Origin": "http://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"},
     {"Origin": "http://localhost:9999"}],
)  # fmt: skip
def test_a_foreign_page_cannot_act(rest: Serving, headers: dict[str, str]) -> None:
    before = list(rest.dispatcher.asked)
    answer = rest.post(f"/jobs/{JOB}/stop", json={}, headers=headers)
    assert answer.status_code == 403
    assert rest.dispatcher.asked == before


def test_the_own_page_can(acting: Serving) -> None:
    origin = acting.server.address
    answer = acting.post(f"/jobs/{JOB}/stop", json={}, headers={"Origin": origin})
    assert answer.status_code == 202


def test_no_answer_allows_others_or_is_a_page(rest: Serving) -> None:
    for path in ("/jobs", "/", "/nowhere", "/docs"):
        headers = rest.get(path).headers
        assert "access-control-allow-origin" not in headers
        assert "set-cookie" not in headers
        assert "server" not in headers
        assert headers["x-content-type-options"] == "nosniff"
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]


# --- secrets -------------------------------------------------------------------------------------


def test_settings_are_shown_without_their_secrets(rest: Serving) -> None:
    shown = rest.get("/jobmanager/config")
    assert {"key": "spark.authenticate.secret", "value": "******"} in shown.json()
    assert "hunter2" not in shown.text


def test_errors_that_quote_a_secret_are_told_without_it(acting: Serving) -> None:
    acting.dispatcher.fails = ConnectorError(
        "cannot connect to postgresql://me:hunter2@db/x", where="password=hunter2"
    )
    trigger = acting.post(f"/jobs/{JOB}/savepoints").json()["request-id"]
    path = f"/jobs/{JOB}/savepoints/{trigger}"
    wait_until(lambda: acting.get(path).json()["status"]["id"] == "COMPLETED")
    told = acting.get(path).text
    assert "cannot connect" in told
    assert "hunter2" not in told
    java = acting.get(path).json()["operation"]["failure-cause"]
    assert b"hunter2" not in base64.b64decode(java["serialized-throwable"])


def test_a_log_is_read_by_name_only(rest: Serving, tmp_path: Path) -> None:
    log = tmp_path / "dispatcher.log"
    log.write_text("started\n")
    handler = logging.FileHandler(log)
    logging.getLogger().addHandler(handler)
    try:
        names = [each["name"] for each in rest.get("/jobmanager/logs").json()["logs"]]
        assert "dispatcher.log" in names
        assert "started" in rest.get("/jobmanager/logs/dispatcher.log").text
        for path in ("..%2f..%2fetc%2fpasswd", "passwd", "%2fetc%2fpasswd"):
            assert rest.get(f"/jobmanager/logs/{path}").status_code == 404
    finally:
        logging.getLogger().removeHandler(handler)
        handler.close()


# --- TLS -----------------------------------------------------------------------------------------


def _openssl(folder: Path, *arguments: str) -> None:
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An authority, a server's key (also encrypted) and a client's, all in PEM files."""
    folder = tmp_path_factory.mktemp("keys")
    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")
    _openssl(folder, "req", "-x509", *curve, "-keyout", "ca.key", "-out", "ca.pem",
             "-subj", "/CN=test authority")  # fmt: skip
    for name in ("server", "client"):
        _openssl(folder, "req", "-x509", *curve, "-CA", "ca.pem", "-CAkey", "ca.key",
                 "-keyout", f"{name}.key", "-out", f"{name}.crt", "-subj", f"/CN={name}",
                 "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost",
                 "-addext", "basicConstraints=critical,CA:FALSE")  # fmt: skip
        whole = (folder / f"{name}.key").read_text() + (folder / f"{name}.crt").read_text()
        (folder / f"{name}.pem").write_text(whole)
    _openssl(folder, "pkey", "-in", "server.key", "-aes256", "-passout", "pass:word",
             "-out", "locked.key")  # fmt: skip
    locked = (folder / "locked.key").read_text() + (folder / "server.crt").read_text()
    (folder / "locked.pem").write_text(locked)
    return folder


def _trusting(keys: Path, client: str | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(keys / "ca.pem"))
    if client is not None:
        context.load_cert_chain(str(keys / client))
    return context


def _settings(**options: str) -> RestSettings:
    configuration = Configuration()
    for key, value in options.items():
        configuration.set_string(f"security.ssl.rest.{key.replace('_', '-')}", value)
    return RestSettings.of(configuration, address="127.0.0.1", port=0)


def test_tls(keys: Path, dispatcher: FakeDispatcher) -> None:
    settings = _settings(enabled="true", keystore=str(keys / "server.pem"))
    with serving(dispatcher, settings, verify=_trusting(keys)) as rest:
        assert rest.server.address.startswith("https://")
        assert rest.get("/overview").status_code == 200
        with pytest.raises(httpx.HTTPError):
            httpx.get(rest.server.address.replace("https", "http"))
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{rest.server.address}/overview")  # an authority that it does not know


def test_mutual_tls(keys: Path, dispatcher: FakeDispatcher) -> None:
    settings = _settings(
        enabled="true", keystore=str(keys / "server.pem"), truststore=str(keys / "ca.pem"),
        authentication_enabled="true",
    )  # fmt: skip
    assert settings.is_authenticated
    with serving(dispatcher, settings, verify=_trusting(keys, "client.pem")) as rest:
        assert rest.get("/overview").status_code == 200
        with pytest.raises(httpx.HTTPError):
            httpx.get(f"{rest.server.address}/overview", verify=_trusting(keys))


def test_a_locked_key(
    keys: Path, monkeypatch: pytest.MonkeyPatch, dispatcher: FakeDispatcher
) -> None:
    locked = str(keys / "locked.pem")
    with (
        pytest.raises(ConfigurationError, match="cannot be read"),
        serving(dispatcher, _settings(enabled="true", keystore=locked)),
    ):
        pass
    monkeypatch.setenv("HEADRACE_REST_KEY_PASSWORD", "word")
    settings = _settings(enabled="true", keystore=locked)
    assert "word" not in repr(settings)
    with serving(dispatcher, settings, verify=_trusting(keys)) as rest:
        assert rest.get("/overview").status_code == 200


def test_half_a_configuration_is_refused(keys: Path) -> None:
    with pytest.raises(ConfigurationError, match="keystore"):
        _settings(enabled="true")
    with pytest.raises(ConfigurationError, match="there is no file"):
        _settings(enabled="true", keystore="/nowhere.pem")
    with pytest.raises(ConfigurationError, match=r"security\.ssl\.rest\.enabled is false"):
        _settings(authentication_enabled="true")
    with pytest.raises(ConfigurationError, match="truststore"):
        _settings(enabled="true", keystore=str(keys / "server.pem"), authentication_enabled="true")
    assert OPTIONS["security.ssl.rest.keystore-type"].refuses("JKS")
    assert not OPTIONS["security.ssl.rest.keystore-type"].refuses("PEM")
    assert _settings(enabled="false").tls is None
    assert isinstance(_settings(enabled="true", keystore=str(keys / "server.pem")).tls, TlsFiles)

"""A dispatcher as its clients see it: the jobs, and what can be asked of them.

    headrace run -m HOST:PORT ... ─▶ RestClient ─▶ rest/ of the dispatcher that leads

In: one address, or several of a cluster.  Out: JobRecords, or the errors of the other side raised
here with all of their parts.  Nothing beyond the standard library is needed.
"""

from __future__ import annotations

import http.client
import json
import os
import ssl
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from headrace import errors
from headrace.common.options import OPTIONS
from headrace.control.registry import JobRecord
from headrace.errors import (
    ConnectorError,
    HeadraceError,
    InvalidArgumentError,
    JobError,
    NotDoneYetError,
)
from headrace.io.waiting import at_most, told_when_long

if TYPE_CHECKING:
    from headrace.common.configuration import Configuration
    from headrace.common.opaque import JsonObject, JsonValue

TOKEN_VARIABLE = "HEADRACE_REST_TOKEN"
_DEFAULT_PORT = 8081
_TIMEOUT_S = 60.0
_POLL_S = 0.25
_MOST_REDIRECTS = 5
# how long a cluster may take to agree on a new leader
_ELECTION_S = 30.0
_REDIRECT, _NO_LEADER = (307, 308), 503


@dataclass(frozen=True, slots=True)
class RestAnswer:
    """What came back."""

    status: int
    body: JsonValue
    location: str | None = None


@dataclass(slots=True)
class RestClient:
    """Asks the dispatchers of one cluster.

    Attributes:
        addresses: URLs, tried in turn.
        token: for the header Authorization.
        tls: for https.
    """

    addresses: tuple[str, ...]
    token: str | None = field(default=None, repr=False)
    tls: ssl.SSLContext | None = field(default=None, repr=False)

    @staticmethod
    def of(text: str, configuration: Configuration) -> RestClient:
        """The client of ``-m HOST:PORT[,HOST:PORT]``; https by scheme, or by the configuration."""
        secure = bool(configuration.get(OPTIONS["security.ssl.rest.enabled"]))
        addresses = tuple(
            _url(part.strip(), secure=secure) for part in text.split(",") if part.strip()
        )
        if not addresses:
            raise InvalidArgumentError("no address of a dispatcher", where="-m", fix="-m HOST:PORT")
        https = any(address.startswith("https:") for address in addresses)
        token = os.environ.get(TOKEN_VARIABLE)
        return RestClient(addresses, token or None, _tls(configuration) if https else None)

    # --- jobs --------------------------------------------------------------------------------

    def jobs(self) -> list[JobRecord]:
        """All jobs, the newest first."""
        return [JobRecord.from_json(each) for each in self._ask("GET", "/headrace/jobs")]

    def find(self, text: str, *, newest: bool = False) -> JobRecord:
        """One job by its id, the beginning of its id, or its name."""
        path = f"/headrace/jobs/{quote(text, safe='')}?newest={str(newest).lower()}"
        return JobRecord.from_json(self._ask("GET", path))

    def diagnosis(self, job_id: str) -> JsonObject:
        """What limits a job."""
        return dict(self._ask("GET", f"/jobs/{job_id}/diagnosis"))

    def proposal(self, job_id: str) -> JsonObject:
        """Which parallelism is proposed for a job."""
        found = self._ask("GET", f"/jobs/{job_id}/rescale")
        return {**found, "parallelism": found["proposed"]}

    def cancel(self, job_id: str) -> None:
        """End a job now."""
        self._ask("PATCH", f"/jobs/{job_id}?mode=cancel")

    def stop(self, job_id: str, *, drain: bool, savepoint: bool, folder: str | None) -> None:
        """End a job after its running batch; returns when the job knows, or refuses."""
        body = {"drain": drain, "savepoint": savepoint, "targetDirectory": folder}
        operation = self._ask("POST", f"/jobs/{job_id}/stop", body)["request-id"]
        # what can be refused is refused within a moment; the job's record tells the rest
        self._status(f"/jobs/{job_id}/savepoints/{operation}")

    def savepoint(self, job_id: str, folder: str | None, *, timeout_s: float) -> str:
        """Take a savepoint, and wait for it."""
        body = {"target-directory": folder, "triggerId": uuid.uuid4().hex}
        operation = self._ask("POST", f"/jobs/{job_id}/savepoints", body)["request-id"]
        done = self._wait(f"/jobs/{job_id}/savepoints/{operation}", timeout_s)
        return str(done["location"])

    def checkpoint(self, job_id: str, *, timeout_s: float) -> int:
        """Have a checkpoint of now, and wait for it; its number."""
        body = {"triggerId": uuid.uuid4().hex}
        operation = self._ask("POST", f"/jobs/{job_id}/checkpoints", body)["request-id"]
        done = self._wait(f"/jobs/{job_id}/checkpoints/{operation}", timeout_s)
        return int(done["checkpointId"])

    def rescale(self, job_id: str, parallelism: int, *, timeout_s: float) -> JsonObject:
        """Run a job with another parallelism; {"savepoint": ..., "job-id": ...}."""
        body = {"parallelism": parallelism}
        operation = self._ask("POST", f"/jobs/{job_id}/rescale", body)["request-id"]
        return self._wait(f"/jobs/{job_id}/rescaling/{operation}", timeout_s)

    def run(self, program: str, arguments: list[str], settings: dict[str, str]) -> str:
        """Send a script or zip, or name a function; the id of its job."""
        path = Path(program)
        if path.suffix in (".py", ".zip") or path.is_file():
            return self._run_file(path, arguments, settings)
        body = {"program": program, "arguments": arguments, "configuration": settings}
        return str(self._ask("POST", "/jars/run", body)["jobid"])

    def _run_file(self, path: Path, arguments: list[str], settings: dict[str, str]) -> str:
        try:
            content = path.read_bytes()
        except OSError as error:
            raise InvalidArgumentError(
                f"the program {str(path)!r} cannot be read: {error.strerror}", where=str(path)
            ) from None
        stored = self._ask("POST", "/jars/upload", _Upload(path.name, content))
        program_id = str(stored["filename"]).rpartition("/")[2]
        try:
            body = {
                "programArgsList": arguments,
                "flinkConfiguration": settings,
                "name": settings.get("pipeline.name"),
            }
            answer = self._ask("POST", f"/jars/{quote(program_id, safe='')}/run", body)
        finally:
            self._ask("DELETE", f"/jars/{quote(program_id, safe='')}")  # the job has a copy
        return str(answer["jobid"])

    def dispatcher(self) -> JsonObject:
        """What the first dispatcher that answers says of itself."""
        return dict(self._ask("GET", "/headrace/dispatcher"))

    # --- operations --------------------------------------------------------------------------

    def _wait(self, path: str, timeout_s: float) -> JsonObject:
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            found = self._status(path)
            if found is not None:
                return found
            time.sleep(_POLL_S)
        raise NotDoneYetError(
            f"the dispatcher has not finished within {timeout_s:g} s",
            fix="it goes on; give a longer --timeout the next time",
        )

    def _status(self, path: str) -> JsonObject | None:
        """What has become of an operation; None while it runs."""
        answer = self._ask("GET", path)
        if answer["status"]["id"] != "COMPLETED":
            return None
        result: JsonObject = answer.get("operation") or {}
        cause = result.get("failure-cause") or result.get("failureCause")  # Flink has both words
        if cause is not None:
            told = {"message": cause.get("stack-trace")}
            raise _error(result if "message" in result else told)
        return result

    # --- one request -------------------------------------------------------------------------

    def _ask(self, method: str, path: str, body: object = None) -> JsonValue:
        """Ask whoever answers, and whom that one names as the leader.

        Raises:
            HeadraceError: what the other side says.
            ConnectorError: nobody answers, or nobody leads.
        """
        what = f"a dispatcher at {', '.join(self.addresses)} to answer"
        with told_when_long(what, at_most(len(self.addresses) * _TIMEOUT_S + _ELECTION_S)):
            answer = self._answer_of_leader(method, path, body)
        if answer.status >= 400:
            raise _error(answer.body if isinstance(answer.body, dict) else {}, answer.status)
        return answer.body

    def _answer_of_leader(self, method: str, path: str, body: object) -> RestAnswer:
        deadline = time.monotonic() + _ELECTION_S
        while True:
            answer = self._first_answer(method, path, body)
            if answer.status != _NO_LEADER or time.monotonic() > deadline:
                return answer
            time.sleep(1.0)

    def _first_answer(self, method: str, path: str, body: object) -> RestAnswer:
        failures = []
        for address in self.addresses:
            try:
                return self._follow(address, method, path, body)
            except (OSError, http.client.HTTPException) as error:
                failures.append(f"{address}: {str(error) or type(error).__name__}")
        raise ConnectorError(
            f"no dispatcher answers: {'; '.join(failures)}",
            where="-m",
            fix="`headrace cluster status` on its machine says whether it runs and where",
        )

    def _follow(self, address: str, method: str, path: str, body: object) -> RestAnswer:
        url = f"{address}{path}"
        for _ in range(_MOST_REDIRECTS):
            answer = self._send(url, method, body)
            if answer.status not in _REDIRECT or answer.location is None:
                return answer
            url = answer.location
        raise http.client.HTTPException(f"too many redirects, the last to {url}")

    def _send(self, url: str, method: str, body: object) -> RestAnswer:
        parts = urlsplit(url)
        headers = {"Accept": "application/json"}
        content: bytes | None = None
        if isinstance(body, _Upload):
            content, headers["Content-Type"] = body.encoded()
        elif body is not None:
            content, headers["Content-Type"] = json.dumps(body).encode(), "application/json"
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token}"
        connection = self._connection(parts.scheme, parts.hostname or "", parts.port)
        try:
            target = f"{parts.path}?{parts.query}" if parts.query else parts.path
            connection.request(method, target, content, headers)
            response = connection.getresponse()
            text = response.read()
            location = response.headers.get("Location")
            return RestAnswer(response.status, _parsed(text, url, response.status), location)
        finally:
            connection.close()

    def _connection(self, scheme: str, host: str, port: int | None) -> http.client.HTTPConnection:
        if scheme == "https":
            return http.client.HTTPSConnection(host, port, timeout=_TIMEOUT_S, context=self.tls)
        return http.client.HTTPConnection(host, port, timeout=_TIMEOUT_S)


@dataclass(frozen=True, slots=True)
class _Upload:
    """A file that is sent as a form."""

    name: str
    content: bytes

    def encoded(self) -> tuple[bytes, str]:
        """The body and its type."""
        border = uuid.uuid4().hex
        name = self.name.replace('"', "_")
        head = (
            f'--{border}\r\nContent-Disposition: form-data; name="jarfile"; filename="{name}"\r\n'
            "Content-Type: application/octet-stream\r\n\r\n"
        )
        body = head.encode() + self.content + f"\r\n--{border}--\r\n".encode()
        return body, f"multipart/form-data; boundary={border}"


def _parsed(text: bytes, url: str, status: int) -> JsonValue:
    try:
        return json.loads(text or b"{}")
    except ValueError:
        raise http.client.HTTPException(
            f"{url} answered with status {status} and no JSON: is it a dispatcher?"
        ) from None


def _error(parts: JsonObject, status: int = 0) -> HeadraceError:
    """The error of the other side, of the class that it had there."""
    kind = str(parts.get("kind") or "")
    name = "".join(word.capitalize() for word in kind.lower().split("_")) + "Error"
    found = getattr(errors, name, JobError)
    message = parts.get("message") or "; ".join(parts.get("errors", ())) or f"status {status}"
    fix = parts.get("fix")
    if status == 401:
        fix = f"put the token into the variable {TOKEN_VARIABLE}"
    cls = found if isinstance(found, type) and issubclass(found, HeadraceError) else JobError
    return cls(str(message), where=parts.get("where"), fix=fix)


def _url(text: str, *, secure: bool) -> str:
    """HOST, HOST:PORT or a URL, as a URL without a path."""
    with_scheme = text if "://" in text else f"{'https' if secure else 'http'}://{text}"
    try:
        parts = urlsplit(with_scheme)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host or parts.scheme not in ("http", "https"):
        raise InvalidArgumentError(
            f"{text!r} is no address of a dispatcher", where="-m", fix="for instance -m host:8081"
        )
    shown = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{shown}:{port or _DEFAULT_PORT}"


def _tls(configuration: Configuration) -> ssl.SSLContext:
    """Whom to trust, and who this is: security.ssl.rest.truststore and .keystore, as in Flink."""
    trusted = configuration.get(OPTIONS["security.ssl.rest.truststore"])
    own = configuration.get(OPTIONS["security.ssl.rest.keystore"])
    try:
        context = ssl.create_default_context(cafile=None if not trusted else str(trusted))
        if own:
            context.load_cert_chain(str(own))
    except (OSError, ssl.SSLError) as error:
        raise InvalidArgumentError(
            f"the certificates for the dispatcher cannot be read: {error}",
            where="security.ssl.rest.truststore, security.ssl.rest.keystore",
            fix="PEM files",
        ) from None
    return context

"""The options of REST's security, and the one that protects Spark's own traffic.

Out: ``SECURITY_OPTIONS``, which common/options.py lists.  Keys are Flink's where
Flink has the option.  Next: rest/settings.py, hosts/spark/protection.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.common.config_options import ConfigOption, Effect

if TYPE_CHECKING:
    from headrace.common.opaque import OptionValue

_PEM = "keys and certificates are PEM files, which need no password of the store"
_TO_PEM = (
    "write the store as one PEM file, `openssl pkcs12 -in store.p12 -out rest.pem -nodes`, and "
    "name it in security.ssl.rest.keystore"
)

SECURITY_OPTIONS: tuple[ConfigOption[OptionValue], ...] = (
    ConfigOption(
        "security.ssl.rest.enabled",
        "boolean",
        default=False,
        doc="Whether the REST API and the dashboard speak TLS; needs security.ssl.rest.keystore.",
    ),
    ConfigOption(
        "security.ssl.rest.keystore",
        "string",
        None,
        "A PEM file with the server's private key, its certificate, and those in between.",
    ),
    ConfigOption(
        "security.ssl.rest.key-password",
        "string",
        None,
        "The password of the private key, if it is encrypted; read from the configuration file "
        "or, better, from the variable HEADRACE_REST_KEY_PASSWORD.",
    ),
    ConfigOption(
        "security.ssl.rest.truststore",
        "string",
        None,
        "A PEM file with the authorities that clients' certificates are signed by.",
    ),
    ConfigOption(
        "security.ssl.rest.authentication-enabled",
        "boolean",
        default=False,
        doc="Mutual TLS: only clients with a certificate that security.ssl.rest.truststore vouches "
        "for are let in.",
    ),
    ConfigOption(
        "security.ssl.rest.keystore-type",
        "string",
        None,
        "The kind of file that security.ssl.rest.keystore is.",
        effect=Effect.REFUSED,
        why=_PEM,
        instead=_TO_PEM,
        taken=("PEM",),
    ),
    ConfigOption(
        "security.ssl.rest.truststore-type",
        "string",
        None,
        "The kind of file that security.ssl.rest.truststore is.",
        effect=Effect.REFUSED,
        why=_PEM,
        instead="write the authorities' certificates into one PEM file",
        taken=("PEM",),
    ),
    ConfigOption(
        "headrace.rest.tokens",
        "string",
        None,
        "The file of those who may use the REST API, with hashed tokens; `headrace cluster token "
        "create` adds to it. If it is not set, whoever can connect may do everything, which is why "
        "the server then listens on this machine only.",
    ),
    ConfigOption(
        "headrace.rest.allow-unauthenticated",
        "boolean",
        default=False,
        doc="Listen on addresses of the network although neither tokens nor client certificates "
        "are configured. Whoever reaches the port can then stop jobs; programs cannot be uploaded.",
    ),
    ConfigOption(
        "headrace.rest.host-names",
        "string",
        None,
        "Further names, separated by commas, under which browsers and clients reach the REST API. "
        "Requests for names that are not known are refused: a page of somebody else could have "
        "sent them (DNS rebinding).",
    ),
    ConfigOption(
        "rest.server.max-content-length",
        "memory",
        "100 mb",
        "The largest program that can be uploaded.",
        minimum=1024,
    ),
    ConfigOption(
        "web.submit.enable",
        "boolean",
        default=True,
        doc="Whether programs can be uploaded and run over REST.",
    ),
    ConfigOption(
        "web.cancel.enable",
        "boolean",
        default=True,
        doc="Whether the dashboard has buttons that end jobs; REST itself asks for roles.",
    ),
    ConfigOption(
        "web.refresh-interval",
        "duration",
        "3 s",
        "How often the dashboard asks again.",
        minimum=100,
    ),
    ConfigOption(
        "security.ssl.internal.enabled",
        "boolean",
        default=False,
        doc="Protect what Spark's processes say to each other: spark.authenticate with a secret "
        "of its own for every job, AES for RPC and shuffles, encrypted spill files. A spark.* key "
        "that is set wins. A standalone cluster needs the same spark.authenticate.secret on its "
        "workers.",
    ),
)

"""Serves one shape at an address, on ports 80 and 443, as a process of its own: it keeps time better than a thread.

`python -m workers.tests.shapes.serve FOLDER ADDRESS`, where `write_plan` has prepared the folder.
"""

import asyncio
import pickle
import ssl
import sys
from asyncio import StreamReader, StreamWriter
from collections.abc import Iterable
from pathlib import Path

import trustme

from workers.tests.shapes.http1 import serve_http1
from workers.tests.shapes.http2 import serve_http2
from workers.tests.shapes.http3 import serve_http3
from workers.tests.shapes.site import HOSTS, Host, Shape

_PLAN = "shape.pickle"
AUTHORITY_FILE = "authority.pem"


def write_certificates(folder: Path) -> None:
    """A leaf for each certificate of `HOSTS`, and the authority behind those that are trusted."""
    known, stranger = trustme.CA(key_type=trustme.KeyType.ECDSA), trustme.CA(key_type=trustme.KeyType.ECDSA)
    known.cert_pem.write_to_path(str(folder / AUTHORITY_FILE))
    for certificate in {host.certificate for host in HOSTS}:
        sharing = [host for host in HOSTS if host.certificate == certificate]
        authority = known if all(host.trusted for host in sharing) else stranger
        names = [host.name for host in sharing]
        leaf = authority.issue_cert(*names, key_type=trustme.KeyType.ECDSA)
        leaf.private_key_pem.write_to_path(str(folder / f"{certificate}.key"))
        (folder / f"{certificate}.pem").write_bytes(b"".join(part.bytes() for part in leaf.cert_chain_pems))


def write_plan(folder: Path, shape: Shape) -> None:
    (folder / _PLAN).write_bytes(pickle.dumps(shape))


def _contexts(folder: Path, hosts: Iterable[Host]) -> ssl.SSLContext:
    """One context that turns into that of the host that is asked for."""
    contexts: dict[str, ssl.SSLContext] = {}
    for host in hosts:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / f"{host.certificate}.pem", folder / f"{host.certificate}.key")
        context.set_alpn_protocols(list(host.protocols))
        contexts[host.name] = context

    def choose(connection: ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> None:
        connection.context = contexts.get(name or "", first)

    first = next(iter(contexts.values()))
    outer = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    outer.sni_callback = choose
    return outer


async def _serve(folder: Path, address: str) -> None:
    shape: Shape = pickle.loads((folder / _PLAN).read_bytes())

    async def secured(reader: StreamReader, writer: StreamWriter) -> None:
        if writer.get_extra_info("ssl_object").selected_alpn_protocol() == "h2":
            await serve_http2(shape, reader, writer)
        else:
            await serve_http1(shape, reader, writer, "https")

    async def plain(reader: StreamReader, writer: StreamWriter) -> None:
        await serve_http1(shape, reader, writer, "http")

    for host in HOSTS:
        if host.quic:
            await serve_http3(shape, address, folder / f"{host.certificate}.pem", folder / f"{host.certificate}.key")
    await asyncio.start_server(plain, address, 80)
    await asyncio.start_server(secured, address, 443, ssl=_contexts(folder, HOSTS), backlog=100)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_serve(Path(sys.argv[1]), sys.argv[2]))

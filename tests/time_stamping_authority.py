"""A time-stamping authority (RFC 3161) with a root of its own, over HTTP on loopback."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from asn1crypto import algos, cms, core, tsp
from asn1crypto import x509 as asn1_x509
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_SHA256 = {"algorithm": "sha256"}


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


class Authority:
    """A root certificate, and one under it that stamps.

    `purpose` is what the second certificate may be used for.
    """

    def __init__(self, purpose: x509.ObjectIdentifier = ExtendedKeyUsageOID.TIME_STAMPING) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        root_key = ec.generate_private_key(ec.SECP256R1())
        start = datetime.now(UTC) - timedelta(days=1)
        key_usage = x509.KeyUsage(
            digital_signature=True, content_commitment=False, key_encipherment=False,
            data_encipherment=False, key_agreement=False, key_cert_sign=True, crl_sign=True,
            encipher_only=False, decipher_only=False,
        )  # fmt: skip
        root = (
            x509.CertificateBuilder()
            .subject_name(_name("root.example"))
            .issuer_name(_name("root.example"))
            .public_key(root_key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(start)
            .not_valid_after(start + timedelta(days=9))
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(key_usage, critical=True)
            .sign(root_key, hashes.SHA256())
        )
        certificate = (
            x509.CertificateBuilder()
            .subject_name(_name("stamps.example"))
            .issuer_name(root.subject)
            .public_key(self._key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(start)
            .not_valid_after(start + timedelta(days=9))
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage([purpose]), critical=True)
            .sign(root_key, hashes.SHA256())
        )
        self.root = root.public_bytes(Encoding.PEM)
        self._certificate = asn1_x509.Certificate.load(certificate.public_bytes(Encoding.DER))

    def response(
        self, request: bytes, *, content: str = "tst_info", padding: int = 0, **changes: Any
    ) -> bytes:
        """The response to a request.

        `changes` are fields of what is stamped, `content` is the type of the token's content, and
        `padding` the bytes by which its status text makes it longer.
        """
        query = tsp.TimeStampReq.load(request)
        fields = {
            "version": "v1",
            "policy": "1.2.3.4",
            "message_imprint": query["message_imprint"],
            "serial_number": 1,
            "gen_time": datetime.now(UTC).replace(microsecond=0),
            "nonce": query["nonce"].native,
            **changes,
        }
        stamped = tsp.TSTInfo(fields).dump()
        digest = hashlib.sha256(self._certificate.dump()).digest()
        used = tsp.SigningCertificateV2({"certs": [{"cert_hash": digest}]})
        attributes = cms.CMSAttributes(
            [
                {"type": "content_type", "values": ["tst_info"]},
                {"type": "message_digest", "values": [hashlib.sha256(stamped).digest()]},
                {"type": "signing_certificate_v2", "values": [used]},
            ]
        )
        signer = cms.SignerInfo(
            {
                "version": "v1",
                "sid": cms.SignerIdentifier(
                    "issuer_and_serial_number",
                    {
                        "issuer": self._certificate.issuer,
                        "serial_number": self._certificate.serial_number,
                    },
                ),
                "digest_algorithm": algos.DigestAlgorithm(_SHA256),
                "signed_attrs": attributes,
                "signature_algorithm": algos.SignedDigestAlgorithm({"algorithm": "sha256_ecdsa"}),
                "signature": self._key.sign(attributes.dump(), ec.ECDSA(hashes.SHA256())),
            }
        )
        signed = cms.SignedData(
            {
                "version": "v3",
                "digest_algorithms": [_SHA256],
                "encap_content_info": {
                    "content_type": content,
                    "content": core.ParsableOctetString(stamped),
                },
                "certificates": [self._certificate],
                "signer_infos": [signer],
            }
        )
        token = cms.ContentInfo({"content_type": "signed_data", "content": signed})
        status = {"status": "granted", **({"status_string": ["x" * padding]} if padding else {})}
        response = tsp.TimeStampResp({"status": status, "time_stamp_token": token})
        answer: bytes = response.dump()
        return answer


def refusal() -> bytes:
    """The response of an authority that grants nothing."""
    status = {"status": "rejection", "status_string": ["not today"]}
    content: bytes = tsp.TimeStampResp({"status": status}).dump()
    return content


@contextmanager
def served(answer: Any) -> Iterator[str]:
    """The URL of an authority that answers a request with `answer(request)`: a status, a body."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            status, body = answer(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/stamp"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()

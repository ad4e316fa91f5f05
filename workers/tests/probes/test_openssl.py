"""The private bindings: this fails when a new cryptography drops one, before an agent does."""

import pytest
from OpenSSL import SSL, _util

from workers.probes.bindings import missing_bindings
from workers.probes.openssl import Contexts, reason_of


def test_the_installed_cryptography_has_what_we_need() -> None:
    assert missing_bindings() == ()


def test_a_cryptography_without_a_binding_is_refused_with_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    class Without:
        """The library, but for one function."""

        def __getattr__(self, name: str) -> object:
            if name == "X509_VERIFY_PARAM_set1_host":
                raise AttributeError(name)
            return getattr(real, name)

    real = _util.lib
    monkeypatch.setattr(_util, "lib", Without())
    assert missing_bindings() == ("X509_VERIFY_PARAM_set1_host",)
    with pytest.raises(RuntimeError, match="X509_VERIFY_PARAM_set1_host"):
        Contexts(None)


def test_a_client_hello_names_the_host_but_never_an_address() -> None:
    contexts = Contexts(None)
    for host, named in (("www.example.test", True), ("192.0.2.1", False), ("2001:db8::1", False)):
        pipe = contexts.party(host).pipe
        assert not pipe.shake()
        hello = pipe.take()
        assert hello[0] == 22
        assert (host.encode() in hello) is named
        assert b"http/1.1" in hello
        assert pipe.take() == b""


def test_an_error_without_words_still_has_a_name() -> None:
    assert reason_of(SSL.Error()) == "Error"
    assert reason_of(SSL.ZeroReturnError()) == "close notify"
    assert reason_of(SSL.Error([("SSL routines", "", "tlsv1 alert internal error")])) == "tlsv1 alert internal error"

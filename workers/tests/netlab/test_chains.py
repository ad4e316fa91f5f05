"""The chains of the lab are what their recipes say, in the eyes of OpenSSL's own verification."""

import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509 import ocsp

from workers.tests.netlab.certificates import KeyKind, Life
from workers.tests.netlab.chains import Chain, Extra, Recipe, Signer, Vault

NAME = "www.lab.test"


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    return Vault(tmp_path_factory.mktemp("vault"))


def verdict(chain: Chain, ca_file: Path) -> str:
    """OpenSSL's word on the leaf, with the rest of what is sent as helpers. It judges keys of any size."""
    others = ("-untrusted", str(chain.chain_file)) if len(chain.sent) > 1 else ()
    command = ("openssl", "verify", "-auth_level", "0", "-CAfile", str(ca_file), "-verify_hostname", NAME, *others)
    done = subprocess.run([*command, str(chain.chain_file)], capture_output=True, text=True)
    return "good" if done.returncode == 0 else done.stderr


def leaf_of(chain: Chain) -> x509.Certificate:
    return x509.load_der_x509_certificate(chain.sent[0])


@pytest.mark.parametrize("size", [1000, 2000, 5500, 9400, 18_000])
def test_a_chain_has_the_wished_size(vault: Vault, size: int) -> None:
    chain = vault.chain(Recipe(names=(NAME,), size_bytes=size))
    assert chain.size_bytes == pytest.approx(size, abs=60)
    assert len(chain.sent) == 2
    assert verdict(chain, vault.ca_file) == "good"


def test_more_intermediates_fill_a_chain_too(vault: Vault) -> None:
    chain = vault.chain(Recipe(names=(NAME,), intermediates=3, size_bytes=5500))
    assert len(chain.sent) == 4
    assert chain.size_bytes == pytest.approx(5500, abs=60)
    assert verdict(chain, vault.ca_file) == "good"


@pytest.mark.parametrize("kind", KeyKind)
def test_a_leaf_has_the_wished_key(vault: Vault, kind: KeyKind) -> None:
    chain = vault.chain(Recipe(names=(NAME,), key=kind))
    key = leaf_of(chain).public_key()
    assert isinstance(key, ec.EllipticCurvePublicKey | rsa.RSAPublicKey)
    assert key.key_size == int(kind.removeprefix("p"))
    assert verdict(chain, vault.ca_file) == "good"


def test_a_chain_s_authorities_have_the_wished_key(vault: Vault) -> None:
    chain = vault.chain(Recipe(names=(NAME,), authorities=KeyKind.P384))
    key = x509.load_der_x509_certificate(chain.sent[1]).public_key()
    assert isinstance(key, ec.EllipticCurvePublicKey)
    assert key.key_size == 384
    assert verdict(chain, vault.ca_file) == "good"


@pytest.mark.parametrize(
    ("recipe", "words"),
    [
        (Recipe(names=(NAME,), intermediates_sent=False), "unable to get local issuer certificate"),
        (Recipe(names=(NAME,), life=Life(begins=-100, ends=-10)), "certificate has expired"),
        (Recipe(names=(NAME,), life=Life(begins=10, ends=100)), "certificate is not yet valid"),
        (Recipe(names=("other.lab.test",)), "hostname mismatch"),
        (Recipe(names=(NAME,), signer=Signer.ITSELF), "self-signed certificate"),
        (Recipe(names=(NAME,), signer=Signer.UNKNOWN), "unable to get local issuer certificate"),
        (Recipe(names=(NAME,), signer=Signer.UNKNOWN, extras=(Extra.ROOT,)), "self-signed certificate in certificate"),
    ],
)
def test_a_broken_chain_is_broken_in_the_wished_way_only(vault: Vault, recipe: Recipe, words: str) -> None:
    said = verdict(vault.chain(recipe), vault.ca_file)
    assert words in said
    assert said.count("error") == 2


def test_what_nobody_needs_is_sent_and_harms_nothing(vault: Vault) -> None:
    plain = vault.chain(Recipe(names=(NAME,)))
    for extra in Extra:
        chain = vault.chain(Recipe(names=(NAME,), extras=(extra,)))
        assert len(chain.sent) == len(plain.sent) + 1
        assert verdict(chain, vault.ca_file) == "good"
    assert len(set(vault.chain(Recipe(names=(NAME,), extras=(Extra.DUPLICATE,))).sent)) == 2


def test_a_missing_issuer_can_be_fetched_where_the_leaf_says(vault: Vault) -> None:
    chain = vault.chain(Recipe(names=(NAME,), intermediates_sent=False, issuer_url="http://ca.lab.test/issuer.der"))
    issuer = x509.load_der_x509_certificate(chain.issuer)
    assert len(chain.sent) == 1
    assert issuer.subject == leaf_of(chain).issuer
    access = leaf_of(chain).extensions.get_extension_for_class(x509.AuthorityInformationAccess).value
    assert [description.access_location.value for description in access] == ["http://ca.lab.test/issuer.der"]


def test_a_staple_vouches_for_the_leaf(vault: Vault) -> None:
    recipe = Recipe(names=(NAME,), must_staple=True, stapled=True, ocsp_url="http://ca.lab.test/ocsp")
    chain = vault.chain(recipe)
    assert chain.staple_file is not None
    answer = ocsp.load_der_ocsp_response(chain.staple_file.read_bytes())
    assert answer.certificate_status is ocsp.OCSPCertStatus.GOOD
    assert answer.serial_number == leaf_of(chain).serial_number
    assert answer.next_update_utc is not None
    assert answer.next_update_utc > datetime.now(UTC) + timedelta(days=5)
    feature = leaf_of(chain).extensions.get_extension_for_class(x509.TLSFeature).value
    assert list(feature) == [x509.TLSFeatureType.status_request]


def test_a_chain_is_made_once(vault: Vault) -> None:
    recipe = Recipe(names=(NAME,), key=KeyKind.RSA_2048)
    assert vault.chain(recipe) is vault.chain(Recipe(names=(NAME,), key=KeyKind.RSA_2048))

"""What is wrong with a chain, by OpenSSL's numbers (X509_V_ERR_…, x509_vfy.h)."""

NOT_YET_VALID, EXPIRED = 9, 10
# By whose clock is the question.
OF_TIME = frozenset({NOT_YET_VALID, EXPIRED})
LEAF_SIGNED_ITSELF, ROOT_UNKNOWN = 18, 19
# …UNABLE_TO_GET_ISSUER_CERT(_LOCALLY), …UNABLE_TO_VERIFY_LEAF_SIGNATURE: a certificate without a known issuer, at some
# depth. Some browsers know an issuer from elsewhere that was not sent.
ISSUER_UNKNOWN = frozenset({2, 20, 21})
OTHER_HOST, OTHER_MAILBOX, OTHER_ADDRESS = 62, 63, 64
WRONG_NAME = frozenset({OTHER_HOST, OTHER_MAILBOX, OTHER_ADDRESS})
# …EE_KEY_TOO_SMALL, …CA_KEY_TOO_SMALL, …CA_MD_TOO_WEAK: what gives less than 112 bits of security, level 2 of OpenSSL.
SHORT_LEAFS_KEY, SHORT_ISSUERS_KEY, WEAK_SIGNATURE = 66, 67, 68
WEAK = frozenset({SHORT_LEAFS_KEY, SHORT_ISSUERS_KEY, WEAK_SIGNATURE})

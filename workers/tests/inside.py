"""Addresses that must never be dialled, for the tests of everything that dials."""

# Every spelling that some library takes for an address inside, and URLs that hide one.
INSIDE_URLS = (
    "http://0/",
    "http://0.0.0.0/",
    "http://127.1/",
    "http://127.0.0.1/",
    "http://2130706433/",
    "http://0x7f.1/",
    "http://0x7f000001/",
    "http://0177.0.0.1/",
    "http://localhost/",
    "http://[::]/",
    "http://[::1]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::127.0.0.1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[64:ff9b:1::7f00:1]/",
    "http://[2002:7f00:1::]/",
    "http://10.0.0.1/",
    "http://169.254.169.254/latest/meta-data/",
    "http://\uff11\uff12\uff17.0.0.1/",
    "http://user@10.0.0.1/",
)

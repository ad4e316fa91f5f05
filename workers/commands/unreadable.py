"""Why a file that was named cannot be read, and what to do about it."""

import os
import pwd
import ssl
from pathlib import Path


def unreadable(command: str, path: Path, error: OSError) -> str:
    """One sentence for a person who called `firstbyte COMMAND PATH`; that command also reads standard input."""
    if isinstance(error, PermissionError):
        return (
            f"{path} cannot be read: this runs as the user {_user()}, who may not. Let that user read it and enter the"
            f" folders above it, or hand it over as standard input: firstbyte {command} - < {path}"
        )
    if isinstance(error, FileNotFoundError):
        return f"{path} cannot be read: there is no such file{'' if path.is_absolute() else _here()}"
    if isinstance(error, IsADirectoryError):
        return f"{path} cannot be read: it is a folder; name a file in it"
    return f"{path} cannot be read: {error.strerror or error}"


def no_authority(file: str | None, error: OSError) -> str:
    """Why a file brings no authority to trust."""
    if isinstance(error, ssl.SSLError):
        return f"{file} holds no certificate in PEM form"
    return f"{file} cannot be read: {error.strerror or error}"


def _here() -> str:
    try:
        return f" here ({Path.cwd()})"
    except FileNotFoundError:
        return " here, in a folder that was removed"


def _user() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())

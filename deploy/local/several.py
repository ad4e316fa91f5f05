"""Several commands of the service in one process, since each start of Django costs a second of a small machine.

`python -m deploy.local.several '[["migrate"], ["bootstrap", "--json"]]'` prints what each said, as one JSON list. It
runs in the service's own environment of Python, unlike the rest of this package.
"""

import io
import json
import sys

import django
from django.core.management import CommandError, call_command


def main(commands: list[list[str]]) -> int:
    """Runs the commands until one fails; what that one says is on standard error."""
    django.setup()
    said = []
    for name, *arguments in commands:
        output = io.StringIO()
        try:
            call_command(name, *arguments, stdout=output)
        except CommandError as error:
            sys.stderr.write(f"{name}: {error}\n")
            return error.returncode
        said.append(output.getvalue())
    sys.stdout.write(json.dumps(said))
    return 0


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))

"""`firstbyte deploys`: tells the service of releases."""

import argparse
import json
import sys

from workers.commands import UsageError
from workers.commands.pipeline_api import RefusedError, UnreachableError, api_of

EXIT_NOT_TOLD = 4


def run(arguments: argparse.Namespace) -> int:
    """Tells of a release and gives the exit code. Raises UsageError."""
    api = api_of(arguments.url, arguments.token, arguments.cacert)
    try:
        deploy = api.post("deploys", {**deploy_of(arguments), "site": arguments.site})
    except RefusedError as error:
        if error.is_usage:
            raise UsageError(str(error)) from error
        sys.stderr.write(f"firstbyte deploys: {error}\n")
        return EXIT_NOT_TOLD
    except UnreachableError as error:
        sys.stderr.write(f"firstbyte deploys: {error}\n")
        return EXIT_NOT_TOLD
    where = arguments.site or "all sites"
    told = f"deploy {deploy['id']} of {where} at {deploy['at']}"
    print(json.dumps(deploy, ensure_ascii=False) if arguments.json else told)  # noqa: T201 (the command's own output)
    return 0


def deploy_of(arguments: argparse.Namespace) -> dict[str, str]:
    """The release that the command line and the pipeline name."""
    return {
        "id": arguments.deploy_id,
        "version": arguments.deploy_version,
        "url": arguments.deploy_url,
        "note": arguments.note,
    }

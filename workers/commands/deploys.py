"""`firstbyte deploys`: tells the service of releases."""

import argparse

from workers.commands import EXIT_NOT_MEASURED, EXIT_OK, UsageError
from workers.commands.output import say, write, write_json
from workers.commands.pipeline_api import RefusedError, UnreachableError, api_of


def run(arguments: argparse.Namespace) -> int:
    """Tells of a release and gives the exit code. Raises UsageError."""
    api = api_of(arguments.url, arguments.token, arguments.cacert)
    try:
        deploy = api.post("deploys", {**deploy_of(arguments), "site": arguments.site})
    except RefusedError as error:
        if error.is_usage:
            raise UsageError(str(error)) from error
        say(f"firstbyte deploys: {error}")
        return EXIT_NOT_MEASURED
    except UnreachableError as error:
        say(f"firstbyte deploys: {error}")
        return EXIT_NOT_MEASURED
    where = arguments.site or "all sites"
    told = f"deploy {deploy['id']} of {where} at {deploy['at']}"
    if arguments.json:
        write_json(deploy)
    else:
        write(told)
    return EXIT_OK


def deploy_of(arguments: argparse.Namespace) -> dict[str, str]:
    """The release that the command line and the pipeline name."""
    return {
        "id": arguments.deploy_id,
        "version": arguments.deploy_version,
        "url": arguments.deploy_url,
        "note": arguments.note,
    }

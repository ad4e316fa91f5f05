"""What `firstbyte import` takes. Imported with every command, so it imports next to nothing."""

import argparse
from pathlib import Path

from workers.commands.all_argument import add_all
from workers.commands.pipeline_arguments import add_service

IMPORT = """\
Reads page loads out of a file of another tool: an HTTP Archive (HAR) of Chrome, Firefox, Safari, browsertime,
Playwright, Charles or any other, or WebPageTest's JSON (jsonResult.php with requests=1); packed with gzip or not.

With a service (--url or FIRSTBYTE_URL) they are kept there beside the runs, without the contents of answers and
without cookies, and get a page like a run's. Without one, or with --local, they are drawn here.

environment:
  FIRSTBYTE_URL, FIRSTBYTE_TOKEN     instead of --url and --token (the token also as FIRSTBYTE_TOKEN_FILE)

examples:
  firstbyte import page.har                         drawn here, where no service is set up
  firstbyte import --local page.har
  firstbyte import --site shop webpagetest.json.gz  kept beside the runs of a site

exit codes:
  0 imported   2 wrong usage, or a file that cannot be read   4 the service could not be reached
"""


def add_import(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", type=Path, help="the file; - for standard input")
    add_service(parser, scope="write")
    parser.add_argument("--site", metavar="SITE", help="the site that it is of: its name, id or URL")
    parser.add_argument("--local", action="store_true", help="only draw it here, whatever service is set up")
    add_all(parser)

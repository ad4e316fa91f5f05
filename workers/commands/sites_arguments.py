"""What `firstbyte sites` takes. Imported with every command, so it imports next to nothing."""

import argparse

from workers.commands.pipeline_arguments import add_service

SITES = """\
Keeps sites in a file, as code: what is measured of them, how often and from where, what they rely on, their CDN pairs,
the roles of their hosts, their rules and maintenance, who is told, and what status pages show.

the file:
  sites:
    # A site is known by its name, and keeps its URL.
    - name: Shop
      url: https://www.shop.example/
      probe: {interval_s: 60, regions: [eu, us]}
      page:
        interval_s: 900
        headers: [{name: X-Key, value: !env SHOP_KEY}]
      # relies_on: [Sign-in]
      pairs:
        - name: app.js
          cdn_url: https://cdn.shop.example/app.js
          origin: www.shop.example
      # What hosts are to the site, where they seem to be something else: origin, cdn, own or third_party.
      hosts: [{name: img.shop.example, role: cdn}]
      rules:
        - kind: budget
          monitor: page
          params: {metric: lcp_ms, limit: 2500}
          channels: [ops]
      # Known by when it begins; what is over may stay here.
      maintenance:
        - {starts_at: 2026-12-01T22:00:00+01:00, ends_at: 2026-12-02T02:00:00+01:00, reason: Database}
  # Those for all sites.
  rules: []
  maintenance: []
  # Who is told, known by its name. Of where it leads (url, slack_app, addresses) what is left out stays.
  channels:
    - {name: ops, kind: slack, url: !env SLACK_WEBHOOK, after_s: 300}
  # What guests are shown; a page is known by the last part of its address.
  status_pages:
    - {slug: acme, title: Acme, sites: [Shop]}

A section (probe, page, relies_on, pairs, hosts, rules, maintenance, channels, status_pages) that is there is the whole
of it: what it leaves out is as usual. One that is missing stays as it is, and so do sites that the file does not name:
several files can each have their own sites, and one of them what is for all.
Secrets come from the environment with !env, and stay as they are stored where only their name is written.

environment:
  FIRSTBYTE_URL, FIRSTBYTE_TOKEN     instead of --url and --token (the token also as FIRSTBYTE_TOKEN_FILE)

examples:
  firstbyte sites export | tee sites.yaml    begin with what there is
  firstbyte sites plan sites.yaml            in a pull request: what would change
  firstbyte sites apply sites.yaml           on the main branch: change it, all or nothing

exit codes:
  0 nothing differs, or all was carried out   1 plan: something differs   2 wrong usage, or a file that cannot be so
  4 the service could not be reached
"""
EXPORT = """\
Writes all sites that are measured, with what is not as usual of them, as YAML. Secrets are named, not told.

exit codes:
  0 told   2 wrong usage   4 the service could not be reached
"""
PLAN = """\
Tells what a file would change, and changes nothing. What cannot be is told with its line.

exit codes:
  0 nothing differs   1 something differs   2 wrong usage, or a file that cannot be so
  4 the service could not be reached
"""
APPLY = """\
Carries a file out, all of it or nothing, and tells what was changed.

exit codes:
  0 carried out   2 wrong usage, or a file that cannot be so: nothing was changed   4 the service could not be reached
"""


def add_sites(parser: argparse.ArgumentParser, make: type[argparse.ArgumentParser]) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=make)
    export = actions.add_parser("export", help="write what there is as a file", description=EXPORT)
    add_service(export, scope="read")
    for name, words, description in (
        ("plan", "tell what a file would change", PLAN),
        ("apply", "carry a file out", APPLY),
    ):
        action = actions.add_parser(name, help=words, description=description)
        action.add_argument("file", metavar="FILE", help="the file (YAML or JSON); - for standard input")
        add_service(action, scope="write (with rules, maintenance or channels also alerts)")
        delete = "delete what a written list does not name (else it is kept, and told); sites are never deleted"
        action.add_argument("--delete", action="store_true", help=delete)

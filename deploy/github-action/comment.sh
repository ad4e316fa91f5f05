#!/usr/bin/env bash
# Keeps one comment of this site's gate on a pull request: written once, then changed. Needs `gh`, which runners have.
set -euo pipefail

if [[ ! -s $REPORT ]]; then
  echo 'There is no verdict to comment.'
  exit 0
fi
# A name may hold what would end the mark.
marker="<!-- firstbyte-gate $(printf %s "$SITE" | sha256sum | cut -c1-16) -->"
body=$(printf '%s\n%s\n' "$marker" "$(cat "$REPORT")")
comments="repos/${GITHUB_REPOSITORY:?}/issues/${PULL_REQUEST:?}/comments"
# Who opened the pull request may write the mark too, and could change what is said there afterwards.
ours='select(.user.type == "Bot" or (.author_association | IN("OWNER", "MEMBER", "COLLABORATOR")))'
# To its end: who stops at the first line breaks off the pages behind it, and with them the job.
known=$(gh api --paginate "$comments" --jq ".[] | select(.body | startswith(\"$marker\")) | $ours | .id" | sed -n 1p)
if [[ -n $known ]]; then
  gh api --silent --method PATCH "repos/$GITHUB_REPOSITORY/issues/comments/$known" --raw-field "body=$body"
else
  gh api --silent --method POST "$comments" --raw-field "body=$body"
fi

#!/usr/bin/env bash
# Turns the action's inputs into one call of `firstbyte gate`. Inputs come by the environment: what a shell is given as
# text it would read as commands.
set -euo pipefail

arguments=(gate --site "$SITE" --confidence "$CONFIDENCE" --on-inconclusive "$ON_INCONCLUSIVE" --timeout "$TIMEOUT")
while IFS= read -r rule; do
  [[ -z ${rule//[[:space:]]/} ]] || arguments+=(--rule "$rule")
done <<<"$RULES"
while IFS= read -r rule; do
  [[ -z ${rule//[[:space:]]/} ]] || arguments+=(--warn "$rule")
done <<<"$WARNINGS"
# To the end of the text, which is none of `read`'s own.
read -rd '' -a regions <<<"$REGIONS" || true
for region in "${regions[@]}"; do
  arguments+=(--region "$region")
done
[[ -z $RELEASE_URL ]] || arguments+=(--release-url "$RELEASE_URL")
[[ -z $BASELINE_URL ]] || arguments+=(--against-url "$BASELINE_URL")
[[ -z $DEPLOY_ID ]] || arguments+=(--deploy-id "$DEPLOY_ID")
arguments+=(--markdown "${RUNNER_TEMP:?}/firstbyte-gate.md")

# What an earlier gate of this job has left is no report of this one.
rm -f "$RUNNER_TEMP/firstbyte-gate.md"
house=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
code=0
# The repository's own modules, in the folder where the job works, are none of ours whatever they are called.
PYTHONSAFEPATH=1 PYTHONPATH=$house python3 -m workers.cli "${arguments[@]}" || code=$?
# 4: it could not be measured.
if [[ $code -eq 4 && $ON_ERROR == pass ]]; then
  echo '::warning title=Firstbyte::The release could not be measured; the job goes on, as its settings say.'
  code=0
fi
exit "$code"

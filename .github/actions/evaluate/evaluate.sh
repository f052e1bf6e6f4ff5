#!/usr/bin/env bash
# Evaluates INPUT_CONFIG with the limits in INPUT_GATES, and writes what a workflow keeps of it.
#
# Every input is a variable of the environment and stays data: nothing of it is put into a command.
# Ends with the exit code of `failproof-es start`, or with 1 where a file could not be written.
set -euo pipefail

# The most that GitHub takes of a step's summary is 1 MiB.
most=1000000
folder=$RUNNER_TEMP/failproof-es
mkdir -p "$folder"
echo "folder=$folder" >>"$GITHUB_OUTPUT"

if [[ -n ${INPUT_DATABASE_URL-} ]]; then
  export FAILPROOF_ES_DATABASE_URL=$INPUT_DATABASE_URL
fi
settings=()
while IFS= read -r line; do
  line=${line%$'\r'}
  [[ $line =~ ^[[:space:]]*$ ]] && continue
  settings+=(--set "gates.${line#"${line%%[![:space:]]*}"}")
done <<<"${INPUT_GATES-}"

code=0
failproof-es start ${settings[@]+"${settings[@]}"} --json --junit "$folder/junit.xml" -- "$INPUT_CONFIG" \
  >"$folder/run.json" || code=$?

run=$(python - "$folder/run.json" <<'PYTHON'
import json, sys
from pathlib import Path
lines = Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()
print(int(json.loads(lines[-1])["run_number"]) if lines else "")
PYTHON
)
{
  echo "exit-code=$code"
  echo "run=$run"
} >>"$GITHUB_OUTPUT"

failed=0
if [[ -n $run ]]; then
  failproof-es report "$run" --format html -o "$folder/report.html" >/dev/null || failed=1
  failproof-es report "$run" --format md -o "$folder/report.md" >/dev/null || failed=1
  failproof-es results "$run" --format jsonl >"$folder/results.jsonl" || failed=1
  failproof-es ledger key -o "$folder/log.pub" >/dev/null || failed=1
  if [[ $code == 0 || $code == 3 ]]; then # only a run that has ended can be proven
    failproof-es evidence export "$run" -o "$folder/evidence.jsonl" >/dev/null || failed=1
  fi
fi

if [[ -f $folder/report.md ]]; then
  if (($(wc -c <"$folder/report.md") <= most)); then
    cat "$folder/report.md" >>"$GITHUB_STEP_SUMMARY"
  else
    shown=$(sed '/^## Failures$/,$d' "$folder/report.md")
    if ((${#shown} * 4 > most)); then
      shown="# run $run"
    fi
    printf '%s\n\nThis is not all of the report: it is larger than a summary may be. The whole is report.html in the artifact.\n' \
      "$shown" >>"$GITHUB_STEP_SUMMARY"
  fi
fi

case $code in
  0) ;;
  1) echo "::error::failproof-es: the run did not complete, or its record has errors (exit code 1)" ;;
  2) echo "::error::failproof-es: the configuration, its suites or its models cannot be used; nothing was sent (exit code 2)" ;;
  3) echo "::error::failproof-es: a gate is not met; the summary of this step says which (exit code 3)" ;;
  130) echo "::error::failproof-es: the run was interrupted; what is recorded stays (exit code 130)" ;;
  *) echo "::error::failproof-es ended with the exit code $code" ;;
esac
if [[ $code == 0 && $failed == 1 ]]; then
  echo "::error::failproof-es: the run is complete, and a file about it could not be written"
  exit 1
fi
exit "$code"

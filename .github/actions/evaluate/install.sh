#!/usr/bin/env bash
# Installs the program into an environment of its own, so that nothing of the job is changed.
# Reads INPUT_PACKAGE, INPUT_EXTRAS, ACTION_FOLDER, RUNNER_TEMP; adds a folder to GITHUB_PATH.
set -euo pipefail

if [[ ! ${INPUT_EXTRAS-} =~ ^[A-Za-z0-9_,\ -]*$ ]]; then
  echo "::error::extras: names with commas between them are expected"
  exit 2
fi
package=${INPUT_PACKAGE-}
pins=()
if [[ -z $package ]]; then # the program as it stands beside the action, with what it was tested with
  package=$(cd "$ACTION_FOLDER/../../.." && pwd)
  pins=(--constraint "$package/.ci/constraints.txt")
fi
if [[ $package == -* ]]; then
  echo "::error::package: what pip installs is expected, not an option"
  exit 2
fi
[[ -n ${INPUT_EXTRAS-} ]] && package="${package}[${INPUT_EXTRAS// /}]"

environment=$RUNNER_TEMP/failproof-es-environment
python -m venv "$environment"
"$environment/bin/python" -m pip install --quiet --disable-pip-version-check \
  ${pins[@]+"${pins[@]}"} "$package"
echo "$environment/bin" >>"$GITHUB_PATH"

#!/bin/sh
# What the image holds: the built service, what it needs at run time, and the list of that (SPDX).
# Usage: docker/build.sh FOLDER, after npm ci. The same here, in CI and in the Dockerfile.
set -eu
cd "$(dirname "$0")/.."
out=$1
mkdir -p "$out"

npx tsc -p tsconfig.build.json --outDir "$out/dist" --incremental false --declaration false

cp package.json package-lock.json LICENSE "$out"
cp -R proto "$out"
# The agent "test-runner" runs this sample.
mkdir -p "$out/src/agents/samples"
cp -R src/agents/samples/suite "$out/src/agents/samples"

cd "$out"
# The embedded Postgres is an optional dependency: a server is given by PARLEY_DATABASE_URL.
npm ci --omit=dev --omit=optional --ignore-scripts --no-audit --no-fund
# The list is of what is there, not of what a developer would have.
npm pkg delete devDependencies optionalDependencies scripts overrides.openapi-typescript
npm sbom --sbom-format=spdx > sbom.spdx.json

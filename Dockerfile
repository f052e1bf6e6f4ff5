# The program with all that drives runs, without the embedded model (unless EXTRAS has `local`). Build it from the repository:
#   docker build -t failproof-es .
# EXTRAS chooses what else it can do: docs/get-started/install.md lists the extras. VERSION is the tag's, as 1.2.3: git is
# not copied here.
FROM python:3.13.7-slim-bookworm AS build

ARG EXTRAS="report,commands,redteam,console,otel"
ARG VERSION=""
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /source

COPY .ci/constraints.txt /source/.ci/
RUN python -m venv /tmp/builder \
    && /tmp/builder/bin/pip install --constraint .ci/constraints.txt hatchling \
    && python -m venv /opt/failproof-es

COPY pyproject.toml README.md LICENSE /source/
COPY failproof_es /source/failproof_es
COPY projections /source/projections
COPY suites /source/suites
COPY configs /source/configs
COPY tools/releasing/version.py /source/tools/releasing/
RUN FAILPROOF_ES_BUILD_VERSION="$VERSION" \
    /tmp/builder/bin/pip wheel --no-deps --no-build-isolation --wheel-dir /tmp/wheels . \
    && wheel=$(echo /tmp/wheels/*.whl) \
    && /opt/failproof-es/bin/pip install --only-binary :all: --constraint .ci/constraints.txt \
        "failproof-es[$EXTRAS] @ file://$wheel" \
    && case ",$EXTRAS," in *,local,* | *,all,*) ;; *) /opt/failproof-es/bin/pip uninstall --yes xllamacpp ;; esac \
    && /opt/failproof-es/bin/pip uninstall --yes pip

FROM python:3.13.7-slim-bookworm

# A number, so that Kubernetes can tell that it is not root.
RUN groupadd --gid 10001 failproof \
    && useradd --uid 10001 --gid 10001 --home-dir /var/lib/failproof-es --create-home failproof
COPY --from=build /opt/failproof-es /opt/failproof-es

ENV PATH=/opt/failproof-es/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    FAILPROOF_ES_HOME=/var/lib/failproof-es
WORKDIR /work
USER 10001:10001
ENTRYPOINT ["failproof-es"]
CMD ["--help"]

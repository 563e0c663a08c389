# cdc-relay in two stages: wheels by hash in the first, a Python and one virtual environment in the second.
#   docker build -t cdc-relay .
# It runs as a number, writes nothing (read-only root file system), and expects its file at /etc/cdc-relay/relay.yaml.
ARG PYTHON_VERSION=3.13

FROM python:${PYTHON_VERSION}-slim AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
WORKDIR /src
# For the compiled part: the image of Python has its headers and no compiler. Which gcc is the base image's business.
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install --yes --no-install-recommends gcc libc6-dev \
 && rm -rf /var/lib/apt/lists/*
# The dependencies first: a change of the source does not fetch them again.
COPY deploy/requirements.lock deploy/build.lock deploy/
RUN python -m venv --without-pip /opt/cdc-relay \
 && pip --python /opt/cdc-relay/bin/python install --require-hashes --only-binary :all: --requirement deploy/requirements.lock \
 && pip install --require-hashes --only-binary :all: --requirement deploy/build.lock
COPY pyproject.toml setup.py README.md ./
COPY cdc_relay cdc_relay
RUN pip wheel --no-deps --no-build-isolation --wheel-dir /wheels . \
 && pip --python /opt/cdc-relay/bin/python install --no-deps --no-index /wheels/*.whl \
 && /opt/cdc-relay/bin/python -I -c "from cdc_relay.native import is_native; assert is_native, 'nothing was compiled'"

FROM python:${PYTHON_VERSION}-slim
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="cdc-relay" \
      org.opencontainers.image.description="Transactional outbox from a Postgres replication slot to Kafka" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
# Nothing is installed into a running container.
RUN pip uninstall --yes pip
COPY --from=build /opt/cdc-relay /opt/cdc-relay
ENV PATH=/opt/cdc-relay/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    CDC_RELAY_CONFIG=/etc/cdc-relay/relay.yaml
USER 10001:10001
EXPOSE 9464
# The exec form: the relay is process 1 and gets the signal itself. It drains, confirms and exits with 0.
STOPSIGNAL SIGTERM
ENTRYPOINT ["cdc-relay"]
CMD ["run"]
